//! Arbitrary plans, for `sweep swarm` and for property tests: any protocol, sizes, clocks, network, timers, loads and faults,
//! and a shrinking that works on the plan (it drops faults and candidates, and makes numbers small).
//!
//! **Swarm testing.** Each plan enables a few kinds of faults and draws all its faults from those, so that it has more of the
//! same kind, in more combinations, than a plan that draws from everything. Source: Groce, Zhang, Eide, Chen and Regehr, "Swarm
//! Testing", ISSTA 2012. The kinds are a table (`generate/kinds.rs`); a new kind of fault is one entry more.
//!
//! **Trouble, then quiet.** Faults that a time sets off strike and heal in the first part of the run. The rest is quiet for
//! longer than the liveness bound, which is derived from the plan (`generate/bound.rs`), so that the bound can be missed. Faults
//! that wait for a passage of a named point are armed in the first part, and strike when it comes. What never heals leaves a
//! way: candidates other than `n1` that die, as many as can be spared; one link between two candidates, or between one of them
//! and the service; a clock's rate. Service and store always come back.
//!
//! A generated plan is small, at most 30 s of virtual time at a few requests a second, so that a run takes milliseconds.

mod bound;
mod cast;
mod kinds;
mod members;
#[cfg(test)]
mod tests;

use crate::{
    belief,
    fault::{Fault, PlannedFault, Trigger},
    params::{PROFILES, Params, Profile, STARTS_WITHIN_MS},
    plan::{Candidate, Plan, SWARM},
    read_lease, streams,
};
use cast::{After, Cast, Draft, Role, When, name};
use proptest::{
    option,
    prelude::any,
    prop_oneof,
    sample::select,
    strategy::{Just, Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use protocols::{
    election::{self, Hazard, Promise, Protocol},
    fence::checks::Fencing,
    history::FaultKind,
    point::Point,
};

/// Most candidates of a generated plan.
pub const CANDIDATES_MAX: usize = 9;
/// Most faults of a generated plan.
pub const FAULTS_MAX: usize = 8;
/// Most kinds of faults that a generated plan enables.
pub const KINDS_MAX: usize = 5;
/// Longest run of a generated plan, milliseconds.
pub const DURATION_MAX_MS: u64 = 30_000;
/// Shortest time of trouble, milliseconds.
const TROUBLE_MIN_MS: u64 = 3_000;
/// How much longer than the liveness bound the quiet part is, milliseconds.
const QUIET_SLACK_MS: u64 = 500;

/// What is not left to the seed.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The protocols to draw from; not empty.
    pub protocols: Vec<&'static Protocol>,
    /// The network; drawn when it is not given.
    pub net: Option<&'static Profile>,
    /// Shortest and longest one-way latency, microseconds; the network's when it is not given.
    pub latency_us: Option<(u64, u64)>,
    /// How many of a million packets are lost; the network's share when it is not given.
    pub loss_ppm: Option<u32>,
    /// How many candidates; drawn when it is not given.
    pub nodes: Option<u16>,
    /// What the store checks.
    pub fencing: Fencing,
    /// How many groups; the faults speak of the first.
    pub groups: u16,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            protocols: election::ALL.to_vec(),
            net: None,
            latency_us: None,
            loss_ppm: None,
            nodes: None,
            fencing: Fencing::On,
            groups: 1,
        }
    }
}

/// Any plan, of any protocol, with fencing on.
pub fn plans() -> impl Strategy<Value = Plan> {
    plans_of(election::ALL.iter().map(|protocol| protocol.name).collect())
}

/// Any plan of one of these protocols, with fencing on. A name that is no protocol's, or none at all, panics: it is the
/// test that is wrong.
pub fn plans_of(protocols: Vec<&'static str>) -> impl Strategy<Value = Plan> {
    (select(protocols), any::<u64>(), drawn()).prop_map(|(protocol, seed, drawn)| {
        let protocol = election::find(protocol).expect("the test names a protocol");
        drawn.plan(protocol, seed, Fencing::On)
    })
}

/// Every kind of fault, as plans call it, with one sentence.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    kinds::ALL.iter().map(|kind| (kind.kind.name(), kind.about))
}

