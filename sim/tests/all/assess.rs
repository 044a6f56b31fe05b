//! What a protocol's timers say of pauses and cuts holds in the simulated world; where they say nothing, nothing is
//! called safe.

use protocols::{election, fence::checks::Fencing};
use scenarios::{Params, clearance};
use sim::{
    assess::{Answer, Case, Event, Hazards, Why},
    registry::Registry,
};

/// Seeds per protocol.
const SEEDS: u64 = 6;
/// Seeds per protocol at its own lease, which may be up to a minute.
const SEEDS_OF_DEFAULTS: u64 = 3;

fn params(protocol: &election::Protocol) -> Params {
    // client-go uses whole seconds; the others get the shortest usual lease.
    let ttl_ms = if protocol.name == "k8s-lease" { 15_000 } else { 3_000 };
    let ttl_ms = protocol.election_timeout.is_none().then_some(ttl_ms);
    Params { lease_ttl_ms: ttl_ms, rate: 100, ..Params::default() }
}

/// The protocol's own lease.
fn defaults(protocol: &election::Protocol) -> Params {
    let ttl_ms = protocol.election_timeout.is_none().then_some(protocol.default_lease_ttl / 1_000_000);
    Params { lease_ttl_ms: ttl_ms, rate: 20, ..Params::default() }
}

#[test]
fn nobody_takes_over_within_what_the_timers_exclude_and_somebody_does_beyond() {
    let registry = Registry::default();
    let (mut pauses, mut cuts) = (0, 0);
    let settings = election::ALL
        .into_iter()
        .flat_map(|protocol| [(protocol, params(protocol), SEEDS), (protocol, defaults(protocol), SEEDS_OF_DEFAULTS)]);
    for (protocol, params, seeds) in settings {
        let clear = clearance::of(&params, protocol);
        let runs = |hazards| {
            let case = Case { registry: &registry, protocol, params: &params, hazards, jobs: 2 };
            case.several(Fencing::Off, seeds).expect("the runs")
        };
        let pause = |ms: f64| runs(Hazards { pause_ms: Some(ms as u64), ..Hazards::default() });
        let cut = |ms: f64| runs(Hazards { cut_ms: Some(ms as u64), ..Hazards::default() });
        if let Some(ms) = clear.pause_ms.filter(|ms| *ms >= 1.0) {
            pauses += 1;
            let within = pause(ms);
            assert!(within.iter().all(|run| run.struck && !run.took_over()), "{} {ms} ms: {within:#?}", protocol.name);
            // A silent client's lease is at risk before it ends, and surely lost afterwards.
            let lasts_ms = ms.max(params.granted_ttl_ms(protocol) as f64);
            let longer = lasts_ms + params.takeover_max_ms(protocol) as f64 + 2_000.0;
            let beyond = pause(longer);
            assert!(beyond.iter().any(|run| run.took_over()), "{} {longer} ms", protocol.name);
        }
        if let Some(ms) = clear.cut_ms.filter(|ms| *ms >= 1.0) {
            cuts += 1;
            let within = cut(ms);
            assert!(
                within.iter().all(|run| run.struck && !run.took_over()),
                "{} cut {ms} ms: {within:#?}",
                protocol.name
            );
        }
    }
    assert!(pauses >= 24 && cuts >= 16, "{pauses} pauses and {cuts} cuts are bounded");
}

#[test]
fn two_do_not_believe_where_the_timers_say_that_a_leader_stops_in_time() {
    let registry = Registry::default();
    let mut clear = 0;
    for protocol in election::ALL {
        let params = params(protocol);
        let hazards = Hazards { cut_ms: Some(4 * params.granted_ttl_ms(protocol) + 2_000), ..Hazards::default() };
        let case = Case { registry: &registry, protocol, params: &params, hazards, jobs: 2 };
        let plan = case.plan(Fencing::Off, 0).expect("a plan");
        if clearance::belief_ms(&plan, protocol, 0).is_none_or(|ms| ms < 0.0) {
            continue;
        }
        clear += 1;
        for run in case.several(Fencing::Off, SEEDS).expect("the runs") {
            assert!(run.awake_ms == 0.0 && run.violated.is_empty(), "{}: {run:#?}", protocol.name);
        }
    }
    assert!(clear >= 4, "{clear} protocols stop in time");
}

#[test]
fn runs_alone_make_nothing_safe() {
    let registry = Registry::default();
    // It elects among its own nodes without tokens, and no clock ends a belief.
    let protocol = election::find("bully").expect("a protocol");
    let hazards = Hazards { pause_ms: Some(1_000), ..Hazards::default() };
    let case = Case { registry: &registry, protocol, params: &params(protocol), hazards, jobs: 2 };
    let assessment = case.assess(|_, _, _| ()).expect("runs");
    assert!(assessment.asked.iter().all(|run| run.struck && !run.took_over()));
    assert_eq!((assessment.answer, assessment.why), (Answer::Unknown, Why::FarFromEdge));
}

#[test]
fn what_runs_of_the_value_asked_for_show_is_not_called_unseen() {
    let registry = Registry::default();
    let protocol = election::find("db-row-node-clock").expect("a protocol");
    let params = Params { fencing: Fencing::Off, ..defaults(protocol) };
    let hazards = Hazards { skew_ms: Some(300_000), ..Hazards::default() };
    let case = Case { registry: &registry, protocol, params: &params, hazards, jobs: 2 };
    let seen = case.assess(|_, _, _| ()).expect("runs");
    assert!(seen.asked.iter().any(|outcome| outcome.unled), "{:#?}", seen.asked);
    for event in Event::ALL.into_iter().filter(|event| seen.asked.iter().any(|outcome| event.is_in(outcome))) {
        let edge = seen.edge(event).map(|edge| edge.at);
        assert!(edge.is_some_and(|at| at <= case.asked()), "{event:?}: {edge:?}");
    }
}
