//! The disk's content, and what must be on it before a message is sent.

use super::*;
use proptest::prelude::*;

#[test]
fn what_follows_from_a_state_waits_until_it_is_on_disk() {
    let (mut voter, _) = Voter::start(None);
    let ask = |from: u16, epoch, correlation| {
        let message = Message::Request { correlation, epoch, ask: vote(false, 0, 0) };
        Input::Peer { from: NodeId(from), message }
    };
    assert!(said_to(&voter.step_only(ask(1, 1, 1)), 1).is_empty());
    // Inputs wait for the disk; this one would be refused, which needs no disk.
    assert!(said_to(&voter.step_only(ask(2, 1, 2)), 2).is_empty());
    assert!(voter.step_only(Input::Timer(DUE)).is_empty());
    voter.disk = voter.writing.take();
    let out = voter.step_only(Input::Persisted);
    let answer = |correlation, granted| {
        let result = Ok(Answer::Vote { granted });
        Message::Response { correlation, epoch: 1, leader: None, result }
    };
    assert!(said_to(&out, 1).contains(&answer(1, true)), "{out:?}");
    assert!(said_to(&out, 2).contains(&answer(2, false)), "{out:?}");
    assert_eq!(voter.disk, Some(state(1, Some(1), None, &[]).encode()));
}

#[test]
fn a_follower_fetches_on_only_when_what_it_got_is_on_disk() {
    let (mut voter, said) = Voter::start(Some(state(1, None, Some(1), &[])));
    let [Message::Request { correlation, .. }] = said_to(&said, 1)[..] else { panic!("one fetch") };
    let result = Ok(Answer::Fetch { found: Found::Record(1), high_watermark: None });
    let answer = Message::Response { correlation, epoch: 1, leader: Some(NodeId(1)), result };
    let out = voter.step_only(Input::Peer { from: NodeId(1), message: answer });
    assert!(said_to(&out, 1).is_empty() && voter.writing.is_some());
    let out = voter.step_only(Input::Persisted);
    assert!(matches!(said_to(&out, 1)[..], [Message::Request { ask: Ask::Fetch { offset: 1, .. }, .. }]));
}

#[test]
fn a_leader_counts_its_own_log_when_it_is_on_disk() {
    let core = Kraft::new(setup(0, 1, 7, None));
    let mut voter = Voter { core, now: SECOND, disk: None, writing: None, timer: None };
    assert_eq!(elected(&voter.step_only(Input::Start)), None);
    assert!(elected(&voter.step_only(Input::Persisted)).is_some());
}

#[test]
fn who_cannot_read_its_disk_takes_no_part() {
    let falling = state(3, None, None, &[2, 1]).encode();
    let from_the_future = state(3, None, None, &[4]).encode();
    let torn = [state(3, None, None, &[1]).encode(), vec![1]].concat();
    for bytes in [vec![], vec![1; 7], falling, from_the_future, torn] {
        let mut core = Kraft::new(setup(0, 1, 7, Some(bytes)));
        let mut out = Vec::new();
        core.step(Now { mono: SECOND, wall: 0 }, Input::Start, &mut out);
        core.step(Now { mono: 9 * SECOND, wall: 0 }, Input::Timer(DUE), &mut out);
        assert!(out.is_empty(), "{out:?}");
    }
}

#[test]
fn logs_part_where_the_last_common_epoch_ends() {
    let own = state(9, None, None, &[1, 2, 4, 7]);
    let ends = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 1), (6, 9), (8, 9)].map(|(epoch, end)| own.common_end(epoch, end));
    assert_eq!(ends, [0, 1, 2, 2, 1, 3, 4]);
    let found = [(0, 0), (1, 1), (4, 7), (2, 2), (2, 3), (3, 3), (5, 4)].map(|(offset, epoch)| own.find(offset, epoch));
    let diverging = |epoch, end_offset| Found::Diverging { epoch, end_offset };
    let expected = [
        Found::Record(1),
        Found::Record(2),
        Found::Nothing,
        Found::Record(4),
        diverging(2, 2),
        diverging(2, 2),
        diverging(4, 3),
    ];
    assert_eq!(found, expected);
}

