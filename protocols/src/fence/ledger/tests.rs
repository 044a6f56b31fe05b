//! The ledger's rules, one by one.

use super::*;
use crate::types::Resource;

pub(in crate::fence) fn write(token: u64, generation: u32, seq: u64, number: u64) -> Write {
    let (resource, client) = (Resource::SEQUENCE, NodeId(9));
    Write {
        resource,
        operation: Operation::Record,
        generation,
        token,
        seq,
        read_version: 0,
        client,
        number,
        payload: None,
    }
}

#[test]
fn a_rightful_leader_may_write_twice() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok);
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 2, 2)), WriteVerdict::Ok);
    assert_eq!((ledger.seq(), ledger.version()), (2, 2));
}

#[test]
fn a_stale_token_is_refused_from_the_seal_on() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert!(ledger.seal(NodeId(1), 1, 6));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Fenced { highest: 6 });
    assert!(!ledger.seal(NodeId(0), 1, 5));
}

#[test]
fn a_token_has_one_owner_and_that_owner_one_generation() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert!(!ledger.seal(NodeId(1), 1, 5));
    assert!(!ledger.seal(NodeId(0), 2, 5));
    assert_eq!(ledger.write(NodeId(1), &write(5, 1, 1, 1)), WriteVerdict::Fenced { highest: 5 });
}

#[test]
fn an_unsealed_token_is_refused_even_when_it_is_newer() {
    let mut ledger = Ledger::new();
    assert_eq!(ledger.write(NodeId(0), &write(7, 1, 1, 1)), WriteVerdict::Fenced { highest: 0 });
}

#[test]
fn a_lost_write_holds_up_those_behind_it() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 2, 2)), WriteVerdict::Failed { expected: 1 });
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok);
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 2, 2)), WriteVerdict::Ok);
}

#[test]
fn a_retry_is_answered_from_memory_and_burns_the_number_it_was_given() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok);
    assert!(ledger.seal(NodeId(1), 1, 6));
    assert_eq!(ledger.write(NodeId(1), &write(6, 1, 2, 1)), WriteVerdict::Duplicate { seq: 1 });
    assert_eq!(ledger.write(NodeId(1), &write(6, 1, 2, 1)), WriteVerdict::Duplicate { seq: 1 });
    assert_eq!(ledger.write(NodeId(1), &write(6, 1, 3, 2)), WriteVerdict::Ok);
    assert_eq!((ledger.seq(), ledger.version()), (3, 3));
}

#[test]
fn a_request_older_than_memory_is_refused() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    let last = 2 * REMEMBERED_REQUESTS as u64;
    for n in 1..=last {
        assert_eq!(ledger.write(NodeId(0), &write(5, 1, n, n)), WriteVerdict::Ok);
    }
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, last, 1)), WriteVerdict::Failed { expected: last + 1 });
    // In turn it burns its number, so that later ones can proceed.
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, last + 1, 1)), WriteVerdict::Failed { expected: last + 2 });
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, last + 2, last)), WriteVerdict::Duplicate { seq: last });
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, last + 3, last + 1)), WriteVerdict::Ok);
    assert_eq!((ledger.seq(), ledger.version()), (last + 3, last + 3));
}

#[test]
fn memory_reaches_half_a_window_behind_the_first_request_that_it_saw() {
    let half = REMEMBERED_REQUESTS as u64 / 2;
    let first = 1 << 40;
    let mut window = Window::default();
    let request = |number| RequestId { client: NodeId(7), number };
    let recalls = |window: &Window, numbers: [u64; 4]| numbers.map(|number| window.recall(request(number)));
    window.remember(request(first), 1);
    let numbers = [first - half - 1, first - half, first, first + 1];
    assert_eq!(recalls(&window, numbers), [Recall::TooOld, Recall::New, Recall::Applied(1), Recall::New]);
    window.remember(request(first - 2), 2);
    window.remember(request(first + 2), 3);
    let numbers = [first - 2, first - 1, first, first + 2];
    let applied = [Recall::Applied(2), Recall::New, Recall::Applied(1), Recall::Applied(3)];
    assert_eq!(recalls(&window, numbers), applied);
    // A number far ahead restarts the window.
    window.remember(request(3 * first), 4);
    let numbers = [first + 2, 3 * first - half - 1, 3 * first - half, 3 * first];
    assert_eq!(recalls(&window, numbers), [Recall::TooOld, Recall::TooOld, Recall::New, Recall::Applied(4)]);
}

