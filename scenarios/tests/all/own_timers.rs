//! The timers that only some protocols have, from parameters to electors.

use protocols::{
    election::{self, OwnTimer, OwnTimers, Protocol, Timer, Timers, redis_fenced},
    parameter::{Parameter, Place, Takes},
    types::{MILLISECOND, SECOND},
};
use scenarios::{
    Params, Plan,
    plan::{Invalid, Known},
    scenario, sense,
    set::Setting,
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
    parameters: &[timer("renew-deadline", 1, Timer::RenewDeadline)],
    ..redis_fenced::PROTOCOL
};

/// With the lock delay of a Consul session.
static LIKE_CONSUL: Protocol = Protocol {
    name: "like-consul",
    timers: OwnTimers::of(&[OwnTimer { timer: Timer::LockDelay, default: Some(|_| 15 * SECOND) }]),
    parameters: &[timer("lock-delay", 0, Timer::LockDelay)],
    claim: None,
    ..redis_fenced::PROTOCOL
};

const fn timer(name: &'static str, least_ms: u64, timer: Timer) -> Parameter {
    let place = Place::Timer(timer);
    Parameter { name, takes: Takes::Duration { least_ms }, usual: "its own", about: "A test's", place }
}

fn plan(params: &Params, protocol: &Protocol) -> Result<Plan, Invalid> {
    scenario::find("steady").expect("a scenario").compile(params, protocol, 1)
}

fn refused(params: &Params, protocol: &Protocol) -> String {
    let steady = scenario::find("steady").expect("a scenario");
    let of_timers = sense::options(params).and_then(|()| sense::timers(params, protocol));
    of_timers.and_then(|()| sense::meant(params, &[(steady, protocol)], 1)).expect_err("it makes no sense").0
}

/// These settings of the protocol, as on the command line.
fn set(protocol: &'static Protocol, settings: &[&str]) -> Params {
    let owners = vec![(protocol.name, protocol.parameters)];
    let read = |text: &&str| Setting::read(&format!("{}.{text}", protocol.name), &owners).expect("a setting");
    Params { set: settings.iter().map(read).collect(), ..Params::default() }
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
    let asked_params = Params { retry_period_ms: Some(300), ..set(&LIKE_CLIENT_GO, &["renew-deadline=2500ms"]) };
    let asked_plan = plan(&asked_params, &LIKE_CLIENT_GO).unwrap();
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
    assert_eq!(plan(&set(&LIKE_CONSUL, &["lock-delay=0s"]), &LIKE_CONSUL).unwrap().timings.lock_delay_ms, Some(0));
    assert_eq!(plan(&Params::default(), &LIKE_CONSUL).unwrap().timings.lock_delay_ms, Some(15_000));
    let none = Params { retry_period_ms: Some(0), ..Params::default() };
    assert_eq!(refused(&none, &redis_fenced::PROTOCOL), "--retry-period is 0ms; it must be 1ms to 24h");
    let owners = vec![(LIKE_CONSUL.name, LIKE_CONSUL.parameters)];
    let late = Setting::read("like-consul.lock-delay=25h", &owners).expect_err("longer than a plan may be");
    assert_eq!(late.to_string(), "like-consul.lock-delay: `25h` must be 0ms to 24h");
}

#[test]
fn every_own_timer_but_the_retry_period_is_a_parameter_of_its_protocol() {
    let mut declared = 0;
    for protocol in election::ALL {
        for timer in Timer::ALL {
            let has = timer != Timer::RetryPeriod && protocol.timers.find(timer).is_some();
            let parameter = protocol.parameter_of(timer);
            assert_eq!(parameter.is_some(), has, "{} {timer:?}", protocol.name);
            let Some(parameter) = parameter else { continue };
            declared += 1;
            let name = timer.words().replace(' ', "-");
            let least = if timer.may_be_zero() { 0 } else { 1 };
            assert_eq!((parameter.name, parameter.field().as_str()), (name.as_str(), timer.field()));
            assert!(parameter.takes.allows(least) && !parameter.takes.allows(least.wrapping_sub(1)), "{name}");
            let params = set(protocol, &[&format!("{name}=1234ms")]);
            assert_eq!(params.set.timer(protocol, timer), Some(1_234));
            let longer = params.set.with_timers(|ms| 2 * ms);
            assert_eq!(longer.timer(protocol, timer), Some(2_468));
        }
    }
    assert!(declared >= 4, "{declared}");
}

#[test]
fn a_timer_that_a_protocol_does_not_have_is_refused() {
    let owner = |timer: Timer| election::ALL.into_iter().find(|protocol| protocol.parameter_of(timer).is_some());
    for protocol in election::ALL {
        for timer in Timer::ALL.into_iter().filter(|timer| protocol.timers.find(*timer).is_none()) {
            let (params, option) = match owner(timer) {
                Some(owner) => {
                    let name = timer.words().replace(' ', "-");
                    (set(owner, &[&format!("{name}=1s")]), format!("--set {}.{name}", owner.name))
                }
                None => (Params { retry_period_ms: Some(1_000), ..Params::default() }, "--retry-period".to_owned()),
            };
            let sentence = refused(&params, protocol);
            assert!(sentence.starts_with(&option) && sentence.contains("means nothing"), "{sentence}");
            let sentence = sense::own_timers(&params, protocol).expect_err("it has none").0;
            assert_eq!(sentence, format!("`{}` has no {}; leave {option} out", protocol.name, timer.words()));
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
    let late = set(&LIKE_CLIENT_GO, &["renew-deadline=3s"]);
    let why = "the renew deadline must be shorter than the lease";
    assert_eq!(refused(&late, &LIKE_CLIENT_GO), format!("`like-client-go` refuses these timers: {why}"));
    assert_eq!(plan(&late, &LIKE_CLIENT_GO), Err(Invalid(format!("timings: {why}"))));
    let two = Params { renew_interval_ms: Some(200), retry_period_ms: Some(300), ..Params::default() };
    assert!(refused(&two, &LIKE_CLIENT_GO).contains("leave --renew-interval out"));
}
