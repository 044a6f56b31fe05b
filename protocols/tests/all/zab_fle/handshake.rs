//! The handshake's rules, spoken to one candidate by hand.

use super::fleet::{TTL, setup};
use protocols::{
    clock::Now,
    election::zab_fle::{Connection, Epochs, Message, Notification, Packet, State, Vote, ZabFle},
    elector::{self, Deposed, Elector},
    payload::Nothing,
    types::{Leadership, MILLISECOND, NodeId},
};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// Timers of the protocol, as it numbers them.
const POLL: u16 = 0;
const READ: u16 = 1;
const PING: u16 = 3;
const DEADLINE: u16 = 4;
const REST: u16 = 5;

/// One candidate of three.
struct Alone {
    node: u16,
    core: ZabFle,
    now: u64,
}

const LINE: Connection = Connection { process: 77, number: 1 };

impl Alone {
    fn new(node: u16, stored: Epochs) -> Self {
        Alone { node, core: ZabFle::new(setup(node, 3, 5, Some(stored.encode()))), now: MILLISECOND }
    }

    fn step(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.core.step(Now { mono: self.now, wall: 0 }, input, &mut out);
        out
    }

    fn hear(&mut self, from: u16, message: Message) -> Vec<Output> {
        self.step(Input::Peer { from: NodeId(from), message })
    }

    fn packet(&mut self, from: u16, connection: Connection, packet: Packet) -> Vec<Output> {
        self.hear(from, Message::Packet { connection, packet })
    }

    /// Starts it, and has both of its peers vote for `leader`.
    fn elect(&mut self, leader: u16, epoch: u32) -> Vec<Output> {
        self.step(Input::Start);
        let vote = Vote { epoch, zxid: u64::from(epoch) << 32, leader: NodeId(leader) };
        let node = self.node;
        for from in (0..3).filter(|n| *n != node) {
            self.hear(from, Message::Notification(Notification { state: State::Looking, vote, round: 1 }));
        }
        self.now += 200 * MILLISECOND;
        self.step(Input::Timer(POLL))
    }
}

/// The packets among outputs, with whom they are for.
fn packets(out: &[Output]) -> Vec<(u16, Packet)> {
    let packet = |output: &Output| match output {
        Output::Send { to, message: Message::Packet { packet, .. } } => Some((to.0, *packet)),
        _ => None,
    };
    out.iter().filter_map(packet).collect()
}

fn persisted(out: &[Output]) -> Option<Epochs> {
    out.iter().find_map(|o| if let Output::Persist(state) = o { Epochs::decode(Some(state)) } else { None })
}

fn has(out: &[Output], what: impl Fn(&Output) -> bool) -> bool {
    out.iter().any(what)
}

fn elected(out: &[Output]) -> Option<Leadership> {
    out.iter().find_map(|o| if let Output::Elected(leadership) = o { Some(*leadership) } else { None })
}

/// Node 2, established in epoch 8 with node 1 as its only follower since 5 ms after it was elected.
fn established() -> (Alone, Leadership) {
    let mut leader = Alone::new(2, Epochs { accepted: 6, current: 4 });
    leader.elect(2, 4);
    leader.now += 5 * MILLISECOND;
    leader.packet(1, LINE, Packet::FollowerInfo { accepted: 7 });
    leader.step(Input::Persisted);
    leader.packet(1, LINE, Packet::AckEpoch { current: Some(4), zxid: 4 << 32 });
    leader.step(Input::Persisted);
    leader.now += MILLISECOND;
    let out = leader.packet(1, LINE, Packet::Ack { epoch: 8 });
    assert_eq!(packets(&out), [(1, Packet::UpToDate)]);
    let leadership = elected(&out).expect("a quorum follows");
    (leader, leadership)
}