#[test]
fn a_read_is_refused_where_a_write_would_be() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.read(NodeId(0), 1, 5), WriteVerdict::Ok);
    for (node, generation, token) in [(1, 1, 5), (0, 2, 5), (0, 1, 4), (0, 1, 6), (0, 1, 0)] {
        assert_eq!(ledger.read(NodeId(node), generation, token), WriteVerdict::Fenced { highest: 5 });
    }
    assert!(ledger.seal(NodeId(1), 1, 6));
    assert_eq!(ledger.read(NodeId(0), 1, 5), WriteVerdict::Fenced { highest: 6 });
}

#[test]
fn once_a_token_was_seen_tokenless_writes_are_refused() {
    let mut ledger = Ledger::new();
    assert_eq!(ledger.write(NodeId(0), &write(0, 1, 1, 1)), WriteVerdict::Ok);
    assert!(ledger.seal(NodeId(1), 1, 6));
    assert_eq!(ledger.write(NodeId(0), &write(0, 1, 2, 2)), WriteVerdict::Fenced { highest: 6 });
}

#[test]
fn what_was_recorded_last_is_what_was_applied_last() {
    let record =
        |number: u64| Payload { number: number.try_into().unwrap_or(std::num::NonZeroU64::MIN), at_us: number };
    let with = |token, seq, number| Write { payload: Some(record(number)), ..write(token, 1, seq, number) };
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &with(5, 1, 1)), WriteVerdict::Ok);
    // Writes that are refused, out of turn or without a payload record nothing.
    assert_eq!(ledger.write(NodeId(0), &with(4, 2, 2)), WriteVerdict::Fenced { highest: 5 });
    assert_eq!(ledger.write(NodeId(0), &with(5, 3, 3)), WriteVerdict::Failed { expected: 2 });
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 2, 4)), WriteVerdict::Ok);
    // A retry with another payload changes nothing either.
    let again = Write { payload: Some(record(9)), ..write(5, 1, 3, 1) };
    assert_eq!(ledger.write(NodeId(0), &again), WriteVerdict::Duplicate { seq: 1 });
    assert_eq!(ledger.payload(), Some(record(1)));
    assert_eq!(ledger.write(NodeId(0), &with(5, 4, 5)), WriteVerdict::Ok);
    assert_eq!(ledger.payload(), Some(record(5)));
}

#[test]
fn a_restored_ledger_decides_like_the_one_that_was_lost() {
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    assert_eq!(ledger.write(NodeId(0), &write(5, 1, 1, 1)), WriteVerdict::Ok);
    let mut restored = Ledger::restore(ledger.state(), ledger.memory().clone());
    let questions = [write(5, 1, 2, 1), write(5, 2, 3, 2), write(4, 1, 3, 2), write(5, 1, 9, 2), write(5, 1, 3, 2)];
    for question in questions {
        assert_eq!(restored.write(NodeId(0), &question), ledger.write(NodeId(0), &question));
        assert_eq!(restored.state(), ledger.state());
    }
    assert_eq!((restored.seal(NodeId(1), 1, 5), restored.seal(NodeId(1), 1, 6)), (false, true));
}

#[test]
fn only_what_records_is_what_a_seal_reads() {
    let plan = |number: u64| Payload { number: number.try_into().unwrap(), at_us: number };
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    for (seq, operation, number) in [(1, Operation::Make, 7), (2, Operation::Enact, 6), (3, Operation::Delete, 5)] {
        let operate = Write { operation, payload: Some(plan(number)), ..write(5, 1, seq, seq) };
        assert_eq!(ledger.write(NodeId(0), &operate), WriteVerdict::Ok);
    }
    assert_eq!(ledger.payload(), Some(plan(7)));
    // A record on a resource without plans creates none.
    assert_eq!(ledger.write(NodeId(0), &Write { payload: Some(plan(8)), ..write(5, 1, 4, 4) }), WriteVerdict::Ok);
    assert!(ledger.plans().made().is_empty(), "plan 7 was deleted: {:?}", ledger.plans());
}