fn any_state() -> impl Strategy<Value = Durable> {
    let node = prop::option::of(0_u16..9);
    let steps = prop::collection::vec(1_u32..4, 0..9);
    (node.clone(), node, steps, 0_u32..4).prop_map(|(voted, leader, steps, later)| {
        let log: Vec<_> = steps
            .iter()
            .scan(0, |epoch, step| {
                *epoch += step;
                Some(*epoch)
            })
            .collect();
        state(log.last().copied().unwrap_or(0) + later, voted, leader, &log)
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    let small = 0_u32..6;
    let mark = prop::option::of(0_u32..6);
    let ask = prop_oneof![
        (any::<bool>(), small.clone(), small.clone()).prop_map(|(p, epoch, end)| vote(p, epoch, end)),
        Just(Ask::BeginQuorumEpoch),
        prop::collection::vec((0_u16..5).prop_map(NodeId), 0..5)
            .prop_map(|successors| Ask::EndQuorumEpoch { successors }),
        (small.clone(), small.clone(), mark.clone()).prop_map(|(offset, last_fetched_epoch, high_watermark)| {
            Ask::Fetch { offset, last_fetched_epoch, high_watermark }
        }),
    ];
    let found = prop_oneof![
        Just(Found::Nothing),
        small.clone().prop_map(Found::Record),
        (small.clone(), small.clone()).prop_map(|(epoch, end_offset)| Found::Diverging { epoch, end_offset }),
    ];
    let result = prop_oneof![
        any::<bool>().prop_map(|granted| Ok(Answer::Vote { granted })),
        Just(Ok(Answer::BeginQuorumEpoch)),
        Just(Ok(Answer::EndQuorumEpoch)),
        (found, mark).prop_map(|(found, high_watermark)| Ok(Answer::Fetch { found, high_watermark })),
        Just(Err(Refusal::FencedEpoch)),
        Just(Err(Refusal::UnknownEpoch)),
        Just(Err(Refusal::NotLeader)),
    ];
    let epoch = prop_oneof![9 => 0_u32..6, 1 => Just(u32::MAX)];
    let request = (epoch.clone(), any::<u32>(), ask).prop_map(|(epoch, correlation, ask)| Message::Request {
        correlation,
        epoch,
        ask,
    });
    let response = (epoch, 0_u32..40, prop::option::of(0_u16..5), result).prop_map(|(epoch, back, leader, result)| {
        // `back` is the answered request, counted from the last.
        Message::Response { correlation: back, epoch, leader: leader.map(NodeId), result }
    });
    prop_oneof![request, response]
}

proptest! {
    #[test]
    fn a_state_is_read_as_it_was_written(state in any_state()) {
        prop_assert_eq!(Durable::decode(&state.encode()), Some(state));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Some(state) = Durable::decode(&bytes) {
            prop_assert_eq!(state.encode(), bytes);
        }
    }

    /// Arbitrary messages do not stop a voter or make it believe twice, and its epoch and votes only advance.
    #[test]
    fn nonsense_does_no_harm(stored in any_state(), messages in prop::collection::vec((0_u16..5, any_message(), 0_u64..900), 1..60)) {
        let (mut voter, out) = Voter::start(Some(stored));
        let mut believes = false;
        let mut judge = |out: Vec<Output>| for output in out {
            match output {
                Output::Elected(_) => assert!(!std::mem::replace(&mut believes, true)),
                Output::Deposed(_) => assert!(std::mem::replace(&mut believes, false)),
                Output::Renewed(_) => assert!(believes),
                _ => {}
            }
        };
        judge(out);
        for (from, message, later) in messages {
            let before = voter.core.state.clone();
            judge(voter.pass(later * MILLISECOND));
            let message = match message {
                Message::Response { correlation: back, epoch, leader, result } => {
                    let correlation = voter.core.requests.last_correlation().wrapping_sub(back / 8);
                    Message::Response { correlation, epoch, leader, result }
                }
                request => request,
            };
            judge(voter.hear(from, message));
            let after = &voter.core.state;
            prop_assert!(after.epoch >= before.epoch);
            if after.epoch == before.epoch {
                prop_assert!(before.voted.is_none() || before.voted == after.voted);
                prop_assert!(before.leader.is_none() || before.leader == after.leader);
            }
        }
    }
}
