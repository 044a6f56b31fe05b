//! Which of its checks a resource makes: the ledger's, of which an ablated one makes none, or a single one to show its
//! purpose, or all; and those before an invoice is charged a second time.
//!
//! In JSON a bool where possible, for compatibility: `true` for all, `false` for none; otherwise the name of the single
//! check.

use crate::{
    bug::{Bug, Bugs, Shown},
    types::Operation,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The store's checks before it accepts a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fencing {
    /// All: token and owner, order, and earlier requests.
    #[default]
    On,
    /// None: it accepts anything.
    Off,
    /// Only that the token is the newest, and the writer its owner.
    Token,
    /// Only that a write's number is the next one.
    Order,
    /// Only whether the request was already applied.
    Memory,
}

/// The individual checks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Checks {
    /// The token must be the newest sealed one, and the writer the one that sealed it.
    pub token: bool,
    /// The number must be the last one's successor.
    pub order: bool,
    /// A request that was already applied is answered from memory.
    pub memory: bool,
    /// A row's token must be higher than the one it was last written with, whatever tokens the resource has seen:
    /// [`super::rows`].
    pub rows: bool,
    pub rules: Rules,
}

/// How tokens are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// A seal fences off older tokens; otherwise the first write does.
    pub seal: bool,
    /// The newest token's owner may write with it again; otherwise every write needs a higher one.
    pub again: bool,
    /// A token has one owner: node and generation.
    pub owner: bool,
    /// Tokens are authenticated: one that was never granted is void.
    pub authentic: bool,
    /// Operations that enact a plan are fenced like those that record.
    pub enactments: bool,
    /// Operations that delete plans are fenced.
    pub deletions: bool,
    /// The fence is the write's name, which exists once it was written; old names are garbage-collected.
    pub collected: bool,
}

/// A token that was never granted. Tokens carry no authenticator in the simulation: this one stands for all that an
/// authenticating store would refuse.
pub const FORGED: u64 = u64::MAX;

/// Violates the second fencing rule: the successor reads, and then an old write under way lands unnoticed.
pub const READ_BEFORE_SEAL: Bug = Bug {
    id: "ledger-read-before-seal",
    protocols: &[],
    what: "A new leader reads the resource's state without sealing it first: older writes are refused only from its \
           first write on.",
    source: "derived: a new leader has to seal a resource before it reads what it goes on from",
    violation: "no_stale_write",
    shown: Shown::by("gc-pause", "redis-fenced", 12),
};

/// Violates the first rule in one way: refuses `incoming <= highest`, comparing bare integers.
pub const EQUAL_REFUSED: Bug = Bug {
    id: "ledger-equal-refused",
    protocols: &[],
    what: "The resource compares bare integers and refuses a token that is not higher than the last: the rightful leader \
           cannot write a second time.",
    source: "derived from a common way to write the rule down: reject if incoming_token <= max_token",
    violation: "liveness",
    shown: Shown::by("steady", "etcd-election", 1),
};

/// Violates the first rule in the other way: refuses only `incoming < highest`, whoever owns the token.
pub const NO_OWNER: Bug = Bug {
    id: "ledger-no-owner",
    protocols: &[],
    what: "The resource compares bare integers and lets in any token as high as the last: two owners of one token write.",
    source: "derived: a token belongs to one owner, and the resource has to compare both",
    violation: "tokens_monotone",
    shown: Shown::by("lost-lease", "k8s-lease", 12),
};

/// Violates the third rule: each resource needs its own fence.
pub const ONE_SEALED: Bug = Bug {
    id: "ledger-one-sealed",
    protocols: &[],
    what: "A new leader seals only the first of its resources, and leaves the others as they are.",
    source: "derived: a fence protects one resource, and each needs its own",
    violation: "no_stale_write",
    shown: Shown::by("gc-pause", "redis-fenced", 24).with("--rate 2"),
};

/// Violates the fourth rule: anybody who reaches the resource can block it.
pub const FORGED_TOKEN: Bug = Bug {
    id: "ledger-forged-token",
    protocols: &[],
    what: "Tokens are not authenticated: a made-up one, higher than all others, is accepted, and no leader is let in \
           any more.",
    source: "derived: whoever can make a token up can lock everybody out; Chubby's sequencers can be checked (Burrows 2006)",
    violation: "liveness",
    shown: Shown::by("adversary-forged-token", "redis-fenced", 1),
};

/// Violates the fifth rule: a retry cannot be told from a new request.
pub const RETRY_WITHOUT_ID: Bug = Bug {
    id: "ledger-retry-without-id",
    protocols: &[],
    what: "A retry after an unknown outcome carries no request id, and is applied a second time.",
    source: "derived: a token does not tell a retry from a new request, and the request needs an id",
    violation: "one_number",
    shown: Shown::by("store-restart", "redis-fenced", 12),
};

/// Writes are fenced, but deletions are not.
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

/// The reverse: the clean-up is fenced, but enacting a plan is not.
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

/// How many of the newest names of writes are kept where old ones are garbage-collected.
pub const NAMES_KEPT: u64 = 100;

