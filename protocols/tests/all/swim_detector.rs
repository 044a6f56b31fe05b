//! SWIM's detector alone: members that hear of each other through links that the test holds.

use protocols::{
    election::swim::{
        Body, Message,
        detector::{Detector, Effect, State},
        gossip::{Broadcasts, Rumour, Update},
        suspicion::{self, Suspicion},
    },
    message,
    types::{MILLISECOND, NodeId, SECOND},
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};

const TRIP: u64 = MILLISECOND;

/// Members, links of a millisecond, and what became of it.
struct Cluster {
    now: u64,
    members: Vec<Detector>,
    dead: BTreeSet<NodeId>,
    /// Directions in which nothing passes.
    cut: BTreeSet<(NodeId, NodeId)>,
    /// Per cent of the datagrams that are lost.
    loss: u64,
    random: ChaCha8Rng,
    on_the_way: BTreeMap<(u64, u64), (NodeId, NodeId, Message)>,
    sent: u64,
    /// When, who, of whom, what.
    changes: Vec<(u64, NodeId, NodeId, State)>,
}

impl Cluster {
    fn new(count: u16, seed: u64) -> Cluster {
        let member = |node| Detector::new(NodeId(node), count.into(), SECOND, seed * 100 + u64::from(node));
        let mut cluster = Cluster {
            now: 0,
            members: (0..count).map(member).collect(),
            dead: BTreeSet::new(),
            cut: BTreeSet::new(),
            loss: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
            on_the_way: BTreeMap::new(),
            sent: 0,
            changes: Vec::new(),
        };
        for node in 0..count {
            cluster.act(NodeId(node), |detector, now, effects| detector.start(now, effects));
        }
        cluster
    }

    fn act(&mut self, node: NodeId, work: impl FnOnce(&mut Detector, u64, &mut Vec<Effect>)) {
        let mut effects = Vec::new();
        work(&mut self.members[node.index()], self.now, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    self.sent += 1;
                    let lost = self.random.next_u64() % 100 < self.loss;
                    if !lost && !self.cut.contains(&(node, to)) {
                        self.on_the_way.insert((self.now + TRIP, self.sent), (node, to, message));
                    }
                }
                Effect::Changed { node: whom, state } => self.changes.push((self.now, node, whom, state)),
                Effect::Probing | Effect::Probed => {}
            }
        }
    }

    fn run_until(&mut self, end: u64) {
        loop {
            let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
            let living = (0..self.members.len() as u16).map(NodeId).filter(|node| !self.dead.contains(node));
            let due = living.map(|node| (self.members[node.index()].deadline(), node)).min();
            let next = arrival.into_iter().chain(due.map(|(at, _)| at)).min().unwrap_or(u64::MAX);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next.max(self.now);
            if arrival == Some(next) {
                let Some((_, (from, to, message))) = self.on_the_way.pop_first() else { return };
                if !self.dead.contains(&to) {
                    self.act(to, |detector, now, effects| detector.message(now, from, message, effects));
                }
            } else if let Some((_, node)) = due {
                self.act(node, |detector, now, effects| detector.poll(now, effects));
            }
        }
    }

    fn states(&self, of: u16) -> Vec<State> {
        self.members.iter().map(|member| member.state(NodeId(of))).collect()
    }

    /// How often somebody was taken for that, since `from`.
    fn count(&self, state: State, from: u64) -> usize {
        self.changes.iter().filter(|change| change.0 >= from && change.3 == state).count()
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
            cluster.dead.insert(NodeId(0));
            cluster.run_until(60 * SECOND);
            assert!(cluster.states(0)[1..].iter().all(|state| *state == State::Dead), "{count} members, seed {seed}");
            let times = cluster.changes.iter().filter(|change| change.3 == State::Dead).map(|change| change.0);
            let times: Vec<u64> = times.collect();
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
    let accusation = Update { node: NodeId(1), incarnation: 1, rumour: Rumour::Suspect { by: NodeId(0) } };
    let message = Message { body: Body::Ping { number: 9 }, updates: [Some(accusation), None, None] };
    member.message(SECOND, NodeId(0), message, &mut effects);
    // The very answer to the ping says it.
    let [Effect::Send { to: NodeId(0), message: answer }] = effects[..] else { panic!("{effects:?}") };
    assert_eq!(answer.body, Body::Ack { number: 9 });
    let alive = Update { node: NodeId(1), incarnation: 2, rumour: Rumour::Alive };
    assert_eq!(answer.updates[0], Some(alive));
    assert_eq!(member.state(NodeId(1)), State::Alive);

    // The accuser believes it, and no late accusation of the first life.
    let mut accuser = Detector::new(NodeId(0), 3, SECOND, 8);
    accuser.start(0, &mut effects);
    let says = |detector: &mut Detector, rumour, incarnation| {
        let update = Update { node: NodeId(1), incarnation, rumour };
        let message = Message { body: Body::Gossip, updates: [Some(update), None, None] };
        detector.message(SECOND, NodeId(2), message, &mut Vec::new());
        detector.state(NodeId(1))
    };
    assert_eq!(says(&mut accuser, Rumour::Alive, 1), State::Alive);
    assert_eq!(says(&mut accuser, Rumour::Suspect { by: NodeId(2) }, 1), State::Suspect);
    assert_eq!(says(&mut accuser, Rumour::Alive, 1), State::Suspect);
    assert_eq!(says(&mut accuser, Rumour::Alive, 2), State::Alive);
    assert_eq!(says(&mut accuser, Rumour::Suspect { by: NodeId(2) }, 1), State::Alive);
    assert_eq!(says(&mut accuser, Rumour::Dead { by: NodeId(2) }, 1), State::Alive);
    assert_eq!(says(&mut accuser, Rumour::Dead { by: NodeId(2) }, 2), State::Dead);
    assert_eq!(says(&mut accuser, Rumour::Alive, 2), State::Dead);
    assert_eq!(says(&mut accuser, Rumour::Alive, 3), State::Alive);
    assert_eq!(says(&mut accuser, Rumour::Dead { by: NodeId(1) }, 3), State::Left);
}

