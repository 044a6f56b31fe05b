//! A protocol that nothing is known of but text that is in each write.

use crate::proxy::{Answer, Watch};

/// What one connection sends.
pub struct Texts {
    text: Vec<u8>,
    /// The end of what was sent before, which may be the beginning of the text.
    before: Vec<u8>,
}

impl Texts {
    pub fn new(text: &str) -> Texts {
        Texts { text: text.as_bytes().to_owned(), before: Vec::new() }
    }
}

impl Watch for Texts {
    /// Where a write begins is not known, so everything that was sent with its text waits.
    fn sent(&mut self, bytes: &[u8]) -> Option<usize> {
        self.before.extend_from_slice(bytes);
        let length = self.text.len();
        let last = self.before.windows(length).rposition(|part| part == self.text);
        // Nothing is found twice.
        let kept = self.before.len().saturating_sub(length - 1).max(last.map_or(0, |at| at + length));
        self.before.drain(..kept);
        last.map(|_| 0)
    }

    fn answered(&mut self, _: &[u8]) -> Option<Answer> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_found_once_however_it_is_cut() {
        let mut texts = Texts::new("put ");
        assert_eq!(texts.sent(b"get 1\nput 2\nget 3\n"), Some(0));
        assert_eq!(texts.sent(b"get put\npu"), None);
        assert_eq!(texts.sent(b"t 4\n"), Some(0));
        assert_eq!(texts.sent(b"5\n"), None);
        let found: Vec<_> = b"put put ".iter().map(|byte| texts.sent(&[*byte]).is_some()).collect();
        assert_eq!(found, [false, false, false, true, false, false, false, true]);
        let mut same = Texts::new("aa");
        assert_eq!([same.sent(b"aa"), same.sent(b"a"), same.sent(b"a")], [Some(0), None, Some(0)]);
    }
}
