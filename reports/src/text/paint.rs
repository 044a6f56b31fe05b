//! Colour, when the reader is a terminal.

/// What a piece of text says, and so how it is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    /// As it is.
    Plain,
    /// As it should be.
    Good,
    /// As it should not be.
    Bad,
    /// Worth a look.
    Warn,
    /// In the background.
    Dim,
    /// A heading.
    Bold,
}

/// How lines are to look: coloured or not, and how wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    /// Colour them.
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

/// Breaks `text` into lines of at most `width` characters, at spaces where it can.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
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

/// `text` cut to `width` characters and filled up with spaces.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let length = text.chars().count();
    let mut cut: String = text.chars().take(width).collect();
    cut.extend(std::iter::repeat_n(' ', width.saturating_sub(length)));
    cut
}
