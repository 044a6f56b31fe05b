//! The facts that requirements count, each in the smallest story in which it happens, and in one in which it nearly
//! does.

use protocols::{
    elector::Deposed,
    history::{Event, Fact, FaultEvent, Header, Kind, NodeState, Outcome, Phase, Requirement, Sink, UNKNOWN_REQUEST},
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, RequestId, Resource},
};
use reports::Judge;

const N1: NodeId = NodeId(0);
const N2: NodeId = NodeId(1);
const N3: NodeId = NodeId(2);

fn reign(node: NodeId, token: u64) -> Incarnation {
    Incarnation { token, node, generation: token as u32 }
}

fn campaign(node: NodeId) -> Kind {
    Kind::Campaign { node }
}

fn elected(node: NodeId, token: u64) -> Kind {
    Kind::Elected(reign(node, token))
}

fn deposed(node: NodeId, token: u64, reason: Deposed) -> Kind {
    Kind::Deposed { incarnation: reign(node, token), reason }
}

fn state(node: NodeId, state: NodeState) -> Kind {
    Kind::Node { node, state }
}

fn fault(fault: &str, phase: Phase, on: &[NodeId], to: &[NodeId]) -> Kind {
    let (kind, on, to, detail) = (fault.into(), on.to_vec(), to.to_vec(), String::new());
    Kind::Fault(Box::new(FaultEvent {
        index: 0,
        kind,
        phase,
        on,
        to,
        sides: Default::default(),
        one_way: false,
        strength: 0,
        point: None,
        detail,
    }))
}

fn cut() -> Kind {
    fault("partition", Phase::Begin, &[N1, N2, N3], &[])
}

fn healed() -> Kind {
    fault("partition", Phase::End, &[N1, N2, N3], &[])
}

fn applied(node: NodeId, token: u64, seq: u64) -> Kind {
    let (resource, request) = (Resource::SEQUENCE, UNKNOWN_REQUEST);
    let write = Write {
        resource,
        operation: Operation::Record,
        generation: token as u32,
        token,
        seq,
        read_version: seq - 1,
        client: request.client,
        number: request.number,
        payload: None,
    };
    Kind::Apply { node, write, verdict: WriteVerdict::Ok, version: seq }
}

/// How often the fact is counted in a history of these events, at most 9: the highest requirement that accepts it.
fn counted(fact: Fact, kinds: &[Kind]) -> u64 {
    let accepts = |at_least: u64| {
        let header = Header {
            schema: 1,
            scenario: "story".into(),
            protocol: "lowest-id".into(),
            seed: 1,
            fencing: true.into(),
            tokened: true,
            plan_digest: String::new(),
            nodes: ["n1", "n2", "n3", "store", "c1"].map(String::from).into(),
            candidates: 3,
            lease_ttl_ms: 3000,
            rate: 10,
            liveness_bound_ms: 5000,
            dark_after_ms: 1000,
            requires: vec![Requirement { fact, at_least }],
            services: Vec::new(),
            services_needed: 0,
            clusters: Vec::new(),
            store: None,
            majority: false,
            ring: false,
            tick_ms: 0,
            dual_belief_bound_us: None,
            resources: protocols::history::usual_resources(),
            groups: 1,
            copies: None,
            deferred_commit: false,
            address: None,
            placement: None,
            group: 0,
        };
        let mut judge = Judge::new(Some(&header));
        for (place, kind) in kinds.iter().enumerate() {
            judge.record(&Event { t_us: place as u64 * 1000, group: 0, kind: kind.clone() });
        }
        // Whether anything else was checked does not matter here.
        !judge.finish().invariant("vacuity").unwrap().detail.contains(" needed, ")
    };
    (1..10).take_while(|n| accepts(*n)).last().unwrap_or(0)
}

