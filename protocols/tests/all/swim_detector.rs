//! SWIM's detector alone: members that hear of each other through links that the test holds.

use protocols::{
    bench::Bench,
    clock::Now,
    core::TimerId,
    election::{
        Setup,
        swim::{
            self, Body, Message,
            detector::{Detector, Effect, State},
            gossip::{self, Broadcasts, Status, Suspicion, Update},
        },
    },
    elector::{self, Elector},
    message,
    payload::Nothing,
    types::{MILLISECOND, NodeId, SECOND},
};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

const TRIP: u64 = MILLISECOND;
const DEADLINE: TimerId = 0;

/// A detector that is an elector: it never leads.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Member {
    detector: Detector,
    /// When, of whom, what.
    changes: Vec<(u64, NodeId, State)>,
}

impl Member {
    fn act(&mut self, now: Now, out: &mut Vec<Output>, work: impl FnOnce(&mut Detector, u64, &mut Vec<Effect>)) {
        let mut effects = Vec::new();
        work(&mut self.detector, now.mono, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send { to, message } => out.push(Output::Send { to, message }),
                Effect::Changed { node, state } => self.changes.push((now.mono, node, state)),
                Effect::Probing | Effect::Probed => {}
            }
        }
        out.push(Output::SetTimer { id: DEADLINE, at: self.detector.deadline() });
    }
}

impl Elector for Member {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.act(now, out, |detector, now, effects| match input {
            Input::Start => detector.start(now, effects),
            Input::Peer { from, message } => detector.message(now, from, message, effects),
            Input::Resign => detector.leave(now, effects),
            Input::AddVoter(_) => detector.join(now, effects),
            _ => detector.poll(now, effects),
        });
    }
}

/// Members, links of a millisecond, and what became of it.
struct Cluster {
    bench: Bench<Member>,
}

impl Cluster {
    fn new(count: u16, seed: u64) -> Cluster {
        let timings = swim::PROTOCOL.default_timings();
        let member = move |setup: Setup| Member {
            detector: Detector::new(setup.node, count.into(), SECOND, setup.nonce),
            changes: Vec::new(),
        };
        let mut bench = Bench::new(count, timings, seed, member);
        bench.network.delay = TRIP..TRIP;
        bench.start_all();
        Cluster { bench }
    }

    fn run_until(&mut self, end: u64) {
        self.bench.run(end);
    }

    fn cut(&mut self, pairs: impl IntoIterator<Item = (NodeId, NodeId)>) {
        pairs.into_iter().for_each(|(from, to)| self.bench.network.cut(from, to, u64::MAX));
    }

    /// Those that live.
    fn members(&self) -> impl Iterator<Item = &Member> {
        self.bench.nodes().filter_map(|node| self.bench.seat(node).elector())
    }

    /// When somebody was taken for that.
    fn changes(&self, state: State) -> Vec<u64> {
        let all = self.members().flat_map(|member| &member.changes);
        let mut times: Vec<u64> = all.filter(|change| change.2 == state).map(|change| change.0).collect();
        times.sort_unstable();
        times
    }

    fn states(&self, of: u16) -> Vec<State> {
        self.members().map(|member| member.detector.state(NodeId(of))).collect()
    }

    /// How often somebody was taken for that, since `from`.
    fn count(&self, state: State, from: u64) -> usize {
        self.changes(state).iter().filter(|at| **at >= from).count()
    }
}

#[test]
fn everybody_is_alive_after_a_round_trip_and_stays_so() {
    let mut cluster = Cluster::new(5, 1);
    cluster.run_until(10 * MILLISECOND);
    for node in 0..5 {
        assert_eq!(cluster.states(node), [State::Alive; 5]);
    }
    cluster.run_until(300 * SECOND);
    assert_eq!(cluster.count(State::Suspect, 0), 0);
}

#[test]
fn a_dead_member_is_dead_to_all_within_the_bound_and_never_before_five_intervals() {
    for (count, latest) in [(2, 7), (3, 8), (5, 14), (9, 17)] {
        for seed in 0..20 {
            let mut cluster = Cluster::new(count, seed);
            cluster.run_until(20 * SECOND);
            cluster.bench.crash(NodeId(0), 0);
            cluster.run_until(60 * SECOND);
            assert!(cluster.states(0).iter().all(|state| *state == State::Dead), "{count} members, seed {seed}");
            let times = cluster.changes(State::Dead);
            let (first, last) = (times[0] - 20 * SECOND, times[times.len() - 1] - 20 * SECOND);
            // A probe may already be under way when it dies: half an interval less.
            assert!(first >= 4 * SECOND, "{count} members, seed {seed}: {first} ns");
            assert!(last <= latest * SECOND, "{count} members, seed {seed}: {last} ns");
        }
    }
}