/// A fence that is garbage-collected.
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
    /// All rules on.
    pub const ALL: Rules = Rules {
        seal: true,
        again: true,
        owner: true,
        authentic: true,
        enactments: true,
        deletions: true,
        collected: false,
    };

    /// Whether an operation of a former leader is refused.
    #[inline]
    pub const fn fences(self, operation: Operation) -> bool {
        match operation {
            Operation::Enact => self.enactments,
            Operation::Delete => self.deletions,
            _ => true,
        }
    }

    /// Whether the name of a former leader's write `seq` has been collected, so that it counts as absent; `last` is the
    /// last write's number.
    #[inline]
    pub const fn forgot(self, seq: u64, last: u64) -> bool {
        self.collected && seq.saturating_add(NAMES_KEPT) <= last
    }
}

impl Checks {
    /// No checks.
    pub const NONE: Checks = Checks { token: false, order: false, memory: false, rows: false, rules: Rules::ALL };

    /// These checks for the resource at index `place` of a leader's, as weakened by the bugs that are switched on.
    pub fn but_for(self, bugs: &Bugs, place: usize) -> Checks {
        let unsealed = bugs.has(&READ_BEFORE_SEAL) || (place > 0 && bugs.has(&ONE_SEALED));
        let [again, owner, authentic] = [&EQUAL_REFUSED, &NO_OWNER, &FORGED_TOKEN].map(|bug| !bugs.has(bug));
        let [enactments, deletions] = [&ENACTMENTS_UNFENCED, &DELETIONS_UNFENCED].map(|bug| !bugs.has(bug));
        let collected = bugs.has(&NAMES_COLLECTED);
        let rules = Rules { seal: !unsealed, again, owner, authentic, enactments, deletions, collected };
        Checks { memory: self.memory && !bugs.has(&RETRY_WITHOUT_ID), rules, ..self }
    }

    /// Whether they are those of the ledger that production runs, and no others.
    pub fn are_whole(&self) -> bool {
        *self == Fencing::On.checks()
    }

    /// Whether tokens, order or earlier requests are checked.
    pub const fn any(self) -> bool {
        self.token || self.order || self.memory
    }
}

impl Fencing {
    pub const ALL: [Fencing; 5] = [Fencing::On, Fencing::Off, Fencing::Token, Fencing::Order, Fencing::Memory];

    /// Its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Fencing::On => "on",
            Fencing::Off => "off",
            Fencing::Token => "token",
            Fencing::Order => "order",
            Fencing::Memory => "memory",
        }
    }

    /// The choice with that name.
    pub fn find(word: &str) -> Option<Fencing> {
        Fencing::ALL.into_iter().find(|fencing| fencing.word() == word)
    }

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

// What is checked before an invoice is charged a second time: nothing, its row as in the article, the leader's token,
// or the invoice itself. The payment side and the table of invoices are two resources, without a common transaction.
//
// The store's usual checks are [`ChargeCheck::SealedId`]; `--fencing off` is [`ChargeCheck::None`].

/// What the payment side and the table of invoices check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChargeCheck {
    None,
    /// Each row must be completed with a higher token than before ([`super::rows`]); the payment side checks nothing.
    Row,
    /// Both are sealed, and refuse a former leader's token. Two charges of one invoice are separate requests.
    Sealed,
    /// A charge carries its invoice's id, by which the payment side recognises repetitions. Neither side checks tokens.
    Id,
    /// Sealed, and with ids.
    SealedId,
}

impl ChargeCheck {
    pub const ALL: [ChargeCheck; 5] =
        [ChargeCheck::None, ChargeCheck::Row, ChargeCheck::Sealed, ChargeCheck::Id, ChargeCheck::SealedId];

    /// Its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            ChargeCheck::None => "none",
            ChargeCheck::Row => "row",
            ChargeCheck::Sealed => "sealed",
            ChargeCheck::Id => "id",
            ChargeCheck::SealedId => "sealed-id",
        }
    }

    /// Its description in reports.
    pub const fn about(self) -> &'static str {
        match self {
            ChargeCheck::None => "none",
            ChargeCheck::Row => "row by row: processed_by_token < the leader's",
            ChargeCheck::Sealed => "payments and table sealed by the leader's token",
            ChargeCheck::Id => "the invoice's id at the payment side",
            ChargeCheck::SealedId => "sealed, and the invoice's id at the payment side",
        }
    }

    /// The choice with that name.
    pub fn find(word: &str) -> Option<ChargeCheck> {
        ChargeCheck::ALL.into_iter().find(|check| check.word() == word)
    }

    /// Whether a charge carries its invoice's id.
    pub const fn is_keyed(self) -> bool {
        matches!(self, ChargeCheck::Id | ChargeCheck::SealedId)
    }

    /// The checks of the payment side.
    pub const fn payments(self) -> Checks {
        match self {
            ChargeCheck::None | ChargeCheck::Row => Checks::NONE,
            ChargeCheck::Sealed => Checks { token: true, order: true, ..Checks::NONE },
            ChargeCheck::Id => Fencing::Memory.checks(),
            ChargeCheck::SealedId => Fencing::On.checks(),
        }
    }

    /// The checks of the table of invoices.
    pub const fn table(self) -> Checks {
        match self {
            ChargeCheck::None | ChargeCheck::Id => Checks::NONE,
            ChargeCheck::Row => Checks { rows: true, ..Checks::NONE },
            ChargeCheck::Sealed | ChargeCheck::SealedId => Fencing::On.checks(),
        }
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
