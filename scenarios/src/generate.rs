//! Arbitrary plans for property tests: any protocol, any clocks, any faults, and a shrinking that works on the plan (it
//! drops faults and candidates, and makes numbers small).
//!
//! A generated plan is small, at most 30 s of virtual time at a few requests a second, so that a case takes milliseconds.
//! Faults that a time sets off are healed by 60 % of the run; those that wait for a passage strike when it comes. What
//! never heals leaves a fleet that can lead, unless it needs a majority: only the death of candidates other than `n1`, clock
//! rates, and who is a member. The service and the store are stopped and cut off, never killed: what they lose with their
//! memory is another story.

use crate::{
    belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::{LIVENESS_SLACK_MS, PROFILES, Params, STARTS_WITHIN_MS},
    plan::{Candidate, GENERATED, Plan},
};
use proptest::{
    option,
    prelude::any,
    prop_oneof,
    sample::select,
    strategy::{Just, Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use protocols::{
    election::{self, Protocol},
    point::Point,
};

/// Most candidates of a generated plan.
pub const CANDIDATES_MAX: usize = 5;
/// Most faults of a generated plan.
pub const FAULTS_MAX: usize = 6;
/// Longest run of a generated plan, milliseconds.
pub const DURATION_MAX_MS: u64 = 30_000;

/// Any plan, of any protocol, with fencing on.
pub fn plans() -> impl Strategy<Value = Plan> {
    plans_of(election::ALL.iter().map(|protocol| protocol.name).collect())
}

/// Any plan of one of these protocols, with fencing on. A name that is no protocol's, or none at all, panics: it is the
/// test that is wrong.
pub fn plans_of(protocols: Vec<&'static str>) -> impl Strategy<Value = Plan> {
    (
        select(protocols),
        any::<u64>(),
        select(vec![1_000_u64, 1_500, 2_000, 3_000, 5_000]),
        2_u64..=5,
        15_000..=DURATION_MAX_MS,
        (5_u64..=50, 1_u16..=3, select(PROFILES.iter().collect::<Vec<_>>()), prop_oneof![Just(0), 5_u64..=50]),
        proptest::collection::vec(candidate(), 1..=CANDIDATES_MAX),
        proptest::collection::vec(draft(), 0..=FAULTS_MAX),
    )
        .prop_map(
            |(protocol, seed, lease_ttl_ms, share, duration_ms, (rate, clients, net, reads), candidates, drafts)| {
                let protocol = election::find(protocol).expect("the test names a protocol");
                let mut params = Params { lease_ttl_ms: Some(lease_ttl_ms), rate, clients, net, ..Params::default() };
                params.duration_ms = Some(duration_ms);
                params.reads_per_s = Some(reads);
                params.renew_interval_ms = Some(params.granted_ttl_ms(protocol) / share);
                build(&params, protocol, seed, candidates, &drafts)
            },
        )
}

/// The generated plan of that seed; the same seed gives the same plan.
pub fn plan(seed: u64) -> Plan {
    let mut key = *b"fencepost generated plan        ";
    key[24..].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &key));
    let tree = plans().new_tree(&mut runner).expect("the strategy filters nothing out");
    Plan { seed, ..tree.current() }
}

fn build(params: &Params, protocol: &Protocol, seed: u64, candidates: Vec<Candidate>, drafts: &[Draft]) -> Plan {
    let mut plan = params.plan(GENERATED, protocol, seed, DURATION_MAX_MS);
    plan.candidates = candidates;
    for (index, candidate) in plan.candidates.iter_mut().enumerate() {
        candidate.name = name(index);
        // Somebody has to be there from the start.
        candidate.joins_later &= index > 0 && protocol.changes_members;
    }
    // Clocks that are 10 % off measure leases and pauses 10 % wrong, on both sides.
    let lease_ms = params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol);
    plan.liveness_bound_ms = lease_ms * 5 / 4 + 2 * LIVENESS_SLACK_MS;
    let (candidates, has_service) = (plan.candidates.len(), plan.service_node().is_some());
    let (transfers, changes_members) = (protocol.transfers, protocol.changes_members);
    let cast = Cast { candidates, has_service, transfers, changes_members, duration_ms: plan.duration_ms };
    plan.faults = drafts.iter().map(|draft| cast.fault(draft)).collect();
    plan.dual_belief_bound_ms = belief::bound_ms(&plan);
    plan
}

