//! Which of the ledger's checks are made: all of them, none, or one alone, to show what each is for.
//!
//! In JSON a bool where it can be, as it always was: `true` is all of them, `false` none; otherwise the word of the only one.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// What the store checks before it accepts a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fencing {
    /// Everything: token and owner, order, and what it has applied before.
    #[default]
    On,
    /// Nothing: it accepts anything.
    Off,
    /// Only that the token is the newest and its owner's.
    Token,
    /// Only that a write's number is the next.
    Order,
    /// Only whether the request was applied before.
    Memory,
}

/// The checks, one by one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Checks {
    /// The token is the newest that was sealed, and the writer is who sealed it.
    pub token: bool,
    /// The number is the last one's successor.
    pub order: bool,
    /// A request that was applied is answered from memory.
    pub memory: bool,
}

impl Checks {
    /// None of them.
    pub const NONE: Checks = Checks { token: false, order: false, memory: false };

    /// Is there any?
    pub const fn any(self) -> bool {
        self.token || self.order || self.memory
    }
}

impl Fencing {
    /// Every choice there is.
    pub const ALL: [Fencing; 5] = [Fencing::On, Fencing::Off, Fencing::Token, Fencing::Order, Fencing::Memory];

    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Fencing::On => "on",
            Fencing::Off => "off",
            Fencing::Token => "token",
            Fencing::Order => "order",
            Fencing::Memory => "memory",
        }
    }

    /// The choice of that word.
    pub fn find(word: &str) -> Option<Fencing> {
        Fencing::ALL.into_iter().find(|fencing| fencing.word() == word)
    }

    /// What is checked.
    pub const fn checks(self) -> Checks {
        match self {
            Fencing::On => Checks { token: true, order: true, memory: true },
            Fencing::Off => Checks::NONE,
            Fencing::Token => Checks { token: true, ..Checks::NONE },
            Fencing::Order => Checks { order: true, ..Checks::NONE },
            Fencing::Memory => Checks { memory: true, ..Checks::NONE },
        }
    }
}

impl From<bool> for Fencing {
    fn from(on: bool) -> Fencing {
        if on { Fencing::On } else { Fencing::Off }
    }
}

impl From<bool> for Checks {
    fn from(on: bool) -> Checks {
        Fencing::from(on).checks()
    }
}

impl From<Fencing> for Checks {
    fn from(fencing: Fencing) -> Checks {
        fencing.checks()
    }
}

impl Serialize for Fencing {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Fencing::On => to.serialize_bool(true),
            Fencing::Off => to.serialize_bool(false),
            only => to.serialize_str(only.word()),
        }
    }
}

impl<'de> Deserialize<'de> for Fencing {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fencing, D::Error> {
        struct Words;
        impl serde::de::Visitor<'_> for Words {
            type Value = Fencing;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("true, false, \"token\", \"order\" or \"memory\"")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<Fencing, E> {
                Ok(on.into())
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<Fencing, E> {
                let only = Fencing::find(word).filter(|fencing| !matches!(fencing, Fencing::On | Fencing::Off));
                only.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
            }
        }
        from.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_and_off_are_bools_in_json_and_the_others_words() {
        for (fencing, json) in Fencing::ALL.into_iter().zip(["true", "false", "\"token\"", "\"order\"", "\"memory\""]) {
            assert_eq!(serde_json::to_string(&fencing).ok().as_deref(), Some(json));
            assert_eq!(serde_json::from_str::<Fencing>(json).ok(), Some(fencing));
            assert_eq!(Fencing::find(fencing.word()), Some(fencing));
        }
        for wrong in ["\"on\"", "\"tokens\"", "1", "null"] {
            assert!(serde_json::from_str::<Fencing>(wrong).is_err(), "{wrong}");
        }
    }
}
