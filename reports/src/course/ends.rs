//! Why beliefs and grants end, as data and in a few words.

use protocols::{elector::Deposed, history::GrantEnd};
use serde::{Serialize, Serializer, ser::SerializeTuple};

/// Why a belief ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Deposed(Deposed),
    /// With its process.
    Died,
    /// Its node was elected again.
    Anew,
    /// A log shows that it ended, not when.
    Unsaid,
}

impl Ended {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Ended::Deposed(reason) => reason.name(),
            Ended::Died => "its process ended",
            Ended::Anew => "elected anew",
            Ended::Unsaid => "the log does not say when",
        }
    }
}

impl Serialize for Ended {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.words())
    }
}

/// Why a grant ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GrantEnded(pub(crate) GrantEnd);

impl GrantEnded {
    pub(crate) const fn words(self) -> &'static str {
        match self.0 {
            GrantEnd::Expired => "it expired",
            GrantEnd::Released => "its holder released it",
            GrantEnd::Taken => "it was taken away",
            GrantEnd::Lost => "the service lost it",
        }
    }
}

impl Serialize for GrantEnded {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.words())
    }
}

/// When and why a belief had become wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outlived {
    pub(crate) t: u64,
    pub(crate) why: Grounds,
}

/// What a wrong belief lacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grounds {
    /// Another had been elected.
    Replaced,
    /// A newer one had been elected before.
    Late,
    Grant(GrantEnded),
    NeverGranted,
}

/// The time, the words, and a word for scripts.
impl Serialize for Outlived {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (words, kind) = match self.why {
            Grounds::Replaced => ("another was elected".to_owned(), "replaced"),
            Grounds::Late => ("a newer one had been elected".to_owned(), "replaced"),
            Grounds::Grant(ended) => (format!("its grant had ended: {}", ended.words()), "grant"),
            Grounds::NeverGranted => ("the service never granted it".to_owned(), "never"),
        };
        let mut parts = to.serialize_tuple(3)?;
        parts.serialize_element(&self.t)?;
        parts.serialize_element(&words)?;
        parts.serialize_element(kind)?;
        parts.end()
    }
}
