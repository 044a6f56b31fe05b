//! Laws of electors and of service members, drilled without a world, where every step can be checked and a hundred
//! elections take a tenth of a second. In a run, a broken law shows only if somebody reads the damage, which takes a
//! second takeover during the first.

use super::models;
use crate::service::cluster::core::drill as members;
use protocols::{
    copies,
    election::{kraft, raft_core, redlock, zk_election},
    sharding,
};
use std::{
    any::Any,
    sync::OnceLock,
    thread::{self, JoinHandle},
};

/// A name, and a function that panics if the law is broken.
type Law = (&'static str, fn());

const ALL: [Law; 8] = [
    ("raft-core", raft_core::drill::drill),
    ("kraft", kraft::drill::drill),
    ("redlock", redlock::drill::drill),
    ("zk-election", zk_election::drill::drill),
    ("members of a service", members::drill),
    ("copies", copies::drill::drill),
    ("shards", sharding::drill::drill),
    ("models of services", models::drill),
];

/// The broken laws, and why. Drilled once per process, since the answer never changes.
pub(super) fn wrong() -> impl Iterator<Item = (String, String)> {
    static WRONG: OnceLock<Vec<(String, String)>> = OnceLock::new();
    WRONG.get_or_init(drilled).iter().cloned()
}

fn drilled() -> Vec<(String, String)> {
    let begin = |(name, law): Law| (name, thread::Builder::new().name(format!("law of {name}")).spawn(law));
    let under_way: Vec<_> = ALL.into_iter().map(begin).collect();
    let ended = |(name, thread): (&str, std::io::Result<JoinHandle<()>>)| {
        let why = match thread {
            Err(error) => format!("it cannot be drilled: {error}"),
            Ok(thread) => said(&*thread.join().err()?),
        };
        Some((format!("law: {name}"), why))
    };
    under_way.into_iter().filter_map(ended).collect()
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it broke off").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_holds() {
        assert_eq!(wrong().collect::<Vec<_>>(), []);
    }
}