fn name(index: usize) -> String {
    format!("n{}", index + 1)
}

fn ppm() -> impl Strategy<Value = i64> {
    prop_oneof![9 => -1_000_i64..=1_000, 1 => -100_000_i64..=100_000]
}

fn candidate() -> impl Strategy<Value = Candidate> {
    (-5_000_i64..=5_000, ppm(), 0..=STARTS_WITHIN_MS, prop_oneof![4 => Just(false), 1 => Just(true)]).prop_map(
        |(wall_offset_ms, rate_ppm, starts_at_ms, joins_later)| Candidate {
            name: String::new(),
            wall_offset_ms,
            rate_ppm,
            starts_at_ms,
            joins_later,
        },
    )
}

/// A fault before it is known how many candidates there are and how long the run takes. Times are per mille of what there
/// is room for.
#[derive(Clone, Debug)]
struct Draft {
    what: What,
    whom: Role,
    others: Role,
    when: When,
    length: u64,
}

/// A process that a fault may strike.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Role {
    Leader,
    /// The candidate of that number, counted round.
    Candidate(usize),
    Followers,
    Service,
    Store,
    Clients,
}

#[derive(Clone, Debug)]
enum What {
    Pause,
    Kill { for_good: bool },
    PowerLoss { for_good: bool },
    Restart,
    Partition { one_way: bool },
    Latency { extra_us: u64 },
    Loss { percent: u8 },
    SlowDisk { extra_us: u64 },
    ClockStep { by_ms: i64 },
    ClockRate { ppm: i64, for_good: bool },
    Resign,
    Transfer,
    Join,
    Leave,
}

#[derive(Clone, Debug)]
enum When {
    At { start: u64 },
    Passage { point: Point, nth: u64, after_renewals: Option<u64>, delay: u64 },
}

fn draft() -> impl Strategy<Value = Draft> {
    let what = prop_oneof![
        3 => Just(What::Pause),
        1 => any::<bool>().prop_map(|for_good| What::Kill { for_good }),
        1 => any::<bool>().prop_map(|for_good| What::PowerLoss { for_good }),
        1 => Just(What::Restart),
        3 => any::<bool>().prop_map(|one_way| What::Partition { one_way }),
        1 => (1_u64..=500_000).prop_map(|extra_us| What::Latency { extra_us }),
        1 => (1_u8..=60).prop_map(|percent| What::Loss { percent }),
        1 => (1_u64..=200_000).prop_map(|extra_us| What::SlowDisk { extra_us }),
        1 => (-10_000_i64..=10_000).prop_map(|by_ms| What::ClockStep { by_ms }),
        1 => (ppm(), any::<bool>()).prop_map(|(ppm, for_good)| What::ClockRate { ppm, for_good }),
        1 => Just(What::Resign),
        1 => Just(What::Transfer),
        1 => Just(What::Join),
        1 => Just(What::Leave),
    ];
    let at = (0_u64..=1_000).prop_map(|start| When::At { start });
    let passage = (select(Point::ALL.to_vec()), 1_u64..=4, option::of(1_u64..=3), 0_u64..=1_000)
        .prop_map(|(point, nth, after_renewals, delay)| When::Passage { point, nth, after_renewals, delay });
    (what, role(), role(), prop_oneof![at, passage], 0_u64..=1_000)
        .prop_map(|(what, whom, others, when, length)| Draft { what, whom, others, when, length })
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![
        4 => Just(Role::Leader),
        3 => (0..CANDIDATES_MAX).prop_map(Role::Candidate),
        1 => Just(Role::Followers),
        3 => Just(Role::Service),
        2 => Just(Role::Store),
        1 => Just(Role::Clients),
    ]
}

/// Who there is, and how long it takes.
struct Cast {
    candidates: usize,
    has_service: bool,
    transfers: bool,
    changes_members: bool,
    duration_ms: u64,
}

