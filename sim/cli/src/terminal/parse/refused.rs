//! Why arguments on the command line were refused.

use scenarios::{suggest::Unknown, units::Unread};

/// An argument that cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Unread(#[from] Unread),
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error("the range of seeds `{0}` is empty")]
    NoSeeds(String),
    #[error("there is an empty name in `{0}`")]
    NoName(String),
    #[error("{option}: {why}")]
    Of { option: &'static str, why: Box<Refused> },
}
