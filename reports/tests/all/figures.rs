//! The figures, each on the smallest story that shows it.

mod story;

use protocols::{
    elector::Deposed,
    history::{GrantEnd, Kind, NodeState, Outcome, Phase, UNKNOWN_REQUEST},
    message::{Write, WriteVerdict},
    types::{Incarnation, Operation, RequestId, Resource},
};
use reports::Metrics;
use story::{CLIENT, N1, N2, SERVICE, Story};

fn leads() -> Story {
    Story::default().at(0, Kind::Campaign { node: N1 }).at(1, Kind::Campaign { node: N2 }).elected(10, N1, 1)
}

fn needless(m: &Metrics) -> (u64, u64) {
    (m.false_failovers, m.avoidable_failovers)
}

#[test]
fn a_change_that_nothing_explains_is_false() {
    let m = leads().write(20, N1, 1, 1).deposed(9000, N1, 1, Deposed::Lost).elected(9100, N2, 2).metrics(10_000);
    assert_eq!(needless(&m), (1, 0));
    assert_eq!(m.election_latency_ms, [10.0, 100.0], "the waiter's clock starts at the vacancy");
}

#[test]
fn a_change_that_only_a_pause_explains_is_avoidable() {
    let story = leads().write(20, N1, 1, 1).fault(2000, "pause", Phase::Begin, &[N1]).node(2000, N1, NodeState::Paused);
    let m = story.elected(5100, N2, 2).write(5110, N2, 2, 2).metrics(10_000);
    assert_eq!((needless(&m), m.failover_ms), ((0, 1), vec![3110.0]));
}

#[test]
fn changes_for_a_reason_are_neither() {
    let killed = |s: Story| s.fault(2000, "kill", Phase::Once, &[N1]).node(2000, N1, NodeState::Down);
    let cut = |s: Story| s.fault(2000, "partition", Phase::Begin, &[N1, SERVICE]);
    let broken = |s: Story| s.fault(2000, "kill", Phase::Begin, &[SERVICE]).node(2000, SERVICE, NodeState::Down);
    let resigned = |s: Story| s.deposed(2000, N1, 1, Deposed::Resigned);
    for story in [killed(leads()), cut(leads()), broken(leads()), resigned(leads())] {
        let m = story.elected(5000, N2, 2).metrics(10_000);
        assert_eq!(needless(&m), (0, 0));
    }
    let others = leads().fault(2000, "partition", Phase::Begin, &[N2, SERVICE]);
    assert_eq!(needless(&others.elected(5000, N2, 2).metrics(10_000)), (1, 0), "cutting off another explains nothing");
}

#[test]
fn what_detectors_have_to_bear_explains_nothing() {
    let lossy = |to| leads().write(20, N1, 1, 1).fault_between(2000, "loss", Phase::Begin, &[N1, N2], to);
    let m = lossy(&[N1, N2]).elected(5000, N2, 2).write(5100, N2, 2, 2).metrics(10_000);
    assert_eq!((needless(&m), m.failover_ms.len()), ((1, 0), 0), "messages among candidates are lost");
    let m = lossy(&[SERVICE]).elected(5000, N2, 2).write(5100, N2, 2, 2).metrics(10_000);
    assert_eq!((needless(&m), m.failover_ms), ((0, 0), vec![3100.0]), "so are renewals: the backend is far");
}

#[test]
fn election_time_counts_from_the_fault_or_else_from_the_vacancy() {
    let killed = leads().fault(2000, "kill", Phase::Once, &[N1]).node(2000, N1, NodeState::Down);
    let m = killed.at(4900, Kind::Campaign { node: N2 }).elected(5000, N2, 2).metrics(10_000);
    assert_eq!((m.election_time_ms, m.elections), (vec![3000.0], 2), "the first election has no incumbent");
    let m = leads().deposed(9000, N1, 1, Deposed::Lost).elected(9100, N2, 2).metrics(10_000);
    assert_eq!(m.election_time_ms, [100.0]);
    let m = leads().elected(9100, N2, 2).metrics(10_000);
    assert!(m.election_time_ms.is_empty(), "nothing shows where the vacancy began");
    assert_eq!(m.contested_elections, 1, "both stood for the first one");
}