/// The kinds that plans are generated from: those that can strike some protocol.
pub fn drawn_kinds() -> impl Iterator<Item = &'static FaultKind> {
    let drawn = |kind: &&kinds::Kind| election::ALL.iter().any(|protocol| (kind.applies)(protocol));
    kinds::ALL.iter().filter(drawn).map(|kind| &kind.kind)
}

/// The generated plan of that seed, of any protocol; the same seed gives the same plan.
pub fn plan(seed: u64) -> Plan {
    swarm(seed, &Choice::default())
}

/// The generated plan of that seed, as far as it is not chosen. The protocol is drawn apart from everything else: the same
/// seed with nothing but its own protocol to draw from gives the same plan.
pub fn swarm(seed: u64, choice: &Choice) -> Plan {
    let mut key = *b"fencepost generated plan        ";
    key[24..].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &key));
    let tree = drawn().new_tree(&mut runner).expect("the strategy filters nothing out");
    let mut drawn = tree.current();
    drawn.net = choice.net.unwrap_or(drawn.net);
    (drawn.latency_us, drawn.loss_ppm) = (choice.latency_us, choice.loss_ppm);
    if let Some(nodes) = choice.nodes {
        drawn.count = usize::from(nodes);
    }
    let last = choice.protocols.len().saturating_sub(1) as u64;
    let place = streams::between(&mut streams::stream(seed, streams::SWARM), 0, last);
    let plan = drawn.plan(choice.protocols[place as usize], seed, choice.fencing);
    Plan { groups: choice.groups, ..plan }
}

/// What the protocol of a generated plan promises in it: what it promises about the one hazard that the plan is made of, if
/// it is, and otherwise about any.
pub fn promise(plan: &Plan, protocol: &Protocol) -> Promise {
    // What one check alone keeps is for the scenarios to say.
    if !matches!(plan.fencing, Fencing::On | Fencing::Off) {
        return Promise::May;
    }
    match (protocol.promise)(hazard(plan), plan.fencing == Fencing::On) {
        // Who cannot tell a late write from a new one promises nothing about connections that do not keep their order.
        Promise::Holds if plan.network.datagrams && !(protocol.tokened && plan.fencing == Fencing::On) => Promise::May,
        promise => promise,
    }
}

/// The worst that happens in a generated plan. What is promised about a single hazard is promised for sound clocks and
/// networks.
fn hazard(plan: &Plan) -> Hazard {
    let sound = plan.network.loss == 0.0 && bound::worst_ppm(plan) <= SOUND_PPM && !plan.read_lease;
    match plan.faults.is_empty() && sound {
        true => Hazard::None,
        false => Hazard::Any,
    }
}

/// Clocks that differ by more are not sound, parts per million: ten times the poor quartz that `--clock-drift` assumes.
const SOUND_PPM: u64 = 1_000;

/// An invariant that a plan is not held to although its protocol's promise covers it: reads from memory are as good as the
/// clocks, and nothing helps a leader that is stopped between looking at its lease and answering. What a process promised
/// before it died, or what the service has lost, bounds nothing either. Where tokens begin again with the key that was
/// dropped, the service itself gives one twice.
///
/// Who was made leader by a majority is told only of fleets whose members stay the same: a history does not say who is one.
pub fn excused(plan: &Plan, protocol: &Protocol, invariant: &str) -> bool {
    let members_change = plan.candidates.iter().any(|candidate| candidate.joins_later)
        || plan.faults.iter().any(|fault| matches!(fault.what, Fault::Join { .. } | Fault::Leave { .. }));
    if invariant == "phantom_leader" && members_change {
        return true;
    }
    let drops_key = || plan.faults.iter().any(|fault| matches!(fault.what, Fault::DropKey { .. }));
    if ["elections", "phantom_leader"].contains(&invariant) && protocol.service.tokens_end_with_key && drops_key() {
        return true;
    }
    if invariant != "no_stale_read" || !plan.read_lease {
        return false;
    }
    let clocks = read_lease::of_plan(plan, protocol).is_some_and(|bound| bound.holds_at(bound::worst_ppm(plan)));
    let harmless = |fault: &PlannedFault| {
        let at_read =
            |trigger: &Trigger| matches!(trigger, Trigger::Passage { point, .. } if point == Point::ReadChecked.name());
        kinds::keeps_read_leases(&fault.what) && !at_read(&fault.when)
    };
    !(clocks && plan.faults.iter().all(harmless))
}