#[test]
fn the_timeout_of_a_suspicion_is_lifeguards() {
    let ms = |suspicion: &Suspicion| (suspicion.due() - SECOND) / MILLISECOND;
    // 4 · max(1, log₁₀ n) · 1 s.
    assert_eq!(suspicion::shortest(1, SECOND), 4 * SECOND);
    assert_eq!(suspicion::shortest(10, SECOND), 4 * SECOND);
    assert_eq!(suspicion::shortest(100, SECOND), 8 * SECOND);
    assert_eq!(suspicion::shortest(50, SECOND), 6_792 * MILLISECOND);
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
        cluster.cut.insert((NodeId(1), NodeId(0)));
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
            cluster.loss = loss;
            cluster.run_until(610 * SECOND);
            suspected += cluster.count(State::Suspect, 0);
            dead += cluster.count(State::Dead, 0);
            cluster.loss = 0;
            cluster.run_until(700 * SECOND);
            for node in 0..5 {
                assert_eq!(cluster.states(node), [State::Alive; 5], "seed {seed}");
            }
        }
        (suspected, dead)
    };
    assert_eq!(run(5), (0, 0));
    let (suspected, dead) = run(30);
    assert!(suspected > 5_000 && dead * 50 < suspected, "{suspected} suspicions, {dead} deaths");
}

#[test]
fn two_halves_find_each_other_again_when_the_cut_is_healed() {
    let mut cluster = Cluster::new(5, 4);
    cluster.run_until(10 * SECOND);
    for (a, b) in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)] {
        cluster.cut.extend([(NodeId(a), NodeId(b)), (NodeId(b), NodeId(a))]);
    }
    cluster.run_until(100 * SECOND);
    assert_eq!(cluster.states(0), [State::Alive, State::Alive, State::Dead, State::Dead, State::Dead]);
    cluster.cut.clear();
    cluster.run_until(300 * SECOND);
    for node in 0..5 {
        assert_eq!(cluster.states(node), [State::Alive; 5]);
    }
}

#[test]
fn who_comes_back_from_the_dead_beats_what_was_said_of_its_last_life() {
    let mut cluster = Cluster::new(3, 5);
    cluster.run_until(10 * SECOND);
    cluster.dead.insert(NodeId(0));
    cluster.run_until(30 * SECOND);
    assert_eq!(cluster.states(0)[1..], [State::Dead; 2]);
    // A new process, which counts its lives from one again.
    cluster.dead.clear();
    cluster.members[0] = Detector::new(NodeId(0), 3, SECOND, 77);
    cluster.act(NodeId(0), |detector, now, effects| detector.start(now, effects));
    cluster.run_until(31 * SECOND);
    assert_eq!(cluster.states(0), [State::Alive; 3]);
}

#[test]
fn who_leaves_is_gone_at_once_and_suspects_nobody_of_it() {
    let mut cluster = Cluster::new(3, 6);
    cluster.run_until(10 * SECOND);
    cluster.act(NodeId(0), |detector, now, effects| detector.leave(now, effects));
    cluster.run_until(10 * SECOND + 2 * TRIP);
    assert_eq!(cluster.states(0), [State::Left; 3]);
    cluster.run_until(40 * SECOND);
    assert_eq!(cluster.count(State::Suspect, 0) + cluster.count(State::Dead, 0), 0);
    cluster.act(NodeId(0), |detector, now, effects| detector.join(now, effects));
    cluster.run_until(41 * SECOND);
    assert_eq!(cluster.states(0), [State::Alive; 3]);
}

#[test]
fn news_is_told_four_times_the_newest_first_and_one_per_member() {
    let mut broadcasts = Broadcasts::default();
    let about = |node, incarnation| Update { node: NodeId(node), incarnation, rumour: Rumour::Alive };
    for node in 0..5 {
        broadcasts.push(about(node, 1));
    }
    broadcasts.push(about(0, 2));
    assert_eq!(broadcasts.take(9, None), [Some(about(0, 2)), Some(about(4, 1)), Some(about(3, 1))]);
    // What was told least often goes first, and an accusation before everything.
    let accusation = Update { node: NodeId(7), incarnation: 1, rumour: Rumour::Suspect { by: NodeId(8) } };
    let next = broadcasts.take(9, Some(accusation));
    assert_eq!(next, [Some(accusation), Some(about(2, 1)), Some(about(1, 1))]);
    let rest: usize = std::iter::repeat_with(|| broadcasts.take(9, None)).take(50).flatten().flatten().count();
    assert_eq!(rest, 5 * 4 - 5);
    assert!(broadcasts.is_empty());
    // From ten members on, the logarithm of their number makes it eight.
    broadcasts.push(about(0, 3));
    let told: usize = std::iter::repeat_with(|| broadcasts.take(10, None)).take(50).flatten().flatten().count();
    assert_eq!(told, 8);
}

#[test]
fn a_message_fits_into_a_cache_line() {
    // They share one queue with the work, which copies them.
    assert!(size_of::<message::Message>() <= 64, "{}", size_of::<message::Message>());
}
