//! Which of the ledger's checks are made: all of them, none, or one alone, to show what each is for.
//!
//! In JSON a bool where it can be, as it always was: `true` is all of them, `false` none; otherwise the word of the only one.

use crate::{
    bug::{Bug, Bugs, Shown},
    types::Operation,
};
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
    /// A row is written by a higher token than it was written by before, whatever tokens the resource has seen:
    /// [`super::rows`].
    pub rows: bool,
    /// How tokens are compared.
    pub rules: Rules,
}

/// How tokens are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// A seal fences off what is older; otherwise the first write does.
    pub seal: bool,
    /// The newest token's owner goes on writing with it; otherwise every write has to have a higher one.
    pub again: bool,
    /// A token has one owner: node and generation.
    pub owner: bool,
    /// A token is authenticated: nothing counts that nobody handed out.
    pub authentic: bool,
    /// What makes a plan live is fenced as what records something is.
    pub enactments: bool,
    /// What deletes plans is.
    pub deletions: bool,
    /// The fence is the write's name, which exists once it was written; old names are collected.
    pub collected: bool,
}

/// A token that nobody handed out. Tokens carry no authenticator in the simulation: this one stands for all that a store which
/// looks at one would refuse.
pub const FORGED: u64 = u64::MAX;

/// The second fencing rule broken: the successor reads, and an old write under way lands behind its back.
pub const READ_BEFORE_SEAL: Bug = Bug {
    id: "ledger-read-before-seal",
    protocols: &[],
    what: "A new leader reads the resource's state without sealing it first: older writes are refused only from its \
           first write on.",
    source: "derived: a new leader has to seal a resource before it reads what it goes on from",
    violation: "no_stale_write",
    shown: Shown::by("gc-pause", "redis-fenced", 12),
};

/// The first rule broken one way: `incoming <= highest` is refused, over bare integers.
pub const EQUAL_REFUSED: Bug = Bug {
    id: "ledger-equal-refused",
    protocols: &[],
    what: "The resource compares bare integers and refuses a token that is not higher than the last: the rightful leader \
           cannot write a second time.",
    source: "derived from a common way to write the rule down: reject if incoming_token <= max_token",
    violation: "liveness",
    shown: Shown::by("steady", "etcd-election", 1),
};

/// The same rule broken the other way: `incoming < highest` is refused, and whose the token is does not matter.
pub const NO_OWNER: Bug = Bug {
    id: "ledger-no-owner",
    protocols: &[],
    what: "The resource compares bare integers and lets in any token as high as the last: two owners of one token write.",
    source: "derived: a token belongs to one owner, and the resource has to compare both",
    violation: "tokens_monotone",
    shown: Shown::by("lost-lease", "k8s-lease", 12),
};

/// The third rule broken: fences are per resource.
pub const ONE_SEALED: Bug = Bug {
    id: "ledger-one-sealed",
    protocols: &[],
    what: "A new leader seals only the first of its resources, and leaves the others as they are.",
    source: "derived: a fence protects one resource, and each needs its own",
    violation: "no_stale_write",
    shown: Shown::by("gc-pause", "redis-fenced", 24).with("--rate 2"),
};

/// The fourth rule broken: whoever reaches the resource can brick it.
pub const FORGED_TOKEN: Bug = Bug {
    id: "ledger-forged-token",
    protocols: &[],
    what: "Tokens are not authenticated: a made-up one, higher than all others, is accepted, and no leader is let in \
           any more.",
    source: "derived: whoever can make a token up can lock everybody out; Chubby's sequencers can be checked (Burrows 2006)",
    violation: "liveness",
    shown: Shown::by("adversary-forged-token", "redis-fenced", 1),
};

/// The fifth rule broken: a retry has nothing by which it could be told from a new request.
pub const RETRY_WITHOUT_ID: Bug = Bug {
    id: "ledger-retry-without-id",
    protocols: &[],
    what: "A retry after an unknown outcome carries no request id, and is applied a second time.",
    source: "derived: a token does not tell a retry from a new request, and the request needs an id",
    violation: "one_number",
    shown: Shown::by("store-restart", "redis-fenced", 12),
};

