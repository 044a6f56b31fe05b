//! Plans for programs: which scenarios have one, and that nothing is in it that a program does not notice.

use protocols::{
    election::{Protocol, program},
    point::Point,
    service::{Service, etcd, redis},
};
use scenarios::{
    Params, Plan, Registry,
    fault::{Fault, PlannedFault, Trigger, Who},
};
use serde_json::json;

fn params() -> Params {
    Params { read_lease: Some(false), reads_per_s: Some(0), ..Params::default() }
}

fn registry(service: &'static Service) -> (Registry, &'static Protocol) {
    let protocol = program::of(&[service], true);
    (Registry::default().with_protocol(protocol).expect("a new name"), protocol)
}

fn plan(scenario: &str) -> (Registry, Plan) {
    let (registry, protocol) = registry(&redis::SERVICE);
    let scenario = registry.scenarios.iter().find(|known| known.name == scenario).expect("a scenario");
    let plan = scenario.compile(&params(), protocol, 7).expect("a plan");
    (registry, plan)
}

/// The scenarios whose plans programs run as they are meant.
fn fit(service: &'static Service) -> Vec<&'static str> {
    let (registry, protocol) = registry(service);
    let fits = |scenario: &&&'static scenarios::Scenario| {
        let plan = |seed| scenario.compile(&params(), protocol, seed);
        (0..20).all(|seed| plan(seed).is_ok_and(|plan| registry.validate(&plan).is_ok()))
    };
    registry.scenarios.iter().filter(fits).map(|scenario| scenario.name).collect()
}

#[test]
fn scenarios_that_need_nothing_from_inside_fit_programs() {
    let fit_redis = [
        "steady",
        "clean-kill",
        "gc-pause",
        "partition",
        "power-outage",
        "rolling-restart",
        "store-restart",
        "service-restart",
        "clock-step",
        "flapping",
        "clique",
        "starvation",
        "clock-jump",
        "clock-skew",
        "thundering-herd",
        "slow-service",
        "leader-cannot-work",
    ];
    assert_eq!(fit(&redis::SERVICE), fit_redis);
    let more: Vec<_> = fit(&etcd::SERVICE).into_iter().filter(|name| !fit_redis.contains(name)).collect();
    let of_members = ["service-failover", "service-quorum-loss", "service-leader-isolated", "service-leader-cut-off"];
    assert!(of_members.iter().all(|name| more.contains(name)), "{more:?}");
}

#[test]
fn a_scenario_strikes_before_a_send_and_asks_for_effects() {
    let (_, plan) = plan("gc-pause");
    let [PlannedFault { when: Trigger::Passage { point, .. }, .. }] = &plan.faults[..] else { panic!("{plan:?}") };
    assert_eq!(*point, Point::BeforeSend.name());
    let requires = serde_json::to_value(&plan.requires).unwrap();
    assert_eq!(requires, json!([{"fact": "leaders-took-effect", "at_least": 2}, {"fact": "faults", "at_least": 1}]));
}

#[test]
fn what_a_program_does_not_notice_is_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let (registry, mut plan) = plan("clean-kill");
        change(&mut plan);
        registry.validate(&plan).expect_err("a program does not notice it").to_string()
    };
    let resign = Fault::Resign { node: Who::Leader };
    let said = refused(&|plan| plan.faults[0].what = resign.clone());
    assert_eq!(said, "faults[0] (resign) is `resign`, which a program cannot be told of");
    // Its files are on a disk of the world.
    let (registry, mut plan_of_disk) = plan("clean-kill");
    plan_of_disk.faults[0].what = Fault::SlowDisk { node: Who::Leader, extra_us: 1, for_ms: None };
    registry.validate(&plan_of_disk).unwrap();
    let cut = |to| Fault::Partition { from: vec![Who::Leader], to: vec![to], one_way: false, for_ms: None };
    let said = refused(&|plan| plan.faults[0].what = cut(Who::Clients));
    assert_eq!(said, "faults[0] (partition) names the clients, and a program has none here");
    let said = refused(&|plan| {
        let (point, node) = ("renewed".to_owned(), Who::Leader);
        plan.faults[0].when = Trigger::Passage { point, node, nth: 1, after: None, delay_ms: 0.0, matching: None };
    });
    assert_eq!(said, "faults[0] (kill) waits for `renewed`, which programs do not pass; they pass `before_send`");
    let said = refused(&|plan| {
        let (point, node, matching) = ("before_send".to_owned(), Who::Leader, Some(String::new()));
        plan.faults[0].when = Trigger::Passage { point, node, nth: 1, matching, after: None, delay_ms: 0.0 };
    });
    assert_eq!(said, "faults[0] (kill) waits for sends matching an empty text, which all do; leave `matching` out");
    let said = refused(&|plan| plan.load.clients = 2);
    assert_eq!(said, "load means nothing to a program; leave it out");
    let elections = json!([{"fact": "elections", "at_least": 2}]);
    let said = refused(&|plan| plan.requires = serde_json::from_value(elections.clone()).unwrap());
    assert_eq!(said, "requires[0] asks for what a run of a program does not show");
}
