//! What each check is there for, and that an ablated ledger without ablations is the ledger.

use super::*;
use crate::{
    bug::{Bug, Bugs},
    fence::{
        checks::{self, Fencing},
        ledger::tests::write,
    },
    types::Payload,
};

#[test]
fn without_fencing_anything_goes() {
    let mut ledger = AnyLedger::new(false);
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert!(ledger.seal(NodeId(1), 1, 6));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok);
    assert_eq!(AnyLedger::new(false).read(NodeId(0), 1, 5), WriteVerdict::Ok);
}

/// A former leader's writes after its successor has sealed: in order with a new request, out of order, and a retry.
fn stale_writes(fencing: Fencing) -> [WriteVerdict; 3] {
    let stale = |question: &Write| {
        let mut ledger = AnyLedger::new(fencing);
        assert!(ledger.seal(NodeId(0), 1, 5));
        assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok, "{fencing:?}");
        assert!(ledger.seal(NodeId(1), 1, 6), "{fencing:?}");
        ledger.write(NodeId(0), question)
    };
    [stale(&write(5, 1, 2, 2)), stale(&write(5, 1, 9, 2)), stale(&write(5, 1, 2, 1))]
}

#[test]
fn each_check_alone_refuses_what_is_its_own() {
    let (ok, fenced) = (WriteVerdict::Ok, WriteVerdict::Fenced { highest: 6 });
    let (failed, duplicate) = (WriteVerdict::Failed { expected: 2 }, WriteVerdict::Duplicate { seq: 1 });
    assert_eq!(stale_writes(Fencing::On), [fenced; 3]);
    assert_eq!(stale_writes(Fencing::Token), [fenced; 3]);
    assert_eq!(stale_writes(Fencing::Order), [ok, failed, ok]);
    assert_eq!(stale_writes(Fencing::Memory), [ok, ok, duplicate]);
    assert_eq!(stale_writes(Fencing::Off), [ok; 3]);
    // The rightful leader's own writes: out of order, and repeated.
    let mut ledger = AnyLedger::new(Fencing::Token);
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert!(!ledger.seal(NodeId(1), 1, 4));
    assert_eq!([7, 7, 3].map(|seq| ledger.write(NodeId(0), &write(5, 1, seq, 1))), [ok; 3]);
}

/// The result of a former leader's operation after its successor has made and enacted plan 2.
fn stale_operation(bugs: &[&'static Bug], operation: Operation) -> (WriteVerdict, Vec<u64>, Option<u64>) {
    let plan = |number: u64| Some(Payload { number: number.try_into().unwrap(), at_us: number });
    let operate =
        |token, seq, operation, number| Write { operation, payload: plan(number), ..write(token, 1, seq, seq) };
    let mut ledger = AnyLedger::new(Fencing::On.checks().but_for(&Bugs::new(bugs.iter().copied()), 0));
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &operate(5, 1, Operation::Make, 1)), WriteVerdict::Ok);
    assert!(ledger.seal(NodeId(1), 1, 6));
    for (seq, operation) in [(2, Operation::Make), (3, Operation::Enact)] {
        assert_eq!(ledger.write(NodeId(1), &operate(6, seq, operation, 9)), WriteVerdict::Ok);
    }
    let stale = ledger.write(NodeId(0), &operate(5, 2, operation, 1));
    // In any case, the rightful leader continues.
    assert_eq!(ledger.write(NodeId(1), &write(6, 1, 4, 4)), WriteVerdict::Ok);
    let made = ledger.plans().made().iter().map(|plan| plan.number).collect();
    (stale, made, ledger.plans().live())
}

