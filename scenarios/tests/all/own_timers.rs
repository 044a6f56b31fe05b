//! The timers that only some protocols have, from parameters to electors.

use protocols::{
    election::{self, OwnTimer, OwnTimers, Protocol, Timer, Timers, redis_fenced},
    types::{MILLISECOND, SECOND},
};
use scenarios::{
    Params, Plan,
    plan::{Invalid, Known, LONGEST_MS},
    scenario, sense,
};

/// With the timers of client-go's leader election, and its checks.
static LIKE_CLIENT_GO: Protocol = Protocol {
    name: "like-client-go",
    renew_interval: |ttl| ttl / 15 * 2,
    timers: OwnTimers {
        list: &[
            OwnTimer { timer: Timer::RenewDeadline, default: Some(|ttl| ttl / 3 * 2) },
            OwnTimer { timer: Timer::RetryPeriod, default: Some(|ttl| ttl / 15 * 2) },
        ],
        renews_at_retry: true,
        refuses: |timings| {
            let refused = timings.own.renew_deadline.is_some_and(|deadline| deadline >= timings.lease_ttl);
            refused.then(|| "the renew deadline must be shorter than the lease".to_owned())
        },
    },
    ..redis_fenced::PROTOCOL
};

/// With the lock delay of a Consul session.
static LIKE_CONSUL: Protocol = Protocol {
    name: "like-consul",
    timers: OwnTimers::of(&[OwnTimer { timer: Timer::LockDelay, default: Some(|_| 15 * SECOND) }]),
    claim: None,
    ..redis_fenced::PROTOCOL
};

fn plan(params: &Params, protocol: &Protocol) -> Result<Plan, Invalid> {
    scenario::find("steady").expect("a scenario").compile(params, protocol, 1)
}

fn refused(params: &Params, protocol: &Protocol) -> String {
    let steady = scenario::find("steady").expect("a scenario");
    let of_timers = sense::options(params).and_then(|()| sense::timers(params, protocol));
    of_timers.and_then(|()| sense::meant(params, &[(steady, protocol)], 1)).expect_err("it makes no sense").0
}

fn own(own_ms: Timers) -> Params {
    Params { own_ms, ..Params::default() }
}

#[test]
fn a_protocols_own_timers_stand_in_its_plans() {
    let usual = plan(&Params { lease_ttl_ms: Some(15_000), ..Params::default() }, &LIKE_CLIENT_GO).unwrap();
    let expected = Timers { renew_deadline: Some(10_000), retry_period: Some(2_000), ..Timers::NONE };
    assert_eq!(usual.timings.own_ms(), expected);
    assert_eq!(usual.timings.renew_interval_ms, 2_000);
    let resolved = usual.resolved(&LIKE_CLIENT_GO);
    assert_eq!(resolved.own, expected.map(|ms| ms * MILLISECOND));
    assert_eq!(resolved.retry_period(), 2 * SECOND);

    let asked = Timers { renew_deadline: Some(2_500), retry_period: Some(300), ..Timers::NONE };
    let asked_plan = plan(&own(asked), &LIKE_CLIENT_GO).unwrap();
    assert_eq!(asked_plan.timings.own_ms(), asked);
    assert_eq!(asked_plan.timings.renew_interval_ms, 300, "it renews at the retry period");
    let json = asked_plan.to_json_pretty();
    assert!(json.contains("\"renew_deadline_ms\": 2500") && !json.contains("lock_delay_ms"), "{json}");
    assert_eq!(serde_json::from_str::<Plan>(&json).expect("a plan"), asked_plan);

    let by_the_other_name = Params { renew_interval_ms: Some(300), ..Params::default() };
    assert_eq!(plan(&by_the_other_name, &LIKE_CLIENT_GO).unwrap().timings.retry_period_ms, Some(300));
}

#[test]
fn a_delay_may_be_nothing_and_a_period_may_not() {
    let none = Timers { lock_delay: Some(0), ..Timers::NONE };
    assert_eq!(plan(&own(none), &LIKE_CONSUL).unwrap().timings.lock_delay_ms, Some(0));
    assert_eq!(plan(&Params::default(), &LIKE_CONSUL).unwrap().timings.lock_delay_ms, Some(15_000));
    let none = own(Timers { retry_period: Some(0), ..Timers::NONE });
    assert_eq!(refused(&none, &redis_fenced::PROTOCOL), "--retry-period is 0ms; it must be 1ms to 24h");
    let late = own(Timers { lock_delay: Some(LONGEST_MS + 1), ..Timers::NONE });
    assert!(refused(&late, &LIKE_CONSUL).contains("--lock-delay is"), "{}", refused(&late, &LIKE_CONSUL));
}

#[test]
fn a_timer_that_a_protocol_does_not_have_is_refused() {
    for protocol in election::ALL {
        for timer in Timer::ALL.into_iter().filter(|timer| protocol.timers.find(*timer).is_none()) {
            let params = own(Timers::from(|other| (other == timer).then_some(1_000)));
            let sentence = refused(&params, protocol);
            assert!(sentence.starts_with(timer.option()) && sentence.contains("means nothing"), "{sentence}");
            let sentence = sense::own_timers(&params.own_ms, protocol).expect_err("it has none").0;
            assert!(sentence.contains(timer.option()) && sentence.contains(protocol.name), "{sentence}");
            let mut plan = plan(&Params::default(), protocol).unwrap();
            match timer {
                Timer::RenewDeadline => plan.timings.renew_deadline_ms = Some(1),
                Timer::RetryPeriod => plan.timings.retry_period_ms = Some(1),
                Timer::LockDelay => plan.timings.lock_delay_ms = Some(1),
                Timer::EntryInterval => plan.timings.entry_interval_ms = Some(1),
                Timer::ReplicaLag => plan.timings.replica_lag_ms = Some(1),
            }
            let known = Known { scenarios: vec!["steady"], protocols: &[protocol], bugs: &[], works: &[] };
            let sentence = plan.validate_among(&known).expect_err("it has none").0;
            assert_eq!(sentence, format!("timings.{} is given, but `{}` has none", timer.field(), protocol.name));
        }
    }
}

#[test]
fn what_the_client_refuses_is_refused_in_its_words() {
    let late = own(Timers { renew_deadline: Some(3_000), ..Timers::NONE });
    let why = "the renew deadline must be shorter than the lease";
    assert_eq!(refused(&late, &LIKE_CLIENT_GO), format!("`like-client-go` refuses these timers: {why}"));
    assert_eq!(plan(&late, &LIKE_CLIENT_GO), Err(Invalid(format!("timings: {why}"))));
    let two = Params { renew_interval_ms: Some(200), ..own(Timers { retry_period: Some(300), ..Timers::NONE }) };
    assert!(refused(&two, &LIKE_CLIENT_GO).contains("leave --renew-interval out"));
}