#[test]
fn who_is_accused_contradicts_and_every_accusation_of_that_life_is_void() {
    let mut member = Detector::new(NodeId(1), 3, SECOND, 7);
    let mut effects = Vec::new();
    member.start(0, &mut effects);
    effects.clear();
    let accusation = Update { node: NodeId(1), incarnation: 1, status: Status::Suspect { by: NodeId(0) } };
    let message = Message { body: Body::Ping { number: 9 }, updates: vec![accusation] };
    member.message(SECOND, NodeId(0), message, &mut effects);
    // The very answer to the ping says it.
    let [Effect::Send { to: NodeId(0), message: answer }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(answer.body, Body::Ack { number: 9 });
    let alive = Update { node: NodeId(1), incarnation: 2, status: Status::Alive };
    assert_eq!(answer.updates, [alive]);
    assert_eq!(member.state(NodeId(1)), State::Alive);

    // The accuser believes it, and no late accusation of the first life.
    let mut accuser = Detector::new(NodeId(0), 3, SECOND, 8);
    accuser.start(0, &mut effects);
    let says = |detector: &mut Detector, status, incarnation| {
        let update = Update { node: NodeId(1), incarnation, status };
        let message = Message { body: Body::Gossip, updates: vec![update] };
        detector.message(SECOND, NodeId(2), message, &mut Vec::new());
        detector.state(NodeId(1))
    };
    assert_eq!(says(&mut accuser, Status::Alive, 1), State::Alive);
    assert_eq!(says(&mut accuser, Status::Suspect { by: NodeId(2) }, 1), State::Suspect);
    assert_eq!(says(&mut accuser, Status::Alive, 1), State::Suspect);
    assert_eq!(says(&mut accuser, Status::Alive, 2), State::Alive);
    assert_eq!(says(&mut accuser, Status::Suspect { by: NodeId(2) }, 1), State::Alive);
    assert_eq!(says(&mut accuser, Status::Dead { by: NodeId(2) }, 1), State::Alive);
    assert_eq!(says(&mut accuser, Status::Dead { by: NodeId(2) }, 2), State::Dead);
    assert_eq!(says(&mut accuser, Status::Alive, 2), State::Dead);
    assert_eq!(says(&mut accuser, Status::Alive, 3), State::Alive);
    assert_eq!(says(&mut accuser, Status::Dead { by: NodeId(1) }, 3), State::Left);
}

#[test]
fn the_timeout_of_a_suspicion_is_lifeguards() {
    let ms = |suspicion: &Suspicion| (suspicion.due() - SECOND) / MILLISECOND;
    // 4 · max(1, log₁₀ n) · 1 s.
    assert_eq!(gossip::shortest(1, SECOND), 4 * SECOND);
    assert_eq!(gossip::shortest(10, SECOND), 4 * SECOND);
    assert_eq!(gossip::shortest(100, SECOND), 8 * SECOND);
    assert_eq!(gossip::shortest(50, SECOND), 6_792 * MILLISECOND);
    // Too few to confirm: the shortest at once.
    let few = Suspicion::new(NodeId(0), 3, SECOND, SECOND);
    assert_eq!(ms(&few), 4_000);
    // memberlist's own table (suspicion_test.go) has this shape: max − (max − min) · log(n + 1) / log(k + 1).
    let mut many = Suspicion::new(NodeId(0), 5, SECOND, SECOND);
    assert_eq!(ms(&many), 24_000);
    assert!(!many.confirm(NodeId(0)), "the first accuser does not confirm itself");
    assert!(many.confirm(NodeId(1)));
    assert_eq!(ms(&many), 11_381);
    assert!(!many.confirm(NodeId(1)), "nobody confirms twice");
    assert!(many.confirm(NodeId(2)));
    assert_eq!(ms(&many), 4_000);
    assert!(!many.confirm(NodeId(3)), "more make no difference");
}

#[test]
fn an_indirect_probe_saves_a_member_behind_a_one_way_cut() {
    // 0 does not hear 1. Others do, and say so for as long as it lasts; of two members there are no others.
    for (count, saved) in [(3, true), (5, true), (2, false)] {
        let mut cluster = Cluster::new(count, 3);
        cluster.run_until(10 * SECOND);
        cluster.cut([(NodeId(1), NodeId(0))]);
        cluster.run_until(130 * SECOND);
        assert_eq!(cluster.count(State::Dead, 0) == 0, saved, "{count} members");
        assert_eq!(cluster.count(State::Suspect, 0) == 0, saved, "{count} members");
    }
}

#[test]
fn lost_datagrams_make_suspects_but_few_deaths_and_no_lasting_ones() {
    // 600 s of five members, ten times: the suspicions that somebody held, and the deaths.
    let run = |loss| {
        let (mut suspected, mut dead) = (0, 0);
        for seed in 0..10 {
            let mut cluster = Cluster::new(5, seed);
            cluster.run_until(10 * SECOND);
            cluster.bench.network.loss = loss;
            cluster.run_until(610 * SECOND);
            suspected += cluster.count(State::Suspect, 0);
            dead += cluster.count(State::Dead, 0);
            cluster.bench.network.loss = 0;
            cluster.run_until(700 * SECOND);
            for node in 0..5 {
                assert_eq!(cluster.states(node), [State::Alive; 5], "seed {seed}");
            }
        }
        (suspected, dead)
    };
    // Of 30,000 probes: (1 - 0.95²)² that both pings fail, times (1 - 0.95⁴)³ that all three helpers do, makes about two.
    let (suspected, dead) = run(50);
    assert!(suspected < 12 && dead == 0, "{suspected} suspicions, {dead} deaths");
    let (suspected, dead) = run(300);
    assert!(suspected > 5_000 && dead * 50 < suspected, "{suspected} suspicions, {dead} deaths");
}

#[test]
fn two_halves_find_each_other_again_when_the_cut_is_healed() {
    let mut cluster = Cluster::new(5, 4);
    cluster.run_until(10 * SECOND);
    for (a, b) in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)] {
        cluster.cut([(NodeId(a), NodeId(b)), (NodeId(b), NodeId(a))]);
    }
    cluster.run_until(100 * SECOND);
    assert_eq!(cluster.states(0), [State::Alive, State::Alive, State::Dead, State::Dead, State::Dead]);
    cluster.bench.network.mend(|_, _| true);
    cluster.run_until(300 * SECOND);
    for node in 0..5 {
        assert_eq!(cluster.states(node), [State::Alive; 5]);
    }
}

