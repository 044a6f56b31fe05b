//! Why words on the command line were refused.

use scenarios::{suggest::Unknown, units::Unread};

/// Words that do not mean what they should.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// A word is not what it is taken for.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// There is nothing of that name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// This range of seeds has none.
    #[error("the range of seeds `{0}` is empty")]
    NoSeeds(String),
    /// A name in this list is empty.
    #[error("there is an empty name in `{0}`")]
    NoName(String),
    /// The value of an option.
    #[error("{option}: {why}")]
    Of {
        /// The option.
        option: &'static str,
        /// What is wrong with it.
        why: Box<Refused>,
    },
}