#[test]
fn where_grants_are_known_they_tell_the_vacancy_and_when_a_leader_stopped() {
    let grant_end = |node, token, reason| Kind::GrantEnd { node, token: Some(token), reason };
    let m = leads()
        .issue(2000, N1, 1, 1)
        .fault(2000, "pause", Phase::Begin, &[N1])
        .node(2000, N1, NodeState::Paused)
        .at(5000, grant_end(N1, 1, GrantEnd::Expired))
        .at(5000, Kind::Grant { node: N2, token: Some(2) })
        .elected(5100, N2, 2)
        .issue(5200, N2, 2, 1)
        .node(6000, N1, NodeState::Resumed)
        .issue(6000, N1, 1, 2)
        .deposed(6000, N1, 1, Deposed::Expired)
        .deposed(8000, N2, 2, Deposed::Resigned)
        .at(8001, grant_end(N2, 2, GrantEnd::Released))
        .metrics(10_000);
    assert_eq!(m.election_latency_ms, [10.0, 100.0], "not from the pause");
    assert_eq!(m.election_time_ms, [3100.0]);
    assert_eq!(m.stop_after_loss_ms, [1000.0, -2801.0]);
}

#[test]
fn writes_that_change_nothing_are_counted_by_why() {
    let apply = |seq, verdict| {
        let (resource, request) = (Resource::SEQUENCE, UNKNOWN_REQUEST);
        let write = Write {
            resource,
            operation: Operation::Record,
            generation: 1,
            token: 1,
            seq,
            read_version: seq - 1,
            client: request.client,
            number: request.number,
            payload: None,
        };
        Kind::Apply { node: N1, write, verdict, version: 9 }
    };
    let duplicate = WriteVerdict::Duplicate { seq: 1 };
    let story = leads().write(20, N1, 1, 1).at(30, apply(1, duplicate)).at(40, apply(1, duplicate));
    let m = story.at(50, apply(7, WriteVerdict::Failed { expected: 1 })).metrics(10_000);
    assert_eq!((m.writes_accepted, m.writes_duplicate, m.writes_failed, m.writes_fenced), (1, 2, 1, 0));
}

#[test]
fn belief_of_a_paused_node_is_told_apart() {
    let story = leads().node(1000, N1, NodeState::Paused).elected(2000, N2, 2).node(5000, N1, NodeState::Resumed);
    let m = story.deposed(5003, N1, 1, Deposed::Expired).metrics(10_000);
    assert_eq!((m.dual_belief_ms, m.dual_belief_awake_ms, m.dual_belief_longest_ms), (3003.0, 3.0, 3.0));
}

#[test]
fn who_was_asked_to_hand_over_was_not_deposed_for_nothing() {
    let asked = leads().fault_between(2000, "transfer", Phase::Once, &[N1], &[N2]).elected(2100, N2, 2);
    assert_eq!(needless(&asked.metrics(10_000)), (0, 0));
    let later = leads().fault(2000, "resign", Phase::Once, &[N1]).deposed(2001, N1, 1, Deposed::Resigned);
    let later = later.elected(2100, N2, 2).deposed(3000, N2, 2, Deposed::Resigned).elected(3100, N1, 3);
    let m = later.deposed(9000, N1, 3, Deposed::Lost).elected(9100, N2, 4).metrics(10_000);
    assert_eq!(needless(&m), (1, 0), "a request of long ago explains nothing");
}

#[test]
fn a_kill_counts_once_whatever_is_told_first() {
    for told_first in [true, false] {
        let story = leads().write(20, N1, 1, 1);
        let story = match told_first {
            true => story.fault(2000, "kill", Phase::Once, &[N1]).node(2000, N1, NodeState::Down),
            false => story.node(2000, N1, NodeState::Down).fault(2000, "kill", Phase::Once, &[N1]),
        };
        // The write in flight shows neither survival nor a newer leader.
        let m = story.write(2001, N1, 1, 2).elected(5000, N2, 2).write(5100, N2, 2, 3).metrics(10_000);
        assert_eq!((m.failover_ms, m.failover_censored), (vec![3100.0], 0));
        assert_eq!(m.election_latency_ms, [10.0, 3000.0]);
    }
}

