//! Finds the leader's writes in the bytes that a member sends to the store, and what the store answers.

mod postgres;
mod resp;
mod text;

use super::{audit::redis::Scripts, file::Store};
use crate::proxy::{Answer, Watch};

/// Watches a new connection to the store. There is none if the store is each member's own.
pub fn watch(store: &Store, scripts: &Scripts) -> Box<dyn Watch> {
    match store {
        Store::Postgres { table, .. } => Box::new(postgres::Frames::new(table)),
        Store::Redis { prefix, .. } => Box::new(resp::Commands::new(prefix, scripts.clone())),
        Store::Own { link: Some(link), .. } => Box::new(text::Texts::new(&link.write)),
        Store::Http { .. } | Store::Own { link: None, .. } => Box::new(Requests),
    }
}

/// Requests to the drill's own store, which says itself what it has refused.
struct Requests;

impl Watch for Requests {
    fn sent(&mut self, bytes: &[u8]) -> Option<usize> {
        bytes.starts_with(b"POST ").then_some(0)
    }

    fn answered(&mut self, _: &[u8]) -> Option<Answer> {
        None
    }
}