/// A plan before it is known of which protocol it is.
#[derive(Clone, Debug)]
struct Drawn {
    lease_ttl_ms: u64,
    /// The renewal interval is this part of the lease.
    share: u64,
    trouble_ms: u64,
    rate: u64,
    clients: u16,
    net: &'static Profile,
    /// Never drawn: chosen, or the network's.
    latency_us: Option<(u64, u64)>,
    loss_ppm: Option<u32>,
    reads_per_s: u64,
    read_lease: bool,
    /// Faults that a time sets off all strike about here, per mille of the time of trouble.
    burst: Option<u64>,
    count: usize,
    candidates: Vec<Candidate>,
    kinds: Vec<u16>,
    drafts: Vec<Draft>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let load = (5_u64..=40, 1_u16..=3, prop_oneof![1 => Just(0), 2 => 5_u64..=40], any::<bool>());
    let faults = (
        proptest::collection::vec(any::<u16>(), 1..=KINDS_MAX),
        proptest::collection::vec(draft(), 0..=FAULTS_MAX),
        option::weighted(0.2, 0_u64..=1_000),
    );
    let count = prop_oneof![2 => 1..=CANDIDATES_MAX, 4 => Just(3), 3 => Just(5)];
    (
        select(vec![1_000_u64, 1_500, 2_000, 3_000, 5_000]),
        2_u64..=5,
        TROUBLE_MIN_MS..=12_000,
        load,
        select(PROFILES.iter().filter(|profile| !profile.is_hostile()).collect::<Vec<_>>()),
        (count, proptest::collection::vec(candidate(), CANDIDATES_MAX)),
        faults,
    )
        .prop_map(|(lease_ttl_ms, share, trouble_ms, load, net, (count, candidates), (kinds, drafts, burst))| {
            let (rate, clients, reads_per_s, read_lease) = load;
            Drawn {
                lease_ttl_ms,
                share,
                trouble_ms,
                rate,
                clients,
                net,
                latency_us: None,
                loss_ppm: None,
                reads_per_s,
                read_lease,
                burst,
                count,
                candidates,
                kinds,
                drafts,
            }
        })
}

/// Trouble lasts so many times as long where the protocol is slow, so that something comes of it.
const SLOW: u64 = 4;

/// How long the protocol takes to replace a leader at the least, milliseconds: its shortest lease, and the takeover.
fn replaces_ms(protocol: &Protocol) -> u64 {
    let params = Params { lease_ttl_ms: Some(LEASE_MIN_MS), ..Params::default() };
    params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol)
}

/// Does that leave no time to watch what comes of trouble?
fn is_slow(protocol: &Protocol) -> bool {
    replaces_ms(protocol) > DURATION_MAX_MS / 2
}

/// The longest plan of a protocol, milliseconds.
pub fn duration_max_ms(protocol: &Protocol) -> u64 {
    DURATION_MAX_MS + if is_slow(protocol) { SLOW * replaces_ms(protocol) } else { 0 }
}

impl Drawn {
    fn plan(mut self, protocol: &'static Protocol, seed: u64, fencing: Fencing) -> Plan {
        if is_slow(protocol) {
            self.trouble_ms = self.trouble_ms.saturating_mul(SLOW);
        }
        loop {
            let plan = self.compile(protocol, seed, fencing);
            if plan.duration_ms <= duration_max_ms(protocol) {
                return plan;
            }
            // The longer the silence and the leases, the longer it has to be watched afterwards: make both shorter.
            if self.trouble_ms > 2 * TROUBLE_MIN_MS {
                self.trouble_ms -= TROUBLE_MIN_MS / 2;
            } else if self.lease_ttl_ms > LEASE_MIN_MS {
                self.lease_ttl_ms /= 2;
            } else if self.trouble_ms > TROUBLE_MIN_MS {
                self.trouble_ms = TROUBLE_MIN_MS;
            } else {
                return plan;
            }
        }
    }