#[test]
fn a_leader_that_is_never_replaced_is_censored_and_one_that_goes_on_is_not() {
    let killed = leads().write(20, N1, 1, 1).fault(2000, "kill", Phase::Once, &[N1]).node(2000, N1, NodeState::Down);
    let m = killed.metrics(10_000);
    assert_eq!((m.failover_ms.len(), m.failover_censored), (0, 1));
    let paused = leads().fault(2000, "pause", Phase::Begin, &[N1]).node(2000, N1, NodeState::Paused);
    let resumed = paused.fault(2500, "pause", Phase::End, &[N1]).node(2500, N1, NodeState::Resumed);
    let m = resumed.write(2510, N1, 1, 1).metrics(10_000);
    assert_eq!((m.failover_ms.len(), m.failover_censored), (0, 0));
}

#[test]
fn dark_time_is_what_the_probe_missed() {
    let request = |number| RequestId { client: CLIENT, number };
    let mut story = Story::default().at(0, Kind::Invoke { request: request(1) }).elected(50, N1, 1);
    let mut seq = 0;
    for number in 2..=100 {
        let t_ms = (number - 1) * 100;
        story = story.at(t_ms, Kind::Invoke { request: request(number) });
        // Ten requests are not served at all, and one later than the header allows.
        if !(31..=40).contains(&number) && number != 20 {
            seq += 1;
            story = story.served(t_ms, N1, 1, seq, request(number));
        }
        if number == 31 {
            seq += 1;
            story = story.served(t_ms, N1, 1, seq, request(20));
        }
    }
    let m = story.metrics(10_000);
    // Requests 2 to 90 count: the first came before the first election, the last ten too late.
    assert_eq!((m.dark_ms, m.startup_dark_ms), (Some(1100.0), Some(100.0)));
    assert_eq!(m.availability, Some(1.0 - 11.0 / 89.0));
}

#[test]
fn unknown_are_the_writes_that_the_store_never_decided() {
    let story = leads().issue(20, N1, 1, 1).issue(21, N1, 1, 2).issue(22, N1, 1, 3);
    // The second is lost; the fourth is still in flight when the run ends.
    let story = story.write(23, N1, 1, 1).write(24, N1, 1, 3).issue(9990, N1, 1, 4);
    let m = story.metrics(10_000);
    assert_eq!((m.writes_unknown, m.seq_gaps, m.writes_accepted), (1, 1, 2));
}

#[test]
fn gaps_of_a_handoff_may_be_negative() {
    let story = leads().issue(20, N1, 1, 1).write(21, N1, 1, 1).elected(30, N2, 2).issue(40, N2, 2, 2);
    let m = story.write(41, N2, 2, 2).issue(45, N1, 1, 2).write(50, N1, 1, 3).metrics(100);
    assert_eq!((m.handoff_intent_gap_ms, m.handoff_effect_gap_ms), (vec![-5.0], vec![-9.0]));
}

#[test]
fn beliefs_end_with_their_processes() {
    let story = leads().elected(100, N2, 2).node(400, N1, NodeState::Off).elected(500, N1, 3);
    let m = story.deposed(700, N2, 2, Deposed::Expired).metrics(1000);
    assert_eq!((m.leaders_believing_max, m.dual_belief_ms), (2, 500.0));
}