#[test]
fn a_leader_takes_an_epoch_above_all_that_a_quorum_has_accepted_and_writes_before_it_speaks() {
    let mut leader = Alone::new(2, Epochs { accepted: 6, current: 4 });
    assert_eq!(packets(&leader.elect(2, 4)), []);
    // Not yet a quorum of those who know what they have accepted.
    let out = leader.packet(1, LINE, Packet::FollowerInfo { accepted: 7 });
    assert_eq!(persisted(&out), Some(Epochs { accepted: 8, current: 4 }));
    assert_eq!(packets(&out), [], "said before it is durable");
    assert_eq!(packets(&leader.step(Input::Persisted)), [(1, Packet::LeaderInfo { epoch: 8 })]);
    let out = leader.packet(1, LINE, Packet::AckEpoch { current: Some(4), zxid: 4 << 32 });
    assert_eq!(packets(&out), [(1, Packet::NewLeader { epoch: 8 })]);
    assert_eq!(persisted(&out), Some(Epochs { accepted: 8, current: 8 }));
    // The follower is faster than our own disk, and we are one of the quorum.
    let out = leader.packet(1, LINE, Packet::Ack { epoch: 8 });
    assert!(elected(&out).is_none());
    let out = leader.step(Input::Persisted);
    assert_eq!(elected(&out).map(|l| l.token), Some(8));
}

#[test]
fn a_leader_is_not_faster_than_its_own_disk() {
    let mut leader = Alone::new(2, Epochs { accepted: 6, current: 4 });
    leader.elect(2, 4);
    leader.packet(1, LINE, Packet::FollowerInfo { accepted: 6 });
    leader.step(Input::Persisted);
    leader.packet(1, LINE, Packet::AckEpoch { current: Some(4), zxid: 4 << 32 });
    leader.packet(0, LINE, Packet::FollowerInfo { accepted: 6 });
    leader.packet(0, LINE, Packet::AckEpoch { current: Some(4), zxid: 4 << 32 });
    for follower in [0, 1] {
        assert!(elected(&leader.packet(follower, LINE, Packet::Ack { epoch: 7 })).is_none(), "a quorum without us");
    }
    assert!(elected(&leader.step(Input::Persisted)).is_some());
}

#[test]
fn an_older_write_does_not_stand_for_a_newer() {
    let line = |number| Connection { process: 5, number };
    // It accepts an epoch, loses that leader, and finds another while the disk is still at work.
    let waiting = |leader: u16| {
        let mut node = Alone::new(0, Epochs { accepted: 6, current: 4 });
        node.elect(2, 4);
        node.packet(2, line(1), Packet::LeaderInfo { epoch: 7 });
        node.packet(2, line(1), Packet::Closed);
        let vote = Vote { epoch: 5, zxid: 5 << 32, leader: NodeId(leader) };
        let vote = if leader == 0 { Vote { epoch: 4, zxid: 4 << 32, ..vote } } else { vote };
        node.hear(1, Message::Notification(Notification { state: State::Looking, vote, round: 2 }));
        node.now += 200 * MILLISECOND;
        node.step(Input::Timer(POLL));
        node
    };
    let mut follower = waiting(1);
    let out = follower.packet(1, line(2), Packet::LeaderInfo { epoch: 9 });
    assert_eq!(persisted(&out), Some(Epochs { accepted: 9, current: 4 }));
    assert_eq!(packets(&follower.step(Input::Persisted)), [], "epoch 7 is durable, 9 is not");
    let acked = Packet::AckEpoch { current: Some(4), zxid: 4 << 32 };
    assert_eq!(packets(&follower.step(Input::Persisted)), [(1, acked)]);

    let mut leader = waiting(0);
    let out = leader.packet(1, LINE, Packet::FollowerInfo { accepted: 7 });
    assert_eq!(persisted(&out), Some(Epochs { accepted: 8, current: 4 }));
    assert_eq!(packets(&leader.step(Input::Persisted)), [], "epoch 7 is durable, 8 is not");
    assert_eq!(packets(&leader.step(Input::Persisted)), [(1, Packet::LeaderInfo { epoch: 8 })]);
}

#[test]
fn accepting_an_epoch_again_does_not_count() {
    let mut leader = Alone::new(2, Epochs { accepted: 6, current: 4 });
    leader.elect(2, 4);
    leader.packet(1, LINE, Packet::FollowerInfo { accepted: 6 });
    leader.step(Input::Persisted);
    let out = leader.packet(1, LINE, Packet::AckEpoch { current: None, zxid: 4 << 32 });
    assert_eq!(packets(&out), [], "no quorum has accepted");
    assert_eq!(
        packets(&leader.packet(0, LINE, Packet::FollowerInfo { accepted: 3 })),
        [(0, Packet::LeaderInfo { epoch: 7 })]
    );
    let out = leader.packet(0, LINE, Packet::AckEpoch { current: Some(3), zxid: 3 << 32 });
    assert_eq!(packets(&out), [(0, Packet::NewLeader { epoch: 7 }), (1, Packet::NewLeader { epoch: 7 })]);
}