    fn compile(&self, protocol: &'static Protocol, seed: u64, fencing: Fencing) -> Plan {
        let reads = self.reads_per_s;
        let mut params = Params { rate: self.rate, clients: self.clients, net: self.net, fencing, ..Params::default() };
        (params.latency_us, params.loss_ppm) = (self.latency_us, self.loss_ppm);
        let members = members::drawn(protocol, seed);
        params.service_members = Some(members);
        params.lease_ttl_ms =
            Some(self.lease_ttl_ms.max(members::reached_ms(members, params.network().one_way_max_us())));
        params.reads_per_s = Some(reads);
        params.read_lease = Some(reads > 0 && self.read_lease && protocol.read_lease.is_some());
        params.renew_interval_ms = Some((params.granted_ttl_ms(protocol) / self.share).max(1));
        let mut plan = params.plan(SWARM, protocol, seed, self.trouble_ms);
        plan.candidates = self.candidates.iter().cycle().take(self.count).cloned().collect();
        for (index, candidate) in plan.candidates.iter_mut().enumerate() {
            candidate.name = name(index);
            // Somebody has to be there from the start.
            candidate.joins_later &= index > 0 && protocol.changes_members;
        }
        plan.faults = self.faults(&plan, protocol);
        // Drawn apart from each other, some say nothing after the others.
        while let Some((place, _)) = plan.redundant(protocol) {
            plan.faults.remove(place);
        }
        plan.liveness_bound_ms = bound::liveness_ms(&plan, &params, protocol, self.trouble_ms);
        plan.duration_ms = self.trouble_ms + plan.liveness_bound_ms + QUIET_SLACK_MS;
        plan.dual_belief_bound_ms = belief::bound_ms(&plan, protocol);
        plan
    }

    fn faults(&self, plan: &Plan, protocol: &'static Protocol) -> Vec<PlannedFault> {
        let known: Vec<&kinds::Kind> = kinds::ALL.iter().filter(|kind| (kind.applies)(protocol)).collect();
        let enabled: Vec<&kinds::Kind> =
            self.kinds.iter().map(|pick| known[usize::from(*pick) % known.len()]).collect();
        let mut cast = Cast::new(plan, protocol, self.trouble_ms, self.burst);
        let draw = |draft: &Draft| enabled[usize::from(draft.pick) % enabled.len()].fault(&mut cast, draft);
        self.drafts.iter().filter_map(draw).collect()
    }
}

/// No lease is made shorter than this so that a run fits, milliseconds.
const LEASE_MIN_MS: u64 = 400;

fn ppm() -> impl Strategy<Value = i64> {
    prop_oneof![19 => -1_000_i64..=1_000, 1 => -100_000_i64..=100_000]
}

fn candidate() -> impl Strategy<Value = Candidate> {
    (-5_000_i64..=5_000, ppm(), 0..=STARTS_WITHIN_MS, prop_oneof![4 => Just(false), 1 => Just(true)]).prop_map(
        |(wall_offset_ms, rate_ppm, starts_at_ms, joins_later)| Candidate {
            name: String::new(),
            wall_offset_ms,
            rate_ppm,
            starts_at_ms,
            joins_later,
            timings: None,
        },
    )
}

fn draft() -> impl Strategy<Value = Draft> {
    let at = (0_u64..=1_000).prop_map(|start| When::At { start });
    let after = prop_oneof![
        1 => Just(None),
        2 => (0_u64..=1_000).prop_map(|start| Some(After::Time { start })),
        1 => (1_u64..=3, 0_u64..=1_000).prop_map(|(nth, delay_ms)| Some(After::Renewals { nth, delay_ms })),
    ];
    let passage = (any::<u16>(), 1_u64..=3, after).prop_map(|(pick, nth, after)| When::Passage { pick, nth, after });
    let when = prop_oneof![1 => at, 1 => passage];
    (any::<u16>(), role(), role(), when, 0_u64..=1_000, 0_u64..=1_000, any::<(bool, bool)>(), 0_u8..10).prop_map(
        |(pick, whom, others, when, length, amount, (flag, for_good), wild)| Draft {
            pick,
            whom,
            others,
            when,
            length,
            amount,
            flag,
            for_good,
            wild: wild == 9,
        },
    )
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![
        4 => Just(Role::Leader),
        3 => (0..CANDIDATES_MAX).prop_map(Role::Candidate),
        1 => Just(Role::Followers),
        2 => Just(Role::Service),
        2 => Just(Role::Store),
        1 => Just(Role::Clients),
    ]
}