#[test]
fn a_retry_that_an_earlier_leader_served_is_no_violation() {
    let request = RequestId { client: CLIENT, number: 1 };
    let other = RequestId { client: CLIENT, number: 2 };
    let story = leads().at(100, Kind::Invoke { request }).served(110, N1, 1, 1, request).elected(200, N2, 2);
    let write = Write {
        resource: Resource::SEQUENCE,
        operation: Operation::Record,
        generation: 2,
        token: 2,
        seq: 2,
        read_version: 1,
        client: request.client,
        number: request.number,
        payload: None,
    };
    let burnt = Kind::Apply { node: N2, write, verdict: WriteVerdict::Duplicate { seq: 1 }, version: 2 };
    let reply = |request, seq| Kind::Reply { request, outcome: Outcome::Ok { token: 2, seq } };
    let story = story.at(210, burnt).at(220, Kind::Invoke { request: other }).served(230, N2, 2, 3, other);
    let judgement = story.at(240, reply(other, 3)).at(250, reply(request, 1)).judged(1000);
    assert!(judgement.invariants.iter().all(|i| i.holds), "{:#?}", judgement.invariants);
    assert_eq!(judgement.metrics.seq_gaps, 1, "the number that the retry burnt");
}

#[test]
fn two_requests_with_one_answer_are_a_violation() {
    let request = |number| RequestId { client: CLIENT, number };
    let reply = |number| Kind::Reply { request: request(number), outcome: Outcome::Ok { token: 1, seq: 7 } };
    let story = leads().at(100, Kind::Invoke { request: request(1) }).at(101, Kind::Invoke { request: request(2) });
    let judgement = story.at(110, reply(1)).at(111, reply(2)).judged(1000);
    let seen = judgement.invariant("seq_strictly_increasing").unwrap();
    assert!(!seen.holds && seen.detail.contains("c1:2 was answered 7, which another"), "{seen:?}");
}

#[test]
fn without_tokens_elections_order_the_leaders() {
    let tokenless = |t_ms, node, generation, seq| {
        let (resource, request) = (Resource::SEQUENCE, UNKNOWN_REQUEST);
        let write = Write {
            resource,
            operation: Operation::Record,
            generation,
            token: 0,
            seq,
            read_version: seq - 1,
            client: request.client,
            number: request.number,
            payload: None,
        };
        (t_ms, Kind::Apply { node, write, verdict: WriteVerdict::Ok, version: seq })
    };
    let elected = |t_ms, node, generation| (t_ms, Kind::Elected(Incarnation { token: 0, node, generation }));
    let judged = |events: Vec<(u64, Kind)>| {
        events.into_iter().fold(Story::default(), |story, (t_ms, kind)| story.at(t_ms, kind)).judged(1000)
    };
    // n1 leads, n2 leads, n1 leads again: three successive incarnations.
    let again = [elected(1, N1, 1), tokenless(2, N1, 1, 1), elected(3, N2, 1), tokenless(4, N2, 1, 2)];
    let mut clean = again.to_vec();
    clean.extend([elected(5, N1, 2), tokenless(6, N1, 2, 3)]);
    let judgement = judged(clean);
    assert!(judgement.invariants.iter().all(|i| i.holds), "{:#?}", judgement.invariants);
    let mut stale = again.to_vec();
    stale.push(tokenless(6, N1, 1, 3));
    let judgement = judged(stale);
    for name in ["leaders_acting_by_effect", "no_stale_write"] {
        assert!(!judgement.invariant(name).unwrap().holds, "{name}");
    }
}

#[test]
fn a_service_that_dies_and_a_lease_that_it_drops_explain_a_failover() {
    let ends = |story: Story| story.deposed(9_500, N1, 1, Deposed::Expired);
    let replaced = |story: Story| ends(story).elected(12_000, N2, 2);
    assert_eq!(needless(&replaced(leads()).metrics(20_000)), (1, 0));
    let down = ends(leads().node(7_000, SERVICE, NodeState::Down));
    let back = down.node(11_000, SERVICE, NodeState::Up).elected(12_000, N2, 2);
    assert_eq!(needless(&back.metrics(20_000)), (0, 0));
    for fault in ["drop-lease", "drop-key"] {
        let dropped = leads().fault(9_000, fault, Phase::Once, &[N1]);
        assert_eq!(needless(&replaced(dropped).metrics(20_000)), (0, 0), "{fault}");
    }
}
