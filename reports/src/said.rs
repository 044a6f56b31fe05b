//! A sentence with the times that it names, so that code can link or compare them without parsing.

use crate::clock::Clock;
use serde::{Serialize, Serializer};
use std::{borrow::Cow, fmt, ops::Deref};

/// Enclose a time in microseconds in a sentence that is not formatted yet. Names contain no control characters.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// A time in a sentence that an invariant builds; [`Said::of`] formats it.
pub(crate) fn mark(t_us: u64) -> String {
    let [begin, end] = MARKS;
    format!("{begin}{t_us}{end}")
}

/// One formatted sentence. It derefs to its text.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Said {
    text: String,
    /// Begin and end of each time in the text, and its value, microseconds.
    at: Vec<(usize, usize, u64)>,
}

impl Said {
    /// Formats a sentence with marked times, using `clock`.
    pub(crate) fn of(marked: &str, clock: Clock) -> Self {
        let mut parts = marked.split(MARKS[0]);
        let mut said = Said { text: parts.next().unwrap_or_default().to_owned(), at: Vec::new() };
        for part in parts {
            match part.split_once(MARKS[1]).and_then(|(t, rest)| Some((t.parse().ok()?, rest))) {
                Some((t_us, rest)) => {
                    let begin = said.text.len();
                    said.text += &clock.moment(t_us);
                    said.at.push((begin, said.text.len(), t_us));
                    said.text += rest;
                }
                None => said.text += part,
            }
        }
        said
    }

    /// The same with text before and after it.
    #[must_use]
    pub(crate) fn between(&self, before: &str, after: &str) -> Self {
        let at = self.at.iter().map(|(begin, end, t)| (begin + before.len(), end + before.len(), *t));
        Said { at: at.collect(), text: format!("{before}{}{after}", self.text) }
    }

    /// The same with `reword` applied to the text between its times.
    #[must_use]
    pub fn reworded(&self, reword: impl Fn(&str) -> String) -> Self {
        let (mut said, mut place) = (Said::default(), 0);
        for (begin, end, t) in &self.at {
            said.text += &reword(&self.text[place..*begin]);
            let begin_now = said.text.len();
            said.text += &self.text[*begin..*end];
            said.at.push((begin_now, said.text.len(), *t));
            place = *end;
        }
        said.text += &reword(&self.text[place..]);
        said
    }

    /// The first time that it names, microseconds.
    pub(crate) fn first_us(&self) -> Option<u64> {
        self.at.first().map(|(_, _, t)| *t)
    }

    /// Its text with every time as `[[t]]`, beginning with a capital letter.
    pub(crate) fn linked(&self) -> String {
        let (mut text, mut place) = (String::new(), 0);
        for (begin, end, t) in &self.at {
            text += &format!("{}[[{t}]]", &self.text[place..*begin]);
            place = *end;
        }
        text += &self.text[place..];
        let mut letters = text.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        first + letters.as_str()
    }
}

impl Deref for Said {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Said { text, at: Vec::new() }
    }
}

impl<'a> From<&'a Said> for Cow<'a, str> {
    fn from(said: &'a Said) -> Self {
        Cow::Borrowed(&said.text)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl Serialize for Said {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_links_whatever_stands_before_them() {
        let marked = format!("at {} it waited {} long, since {}", mark(8_503_000), "1.500 s", mark(7));
        let said = Said::of(&marked, Clock::default());
        assert_eq!(&*said, "at 8.503 s it waited 1.500 s long, since 0.000 s");
        assert_eq!(said.linked(), "At [[8503000]] it waited 1.500 s long, since [[7]]");
        assert_eq!(said.first_us(), Some(8_503_000));
        let other = said.between("group 1: ", "; and so on").reworded(|text| text.replace("it", "n1"));
        assert_eq!(
            &*other,
            "group 1: at 8.503 s n1 waned 1.500 s long, since 0.000 s; and so on".replace("waned", "wan1ed")
        );
        assert_eq!(other.linked(), "Group 1: at [[8503000]] n1 wan1ed 1.500 s long, since [[7]]; and so on");
        assert_eq!(Said::of("a\u{2}b\u{3}c\u{2}", Clock::default()).to_string(), "ab\u{3}c");
    }
}
