//! Bully and the rings after any trouble: messages lost, doubled, late and out of order, nodes killed, paused and started
//! again, links cut. Once it is quiet, there is one leader, everybody follows it, and it stays.

use protocols::{
    bench::{
        Bench,
        event::{Event, Step},
    },
    election::{Protocol, Timers, Timings, bully, ring_chang_roberts, ring_lelann},
    elector::{AnyElector, Input, Output},
    payload::Payload,
    types::{MILLISECOND, NodeId, SECOND},
};
use std::collections::BTreeMap;

const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: SECOND,
    request_timeout: SECOND,
    election_timeout: None,
    rules: protocols::election::rules::Rules::USUAL,
    own: Timers::NONE,
};
/// From when on it is quiet.
const TROUBLE: u64 = 30 * SECOND;
/// So long after that everybody must agree: a dead leader is missed, as many successors as there may be are skipped and
/// probed, an election leads nowhere, another does.
const SETTLED: u64 = TROUBLE + 16 * SECOND;
const END: u64 = SETTLED + 10 * SECOND;
/// The alarm for more trouble; those above it heal a node each.
const MORE_TROUBLE: u64 = 0;

struct World {
    protocol: &'static Protocol,
    seed: u64,
    bench: Bench,
    /// From one trouble to the next.
    every: u64,
    changes_after_settling: u64,
    /// Messages sent after settling, by kind.
    sent: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(protocol: &'static Protocol, count: u16, seed: u64) -> Self {
        let mut bench = Bench::new(count, TIMINGS, seed, protocol.elector);
        let network = &mut bench.network;
        (network.loss, network.duplicate, network.late, network.late_by) = (150, 100, 100, 3 * SECOND);
        network.delay = 200_000..200_000 + 20 * MILLISECOND;
        for node in bench.nodes() {
            bench.seat_mut(node).clock.fast_ppm = bench.draw(200) as i64;
        }
        let every = 200 * MILLISECOND + bench.draw(6 * SECOND);
        bench.alarm(every, MORE_TROUBLE);
        let mut world = World { protocol, seed, bench, every, changes_after_settling: 0, sent: BTreeMap::new() };
        let started = world.bench.start_all();
        started.iter().for_each(|step| world.look_at(step));
        world
    }

    fn run(&mut self, until: u64) {
        while let Some(step) = self.bench.next(until) {
            self.look_at(&step);
            match step.event {
                Event::Alarm(MORE_TROUBLE) => self.trouble(),
                Event::Alarm(node) if step.at < TROUBLE => self.heal(NodeId(node as u16 - 1)),
                _ => {}
            }
        }
    }

    fn look_at(&mut self, step: &Step<Box<AnyElector>>) {
        assert_eq!(self.bench.broken(), None, "{}, seed {}", self.protocol.name, self.seed);
        let settled = step.at > SETTLED;
        for output in &step.outputs {
            match output {
                Output::Send { to, message } => {
                    assert!(Some(*to) != step.node() && to.index() < self.bench.nodes().count());
                    *self.sent.entry(message.kind()).or_default() += u64::from(settled);
                }
                Output::Elected(_) | Output::Deposed(_) => self.changes_after_settling += u64::from(settled),
                Output::SetTimer { .. } | Output::CancelTimer(_) | Output::Observed(_) => {}
                Output::Point(_) | Output::Campaign | Output::Renewed(_) | Output::Voted { .. } => {}
                other => panic!("{} has no use for {other:?}", self.protocol.name),
            }
        }
        self.sent.retain(|_, sent| *sent > 0);
    }

    /// Kills, pauses, asks to resign or cuts off one node, for a while.
    fn trouble(&mut self) {
        let (now, count) = (self.bench.now(), self.bench.nodes().count() as u64);
        if now >= TROUBLE {
            let network = &mut self.bench.network;
            (network.loss, network.duplicate, network.late, network.in_order) = (0, 0, 0, true);
            network.delay = 200_000..200_000 + MILLISECOND;
            // Some of the dead stay dead, and what they sent is still on its way.
            for node in self.bench.nodes() {
                if node.0 == 0 || self.bench.seat(node).is_up() || self.bench.draw(2) == 1 {
                    self.heal(node);
                }
            }
            return self.bench.network.mend(|_, _| true);
        }
        let (node, other) = (NodeId(self.bench.draw(count) as u16), NodeId(self.bench.draw(count) as u16));
        match self.bench.draw(5) {
            0 => self.bench.crash(node, 0),
            1 => self.bench.pause(node, u64::MAX),
            2 => {
                let step = self.bench.give(node, Input::Resign);
                self.look_at(&step);
            }
            3 => self.bench.network.cut(node, other, u64::MAX),
            _ => {
                let all: Vec<NodeId> = self.bench.nodes().collect();
                self.bench.network.cut_apart(&[node], &all, u64::MAX);
            }
        }
        let heal = now + self.bench.draw(8 * SECOND);
        // Whatever still goes on at the end, the last trouble heals.
        self.bench.alarm(heal, u64::from(node.0) + 1);
        self.bench.alarm((now + self.every).min(TROUBLE), MORE_TROUBLE);
    }

    fn heal(&mut self, node: NodeId) {
        self.bench.network.mend(|from, to| from == node || to == node);
        self.bench.resume(node);
        let step = self.bench.start(node);
        self.look_at(&step);
    }

    /// Nothing but heartbeats: no id still travels that nobody takes off the ring, nobody is probed or asked.
    fn assert_silent(&self) {
        let (count, seconds) = (self.bench.nodes().count() as u64, (END - SETTLED) / SECOND);
        let laps = self.sent.get("heartbeat").copied().unwrap_or_default();
        let per_beat = if self.protocol.name == "bully" || count == 1 { count - 1 } else { count };
        assert!(laps <= per_beat * (seconds + 1), "{}, seed {}: {:?}", self.protocol.name, self.seed, self.sent);
        // Only who is dead is probed.
        let all_up = self.bench.nodes().all(|node| self.bench.seat(node).is_up());
        let expected = |kind: &str| ["heartbeat", "acknowledgement"].contains(&kind) || (kind == "probe" && !all_up);
        let other = self.sent.keys().find(|kind| !expected(kind));
        assert_eq!(other, None, "{}, seed {}: {:?}", self.protocol.name, self.seed, self.sent);
    }

    fn assert_agreed(&self) {
        let leaders = self.bench.believers();
        let [leader] = leaders[..] else {
            panic!("{}, seed {}: leaders are {leaders:?}", self.protocol.name, self.seed)
        };
        for node in self.bench.nodes().filter(|node| *node != leader) {
            let seat = self.bench.seat(node);
            let agrees = !seat.is_up() || seat.observed() == Some(leader);
            assert!(agrees, "{}, seed {}: {node:?} follows {:?}", self.protocol.name, self.seed, seat.observed());
        }
    }
}

#[test]
fn once_it_is_quiet_one_leads_and_all_follow() {
    for protocol in [&bully::PROTOCOL, &ring_lelann::PROTOCOL, &ring_chang_roberts::PROTOCOL] {
        for seed in 0..300 {
            let mut world = World::new(protocol, 1 + seed as u16 % 7, seed);
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