#[test]
fn an_election_is_contested_when_two_stood_for_it() {
    let won = elected(N1, 1);
    assert_eq!(counted(Fact::ContestedElections, &[campaign(N1), campaign(N2), won.clone()]), 1);
    assert_eq!(counted(Fact::ContestedElections, &[campaign(N1), campaign(N1), won.clone()]), 0, "twice the same");
    let before = [campaign(N1), won, campaign(N2), elected(N2, 2)];
    assert_eq!(counted(Fact::ContestedElections, &before), 0, "who stood for the election before does not count");
}

#[test]
fn a_leader_that_is_cut_off_writes_lapses_or_is_replaced() {
    let fact = Fact::WritesWhileCutOff;
    let writes = [elected(N1, 1), applied(N1, 1, 1), cut(), applied(N1, 1, 2), healed(), applied(N1, 1, 3)];
    assert_eq!(counted(fact, &writes), 1, "before and after do not count");
    let fact = Fact::LapsedWhileCutOff;
    let expired = deposed(N1, 1, Deposed::Expired);
    assert_eq!(counted(fact, &[elected(N1, 1), cut(), expired.clone(), healed()]), 1);
    assert_eq!(counted(fact, &[elected(N1, 1), cut(), healed(), expired]), 0, "after it was healed");
    let resigned = deposed(N1, 1, Deposed::Resigned);
    assert_eq!(counted(fact, &[elected(N1, 1), cut(), resigned, healed()]), 0, "on request");
    let fact = Fact::ElectedWhileCutOff;
    assert_eq!(counted(fact, &[elected(N1, 1), cut(), elected(N2, 2), healed()]), 1);
    assert_eq!(counted(fact, &[cut(), elected(N2, 2), healed()]), 0, "nobody led when the cut began");
}

#[test]
fn reads_count_when_they_are_put_to_a_leader_that_is_cut_off() {
    let read = |node, outcome| Kind::ReadReply { request: RequestId { client: NodeId(4), number: 1 }, node, outcome };
    let told = Outcome::Ok { token: 1, seq: 7 };
    let led = [elected(N1, 1), read(N1, told), cut()];
    let fact = Fact::ReadsWhileCutOff;
    let then = |fact, kinds: &[Kind]| counted(fact, &[&led, kinds].concat());
    assert_eq!(then(fact, &[read(N1, told), read(N1, Outcome::Rejected), healed(), read(N1, told)]), 1);
    assert_eq!(then(fact, &[elected(N2, 2), read(N2, told)]), 0, "the successor is on the right side of the cut");
    let fact = Fact::ReadsOfReplacedLeader;
    let asked = [read(N1, told), read(N1, Outcome::Rejected), read(N1, Outcome::Unknown)];
    assert_eq!(then(fact, &[&[elected(N2, 2)][..], &asked].concat()), 2, "no answer says nothing");
    assert_eq!(then(fact, &asked), 0, "nobody has replaced it");
}

#[test]
fn a_transfer_is_won_by_the_one_that_was_named() {
    let asked = [elected(N1, 1), fault("transfer", Phase::Once, &[N1], &[N3]), deposed(N1, 1, Deposed::Resigned)];
    let then = |winners: &[NodeId]| {
        let mut story = asked.to_vec();
        story.extend(winners.iter().enumerate().map(|(place, node)| elected(*node, place as u64 + 2)));
        counted(Fact::TransfersWon, &story)
    };
    assert_eq!((then(&[N3]), then(&[N2]), then(&[N2, N3])), (1, 0, 0), "the next election decides");
}

#[test]
fn stops_and_losses_of_power_are_counted() {
    let story = [
        state(N1, NodeState::Paused),
        state(N1, NodeState::Resumed),
        state(N2, NodeState::Paused),
        state(N3, NodeState::Off),
        state(N1, NodeState::Down),
    ];
    assert_eq!(counted(Fact::Pauses, &story), 2);
    assert_eq!((counted(Fact::PowerOffs, &story), counted(Fact::Kills, &story)), (1, 2));
}