#[test]
fn who_is_ahead_of_the_leader_is_sent_away() {
    let mut leader = Alone::new(2, Epochs { accepted: 6, current: 4 });
    leader.elect(2, 4);
    leader.packet(1, LINE, Packet::FollowerInfo { accepted: 6 });
    leader.step(Input::Persisted);
    let out = leader.packet(1, LINE, Packet::AckEpoch { current: Some(5), zxid: 5 << 32 });
    assert_eq!(packets(&out), [(1, Packet::Closed)]);
}

#[test]
fn a_follower_writes_before_it_acknowledges_and_refuses_the_past() {
    let mut follower = Alone::new(0, Epochs { accepted: 6, current: 4 });
    let out = follower.elect(2, 4);
    assert_eq!(packets(&out), [(2, Packet::FollowerInfo { accepted: 6 })]);
    let line = Connection { process: 5, number: 1 };
    let out = follower.packet(2, line, Packet::LeaderInfo { epoch: 8 });
    assert_eq!((packets(&out), persisted(&out)), (vec![], Some(Epochs { accepted: 8, current: 4 })));
    let acked = Packet::AckEpoch { current: Some(4), zxid: 4 << 32 };
    assert_eq!(packets(&follower.step(Input::Persisted)), [(2, acked)]);
    let out = follower.packet(2, line, Packet::NewLeader { epoch: 8 });
    assert_eq!((packets(&out), persisted(&out)), (vec![], Some(Epochs { accepted: 8, current: 8 })));
    assert_eq!(packets(&follower.step(Input::Persisted)), [(2, Packet::Ack { epoch: 8 })]);
    let out = follower.packet(2, line, Packet::UpToDate);
    assert!(has(&out, |o| matches!(o, Output::Observed(Some(NodeId(2))))));

    for (epoch, answer) in [(6, Packet::AckEpoch { current: None, zxid: 4 << 32 }), (5, Packet::Closed)] {
        let mut follower = Alone::new(0, Epochs { accepted: 6, current: 4 });
        follower.elect(2, 4);
        let out = follower.packet(2, line, Packet::LeaderInfo { epoch });
        assert_eq!((packets(&out), persisted(&out)), (vec![(2, answer)], None), "offered {epoch}");
    }
}

#[test]
fn belief_counts_from_when_a_quorums_last_ping_was_sent() {
    let (mut leader, leadership) = established();
    let belief = TTL - TTL / 100;
    let new_leader_sent = leader.now - MILLISECOND;
    assert_eq!(leadership, Leadership { token: 8, valid_until: new_leader_sent + belief });
    leader.now += 100 * MILLISECOND;
    let sent = leader.now;
    let out = leader.step(Input::Timer(PING));
    assert_eq!(packets(&out), [(1, Packet::Ping { sent })]);
    leader.now += 300 * MILLISECOND;
    let renewed =
        |out: &[Output]| out.iter().find_map(|o| if let Output::Renewed(l) = o { Some(l.valid_until) } else { None });
    assert_eq!(renewed(&leader.packet(1, LINE, Packet::Pong { sent })), Some(sent + belief));
    assert_eq!(renewed(&leader.packet(1, LINE, Packet::Pong { sent })), None, "said twice");
    let other = Connection { process: 78, number: 9 };
    let out = leader.packet(1, other, Packet::Pong { sent: leader.now });
    assert_eq!((renewed(&out), packets(&out)), (None, vec![(1, Packet::Closed)]), "not this connection");
    // It ends by itself, even if an answer was there first, as after a pause.
    leader.now = sent + belief;
    let out = leader.packet(1, LINE, Packet::Pong { sent });
    assert!(has(&out, |o| matches!(o, Output::Deposed(Deposed::Expired))));
    assert_eq!(renewed(&out), None);
    assert!(!has(&leader.step(Input::Timer(DEADLINE)), |o| matches!(o, Output::Deposed(_))), "ended once");
}

