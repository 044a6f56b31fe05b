//! Colours for terminals, and the width of text there.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The meaning of a piece of text, which determines its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Warn,
    Dim,
    Bold,
}

/// How lines look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    /// Use colours?
    pub(crate) colour: bool,
    /// The widest line, characters.
    pub(crate) width: usize,
}

impl Paint {
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Bad => "1;31",
            Tone::Warn => "33",
            Tone::Dim => "2",
            Tone::Bold => "1",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Breaks `text` into lines of at most `width` characters, at spaces if possible.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let length = columns(word);
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        let Some(line) = lines.last_mut() else { continue };
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines
}

/// How many columns of a terminal a text takes: some letters take two.
pub(crate) fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The longest prefix of `text` that fits into `width` columns.
fn beginning(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += UnicodeWidthChar::width(*letter).unwrap_or(0);
        used > width
    });
    end.map_or(text, |(place, _)| &text[..place])
}

/// `text` cut to `width` columns or padded with spaces.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let mut cut = beginning(text, width).to_owned();
    cut.extend(std::iter::repeat_n(' ', width.saturating_sub(columns(&cut))));
    cut
}

/// A name in `width` columns: padded with spaces, or cut in the middle, since names mostly differ at their ends.
pub(crate) fn middled(name: &str, width: usize) -> String {
    if columns(name) <= width {
        return pad(name, width);
    }
    let head = beginning(name, width.saturating_sub(1) * 2 / 5);
    let room = width.saturating_sub(1 + columns(head));
    let tail = name.char_indices().map(|(place, _)| &name[place..]).find(|tail| columns(tail) <= room).unwrap_or("");
    match width {
        0 => String::new(),
        width => pad(&format!("{head}…{tail}"), width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_at_their_ends_still_do_when_they_are_cut() {
        let [one, other] = ["billing-7f9c5d-abcde", "billing-7f9c5d-fghij"].map(|name| middled(name, 12));
        assert_eq!((one.as_str(), other.as_str()), ("bill…d-abcde", "bill…d-fghij"));
        assert_eq!(middled("n1", 4), "n1  ");
        assert_eq!((middled("abcdef", 1), middled("abcdef", 0)), ("…".to_owned(), String::new()));
    }

    #[test]
    fn a_letter_of_two_columns_takes_two() {
        assert_eq!((columns("東京-1"), pad("東京", 6), pad("東京", 3)), (6, "東京  ".to_owned(), "東 ".to_owned()));
        assert_eq!(columns(&middled("東京-リーダー選出-1", 9)), 9);
        assert_eq!(wrap("東京 東京", 8), ["東京", "東京"]);
    }
}