#[test]
fn who_comes_back_from_the_dead_beats_what_was_said_of_its_last_life() {
    let mut cluster = Cluster::new(3, 5);
    cluster.run_until(10 * SECOND);
    cluster.bench.crash(NodeId(0), 0);
    cluster.run_until(30 * SECOND);
    assert_eq!(cluster.states(0), [State::Dead; 2]);
    // A new process, which counts its lives from one again.
    cluster.bench.start(NodeId(0));
    cluster.run_until(31 * SECOND);
    assert_eq!(cluster.states(0), [State::Alive; 3]);
}

#[test]
fn who_leaves_is_gone_at_once_and_suspects_nobody_of_it() {
    let mut cluster = Cluster::new(3, 6);
    cluster.run_until(10 * SECOND);
    cluster.bench.give(NodeId(0), Input::Resign);
    cluster.run_until(10 * SECOND + 2 * TRIP);
    assert_eq!(cluster.states(0), [State::Left; 3]);
    cluster.run_until(40 * SECOND);
    assert_eq!(cluster.count(State::Suspect, 0) + cluster.count(State::Dead, 0), 0);
    cluster.bench.give(NodeId(0), Input::AddVoter(NodeId(0)));
    cluster.run_until(41 * SECOND);
    assert_eq!(cluster.states(0), [State::Alive; 3]);
}

fn about(node: u16, incarnation: u32) -> Update {
    Update { node: NodeId(node), incarnation, status: Status::Alive }
}

fn accused(node: u16) -> Update {
    Update { node: NodeId(node), incarnation: 1, status: Status::Suspect { by: NodeId(99) } }
}

