//! Checks that the options make sense, together and for this protocol. Errors use the command line's words; a plan made
//! of the options has fields that nobody typed.

use crate::{
    Params, Plan, Scenario,
    params::{CLOCK_DRIFT_DEFAULT_PPM, STARTS_WITHIN_MS},
    plan::{CANDIDATES_MAX, Invalid, LONGEST_MS, OFFSET_MAX_MS, PPM_MAX, RATE_MAX},
    set::Setting,
    units::{duration_text, duration_us_text},
};
use protocols::{
    election::{Protocol, Timer},
    fence::checks::ChargeCheck,
    types::MILLISECOND,
    work::{
        Kind, Works, once,
        work_set::{Asked, ITEMS_MAX, KINDS},
    },
};

/// Rejects options that are wrong for every protocol.
///
/// # Errors
/// One sentence that names the option and what would be right.
pub fn options(params: &Params) -> Result<(), Invalid> {
    let range = |option: &str, value: u64, low: u64, high: u64, of: &str| match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(Invalid(format!("--{option} is {value}; it must be {low} to {high}{of}"))),
    };
    let lasts = |option: &str, ms: Option<u64>| match ms {
        Some(ms) if !(1..=LONGEST_MS).contains(&ms) => Err(Invalid(format!(
            "--{option} is {}; it must be 1ms to {}",
            duration_text(ms),
            duration_text(LONGEST_MS)
        ))),
        _ => Ok(()),
    };
    range("nodes", params.nodes.into(), 1, CANDIDATES_MAX as u64, " candidates")?;
    range("rate", params.rate, 1, RATE_MAX, " requests a second")?;
    range("reads", params.reads_per_s.unwrap_or(0), 0, RATE_MAX, " reads a second")?;
    let of = format!(" parts per million ({CLOCK_DRIFT_DEFAULT_PPM} is a poor quartz)");
    range("clock-drift", params.clock_drift_ppm, 0, PPM_MAX, &of)?;
    if params.clock_skew_ms > OFFSET_MAX_MS {
        return Err(Invalid(format!("--clock-skew is {}; at most a year", duration_text(params.clock_skew_ms))));
    }
    lasts("duration", params.duration_ms)?;
    if let Some(ms) = params.duration_ms.filter(|ms| *ms <= STARTS_WITHIN_MS) {
        let (asked, least) = (duration_text(ms), duration_text(STARTS_WITHIN_MS));
        return Err(Invalid(format!(
            "--duration is {asked}, but candidates start within the first {least}; make it longer"
        )));
    }
    lasts("lease-ttl", params.lease_ttl_ms)?;
    lasts("renew-interval", params.renew_interval_ms)?;
    lasts("retry-period", params.retry_period_ms)?;
    lasts("request-timeout", params.request_timeout_ms)?;
    lasts("election-timeout", params.election_timeout_ms.map(|(_, max_ms)| max_ms))?;
    lasts("pause", params.pause_ms)?;
    if !params.works.is_empty() {
        Works::new(&params.works).map_err(|why| Invalid(format!("--works: {why}")))?;
    }
    work_set(params)?;
    tenure(params)?;
    lasts("address-ttl", params.address_ttl_ms)?;
    if params.address.is_some() && params.groups > 1 {
        return Err(Invalid(format!(
            "--address works with one group, but --groups is {}; leave one of them out",
            params.groups
        )));
    }
    match params.election_timeout_ms {
        Some((min_ms, max_ms)) if min_ms < 2 => {
            let range = format!("{}..{}", duration_text(min_ms), duration_text(max_ms));
            Err(Invalid(format!("--election-timeout is {range}; its lower end must be at least 2ms")))
        }
        _ => Ok(()),
    }
}

