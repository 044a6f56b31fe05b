//! Arbitrary plans, for `sweep swarm` and for property tests: any protocol, sizes, clocks, network, timers, loads and
//! faults, with shrinking of the plan itself (fewer faults and candidates, smaller numbers).
//!
//! **Swarm testing.** Each plan enables a few kinds of faults and draws all its faults from those, so it has more
//! faults of the same kind, in more combinations, than a plan that draws from every kind. Source: Groce, Zhang, Eide,
//! Chen and Regehr, "Swarm Testing", ISSTA 2012. The kinds are a table (`generate/kinds.rs`); a new kind of fault is
//! one more entry.
//!
//! **Trouble, then quiet.** Faults with a time as trigger strike and heal in the first part of the run. The rest is
//! quiet and longer than the liveness bound (`generate/bound.rs` derives it from the plan), so a run can miss the
//! bound. Faults that wait for a passage of a named point are armed in the first part and strike when it comes. Faults
//! that never heal leave the fleet able to elect: as many dead candidates as it can spare, never `n1`; one cut link
//! between two candidates, or between one of them and the service; a clock's rate. Service and store always come back.
//!
//! A generated plan is small, so that a run takes milliseconds: at most 30 s of virtual time, at a few requests a
//! second.

mod bound;
mod cast;
mod choice;
mod kinds;
#[cfg(test)]
mod tests;

use crate::{
    belief,
    fault::{Fault, PlannedFault, Trigger},
    params::{PROFILES, Params, Profile, STARTS_WITHIN_MS},
    plan::{Candidate, Plan, SWARM},
    read_lease,
    scenario::Live,
    streams,
};
use cast::{After, Cast, Draft, Role, When, name};
pub use choice::Choice;
use proptest::{
    option,
    prelude::any,
    prop_oneof,
    sample::select,
    strategy::{Just, Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use protocols::{
    election::{self, Hazard, Promise, Protocol, hazard},
    fence::checks::Fencing,
    history::FaultKind,
    point::Point,
};

pub const CANDIDATES_MAX: usize = 9;
pub const FAULTS_MAX: usize = 8;
/// Most kinds of faults that a generated plan enables.
pub const KINDS_MAX: usize = 5;
/// Longest run of a generated plan, milliseconds.
pub const DURATION_MAX_MS: u64 = 30_000;
/// Shortest period of faults, milliseconds.
const TROUBLE_MIN_MS: u64 = 3_000;
/// By how much the quiet part exceeds the liveness bound, milliseconds.
const QUIET_SLACK_MS: u64 = 500;

/// Any plan, of any protocol, with fencing on.
pub fn plans() -> impl Strategy<Value = Plan> {
    plans_of(election::ALL.iter().map(|protocol| protocol.name).collect())
}

/// Any plan of one of these protocols, with fencing on. Panics on an empty list and on an unknown name: both are
/// mistakes of the test.
pub fn plans_of(protocols: Vec<&'static str>) -> impl Strategy<Value = Plan> {
    (select(protocols), any::<u64>(), drawn()).prop_map(|(protocol, seed, drawn)| {
        let protocol = election::find(protocol).expect("the test names a protocol");
        drawn.plan(protocol, seed, Fencing::On)
    })
}

/// Every kind of fault, as plans call it, with a one-sentence description.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    kinds::ALL.iter().map(|kind| (kind.kind.name(), kind.about))
}

/// The kinds that plans are generated from: those that can strike some protocol.
pub fn drawn_kinds() -> impl Iterator<Item = &'static FaultKind> {
    let drawn = |kind: &&kinds::Kind| election::ALL.iter().any(|protocol| (kind.applies)(protocol));
    kinds::ALL.iter().filter(drawn).map(|kind| &kind.kind)
}

/// The generated plan of this seed, of any protocol. Deterministic.
pub fn plan(seed: u64) -> Plan {
    swarm(seed, &Choice::default())
}

/// The generated plan of this seed, where `choice` leaves it open. The protocol is drawn separately: the same seed with
/// only that protocol to draw from gives the same plan.
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
    Plan { groups: choice.groups, bugs: choice.bugs_of(&plan.protocol), ..plan }
}

/// The promise of the plan's protocol in it: the one about no hazard if the plan has none, otherwise the one about any.
pub fn promise(plan: &Plan, protocol: &Protocol) -> Promise {
    // Only the scenarios state what a single check guarantees.
    if !matches!(plan.fencing, Fencing::On | Fencing::Off) {
        return Promise::May;
    }
    match (protocol.promise)(hazard(plan, protocol), plan.fencing == Fencing::On) {
        // A store that cannot tell a late write from a new one promises nothing if connections do not keep their order.
        Promise::Holds if plan.network.datagrams && !(protocol.tokened && plan.fencing == Fencing::On) => Promise::May,
        promise => promise,
    }
}

