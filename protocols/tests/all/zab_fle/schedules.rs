//! Whole fleets: whatever happens, an epoch has one leader; and when nothing happens any more, everybody follows one.

use super::fleet::{Fleet, Reign, Trouble};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An epoch has one leader, once.
fn epochs_are_given_once(reigns: &[Reign]) -> Result<(), TestCaseError> {
    let mut owners = BTreeMap::new();
    for reign in reigns {
        if let Some(other) = owners.insert(reign.token, reign) {
            return Err(TestCaseError::fail(format!("{other:?} and {reign:?}")));
        }
    }
    Ok(())
}

fn everybody_follows_one(fleet: &Fleet) -> Result<(), TestCaseError> {
    let leaders = fleet.leaders();
    prop_assert_eq!(leaders.len(), 1, "{:?} lead, {:?} is observed", leaders, fleet.observed());
    for observed in fleet.observed() {
        prop_assert_eq!(observed, Some(leaders[0]));
    }
    Ok(())
}

fn trouble(count: u16) -> impl Strategy<Value = Trouble> {
    let node = 0..count;
    prop_oneof![
        3 => (node.clone(), any::<bool>(), 1..3_000u64)
            .prop_map(|(node, power, for_ms)| Trouble::Down { node, power, for_ms }),
        3 => lasting(count),
        1 => Just(Trouble::Resign),
    ]
}

/// Trouble in which no process forgets for how long it was to wait.
fn lasting(count: u16) -> impl Strategy<Value = Trouble> {
    prop_oneof![
        (0..count, 1..3_000u64).prop_map(|(node, for_ms)| Trouble::Pause { node, for_ms }),
        (0..count, any::<u8>(), 1..4_000u64).prop_map(|(from, to, for_ms)| Trouble::Cut { from, to, for_ms }),
    ]
}

fn schedule<S: Strategy<Value = Trouble>>(of: S) -> impl Strategy<Value = Vec<(u64, Trouble)>> {
    prop::collection::vec((0..15_000u64, of), 0..14)
}

/// Plays a schedule, and then a minute in which nothing happens.
fn play(count: u16, seed: u64, loss: u32, schedule: &[(u64, Trouble)]) -> Fleet {
    let mut fleet = Fleet::new(count, 4_000, seed);
    fleet.set_loss(loss);
    for (after_ms, trouble) in schedule {
        fleet.plan(*after_ms, *trouble);
    }
    fleet.run(19_000);
    fleet.set_loss(0);
    fleet.run(60_000);
    fleet
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_epoch_has_one_leader_and_peace_has_one(
        (count, schedule) in (1..=5u16).prop_flat_map(|n| (Just(n), schedule(trouble(n)))),
        seed in any::<u64>(),
        loss in prop_oneof![Just(0u32), 4..230u32],
    ) {
        let fleet = play(count, seed, loss, &schedule);
        epochs_are_given_once(&fleet.reigns)?;
        everybody_follows_one(&fleet)?;
    }

    #[test]
    fn beliefs_do_not_overlap_while_no_process_is_started_again(
        schedule in schedule(prop_oneof![4 => lasting(5), 1 => Just(Trouble::Resign)]),
        seed in any::<u64>(),
        loss in prop_oneof![Just(0u32), 4..230u32],
    ) {
        let fleet = play(5, seed, loss, &schedule);
        epochs_are_given_once(&fleet.reigns)?;
        for pair in fleet.reigns.windows(2) {
            prop_assert!(pair[0].to <= pair[1].from && pair[0].token < pair[1].token, "{:?}", pair);
        }
        everybody_follows_one(&fleet)?;
    }
}

#[test]
fn epochs_rise_when_power_is_lost_at_any_write_and_everybody_starts_again() {
    for (count, last_write) in [(1, 8), (3, 24)] {
        for write in 1..=last_write {
            for done in [false, true] {
                let mut fleet = Fleet::new(count, 100, write);
                fleet.bench.disks.power_fails_at = Some((write, done));
                for life in 0..4 {
                    fleet.run(10_000);
                    for node in 0..count {
                        fleet.plan(0, Trouble::Down { node, power: life % 2 == 0, for_ms: 50 });
                    }
                }
                fleet.run(10_000);
                let tokens: Vec<_> = fleet.reigns.iter().map(|r| r.token).collect();
                assert!(tokens.is_sorted_by(|a, b| a < b), "write {write} of {count} nodes, done {done}: {tokens:?}");
                assert!(tokens.len() >= 5, "write {write} of {count} nodes, done {done}: {tokens:?}");
                assert!(fleet.bench.writes() > write, "the write at which power was to fail never came");
            }
        }
    }
}
