//! The canaries: plans that must show something which has one cause only, or the harness is blind for it. Each is run beside
//! the same plan without the cause, which must not show it.
//!
//! A sweep of everything runs them as cells of their own. Faults that nothing in a scenario depends on would otherwise be
//! free to do nothing.

mod node;

use crate::run::{self, Options, Run};
use protocols::{
    election::{self, Promise, promise},
    fence::checks::Fencing,
    point::Point,
};
use reports::{Judgement, Metrics};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Profile,
    plan::Network,
    scenario,
};

/// So many seeds of each are run by a sweep, at most.
pub const SEEDS_MAX: u64 = 3;

/// What the names of canaries' cells begin with.
pub const PREFIX: &str = "canary: ";

/// A plan that must show something; and what is the same but for the cause, and must not.
pub struct Canary {
    /// What is looked at.
    pub name: &'static str,
    /// What must be violated, every time.
    pub breaks: &'static [&'static str],
    /// What must be above a limit, every time.
    pub above: Option<Above>,
    /// Must nothing be violated, with the cause or without?
    pub safe: bool,
    /// A figure, and where it must lie with the cause: least and most.
    pub within: Option<(Above, f64, f64)>,
    /// The plan of a seed, with the cause or without it.
    pub plan: fn(u64, bool) -> Result<Plan, String>,
}

/// A figure, and a limit that it must exceed.
#[derive(Clone, Copy)]
pub struct Above {
    /// The figure's name.
    pub figure: &'static str,
    /// The figure of a run; none is 0.
    pub of: fn(&Metrics) -> f64,
    /// The limit.
    pub than: f64,
}

/// What came of a canary's two runs.
pub struct Looked {
    /// The run with the cause.
    pub run: Run,
    /// What is wrong, in one sentence, and the plan and hash of the run that shows it.
    pub wrong: Option<(String, Plan, String)>,
}

impl Canary {
    /// Runs it with its cause, and without.
    ///
    /// # Errors
    /// A plan makes no sense, or the harness failed.
    pub fn look(&self, seed: u64) -> Result<Looked, String> {
        let (with, without) = ((self.plan)(seed, true)?, (self.plan)(seed, false)?);
        let run = run::run(&with, Options::default())?;
        let control = run::run(&without, Options::default())?;
        let wrong = match (self.missing(&run.judgement), self.shown(&control.judgement)) {
            (Some(why), _) => Some((why, with, run.trace_hash().to_owned())),
            (None, Some(why)) => Some((format!("without the cause: {why}"), without, control.trace_hash().to_owned())),
            (None, None) => None,
        };
        Ok(Looked { run, wrong })
    }

    /// What the run with the cause does not show.
    pub(crate) fn missing(&self, judgement: &Judgement) -> Option<String> {
        let violated = violated(judgement);
        let blind: Vec<&str> = self.breaks.iter().copied().filter(|name| !violated.contains(name)).collect();
        if !blind.is_empty() {
            return Some(format!("must violate {}, and did not", blind.join(", ")));
        }
        if self.safe && !violated.is_empty() {
            return Some(format!("violates {}", violated.join(", ")));
        }
        let is = |figure: &Above| (figure.of)(&judgement.metrics);
        if let Some((figure, least, most)) =
            self.within.filter(|(figure, least, most)| !(*least..=*most).contains(&is(figure)))
        {
            let (name, is) = (figure.figure, is(&figure));
            return Some(format!("{name} must be from {least} to {most}, and is {is:.2}"));
        }
        let above = self.above.filter(|above| is(above) <= above.than)?;
        Some(format!("{} must be above {}, and is {:.2}", above.figure, above.than, is(&above)))
    }

    /// The same, which needs a figure to lie there with the cause.
    fn within(self, figure: Above, least: f64, most: f64) -> Self {
        Canary { within: Some((figure, least, most)), ..self }
    }

    /// What the run without the cause shows all the same.
    pub(crate) fn shown(&self, judgement: &Judgement) -> Option<String> {
        let violated = violated(judgement);
        if (self.safe || !self.breaks.is_empty()) && !violated.is_empty() {
            return Some(format!("violates {}", violated.join(", ")));
        }
        let Above { figure, of, than } = self.above?;
        let is = of(&judgement.metrics);
        (is > than).then(|| format!("{figure} must be at most {than}, and is {is:.2}"))
    }
}

/// What a run violates, but for what makes it vacuous.
fn violated(judgement: &Judgement) -> Vec<&'static str> {
    let broken = judgement.invariants.iter().filter(|i| !i.holds && i.name != "vacuity");
    broken.map(|i| i.name).collect()
}

