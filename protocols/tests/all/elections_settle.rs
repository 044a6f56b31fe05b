//! Bully and the rings after any trouble: messages lost, doubled, late and out of order, nodes killed, paused and started
//! again, links cut. Once it is quiet, there is one leader, everybody follows it, and it stays.

use protocols::{
    clock::Now,
    core::TimerId,
    election::{Protocol, Setup, Timings, bully, ring_chang_roberts, ring_lelann},
    elector::{AnyElector, ELECTOR_TIMERS, Input, Output},
    payload::{Opaque, Payload},
    types::{MILLISECOND, NodeId, SECOND},
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_core::RngCore;
use std::collections::BTreeMap;

const TIMINGS: Timings =
    Timings { lease_ttl: 3 * SECOND, renew_interval: SECOND, request_timeout: SECOND, election_timeout: None };
/// From when on it is quiet.
const TROUBLE: u64 = 30 * SECOND;
/// So long after that everybody must agree: a dead leader is missed, as many successors as there may be are skipped and
/// probed, an election leads nowhere, another does.
const SETTLED: u64 = TROUBLE + 16 * SECOND;
const END: u64 = SETTLED + 10 * SECOND;

#[derive(Debug)]
enum Event {
    Message { from: usize, to: usize, message: Opaque },
    Timer { node: usize, life: u64, id: TimerId, at: u64 },
    Trouble { every: u64 },
    Heal { node: usize },
}

struct Node {
    elector: Box<AnyElector>,
    up: bool,
    /// Counts its starts and stops.
    life: u64,
    paused: bool,
    /// What arrived, or fell due, while it was paused.
    waiting: Vec<Input>,
    timers: BTreeMap<TimerId, u64>,
    /// Parts per million that its clock is fast.
    fast_ppm: u64,
    believes: bool,
    follows: Option<NodeId>,
}

struct World {
    protocol: &'static Protocol,
    seed: u64,
    random: ChaCha8Rng,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    pushed: u64,
    nodes: Vec<Node>,
    /// Directions in which nothing passes.
    cut: Vec<(usize, usize)>,
    /// When a message on each link arrives at the earliest, so that links are in order when it is quiet.
    last: BTreeMap<(usize, usize), u64>,
    changes_after_settling: u64,
    /// Messages sent after settling, by kind.
    sent: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(protocol: &'static Protocol, count: usize, seed: u64) -> Self {
        let mut world = World {
            protocol,
            seed,
            random: ChaCha8Rng::seed_from_u64(seed),
            now: 0,
            events: BTreeMap::new(),
            pushed: 0,
            nodes: Vec::new(),
            cut: Vec::new(),
            last: BTreeMap::new(),
            changes_after_settling: 0,
            sent: BTreeMap::new(),
        };
        for index in 0..count {
            let elector = world.elector(index, count);
            let fast_ppm = world.random.next_u64() % 200;
            let (timers, waiting) = (BTreeMap::new(), Vec::new());
            let (up, paused, believes, follows) = (true, false, false, None);
            let node = Node { elector, up, life: 0, paused, waiting, timers, fast_ppm, believes, follows };
            world.nodes.push(node);
        }
        (0..count).for_each(|index| world.step(index, Input::Start));
        let every = 200 * MILLISECOND + world.random.next_u64() % (6 * SECOND);
        world.push(every, Event::Trouble { every });
        world
    }

    fn elector(&mut self, index: usize, count: usize) -> Box<AnyElector> {
        let names = (1..=count).map(|n| format!("n{n}")).collect();
        let nonce = self.random.next_u64();
        (self.protocol.elector)(Setup {
            group: 0,
            node: NodeId(index as u16),
            names,
            timings: TIMINGS,
            nonce,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        })
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.now < TROUBLE && self.random.next_u64() % 100 < percent
    }

    fn push(&mut self, at: u64, event: Event) {
        self.pushed += 1;
        self.events.insert((at.max(self.now), self.pushed), event);
    }

    fn run(&mut self, until: u64) {
        while let Some((&(at, number), _)) = self.events.first_key_value().filter(|((at, _), _)| *at <= until) {
            self.now = at;
            match self.events.remove(&(at, number)) {
                Some(Event::Message { from, to, message }) => {
                    self.give(to, Input::Peer { from: NodeId(from as u16), message });
                }
                Some(Event::Timer { node, life, id, at }) => self.timer(node, life, id, at),
                Some(Event::Trouble { every }) => self.trouble(every),
                Some(Event::Heal { node }) if at < TROUBLE => self.heal(node),
                Some(Event::Heal { .. }) => {}
                None => {}
            }
        }
        self.now = until;
    }

    fn timer(&mut self, node: usize, life: u64, id: TimerId, at: u64) {
        if self.nodes[node].life == life && self.nodes[node].timers.get(&id) == Some(&at) {
            self.nodes[node].timers.remove(&id);
            self.give(node, Input::Timer(id));
        }
    }

    fn give(&mut self, index: usize, input: Input) {
        match &mut self.nodes[index] {
            node if !node.up => {}
            node if node.paused => node.waiting.push(input),
            _ => self.step(index, input),
        }
    }

    /// Kills, pauses, asks to resign or cuts off one node, for a while.
    fn trouble(&mut self, every: u64) {
        if self.now >= TROUBLE {
            // Some of the dead stay dead, and what they sent is still on its way.
            let mut stays_down = |node: usize| node > 0 && !self.nodes[node].up && self.random.next_u64() % 2 == 0;
            let healed: Vec<_> = (0..self.nodes.len()).filter(|node| !stays_down(*node)).collect();
            return healed.into_iter().for_each(|node| self.heal(node));
        }
        let index = self.random.next_u64() as usize % self.nodes.len();
        let other = self.random.next_u64() as usize % self.nodes.len();
        match self.random.next_u64() % 5 {
            0 => {
                let node = &mut self.nodes[index];
                (node.up, node.believes, node.follows, node.paused) = (false, false, None, false);
                node.life += 1;
                node.waiting.clear();
                node.timers.clear();
            }
            1 => self.nodes[index].paused = true,
            2 => self.give(index, Input::Resign),
            3 => self.cut.push((index, other)),
            _ => self.cut.extend((0..self.nodes.len()).flat_map(|n| [(n, index), (index, n)])),
        }
        let heal = self.now + self.random.next_u64() % (8 * SECOND);
        // Whatever still goes on at the end, the last trouble event heals.
        self.push(heal, Event::Heal { node: index });
        self.push((self.now + every).min(TROUBLE), Event::Trouble { every });
    }

    fn heal(&mut self, index: usize) {
        self.cut.retain(|(from, to)| *from != index && *to != index);
        if !self.nodes[index].up {
            self.nodes[index].elector = self.elector(index, self.nodes.len());
            self.nodes[index].up = true;
            self.step(index, Input::Start);
        }
        self.nodes[index].paused = false;
        for input in std::mem::take(&mut self.nodes[index].waiting) {
            // A timer that was set again meanwhile is not due.
            if !matches!(&input, Input::Timer(id) if self.nodes[index].timers.contains_key(id)) {
                self.step(index, input);
            }
        }
    }

    fn mono(&self, index: usize) -> u64 {
        self.now + self.now / 1_000_000 * self.nodes[index].fast_ppm
    }

    fn step(&mut self, index: usize, input: Input) {
        let (mono, mut out) = (self.mono(index), Vec::new());
        self.nodes[index].elector.step(Now { mono, wall: mono }, input, &mut out);
        for output in out {
            let node = &mut self.nodes[index];
            match output {
                Output::Send { to, message } => self.send(index, to.index(), message),
                Output::SetTimer { id, at } => {
                    assert!(id < ELECTOR_TIMERS);
                    let wait = at.saturating_sub(mono);
                    let due = self.now + wait - wait / 1_000_000 * node.fast_ppm;
                    node.timers.insert(id, at);
                    let life = node.life;
                    self.push(due, Event::Timer { node: index, life, id, at });
                }
                Output::CancelTimer(id) => {
                    node.timers.remove(&id);
                }
                Output::Elected(_) => {
                    assert!(!std::mem::replace(&mut node.believes, true), "elected twice");
                    self.changes_after_settling += u64::from(self.now > SETTLED);
                }
                Output::Deposed(_) => {
                    assert!(std::mem::replace(&mut node.believes, false), "deposed twice");
                    self.changes_after_settling += u64::from(self.now > SETTLED);
                }
                Output::Observed(leader) => node.follows = leader,
                Output::Point(_) | Output::Campaign | Output::Renewed(_) | Output::Voted { .. } => {}
                other => panic!("{} has no use for {other:?}", self.protocol.name),
            }
        }
    }

    fn send(&mut self, from: usize, to: usize, message: Opaque) {
        assert!(from != to && to < self.nodes.len());
        if self.now > SETTLED {
            *self.sent.entry(message.kind()).or_default() += 1;
        }
        if self.cut.contains(&(from, to)) || self.chance(15) {
            return;
        }
        let copies = 1 + u64::from(self.chance(10));
        for _ in 0..copies {
            let late = if self.chance(10) { 3 * SECOND } else { 20 * MILLISECOND };
            let mut at = self.now + 200_000 + self.random.next_u64() % late;
            if self.now >= TROUBLE {
                let last = self.last.entry((from, to)).or_default();
                at = (self.now + 200_000 + self.random.next_u64() % MILLISECOND).max(*last + 1);
                *last = at;
            }
            self.push(at, Event::Message { from, to, message: message.clone() });
        }
    }

    /// Nothing but heartbeats: no id still travels that nobody takes off the ring, nobody is probed or asked.
    fn assert_silent(&self) {
        let (count, seconds) = (self.nodes.len() as u64, (END - SETTLED) / SECOND);
        let laps = self.sent.get("heartbeat").copied().unwrap_or_default();
        let per_beat = if self.protocol.name == "bully" || count == 1 { count - 1 } else { count };
        assert!(laps <= per_beat * (seconds + 1), "{}, seed {}: {:?}", self.protocol.name, self.seed, self.sent);
        // Only who is dead is probed.
        let all_up = self.nodes.iter().all(|node| node.up);
        let expected = |kind: &str| ["heartbeat", "acknowledgement"].contains(&kind) || (kind == "probe" && !all_up);
        let other = self.sent.keys().find(|kind| !expected(kind));
        assert_eq!(other, None, "{}, seed {}: {:?}", self.protocol.name, self.seed, self.sent);
    }

    fn assert_agreed(&self) {
        let leaders: Vec<_> = (0..self.nodes.len()).filter(|n| self.nodes[*n].believes).collect();
        let [leader] = leaders[..] else {
            panic!("{}, seed {}: leaders are {leaders:?}", self.protocol.name, self.seed)
        };
        for (index, node) in self.nodes.iter().enumerate().filter(|(index, node)| *index != leader && node.up) {
            assert_eq!(
                node.follows,
                Some(NodeId(leader as u16)),
                "{}, seed {}: n{index}",
                self.protocol.name,
                self.seed
            );
        }
    }
}

#[test]
fn once_it_is_quiet_one_leads_and_all_follow() {
    for protocol in [&bully::PROTOCOL, &ring_lelann::PROTOCOL, &ring_chang_roberts::PROTOCOL] {
        for seed in 0..300 {
            let mut world = World::new(protocol, 1 + seed as usize % 7, seed);
            world.run(SETTLED);
            world.assert_agreed();
            world.run(END);
            world.assert_agreed();
            world.assert_silent();
            let changes = world.changes_after_settling;
            assert_eq!(changes, 0, "{}, seed {seed}: leadership changes for no reason", protocol.name);
        }
    }
}
