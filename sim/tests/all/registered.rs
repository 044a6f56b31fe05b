//! A work and an invariant from another crate: a plan names the one, and the other judges every run.

use protocols::{
    core::TimerId,
    election,
    history::{Event, Header, Kind as What},
    types::Payload,
    work::{self, Context, Work},
};
use reports::{
    Verdict,
    invariant::{Class, Ending, Entry, Finding, Invariant, Kinds},
};
use scenarios::{Params, Plan, scenario};
use sim::{
    registry::{NotAdded, Registry},
    run::{self, Options},
};

/// Reports at every tick which cache entries are stale.
static INVALIDATOR: work::Kind = work::Kind {
    name: "search-index",
    about: "Says at every tick which cache entries are stale.",
    resources: &["invalidations"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Invalidator::default()),
};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Invalidator {
    written: u32,
}

impl Work for Invalidator {
    fn start(&mut self, at: &mut Context) {
        at.set_timer(0, at.now.mono + at.period);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        if at.may_act() && at.outbox(0).is_empty() {
            self.written += 1;
            let stale = Payload::after(at.outbox(0).payload(), at.now.wall);
            at.write(0, at.own_request(self.written), Some(stale));
        }
        at.set_timer(0, at.now.mono + at.period);
    }
}

/// Leadership never changes.
static ONE_REIGN: Entry = Entry {
    name: "one_reign",
    about: "Leadership never changes.",
    class: Class::Safety,
    only_defects: false,
    new: |_: Option<&Header>| Box::new(OneReign::default()),
};

#[derive(Default)]
struct OneReign {
    elections: u64,
}

impl Invariant for OneReign {
    fn wants(&self) -> Kinds {
        Kinds::ELECTED
    }

    fn observe(&mut self, event: &Event) {
        self.elections += u64::from(matches!(event.kind, What::Elected(_)));
    }

    fn finish(&mut self, _: &Ending) -> Finding {
        let detail = format!("{} elections", self.elections);
        Finding { holds: self.elections < 2, could_fail: self.elections > 0, detail: detail.into() }
    }
}

fn registry() -> Registry {
    let all = Registry::default().with_work(&INVALIDATOR).and_then(|all| all.with_invariant(&ONE_REIGN));
    all.expect("nothing else has these names")
}

fn plan(story: &str) -> Plan {
    let works = vec![work::find("sequencer").expect("a work"), &INVALIDATOR];
    let params = Params { works, rate: 20, ..Params::default() };
    let protocol = election::find("etcd-election").expect("a protocol");
    scenario::find(story).expect("a scenario").compile(&params, protocol, 7).expect("the parameters make sense")
}

#[test]
fn a_plan_names_a_work_of_ones_own_and_its_writes_are_judged() {
    let plan = plan("steady");
    let registry = registry();
    assert_eq!(registry.plans.read(&plan.to_json_pretty()).as_ref(), Ok(&plan));
    let why = Plan::from_json(&plan.to_json_pretty()).expect_err("Fencepost has no such work").to_string();
    assert!(why.starts_with("works: there is no work `search-index`; there are `sequencer`"), "{why}");
    let run = run::run(&plan, Options { registry, ..Options::default() }).expect("it runs");
    assert_eq!(run.judgement.verdict, Verdict::Pass, "{:?}", run.judgement.invariants);
    assert_eq!(run.header.resources, ["sequence", "invalidations"]);
    let records = run.judgement.invariant("records").expect("it is judged");
    assert!(records.could_fail && records.holds, "{}", records.detail);
}

#[test]
fn every_run_is_judged_by_an_invariant_of_ones_own() {
    let judged = |story| {
        let run = run::run(&plan(story), Options { registry: registry(), ..Options::default() }).expect("it runs");
        let last = run.judgement.invariants.last().expect("ours, and that").clone();
        (run.judgement.verdict, last.name, last.holds)
    };
    assert_eq!(judged("steady"), (Verdict::Pass, "one_reign", true));
    assert_eq!(judged("gc-pause"), (Verdict::Safety, "one_reign", false));
}

#[test]
fn no_name_comes_twice() {
    static AGAIN: work::Kind = work::Kind { name: "scheduler", ..work::scheduler::WORK };
    static RECORDS: Entry = Entry {
        name: "records",
        about: "",
        class: Class::Safety,
        only_defects: false,
        new: |_: Option<&Header>| Box::new(OneReign::default()),
    };
    let why = |refused: Result<Registry, NotAdded>| refused.err().map_or(String::new(), |why| why.to_string());
    assert_eq!(why(Registry::default().with_work(&AGAIN)), "there are two works `scheduler`");
    assert_eq!(why(Registry::default().with_invariant(&RECORDS)), "there are two invariants `records`");
}