/// Every canary that can be told with what there is.
pub fn canaries() -> Vec<Canary> {
    let mut all = vec![
        breaks("clocks that drift", &["no_stale_read"], drift),
        breaks("the service's clock is set", &["no_stale_write", "read_version"], clock_step),
        breaks("belief longer than promised", &["dual_belief"], promised_less),
        breaks("belief without a grant", &["phantom_leader"], outlived_grant),
        breaks("nobody elected", &["liveness"], slow_network),
        breaks("elected late", &["liveness"], late),
        breaks("duplicates", &["read_version"], |seed, on| hostile(seed, on, true)),
        breaks("reordering", &["read_version"], |seed, on| hostile(seed, on, false)),
        breaks("duplicates where no request is remembered", &["one_number"], applied_twice),
        breaks("token unchecked", UNCHECKED, |seed, on| unchecked(seed, on, "redis-fenced")),
        breaks("epoch unchecked", UNCHECKED, |seed, on| unchecked(seed, on, "etcd-election")),
        above("latency", SERVED, 5.0, latency),
        above("lost on a connection", SERVED, 0.9, |seed, on| lost(seed, on, "redis-fenced")),
        above("lost datagrams", ELECTIONS, 2.0, |seed, on| lost(seed, on, "bully")),
        above("loss on a link's connections", SERVED, 0.8, |seed, on| link_loses(seed, on, "redis-fenced")),
        above("loss on a link's datagrams", ELECTIONS, 1.0, |seed, on| link_loses(seed, on, "bully")),
        above("narrow links", SERVED, 3.0, narrow),
        above("clocks uneven from the start", REQUESTS, 140.0, uneven),
        above("cut both ways, not one", ELECTIONS, 1.0, both_ways),
        above("cut for long, not shortly", DARK, 1_000.0, long_cut),
        above("power lost, not crashed", DARK, 100.0, power_lost),
        above("slow disk", DARK, 5_000.0, slow_disk),
        above("the newest leader is struck", ELECTIONS, 2.0, newest_struck),
        survives("those who wait lose their leases", ELECTIONS, 1.0, waiters_dropped),
        survives("power lost before a sync: raft", DARK, 4_000.0, |seed, on| nothing_synced(seed, on, "raft")),
        survives("power lost before a sync: kraft", DARK, 4_000.0, |seed, on| nothing_synced(seed, on, "kraft")),
        survives("power lost before a sync: zab", DARK, 4_000.0, |seed, on| nothing_synced(seed, on, "zab-fle")),
    ];
    all.extend(node::canaries());
    all
}

const SERVED: Above = figure("served_after_ms", |m| m.served_after_ms.unwrap_or_default());
const ELECTIONS: Above = figure("elections", |m| m.elections as f64);
const REQUESTS: Above = figure("requests_to_service", |m| m.requests_to_service.unwrap_or_default() as f64);
const DARK: Above = figure("dark_ms", |m| m.dark_ms.unwrap_or_default());

const fn figure(figure: &'static str, of: fn(&Metrics) -> f64) -> Above {
    Above { figure, of, than: 0.0 }
}

/// What must break where tokens are not checked.
const UNCHECKED: &[&str] = match promise::UNCHECKED {
    Promise::Breaks(names) => names,
    _ => &[],
};

type MakePlan = fn(u64, bool) -> Result<Plan, String>;