impl Cast {
    fn fault(&self, draft: &Draft) -> PlannedFault {
        let healed_ms = self.duration_ms * 3 / 5;
        let (when, room_ms) = match draft.when {
            When::At { start } => {
                let ms = self.duration_ms / 2 * start / 1_000;
                (Trigger::At { ms: ms as f64 }, healed_ms - ms)
            }
            When::Passage { point, nth, after_renewals, delay } => {
                let after = after_renewals.map(|nth| Box::new(passage(Point::Renewed, nth, None, 0)));
                let delay_ms = if after.is_some() { delay } else { 0 };
                (passage(point, nth, after, delay_ms), healed_ms / 2)
            }
        };
        let for_ms = (room_ms * draft.length / 1_000).max(1) as f64;
        PlannedFault { what: self.what(draft, for_ms), when }
    }

    fn what(&self, draft: &Draft, for_ms: f64) -> Fault {
        let by_passage = matches!(draft.when, When::Passage { .. });
        let lasting = Some(for_ms);
        let whom = self.who(draft.whom, by_passage);
        let node = if self.elects(draft.whom) { whom.clone() } else { Who::Leader };
        let (from, to) = (vec![whom], vec![self.other(draft, by_passage)]);
        let unless = |for_good: bool| if for_good && self.may_die(draft.whom) { None } else { lasting };
        match draft.what {
            What::Pause if draft.whom == Role::Clients => Fault::Pause { node, for_ms },
            What::Pause => Fault::Pause { node: from[0].clone(), for_ms },
            What::Kill { for_good } => Fault::Kill { node, restart_after_ms: unless(for_good) },
            What::PowerLoss { for_good } => Fault::PowerLoss { node, restart_after_ms: unless(for_good) },
            What::Restart => Fault::Restart { node },
            What::Partition { one_way } => Fault::Partition { from, to, one_way, for_ms: lasting },
            What::Latency { extra_us } => Fault::Latency { from, to, extra_us, for_ms: lasting },
            What::Loss { percent } => {
                Fault::Loss { from, to, probability: f64::from(percent) / 100.0, for_ms: lasting }
            }
            What::SlowDisk { extra_us } => Fault::SlowDisk { node, extra_us, for_ms: lasting },
            What::ClockStep { by_ms } => Fault::ClockStep { node, by_ms },
            What::ClockRate { ppm, for_good } => {
                Fault::ClockRate { node, ppm, for_ms: if for_good { None } else { lasting } }
            }
            What::Transfer if self.transfers => Fault::Transfer { node, to: self.heir(draft) },
            What::Join if self.changes_members => Fault::Join { node },
            What::Leave if self.changes_members => Fault::Leave { node },
            // What comes closest, where the protocol cannot.
            What::Join => Fault::Restart { node },
            What::Resign | What::Transfer | What::Leave => Fault::Resign { node },
        }
    }

    fn who(&self, role: Role, by_passage: bool) -> Who {
        match role {
            Role::Leader if by_passage => Who::Trigger,
            Role::Leader => Who::Leader,
            Role::Candidate(number) => Who::Named(name(number % self.candidates)),
            Role::Followers => Who::Followers,
            Role::Service if self.has_service => Who::Service,
            Role::Service => Who::Candidates,
            Role::Store => Who::Store,
            Role::Clients => Who::Clients,
        }
    }

    /// The other side of a link: somebody else.
    fn other(&self, draft: &Draft, by_passage: bool) -> Who {
        let (whom, other) = (self.who(draft.whom, by_passage), self.who(draft.others, by_passage));
        match whom == other {
            true if whom == Who::Candidates => Who::Store,
            true if whom == Who::Service || !self.has_service => Who::Candidates,
            true => Who::Service,
            false => other,
        }
    }

    /// Who is to take over.
    fn heir(&self, draft: &Draft) -> Who {
        match draft.others {
            Role::Candidate(number) => Who::Named(name(number % self.candidates)),
            _ => Who::Followers,
        }
    }

    fn elects(&self, role: Role) -> bool {
        matches!(role, Role::Leader | Role::Candidate(_) | Role::Followers)
    }