/// Whoever fences writes has not fenced deletions yet.
pub const DELETIONS_UNFENCED: Bug = Bug {
    id: "ledger-deletions-unfenced",
    protocols: &[],
    what: "The resource refuses a former leader's writes but carries out its deletions: a clean-up that was under way when \
           leadership changed deletes what the successor has made.",
    source: "temporalio/temporal pull request 12016: a clean-up of a predecessor deletes a range in which its successor has \
             written since, though the predecessor's writes are refused",
    violation: "no_stale_deletion",
    shown: Shown::by("stale-enactor", "redis-fenced", 16),
};

/// The other way round: the clean-up is fenced, and what makes a plan live is not.
pub const ENACTMENTS_UNFENCED: Bug = Bug {
    id: "ledger-enactments-unfenced",
    protocols: &[],
    what: "The resource lets anybody make a plan live, and refuses only clean-ups of former leaders: a delayed leader \
           puts its old plan in place of a newer one, and the rightful leader's clean-up has deleted that old plan, or \
           will.",
    source: "AWS, summary of the DynamoDB disruption in us-east-1 on 19 and 20 October 2025: a delayed DNS Enactor overwrote a \
             newer plan with its old one, and the clean-up of another deleted that",
    violation: "no_stale_deletion",
    shown: Shown::by("stale-enactor", "redis-fenced", 16),
};

/// How many names of writes are kept, the newest, by a resource whose old ones are collected.
pub const NAMES_KEPT: u64 = 100;

/// A fence that is collected with the garbage.
pub const NAMES_COLLECTED: Bug = Bug {
    id: "ledger-put-if-absent-collected",
    protocols: &[],
    what: "The only fence is that a write is put under its number if that name is absent, and a collector deletes all names but the \
           newest 100: a former leader whose name was collected meanwhile puts its write, and is told that it was accepted.",
    source: "slatedb/slatedb issues 352 and 1622, fixed by pull request 1672, which keeps fences for ever; lance-format/lance pull \
             request 6432 has the same fence, and 6699 the warning",
    violation: "no_stale_write",
    shown: Shown::by("gc-pause", "redis-fenced", 8).with("--pause 10s"),
};

impl Rules {
    /// The rules as they should be.
    pub const ALL: Rules = Rules {
        seal: true,
        again: true,
        owner: true,
        authentic: true,
        enactments: true,
        deletions: true,
        collected: false,
    };

    /// Is an operation of a former leader refused?
    #[inline]
    pub const fn fences(self, operation: Operation) -> bool {
        match operation {
            Operation::Enact => self.enactments,
            Operation::Delete => self.deletions,
            _ => true,
        }
    }

    /// Was the name of a former leader's write collected, where the last write has this number? Then the name is absent.
    #[inline]
    pub const fn forgot(self, seq: u64, last: u64) -> bool {
        self.collected && seq.saturating_add(NAMES_KEPT) <= last
    }
}

impl Checks {
    /// None of them.
    pub const NONE: Checks = Checks { token: false, order: false, memory: false, rows: false, rules: Rules::ALL };

    /// The same for the resource at a place among a leader's, as far as the bugs that are switched on leave it alone.
    pub fn but_for(self, bugs: &Bugs, place: usize) -> Checks {
        let unsealed = bugs.has(&READ_BEFORE_SEAL) || (place > 0 && bugs.has(&ONE_SEALED));
        let [again, owner, authentic] = [&EQUAL_REFUSED, &NO_OWNER, &FORGED_TOKEN].map(|bug| !bugs.has(bug));
        let [enactments, deletions] = [&ENACTMENTS_UNFENCED, &DELETIONS_UNFENCED].map(|bug| !bugs.has(bug));
        let collected = bugs.has(&NAMES_COLLECTED);
        let rules = Rules { seal: !unsealed, again, owner, authentic, enactments, deletions, collected };
        Checks { memory: self.memory && !bugs.has(&RETRY_WITHOUT_ID), rules, ..self }
    }

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
            Fencing::On => Checks { token: true, order: true, memory: true, ..Checks::NONE },
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