pub(crate) fn breaks(name: &'static str, breaks: &'static [&'static str], plan: MakePlan) -> Canary {
    Canary { name, breaks, above: None, safe: false, within: None, plan }
}

fn above(name: &'static str, above: Above, than: f64, plan: MakePlan) -> Canary {
    Canary { name, breaks: &[], above: Some(Above { than, ..above }), safe: false, within: None, plan }
}

/// A canary of what must be survived.
fn survives(name: &'static str, figure: Above, than: f64, plan: MakePlan) -> Canary {
    Canary { safe: true, ..above(name, figure, than, plan) }
}

/// Datagrams to the store, lost, duplicated and out of order.
const HOSTILE: &str = "hostile";

fn compiled(scenario: &str, protocol: &str, seed: u64, params: &Params) -> Result<Plan, String> {
    let scenario = scenario::find(scenario).ok_or("no such scenario")?;
    scenario.compile(params, election::find(protocol).ok_or("no such protocol")?, seed)
}

fn light() -> Params {
    Params { rate: 100, ..Params::default() }
}

fn drift(seed: u64, on: bool) -> Result<Plan, String> {
    let clock_drift_ppm = if on { 400_000 } else { 100 };
    compiled("read-lease", "redis-fenced", seed, &Params { clock_drift_ppm, ..light() })
}

/// A steady run in which the service's clock jumps ahead right after the leader was renewed, again and again.
fn stepped(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    let mut plan = compiled("steady", protocol, seed, &light())?;
    let ahead = |nth: u64| PlannedFault {
        when: Trigger::Passage {
            point: Point::Renewed.name().to_owned(),
            node: Who::Leader,
            nth: 3,
            after: Some(Box::new(Trigger::At { ms: 5_000.0 * nth as f64 })),
            delay_ms: 0.0,
        },
        what: Fault::ClockStep { node: Who::Service, by_ms: 60_000 },
    };
    if on {
        plan.faults = (1..=4).map(ahead).collect();
    }
    Ok(plan)
}

fn clock_step(seed: u64, on: bool) -> Result<Plan, String> {
    stepped(seed, on, "redis-lease")
}

/// The same with a token, which keeps it harmless, and with the bound of a run in which no clock is stepped.
fn outlived_grant(seed: u64, on: bool) -> Result<Plan, String> {
    stepped(seed, on, "redis-fenced")
}

/// etcd's leader believes beside its successor, as its client does; here it is said to promise that it never does.
fn promised_less(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("partition", "etcd-election", seed, &light())?;
    // Fencing would end the belief as soon as the successor has sealed.
    let unfenced = Params { fencing: false.into(), ..light() };
    if on {
        plan = compiled("partition", "etcd-election", seed, &unfenced)?;
        plan.dual_belief_bound_ms = Some(0.0);
    }
    Ok(plan)
}

/// Answers take longer than anybody waits.
fn slow_network(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("steady", "raft", seed, &light())?;
    if on {
        plan.network.latency_us = 400_000;
        plan.requires.clear();
    }
    Ok(plan)
}

/// The network's defects that lose nothing, one of them.
fn defects(duplicates: bool) -> Result<Network, String> {
    let net = Profile::find(HOSTILE).ok_or("no such network")?.network();
    let (duplicate, reorder) = if duplicates { (net.duplicate, 0.0) } else { (0.0, 0.1) };
    Ok(Network { loss: 0.0, duplicate, reorder, ..net })
}

/// A protocol without tokens on links that duplicate, or reorder. Only what is sent within the millisecond that a detour
/// takes is overtaken.
fn hostile(seed: u64, on: bool, duplicates: bool) -> Result<Plan, String> {
    let mut plan = compiled("steady", "redis-lease", seed, &Params { rate: 2_000, ..Params::default() })?;
    if on {
        plan.network = defects(duplicates)?;
        plan.requires.clear();
    }
    Ok(plan)
}

/// A protocol with tokens on links that duplicate, and a store that checks the token alone.
fn applied_twice(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("steady", "redis-fenced", seed, &Params { fencing: Fencing::Token, ..light() })?;
    if on {
        plan.network = defects(true)?;
        plan.requires.clear();
    }
    Ok(plan)
}

/// A leader with a token wakes after its lease; the store checks nothing.
fn unchecked(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    compiled("gc-pause", protocol, seed, &Params { fencing: (!on).into(), ..light() })
}

/// The leader dies, and its lease outlasts the bound, but not twice the bound.
fn late(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = compiled("clean-kill", "redis-fenced", seed, &light())?;
    if on {
        plan.liveness_bound_ms = 1_700;
    }
    Ok(plan)
}

/// A steady run of 20 s in which nothing is required, with faults.
fn steady(protocol: &str, seed: u64, faults: Vec<(f64, Fault)>) -> Result<Plan, String> {
    let params = Params { duration_ms: Some(20_000), read_lease: Some(false), ..light() };
    let mut plan = compiled("steady", protocol, seed, &params)?;
    plan.faults = faults.into_iter().map(|(ms, what)| PlannedFault { when: Trigger::At { ms }, what }).collect();
    plan.requires.clear();
    Ok(plan)
}

fn latency(seed: u64, on: bool) -> Result<Plan, String> {
    let for_ms = Some(if on { 12_000.0 } else { 200.0 });
    let slow = Fault::Latency { from: vec![Who::Leader], to: vec![Who::Store], extra_us: 20_000, for_ms };
    steady("redis-fenced", seed, vec![(5_000.0, slow)])
}

fn lost(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    let mut plan = steady(protocol, seed, Vec::new())?;
    if on {
        plan.network.loss = if protocol == "bully" { 0.7 } else { 0.005 };
    }
    Ok(plan)
}

fn link_loses(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    let bully = protocol == "bully";
    let (to, probability) = if bully { (Who::Followers, 1.0) } else { (Who::Store, 0.01) };
    let loss = Fault::Loss { from: vec![Who::Leader], to: vec![to], probability, for_ms: Some(10_000.0) };
    steady(protocol, seed, if on { vec![(5_000.0, loss)] } else { Vec::new() })
}

fn narrow(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = steady("redis-fenced", seed, Vec::new())?;
    plan.load.rate = 500;
    plan.network.bandwidth_mbps = u64::from(on);
    Ok(plan)
}

fn uneven(seed: u64, on: bool) -> Result<Plan, String> {
    let mut plan = steady("redis-lease", seed, Vec::new())?;
    plan.candidates.iter_mut().for_each(|candidate| candidate.rate_ppm = if on { 400_000 } else { 0 });
    Ok(plan)
}

/// A deaf leader goes on being heard.
fn both_ways(seed: u64, on: bool) -> Result<Plan, String> {
    let (from, to) = (vec![Who::Followers], vec![Who::Leader]);
    let cut = Fault::Partition { from, to, one_way: !on, for_ms: Some(8_000.0) };
    steady("bully", seed, vec![(5_000.0, cut)])
}

fn long_cut(seed: u64, on: bool) -> Result<Plan, String> {
    let for_ms = Some(if on { 6_000.0 } else { 250.0 });
    let cut = Fault::Partition { from: vec![Who::Candidates], to: vec![Who::Store], one_way: false, for_ms };
    steady("redis-fenced", seed, vec![(5_000.0, cut)])
}

/// A store that crashed resets its connections; of one without power nobody hears.
fn power_lost(seed: u64, on: bool) -> Result<Plan, String> {
    let (node, restart_after_ms) = (Who::Store, Some(50.0));
    let down = match on {
        true => Fault::PowerLoss { node, restart_after_ms },
        false => Fault::Kill { node, restart_after_ms },
    };
    steady("redis-fenced", seed, vec![(5_000.0, down)])
}

/// Nobody has a vote on disk while the leader is dead.
fn slow_disk(seed: u64, on: bool) -> Result<Plan, String> {
    let slow = Fault::SlowDisk { node: Who::Candidates, extra_us: 10_000_000, for_ms: Some(14_000.0) };
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: None };
    let slow = if on { vec![(5_000.0, slow)] } else { Vec::new() };
    steady("raft", seed, slow.into_iter().chain([(6_000.0, kill)]).collect())
}

