//! The first line of a fenced object.

use object_store::Error;

/// How it begins.
const BEGINS: &str = "fencepost 1 ";
/// None that names no requests is longer, bytes.
pub(super) const LONGEST: u64 = 256;

/// Who has put an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) token: u64,
    pub(super) holder: String,
    /// Which of its puts it was.
    pub(super) put: u64,
    /// Requests that are done, the last one at the end, as [`word`] writes them.
    pub(super) done: Vec<String>,
}

/// A request's name as a word of the line.
pub(super) fn word(request: &str) -> String {
    let mut word = String::from("=");
    for byte in request.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => word.push(char::from(byte)),
            _ => word.push_str(&format!("%{byte:02X}")),
        }
    }
    word
}

impl Head {
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = format!("{BEGINS}{} {} {:016x}", self.token, self.holder, self.put);
        for request in &self.done {
            line.push(' ');
            line.push_str(request);
        }
        line.push('\n');
        line.into_bytes()
    }

    /// Of the start of an object; `None` if no leader has put it.
    pub(super) fn read(content: &[u8]) -> Result<Option<Head>, Error> {
        let Some(rest) = content.strip_prefix(BEGINS.as_bytes()) else { return Ok(None) };
        let line = rest.iter().position(|byte| *byte == b'\n').and_then(|end| rest.get(..end));
        let words: Option<Vec<&str>> =
            line.and_then(|line| std::str::from_utf8(line).ok()).map(|line| line.split(' ').collect());
        let head = words.and_then(|words| {
            let [token, holder, put, done @ ..] = &words[..] else { return None };
            let put = u64::from_str_radix(put, 16).ok()?;
            let done: Vec<String> = done.iter().map(|word| (*word).to_owned()).collect();
            let known = done.iter().all(|word| word.starts_with('='));
            known.then_some(Head { token: token.parse().ok()?, holder: (*holder).to_owned(), put, done })
        });
        let damaged = || Error::Generic { store: "fencepost", source: "an object's first line is damaged".into() };
        head.map(Some).ok_or_else(damaged)
    }

    /// Whether an object's start has only a part of the line.
    pub(super) fn is_cut_off(start: &[u8]) -> bool {
        start.len() as u64 == LONGEST && start.starts_with(BEGINS.as_bytes()) && !start.contains(&b'\n')
    }

    /// Whether both are of one put.
    pub(super) fn is_of_put(&self, other: &Head) -> bool {
        (self.token, self.put) == (other.token, other.put) && self.holder == other.holder
    }

    /// Whether it is of a later leader, or of another one with the same token, who was first.
    pub(super) fn is_newer_than(&self, other: &Head) -> bool {
        self.token > other.token || self.token == other.token && self.holder != other.holder
    }
}

/// What was put into a fenced object, of what it contains; all of it, if no leader has put it.
pub fn without_head(content: &[u8]) -> &[u8] {
    match content.iter().position(|byte| *byte == b'\n') {
        Some(end) if content.starts_with(BEGINS.as_bytes()) => content.get(end + 1..).unwrap_or_default(),
        _ => content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_and_skipped() {
        let head = Head { token: 7, holder: "host-1/00ab".into(), put: 16, done: Vec::new() };
        let written = [&head.line()[..], b"line\nline"].concat();
        assert!(written.starts_with(b"fencepost 1 7 host-1/00ab 0000000000000010\n"));
        assert_eq!(Head::read(&written).expect("a head"), Some(head));
        assert_eq!(without_head(&written), b"line\nline");
        for foreign in [&b""[..], b"fencepost", b"line\nfencepost 1 7 x 0\n"] {
            assert_eq!(Head::read(foreign).expect("no head"), None);
            assert_eq!(without_head(foreign), foreign);
        }
        let done = ["a", "", "of two words 100%\nand ünïts"].map(word).to_vec();
        let head = Head { done, ..Head::read(&written).expect("a head").expect("one") };
        assert!(head.line().ends_with(b" =a = =of%20two%20words%20100%25%0Aand%20%C3%BCn%C3%AFts\n"));
        assert_eq!(Head::read(&head.line()).expect("a head"), Some(head.clone()));
        assert_eq!(without_head(&[&head.line()[..], b"line\n"].concat()), b"line\n");
        for damaged in [
            &b"fencepost 1 "[..],
            b"fencepost 1 7 host 0 a\n",
            b"fencepost 1 x host 0\n",
            b"fencepost 1 7\n",
            b"fencepost 1 7 host 0",
        ] {
            assert!(Head::read(damaged).is_err());
        }
    }
}
