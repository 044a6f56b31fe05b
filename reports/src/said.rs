//! Sentences that know which times they name: nobody has to look for them in the text.

use crate::clock::Clock;
use serde::{Serialize, Serializer};
use std::{borrow::Cow, fmt, ops::Deref};

/// A time in a sentence, microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct At(pub(crate) u64);

/// A part of a sentence. The page gets text as a string and a time as a number, which it turns into a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
enum Part {
    Text(String),
    At(u64),
}

/// A sentence whose times are not formatted yet.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sentence(Vec<Part>);

/// A sentence of parts: text, [`At`], and other sentences.
macro_rules! sentence {
    ($($part:expr),+ $(,)?) => { $crate::said::Sentence::default()$(.and($part))+ };
}
pub(crate) use sentence;

impl Sentence {
    /// The same with another part after it.
    #[must_use]
    pub(crate) fn and(mut self, more: impl Into<Sentence>) -> Self {
        for part in more.into().0 {
            match (self.0.last_mut(), part) {
                (_, Part::Text(more)) if more.is_empty() => {}
                (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
                (_, part) => self.0.push(part),
            }
        }
        self
    }

    /// The first time that it names, microseconds.
    pub(crate) fn first_us(&self) -> Option<u64> {
        self.0.iter().find_map(|part| if let Part::At(t_us) = part { Some(*t_us) } else { None })
    }

    /// Its text, with times as `clock` formats them.
    pub(crate) fn told(&self, clock: Clock) -> String {
        let told = |part: &Part| match part {
            Part::Text(text) => Cow::Owned(text.clone()),
            Part::At(t_us) => Cow::Owned(clock.moment(*t_us)),
        };
        self.0.iter().map(told).collect::<String>()
    }

    /// The same as a whole sentence: with a capital letter and a full stop.
    #[must_use]
    pub(crate) fn whole(mut self) -> Self {
        if let Some(Part::Text(text)) = self.0.first_mut() {
            let mut letters = text.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            *text = first + letters.as_str();
        }
        let ends = matches!(self.0.last(), Some(Part::Text(text)) if text.ends_with('.'));
        if ends { self } else { self.and(".") }
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Sentence(vec![Part::Text(text)])
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<At> for Sentence {
    fn from(At(t_us): At) -> Self {
        Sentence(vec![Part::At(t_us)])
    }
}

/// One formatted sentence. It derefs to its text.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Said {
    sentence: Sentence,
    text: String,
}

impl Said {
    pub(crate) fn of(sentence: Sentence, clock: Clock) -> Self {
        Said { text: sentence.told(clock), sentence }
    }

    /// The same with text before and after it.
    #[must_use]
    pub(crate) fn between(&self, before: &str, after: &str) -> Self {
        let sentence = sentence![before, self.sentence.clone(), after];
        Said { sentence, text: format!("{before}{}{after}", self.text) }
    }

    pub(crate) fn sentence(&self) -> &Sentence {
        &self.sentence
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
        Said { sentence: text.as_str().into(), text }
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
    fn times_are_parts_whatever_names_look_like() {
        let name = "a [[7]] for \u{2}9\u{3}, at 1.000 s";
        let sentence = sentence!["at ", At(8_503_000), format!(" {name} waited, since "), At(7)];
        assert_eq!(sentence.told(Clock::default()), format!("at 8.503 s {name} waited, since 0.000 s"));
        assert_eq!(sentence.first_us(), Some(8_503_000));
        let said = Said::of(sentence, Clock::default()).between("group 1: ", "; and so on");
        assert_eq!(&*said, format!("group 1: at 8.503 s {name} waited, since 0.000 s; and so on"));
        let parts = serde_json::to_value(said.sentence().clone().whole()).expect("JSON");
        let text = format!(" {name} waited, since ");
        assert_eq!(parts, serde_json::json!(["Group 1: at ", 8_503_000, text, 7, "; and so on."]));
    }
}
