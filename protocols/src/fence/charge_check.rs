//! What is checked before an invoice is charged a second time: nothing, its row as in the article, the leader's token,
//! or the invoice itself. The payment side and the table of invoices are two resources, without a common transaction.
//!
//! The store's usual checks are [`ChargeCheck::SealedId`]; `--fencing off` is [`ChargeCheck::None`].

use super::checks::{Checks, Fencing};
use serde::{Deserialize, Serialize};

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