/// What the plan's protocol promises about liveness in it. If tokens restart when their key is dropped, a store that has
/// accepted a higher one refuses every leader until the tokens have passed it.
pub fn liveness(plan: &Plan, protocol: &Protocol) -> Live {
    let restart = protocol.service.tokens_end_with_key && drops_key(plan);
    if restart && plan.fencing != Fencing::Off { Live::May } else { Live::of(protocol) }
}

fn drops_key(plan: &Plan) -> bool {
    plan.faults.iter().any(|fault| matches!(fault.what, Fault::DropKey { .. }))
}

/// The worst hazard of a generated plan. A promise about a single hazard assumes sound clocks and networks.
fn hazard(plan: &Plan, protocol: &Protocol) -> Hazard {
    let sound = plan.network.loss == 0.0 && bound::worst_ppm(plan) <= bound::SOUND_PPM && !plan.read_lease;
    match plan.faults.is_empty() && sound {
        true if election::compares_wall_clocks(protocol) && bound::clocks_outrun_lease(plan) => hazard::CLOCK_STEPS,
        true => hazard::NONE,
        false => hazard::ANY,
    }
}

/// True if a plan is not held to an invariant although its protocol's promise covers it. Reads from memory are only as
/// good as the clocks, and nothing protects a leader that stops between checking its lease and answering; nor does a
/// promise bound anything once the process that made it has died or the service has lost data. If tokens restart when
/// their key is dropped, the service itself grants one twice.
///
/// A majority's choice of leader is only checked in fleets with fixed members: a history does not say who is a member.
pub fn excused(plan: &Plan, protocol: &Protocol, invariant: &str) -> bool {
    let members_change = plan.candidates.iter().any(|candidate| candidate.joins_later)
        || plan.faults.iter().any(|fault| matches!(fault.what, Fault::Join { .. } | Fault::Leave { .. }));
    if invariant == "phantom_leader" && members_change {
        return true;
    }
    if ["elections", "phantom_leader"].contains(&invariant) && protocol.service.tokens_end_with_key && drops_key(plan) {
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

/// A plan whose protocol is not yet known.
#[derive(Clone, Debug)]
struct Drawn {
    lease_ttl_ms: u64,
    /// The lease divided by the renewal interval.
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
    /// If set, all faults with a time as trigger strike about here, per mille of the period of faults.
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

/// The factor by which a slow protocol's period of faults is longer, so that the faults have consequences.
const SLOW: u64 = 4;

/// The shortest time in which the protocol replaces a leader, milliseconds: its shortest lease, and the takeover.
fn replaces_ms(protocol: &Protocol) -> u64 {
    let params = Params { lease_ttl_ms: Some(LEASE_MIN_MS), ..Params::default() };
    params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol)
}

/// True if that leaves no time to watch the consequences.
fn is_slow(protocol: &Protocol) -> bool {
    replaces_ms(protocol) > DURATION_MAX_MS / 2
}

/// The longest plan of a protocol, milliseconds.
pub fn duration_max_ms(protocol: &Protocol) -> u64 {
    let slow = if is_slow(protocol) { SLOW * replaces_ms(protocol) } else { 0 };
    // Clocks are up to 10 s apart, and a fault sets one by up to 10 s.
    let waits = if bound::ends_by_readers_clocks(protocol) { 10_000 * (1 + FAULTS_MAX as u64) } else { 0 };
    DURATION_MAX_MS + slow + waits
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
            // Longer silences and leases need a longer quiet part: shorten both.
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
        let members = cast::drawn(protocol, seed);
        params.service_members = Some(members);
        params.lease_ttl_ms = Some(self.lease_ttl_ms.max(cast::reached_ms(members, params.network().one_way_max_us())));
        params.reads_per_s = Some(reads);
        params.read_lease = Some(reads > 0 && self.read_lease && protocol.read_lease.is_some());
        params.renew_interval_ms = Some((params.granted_ttl_ms(protocol) / self.share).max(1));
        let mut plan = params.plan(SWARM, protocol, seed, self.trouble_ms);
        plan.candidates = self.candidates.iter().cycle().take(self.count).cloned().collect();
        for (index, candidate) in plan.candidates.iter_mut().enumerate() {
            candidate.name = name(index);
            // One candidate must be there from the start.
            candidate.joins_later &= index > 0 && protocol.changes_members;
            candidate.rate_ppm = candidate.rate_ppm.min(bound::fastest_ppm(&plan.network, protocol));
        }
        plan.faults = self.faults(&plan, protocol);
        // The faults are drawn independently, so some may be redundant.
        while let Some((place, _)) = plan.redundant(protocol) {
            plan.faults.remove(place);
        }
        // Alone, who resigned has to stand again.
        params.nodes = params.nodes.min(plan.candidates.len() as u16);
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

/// The shortest lease that shrinking to fit the run may leave, milliseconds.
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
