//! Laws that hold among electors and among members of a service, whatever befalls them: they are drilled without a world,
//! where every step can be looked at, and a hundred elections take a tenth of a second. In a run a broken law shows only when
//! somebody reads what it spoilt, which takes a second takeover in the middle of the first.

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

/// A name, and what panics when the law does not hold.
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

/// Those that do not hold, and why. They are drilled once in a process: the answer is the same every time.
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