#[test]
fn a_former_leader_neither_deletes_nor_makes_live() {
    let fenced = WriteVerdict::Fenced { highest: 6 };
    for operation in Operation::ALL {
        assert_eq!(stale_operation(&[], operation), (fenced, vec![1, 9], Some(9)), "{operation:?}");
    }
    let [deletions, enactments] = [&checks::DELETIONS_UNFENCED, &checks::ENACTMENTS_UNFENCED];
    assert_eq!(stale_operation(&[deletions], Operation::Delete), (WriteVerdict::Ok, vec![1], Some(9)), "live is gone");
    assert_eq!(stale_operation(&[deletions], Operation::Enact), (fenced, vec![1, 9], Some(9)));
    assert_eq!(stale_operation(&[enactments], Operation::Enact), (WriteVerdict::Ok, vec![1, 9], Some(1)));
    assert_eq!(stale_operation(&[enactments], Operation::Delete), (fenced, vec![1, 9], Some(9)));
    for bug in [deletions, enactments] {
        assert_eq!(stale_operation(&[bug], Operation::Make), (fenced, vec![1, 9], Some(9)), "{}", bug.id);
    }
}

/// The verdict on a former leader's next write, after its successor has written `written` times.
fn stale_after(bugs: &[&'static Bug], written: u64) -> (WriteVerdict, u64) {
    let mut ledger = AnyLedger::new(Fencing::On.checks().but_for(&Bugs::new(bugs.iter().copied()), 0));
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok);
    assert!(ledger.seal(NodeId(1), 1, 6));
    for seq in 2..2 + written {
        assert_eq!(ledger.write(NodeId(1), &write(6, 1, seq, seq)), WriteVerdict::Ok);
    }
    let stale = ledger.write(NodeId(0), &write(5, 1, 2, 9_999));
    // In any case, the rightful leader continues.
    assert_eq!(ledger.write(NodeId(1), &write(6, 1, 2 + written, 2 + written)), WriteVerdict::Ok);
    (stale, ledger.seq())
}

#[test]
fn a_name_fences_for_as_long_as_it_is_kept() {
    let (collected, kept) = (&checks::NAMES_COLLECTED, checks::NAMES_KEPT);
    let fenced = WriteVerdict::Fenced { highest: 6 };
    // The fence itself, at once; the name that the successor took; and the last moment at which it exists.
    for written in [0, 1, kept] {
        assert_eq!(stale_after(&[collected], written), (fenced, written + 2));
    }
    assert_eq!(stale_after(&[collected], kept + 1), (WriteVerdict::Ok, kept + 3), "the name is gone");
    assert_eq!(stale_after(&[], 3 * kept), (fenced, 3 * kept + 2), "the newest token is never forgotten");
}

#[test]
fn without_ablations_it_decides_like_the_ledger() {
    let all = Fencing::On.checks();
    assert!(all.are_whole() && matches!(AnyLedger::new(all), AnyLedger::Whole(_)));
    let mut verdicts = std::collections::BTreeSet::new();
    for seed in 0..200_u64 {
        let mut ledger = Ledger::new();
        let mut ablated = Ablated::of(all, Ledger::new());
        // A linear congruential generator: of its bits the upper ones are random enough.
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..60 {
            let (node, generation, token) =
                (NodeId(draw(3) as u16), draw(2) as u32, [0, 1, 2, 3, FORGED][draw(5) as usize]);
            let seq = (ledger.seq() + draw(3)).max(1);
            let operation = Operation::ALL[draw(Operation::ALL.len() as u64) as usize];
            let payload = (1 + draw(4)).try_into().ok().map(|number| Payload { number, at_us: seq });
            let question = Write { operation, payload, ..write(token, generation, seq, draw(8)) };
            match draw(4) {
                0 => {
                    let sealed = ledger.seal(node, generation, token);
                    assert_eq!(sealed, ablated.seal(node, generation, token));
                    verdicts.insert(format!("seal {sealed}"));
                }
                1 => assert_eq!(ledger.read(node, generation, token), ablated.read(node, generation, token)),
                _ => {
                    let verdict = ledger.write(node, &question);
                    assert_eq!(verdict, ablated.write(node, &question));
                    verdicts.insert(format!("{verdict:?}").split(' ').next().unwrap_or_default().to_owned());
                }
            }
            assert_eq!(ledger, ablated.ledger);
        }
    }
    let expected = ["Duplicate", "Failed", "Fenced", "Ok", "seal false", "seal true"];
    assert_eq!(verdicts.into_iter().collect::<Vec<_>>(), expected);
}
