//! Which clients the store trusts.

use super::{
    token::{KeyError, TokenKey},
    wire::Request,
};
use std::path::Path;

/// Which clients the store trusts.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Those with a MAC made with this key.
    Key(TokenKey),
    /// All: any client can block a resource for good with a high token. Only for tests and experiments.
    Insecure,
}

impl Auth {
    /// From the operator's options: a key file, or none wanted.
    ///
    /// # Errors
    /// Neither or both are given, or the key is unreadable or too short; as one sentence.
    pub fn from_options(key: Option<&Path>, insecure: bool) -> Result<Self, KeyError> {
        match (key, insecure) {
            (Some(path), false) => TokenKey::read(path).map(Auth::Key),
            (None, true) => Ok(Auth::Insecure),
            (Some(_), true) => Err(KeyError::Unwanted),
            (None, false) => Err(KeyError::None),
        }
    }

    pub(super) fn vouches_for(&self, request: &Request) -> bool {
        match self {
            Auth::Key(key) => key.verify(request),
            Auth::Insecure => true,
        }
    }
}