/// How often anything is told in all, in as many packets as it takes.
fn told(broadcasts: &mut Broadcasts, members: usize) -> usize {
    let told = std::iter::repeat_with(|| broadcasts.take(members, Body::Gossip.leaves())).take(50).flatten().count();
    assert!(broadcasts.is_empty());
    told
}

#[test]
fn news_is_told_four_times_the_longest_and_newest_first_and_one_per_member() {
    let mut broadcasts = Broadcasts::default();
    (0..4).for_each(|node| broadcasts.push(about(node, 1)));
    (4..6).for_each(|node| broadcasts.push(accused(node)));
    broadcasts.push(about(0, 2));
    let all = [about(0, 2), about(3, 1), about(2, 1), about(1, 1), accused(5), accused(4)];
    assert_eq!(broadcasts.take(9, Body::Gossip.leaves()), all, "a fourth status and more travel in one packet");
    // What was told least often goes first. Where only one fits, it is the longest that does.
    broadcasts.push(accused(6));
    let room = about(0, 1).bytes() + 2;
    assert_eq!(broadcasts.take(9, room), [accused(6)]);
    assert_eq!(broadcasts.take(9, room - 1), [accused(6)]);
    assert_eq!(broadcasts.take(9, room), [about(0, 2)]);
    assert_eq!(told(&mut broadcasts, 9), 7 * 4 - 6 - 3);
    // From ten members on, the logarithm of their number makes it eight.
    broadcasts.push(about(0, 3));
    assert_eq!(told(&mut broadcasts, 10), 8);
}

#[test]
fn a_packet_is_as_full_as_memberlists_and_no_fuller() {
    let full = |body: Body, update: fn(u16) -> Update| {
        let mut broadcasts = Broadcasts::default();
        (0..90).for_each(|node| broadcasts.push(update(node)));
        let packet = Message { body, updates: broadcasts.take(90, body.leaves()) };
        assert!(packet.bytes() <= 1400 && packet.bytes() + update(0).bytes() + 2 > 1400, "{} bytes", packet.bytes());
        packet.updates.len()
    };
    // With names of 16 bytes: 72 bytes for somebody who lives, 59 for an accusation, and two for the length of each.
    assert_eq!(full(Body::Gossip, |node| about(node, 1)), 1398 / 74);
    assert_eq!(full(Body::Gossip, accused), 1398 / 61);
    assert_eq!(full(Body::Ping { number: 1 }, |node| about(node, 1)), (1398 - 93) / 74);
    assert_eq!(full(Body::PingRequest { number: 1, target: NodeId(3) }, accused), (1398 - 119) / 61);
    assert_eq!(full(Body::Ack { number: 1 }, accused), (1398 - 22) / 61);
}

#[test]
fn a_fourth_update_travels_in_the_same_packet() {
    // Nine join at one time, and everybody passes on what is news to it.
    let mut cluster = Cluster::new(9, 8);
    let mut most = 0;
    while let Some(step) = cluster.bench.next(10 * SECOND) {
        for output in step.outputs {
            let Output::Send { message, .. } = output else { continue };
            if !matches!(message.body, Body::State { .. }) {
                most = most.max(message.updates.len());
                assert!(message.bytes() <= 1400);
            }
        }
    }
    assert_eq!(most, 9, "all fit");
}

#[test]
fn an_accusation_goes_with_the_probe_and_nothing_else_does() {
    let mut cluster = Cluster::new(5, 1);
    cluster.run_until(10 * SECOND);
    cluster.bench.crash(NodeId(4), 0);
    let mut accusations = 0;
    while let Some(step) = cluster.bench.next(20 * SECOND) {
        for output in step.outputs {
            if let Output::Send { to: NodeId(4), message: Message { body: Body::Ping { .. }, updates } } = output
                && let Some(Update { node: NodeId(4), status: Status::Suspect { .. }, .. }) = updates.first()
            {
                assert_eq!(updates.len(), 1);
                accusations += 1;
            }
        }
    }
    assert!(accusations > 0, "a suspect is probed again before it is dead");
}

#[test]
fn a_message_fits_into_a_cache_line() {
    // They share one queue with the work, which copies them.
    assert!(size_of::<message::Message>() <= 64, "{}", size_of::<message::Message>());
}