#[test]
fn a_follower_waits_for_the_sync_limit_from_every_ping() {
    let mut follower = Alone::new(0, Epochs::default());
    follower.elect(2, 0);
    let line = Connection { process: 5, number: 1 };
    let read_until = |out: &[Output]| {
        out.iter().find_map(|o| if let Output::SetTimer { id: READ, at } = o { Some(*at) } else { None })
    };
    follower.packet(2, line, Packet::LeaderInfo { epoch: 1 });
    follower.step(Input::Persisted);
    let out = follower.packet(2, line, Packet::NewLeader { epoch: 1 });
    assert_eq!(read_until(&out), Some(follower.now + TTL));
    follower.step(Input::Persisted);
    follower.packet(2, line, Packet::UpToDate);
    follower.now += 900 * MILLISECOND;
    let out = follower.packet(2, line, Packet::Ping { sent: 50 });
    assert_eq!((read_until(&out), packets(&out)), (Some(follower.now + TTL), vec![(2, Packet::Pong { sent: 50 })]));
    // An older one that went astray says nothing about the leader of now.
    assert_eq!(read_until(&follower.packet(2, line, Packet::Ping { sent: 49 })), None);
    let out = follower.step(Input::Timer(READ));
    assert!(has(&out, |o| matches!(o, Output::Campaign)) && has(&out, |o| matches!(o, Output::Observed(None))));
}

#[test]
fn a_leader_without_a_quorum_of_connections_stops_at_the_end_of_a_tick() {
    let (mut leader, _) = established();
    leader.packet(1, LINE, Packet::Closed);
    assert!(!has(&leader.step(Input::Timer(PING)), |o| matches!(o, Output::Deposed(_))), "half a tick");
    assert!(has(&leader.step(Input::Timer(PING)), |o| matches!(o, Output::Deposed(Deposed::Lost))));
}

#[test]
fn who_gives_up_hangs_up_and_takes_no_part_for_a_second() {
    for (input, why) in [(Input::Resign, Deposed::Resigned), (Input::Fenced, Deposed::Fenced)] {
        let (mut leader, _) = established();
        let out = leader.step(input);
        assert!(has(&out, |o| matches!(o, Output::Deposed(said) if *said == why)));
        assert_eq!(packets(&out), [(1, Packet::Closed)]);
        let rest = Output::SetTimer { id: REST, at: leader.now + 1_000 * MILLISECOND };
        assert!(has(&out, |o| format!("{o:?}") == format!("{rest:?}")));
        let vote = Vote { epoch: 8, zxid: 8 << 32, leader: NodeId(1) };
        let said = Notification { state: State::Looking, vote, round: 2 };
        assert!(leader.hear(1, Message::Notification(said)).is_empty());
        assert!(has(&leader.step(Input::Timer(REST)), |o| matches!(o, Output::Campaign)));
    }
}

#[test]
fn who_lags_behind_is_told_the_round_and_who_looks_is_told_the_leader() {
    let mut node = Alone::new(0, Epochs::default());
    node.step(Input::Start);
    let vote = Vote { epoch: 0, zxid: 0, leader: NodeId(1) };
    node.hear(1, Message::Notification(Notification { state: State::Looking, vote, round: 6 }));
    let own = Notification { state: State::Looking, vote, round: 6 };
    let said = |out: Vec<Output>| {
        let mut said = out.into_iter().filter_map(|o| match o {
            Output::Send { to, message: Message::Notification(n) } => Some((to.0, n)),
            _ => None,
        });
        (said.next(), said.next())
    };
    let lagging = Notification { state: State::Looking, vote: Vote { leader: NodeId(0), ..vote }, round: 5 };
    assert_eq!(said(node.hear(2, Message::Notification(lagging))), (Some((2, own)), None));
    node.now += 200 * MILLISECOND;
    node.step(Input::Timer(POLL));
    let following = Notification { state: State::Following, ..own };
    assert_eq!(said(node.hear(2, Message::Notification(lagging))), (Some((2, following)), None));
}

#[test]
fn a_state_that_cannot_be_read_keeps_a_node_out() {
    let mut setup = setup(0, 1, 5, Some(b"acceptedEpoch 1".to_vec()));
    let start = |setup| {
        let mut out = Vec::new();
        ZabFle::new(setup).step(Now::default(), Input::Start, &mut out);
        out
    };
    assert!(start(setup.clone()).is_empty(), "it could accept an epoch for the second time");
    setup.stored = None;
    assert!(!start(setup).is_empty());
}
