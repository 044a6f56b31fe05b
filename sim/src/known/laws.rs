//! What is tried without a world: the limits of canaries, and laws of electors and of service members, drilled where
//! every step can be checked and a hundred elections take a tenth of a second. In a run, a broken law shows only if
//! somebody reads the damage, which takes a second takeover during the first.

use super::models;
use crate::{
    canary::{self, Above, Canary, ELECTIONS},
    service::cluster::core::drill as members,
};
use protocols::{
    copies,
    election::{kraft, raft_core, redlock, zk_election},
    sharding,
};
use reports::Judgement;
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
    ("shards", sharding::view::drill),
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

// Tries a canary's limits on a judgement with known figures: a limit that nothing exceeds would leave any world
// unchecked.

/// The first wrong conclusion of a canary, in one sentence.
pub(super) fn misjudged(judgement: &Judgement) -> Option<String> {
    let plain = || canary::breaks("", &[], |_, _| Err("".into()));
    let is = (ELECTIONS.of)(&judgement.metrics);
    let above = |than| Canary { above: Some(Above { than, ..ELECTIONS }), ..plain() };
    let at_most = |than| Canary { at_most: Some(Above { than, ..ELECTIONS }), ..plain() };
    let within = |least, most| plain().within(ELECTIONS, least, most);
    let safe = Canary { safe: true, ..plain() };
    let spoilt = judgement.violated().next().is_some();
    let with_cause = [
        ("above what it is", above(is), true),
        ("above less", above(is - 1.0), false),
        ("at most what it is", at_most(is), false),
        ("at most less", at_most(is - 1.0), true),
        ("what it is", within(is, is), false),
        ("less", within(is - 2.0, is - 1.0), true),
        ("more", within(is + 1.0, is + 2.0), true),
        ("anything in a safe run", safe, spoilt),
    ];
    let without = [
        ("not above what it is", above(is), false),
        ("not above less", above(is - 1.0), true),
        ("at most what it is", at_most(is), false),
        ("at most less", at_most(is - 1.0), true),
    ];
    let wrong = |canary: &Canary, fails: bool, without: bool| {
        let said = if without { canary.shown(judgement) } else { canary.missing(judgement) };
        said.is_some() != fails
    };
    let with_cause = with_cause.into_iter().map(|(what, canary, fails)| (what, wrong(&canary, fails, false)));
    let without = without.into_iter().map(|(what, canary, fails)| (what, wrong(&canary, fails, true)));
    let control = above(is - 1.0).wrong(judgement, judgement).is_none();
    let what = with_cause.chain(without).chain([("shown with its cause alone", control)]).find(|(_, wrong)| *wrong)?.0;
    Some(format!("a canary whose elections must be {what} takes it for the opposite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_holds() {
        assert_eq!(wrong().collect::<Vec<_>>(), []);
    }
}
