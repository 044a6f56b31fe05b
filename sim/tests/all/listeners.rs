//! Listeners in a thread of their own hear what listeners beside the world hear.

use crate::common::named;
use protocols::history::{Event, Header, Kind};
use reports::invariant::{Class, Ending, Entry, Finding, Invariant, Kinds};
use sim::{
    error::Failed,
    recorder::KEPT_MAX,
    registry::Registry,
    run::{self, Options, Run},
};

fn listened(alone: bool) -> Run {
    let plan = named("gc-pause", "etcd-election", 42, false);
    run::run(&plan, Options { timeline: true, keep: KEPT_MAX, alone, ..Options::default() }).expect("it runs")
}

#[test]
fn a_thread_of_their_own_changes_nothing() {
    let (beside, own) = (listened(false), listened(true));
    assert_eq!(beside.trace_hash(), own.trace_hash());
    assert_eq!(beside.judgement, own.judgement);
    assert_eq!(beside.highlights.map(|told| told.cause), own.highlights.map(|told| told.cause));
    let (beside, own) = (beside.kept.expect("kept"), own.kept.expect("kept"));
    assert!(beside == own && beside.len() > 10_000, "{} and {} events", beside.len(), own.len());
    assert!(matches!(own.last(), Some(Event { kind: Kind::End { .. }, .. })), "the last are lost");
}

/// Panics at the first election.
static PANICS: Entry = Entry {
    name: "panics",
    about: "Panics.",
    class: Class::Safety,
    only_defects: false,
    new: |_: Option<&Header>| Box::new(Panics),
};

struct Panics;

impl Invariant for Panics {
    fn wants(&self) -> Kinds {
        Kinds::ELECTED
    }

    fn observe(&mut self, event: &Event) {
        panic!("an election at {} us", event.t_us);
    }

    fn finish(&mut self, _: &Ending) -> Finding {
        Finding { holds: true, could_fail: true, detail: "".into() }
    }
}

#[test]
fn a_panic_of_theirs_is_that_of_the_run() {
    let plan = named("gc-pause", "etcd-election", 42, true);
    let failed = |alone| {
        let registry = Registry::default().with_invariant(&PANICS).expect("a new name");
        run::run(&plan, Options { registry, alone, ..Options::default() }).err()
    };
    let (beside, own) = (failed(false), failed(true));
    assert!(matches!(&own, Some(Failed::Panicked(why)) if why.starts_with("an election at ")), "{own:?}");
    assert_eq!(beside, own);
}