/// Checks the options on leaders' tenure.
fn tenure(params: &Params) -> Result<(), Invalid> {
    let tenure = params.tenure;
    for (option, ms) in [
        ("warm-up", tenure.warm_up_ms),
        ("hold-down", tenure.hold_down_ms),
        ("step-down-after", tenure.step_down_after_ms),
    ] {
        if ms > LONGEST_MS {
            return Err(Invalid(format!("--{option} is {}; at most {}", duration_text(ms), duration_text(LONGEST_MS))));
        }
    }
    match tenure.hold_down_ms > 0 && tenure.check_errors_ppm == 0 {
        true => Err(Invalid(
            "--hold-down means nothing here: no health check errs; add --health-check-errors, as 1%".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Checks the options of the work-set.
fn work_set(params: &Params) -> Result<(), Invalid> {
    let asked = params.work_set;
    let [items, every] = [asked.items, asked.checkpoint_every].map(|n| n.unwrap_or(1));
    if !(1..=ITEMS_MAX).contains(&items) {
        return Err(Invalid(format!("--work-items is {items}; it must be 1 to {ITEMS_MAX}")));
    }
    if every > ITEMS_MAX {
        return Err(Invalid(format!("--checkpoint-every is {every}; it must be 0 (never) to {ITEMS_MAX}")));
    }
    if asked.item_ms.is_some_and(|ms| !(1..=LONGEST_MS).contains(&ms)) {
        return Err(Invalid(format!("--work-item-time must be 1ms to {}", duration_text(LONGEST_MS))));
    }
    if asked.load_ms.is_some_and(|ms| ms > LONGEST_MS) {
        return Err(Invalid(format!("--load-time must be at most {}", duration_text(LONGEST_MS))));
    }
    let only_time = asked == Asked { item_ms: asked.item_ms, ..Asked::default() };
    let has = |kinds: &[&Kind]| params.works.iter().any(|work| kinds.contains(work));
    if asked.is_nothing() || has(&KINDS) || (only_time && has(&once::KINDS)) {
        return Ok(());
    }
    let given = [
        ("--work-items", asked.items.is_some()),
        ("--work-item-time", asked.item_ms.is_some()),
        ("--checkpoint-every", asked.checkpoint_every.is_some()),
        ("--load-time", asked.load_ms.is_some()),
    ];
    let option = given.iter().find(|(_, given)| *given).map_or("", |(option, _)| option);
    let [one, other] = KINDS.map(|kind| kind.name);
    Err(Invalid(format!(
        "{option} means nothing here: no work has a work-set; ask for one, as --works sequencer,{one} or sequencer,{other}"
    )))
}

/// Rejects options that are wrong for this protocol.
///
/// # Errors
/// One sentence.
pub fn timers(params: &Params, protocol: &Protocol) -> Result<(), Invalid> {
    bugs_and_members(params, protocol)?;
    let granted_ms = params.granted_ttl_ms(protocol);
    let renew_ms = params.timings(protocol).renew_interval_ms;
    let name = protocol.name;
    if renew_ms >= granted_ms {
        return Err(Invalid(match (params.renew_interval_ms, params.election_timeout_ms) {
            (Some(_), _) => format!(
                "--renew-interval is {}, but the lease of `{name}` lasts {}: renew before it ends",
                duration_text(renew_ms),
                duration_text(granted_ms)
            ),
            (None, Some(_)) => {
                format!("--election-timeout leaves no time for a heartbeat of `{name}`; its lower end must be longer")
            }
            (None, None) => format!(
                "--lease-ttl is {}, which leaves `{name}` no time to renew it; it must be at least {}",
                duration_text(params.asked_ttl_ms(protocol)),
                duration_text(shortest_ms(params, protocol))
            ),
        }));
    }
    if let (true, Some(renew_ms), Some(retry_ms)) =
        (protocol.timers.renews_at_retry, params.renew_interval_ms, params.retry_period_ms)
        && renew_ms != retry_ms
    {
        return Err(Invalid(format!("`{name}` renews once in every --retry-period; leave --renew-interval out")));
    }
    if let Some(why) = (protocol.timers.refuses)(&params.resolved(protocol)) {
        return Err(Invalid(format!("`{name}` refuses these timers: {why}")));
    }
    if let Some((min_ms, max_ms)) = params.timings(protocol).election_timeout_ms
        && min_ms == max_ms
        && !protocol.service.is_none()
    {
        let only = duration_text(min_ms);
        return Err(Invalid(format!(
            "--election-timeout is {only}..{only}, but `{name}` draws from a range: its upper end must be above"
        )));
    }
    let trip_us = 2 * params.network().one_way_max_us();
    match params.timings(protocol).election_timeout_ms {
        Some((min_ms, max_ms)) if trip_us > max_ms * 1_000 => Err(Invalid(format!(
            "nobody can be elected: a round trip takes up to {}, and candidates of `{name}` wait {} to {} for votes; give \
             --election-timeout a lower end above {}, or leave it out",
            duration_us_text(trip_us),
            duration_text(min_ms),
            duration_text(max_ms),
            duration_us_text(trip_us)
        ))),
        _ => Ok(()),
    }
}

/// Rejects bugs that the protocol does not have, and members that its service cannot have.
///
/// # Errors
/// One sentence about the option.
pub fn bugs_and_members(params: &Params, protocol: &Protocol) -> Result<(), Invalid> {
    let name = protocol.name;
    if let Some(bug) = params.bugs.iter().find(|bug| !bug.concerns(name)) {
        let (id, of) = (bug.id, bug.protocols.join(", "));
        return Err(Invalid(format!("--bug {id} is a bug of {of}; `{name}` does not have it")));
    }
    let most = protocol.service.members.most;
    match params.service_members {
        Some(count) if count != 1 && protocol.service.process.is_none() => {
            Err(Invalid(format!("--members is {count}, but `{name}` has no service whose members could be counted")))
        }
        Some(count) if count > most.max(1) => Err(Invalid(match most {
            0 | 1 => format!("--members is {count}, but the service of `{name}` has one member"),
            _ => format!("--members is {count}; the service of `{name}` has 1 to {most} members"),
        })),
        _ => Ok(()),
    }
}

/// The shortest lease that leaves time to renew, milliseconds.
fn shortest_ms(params: &Params, protocol: &Protocol) -> u64 {
    let renewable = |ttl_ms: &u64| {
        let granted = (protocol.granted_ttl)(ttl_ms * MILLISECOND);
        let renew_ms = ((protocol.renew_interval)(granted) / MILLISECOND).max(1);
        renew_ms < granted / MILLISECOND && *ttl_ms >= 2
    };
    (params.asked_ttl_ms(protocol)..LONGEST_MS).find(renewable).unwrap_or(LONGEST_MS)
}

/// An option that may have no effect under a scenario or a protocol.
struct Given {
    name: &'static str,
    /// The parameters with another value of it, if it was given.
    another: fn(&Params) -> Option<Params>,
    without: fn(&Params) -> Params,
}

impl Given {
    /// Was it given, and does it change nothing in this run?
    fn is_idle(&self, params: &Params, cell: Cell, seed: u64) -> bool {
        (self.another)(params).is_some_and(|other| plan(params, cell, seed) == plan(&other, cell, seed))
    }
}

/// A scenario with a protocol.
type Cell<'a> = (&'a Scenario, &'a Protocol);

/// The plan, whatever its seed is.
fn plan(params: &Params, (scenario, protocol): Cell, seed: u64) -> Option<Plan> {
    Some(Plan { seed: 0, ..scenario.compile(params, protocol, seed).ok()? })
}

/// Is the setting for the protocol or one of the works of this run?
fn concerns(setting: &Setting, params: &Params, cell: Cell, seed: u64) -> bool {
    let is_work = |plan: Plan| plan.works.iter().any(|work| work == setting.owner);
    cell.1.name == setting.owner || plan(params, cell, seed).is_some_and(is_work)
}

/// Rejects timers that the protocol does not have.
///
/// # Errors
/// One sentence about the first.
pub fn own_timers(params: &Params, protocol: &Protocol) -> Result<(), Invalid> {
    let name = protocol.name;
    if params.retry_period_ms.is_some() && protocol.timers.find(Timer::RetryPeriod).is_none() {
        return Err(Invalid(format!("`{name}` has no {}; leave --retry-period out", Timer::RetryPeriod.words())));
    }
    match params.set.iter().find(|setting| setting.is_timer() && setting.owner != name) {
        Some(Setting { owner, parameter, .. }) => {
            let set = format!("--set {owner}.{}", parameter.name);
            Err(Invalid(format!("`{name}` has no {}; leave {set} out", parameter.name.replace('-', " "))))
        }
        None => Ok(()),
    }
}

const GIVEN: [Given; 5] = [
    Given {
        name: "--election-timeout",
        another: |p| {
            let (min_ms, max_ms) = p.election_timeout_ms?;
            Some(Params { election_timeout_ms: Some((min_ms + 1, max_ms + 2)), ..p.clone() })
        },
        without: |p| Params { election_timeout_ms: None, ..p.clone() },
    },
    Given {
        name: "--retry-period",
        another: |p| Some(Params { retry_period_ms: Some(p.retry_period_ms? + 1), ..p.clone() }),
        without: |p| Params { retry_period_ms: None, ..p.clone() },
    },
    Given {
        name: "--charge-check",
        another: |p| {
            let another = if p.charge_check? == ChargeCheck::None { ChargeCheck::Id } else { ChargeCheck::None };
            Some(Params { charge_check: Some(another), ..p.clone() })
        },
        without: |p| Params { charge_check: None, ..p.clone() },
    },
    Given {
        name: "--address-ttl",
        another: |p| Some(Params { address_ttl_ms: Some(p.address_ttl_ms? + 1), ..p.clone() }),
        without: |p| Params { address_ttl_ms: None, ..p.clone() },
    },
    Given {
        name: "--pause",
        another: |p| Some(Params { pause_ms: Some(p.pause_ms? + 1), ..p.clone() }),
        without: |p| Params { pause_ms: None, ..p.clone() },
    },
];

/// Rejects options that change nothing in any of these runs, since whoever typed one expects an effect.
///
/// # Errors
/// One sentence.
pub fn meant(params: &Params, cells: &[Cell], seed: u64) -> Result<(), Invalid> {
    if cells.is_empty() {
        return Ok(());
    }
    let nothing = |option: String| {
        let of = match cells {
            [(scenario, protocol)] => format!("`{}` with `{}`", scenario.name, protocol.name),
            _ => "any of these scenarios and protocols".to_owned(),
        };
        Err(Invalid(format!("{option} means nothing to {of}; leave it out")))
    };
    let idle = |setting: &&Setting| !cells.iter().any(|cell| concerns(setting, params, *cell, seed));
    if let Some(Setting { owner, parameter, .. }) = params.set.iter().find(idle) {
        return nothing(format!("--set {owner}.{}", parameter.name));
    }
    let idle = |given: &&Given| cells.iter().all(|cell| given.is_idle(params, *cell, seed));
    match GIVEN.iter().find(idle) {
        Some(given) => nothing(given.name.to_owned()),
        None => Ok(()),
    }
}

/// The parameters without the options that [`meant`] rejects for this run alone: of several runs, each is repeated with
/// what concerns it. The plan is the same.
#[must_use]
pub fn concerning(params: &Params, cell: Cell, seed: u64) -> Params {
    let set = params.set.iter().filter(|setting| concerns(setting, params, cell, seed)).copied().collect();
    let mut left = Params { set, ..params.clone() };
    for given in GIVEN.iter().filter(|given| given.is_idle(params, cell, seed)) {
        let without = (given.without)(&left);
        if plan(&without, cell, seed) == plan(&left, cell, seed) {
            left = without;
        }
    }
    left
}