/// Two believe: one that was cut off from the service, and its successor. What strikes the leader strikes that one.
fn newest_struck(seed: u64, on: bool) -> Result<Plan, String> {
    let cut =
        Fault::Partition { from: vec![Who::Leader], to: vec![Who::Service], one_way: false, for_ms: Some(14_000.0) };
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: None };
    let kill = if on { vec![(11_000.0, kill)] } else { Vec::new() };
    let mut plan = steady("redis-naive", seed, std::iter::once((5_000.0, cut)).chain(kill).collect())?;
    plan.liveness_bound_ms = 20_000;
    Ok(plan)
}

/// Whoever is told that the leader has gone, and has lost its own lease meanwhile, must look before it believes.
fn waiters_dropped(seed: u64, on: bool) -> Result<Plan, String> {
    let drop = Fault::DropLease { node: Who::Followers };
    let resign = Fault::Resign { node: Who::Leader };
    steady("etcd-election", seed, if on { vec![(5_000.0, drop), (5_001.0, resign)] } else { Vec::new() })
}

/// The leader dies while no sync ends, and everybody loses power, again and again: what was not saved must not have been said.
fn nothing_synced(seed: u64, on: bool, protocol: &str) -> Result<Plan, String> {
    let hang = Fault::SyncHang { node: Who::Candidates, for_ms: Some(6_000.0) };
    let kill = Fault::Kill { node: Who::Leader, restart_after_ms: Some(1_500.0) };
    let mut faults = vec![(5_000.0, hang), (5_001.0, kill)];
    for outage in 0..5_u32 {
        faults.extend((1..=3_u32).map(|number| {
            let node = Who::Named(format!("n{number}"));
            let at_ms = 5_600.0 + f64::from(outage) * 1_300.0 + f64::from(number) * 10.0;
            (at_ms, Fault::PowerLoss { node, restart_after_ms: Some(50.0) })
        }));
    }
    steady(protocol, seed, if on { faults } else { Vec::new() })
}