    /// May it stay dead? Not the first candidate, nor anybody who might be it.
    fn may_die(&self, role: Role) -> bool {
        matches!(role, Role::Candidate(number) if number % self.candidates != 0)
    }
}

/// A passage of the leader's; candidates pass some points before they lead, so those count for all of them.
fn passage(point: Point, nth: u64, after: Option<Box<Trigger>>, delay_ms: u64) -> Trigger {
    let node = match point {
        Point::BeforeCampaign | Point::AfterDeposed | Point::BeforePersist | Point::Voted => Who::Candidates,
        _ => Who::Leader,
    };
    Trigger::Passage { point: point.name().to_owned(), node, nth, after, delay_ms: delay_ms as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert, proptest, test_runner::TestError};

    proptest! {
        #![proptest_config(Config { cases: 2_000, failure_persistence: None, ..Config::default() })]

        #[test]
        fn every_generated_plan_is_valid(plan in plans()) {
            plan.validate().map_err(proptest::test_runner::TestCaseError::fail)?;
            prop_assert!(plan.fencing && plan.faults.len() <= FAULTS_MAX && plan.duration_ms <= DURATION_MAX_MS);
        }

        #[test]
        fn timed_faults_are_healed_by_three_fifths_of_the_run(plan in plans()) {
            for planned in &plan.faults {
                let restart_ms = match planned.what {
                    Fault::Kill { restart_after_ms, .. } | Fault::PowerLoss { restart_after_ms, .. } => restart_after_ms,
                    _ => None,
                };
                if let Trigger::At { ms } = planned.when {
                    let healed_ms = ms + planned.what.for_ms().or(restart_ms).unwrap_or(0.0);
                    prop_assert!(healed_ms <= plan.duration_ms as f64 * 0.6, "healed at {healed_ms} ms");
                }
            }
        }

        #[test]
        fn the_first_candidate_never_dies_for_good(plan in plans()) {
            for planned in &plan.faults {
                if let Fault::Kill { node, restart_after_ms: None } | Fault::PowerLoss { node, restart_after_ms: None } =
                    &planned.what
                {
                    prop_assert!(matches!(node, Who::Named(name) if name != "n1"), "{node} dies");
                }
            }
        }
    }

    #[test]
    fn every_kind_of_fault_protocol_and_profile_is_generated() {
        let plans: Vec<Plan> = (0..1_000).map(plan).collect();
        for (kind, _) in crate::fault::KINDS {
            assert!(plans.iter().flat_map(|plan| &plan.faults).any(|fault| fault.what.kind() == kind), "no {kind}");
        }
        for protocol in election::ALL {
            assert!(plans.iter().any(|plan| plan.protocol == protocol.name), "no {}", protocol.name);
        }
        for profile in &PROFILES {
            assert!(plans.iter().any(|plan| plan.network.profile == profile.name), "no {}", profile.name);
        }
    }

    #[test]
    fn a_seed_names_a_plan() {
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7).faults, plan(8).faults);
        assert_eq!(plan(7).seed, 7);
    }

    #[test]
    fn shrinking_leaves_what_matters() {
        let config = Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[1; 32]));
        let long_pause = |plan: &Plan| {
            let paused_ms = plan.faults.iter().filter(|fault| fault.what.kind() == "pause").map(|f| f.what.for_ms());
            paused_ms.flatten().any(|ms| ms > 3_000.0)
        };
        let result = runner.run(&plans(), |plan| {
            prop_assert!(!long_pause(&plan));
            Ok(())
        });
        let Err(TestError::Fail(_, smallest)) = result else { panic!("no long pause in {} cases", 256) };
        assert_eq!(smallest.faults.len(), 1, "{smallest:#?}");
        assert_eq!(smallest.candidates.len(), 1, "{smallest:#?}");
        let pause_ms = smallest.faults[0].what.for_ms().expect("a pause lasts");
        assert!(pause_ms < 3_050.0, "{pause_ms} ms is not the smallest");
        assert_eq!(smallest.candidates[0].rate_ppm, 0);
    }
}
