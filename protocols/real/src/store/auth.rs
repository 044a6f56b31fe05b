//! Who is believed.

use super::{
    token::{KeyError, TokenKey},
    wire::Request,
};
use std::path::Path;

/// Who is believed.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Whoever shows a MAC made with this key.
    Key(TokenKey),
    /// Everybody: any client can brick a resource with a high token. Only for tests and experiments.
    Insecure,
}

impl Auth {
    /// From what an operator says: a key file, or that none is wanted.
    ///
    /// # Errors
    /// Neither, both, or a key that cannot be read or is too short; in one sentence.
    pub fn from_options(key: Option<&Path>, insecure: bool) -> Result<Self, KeyError> {
        match (key, insecure) {
            (Some(path), false) => TokenKey::read(path).map(Auth::Key),
            (None, true) => Ok(Auth::Insecure),
            (Some(_), true) => Err(KeyError::Unwanted),
            (None, false) => Err(KeyError::None),
        }
    }

    pub(super) fn vouches_for(&self, request: &Request) -> bool {
        match (self, request.authority()) {
            (Auth::Key(key), Some(by)) => key.verify(by.node, by.generation, by.token, by.mac),
            (Auth::Insecure, _) | (_, None) => true,
        }
    }
}
