//! A fleet of cores on an unreliable network with unreliable disks, and the laws that must always hold. Tests run it on
//! random schedules, and sweeps run [`drill`] before anything else.

use super::{Answer, Ask, Durable, Epoch, Kraft, Message, Output, PROTOCOL};
use crate::{
    bench::{Bench, event::Event},
    election::Timings,
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};
use std::collections::{BTreeMap, BTreeSet};

/// The rates of failures; parts per thousand.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    pub(super) loss: u32,
    pub(super) duplicate: u32,
    /// Loss of power at a write.
    pub(super) power: u64,
    /// Crash after a message.
    pub(super) crash: u64,
    pub(super) delay_max_ms: u64,
}

pub(super) const CALM: Weather = Weather { loss: 0, duplicate: 0, power: 0, crash: 0, delay_max_ms: 2 };

pub(super) const STORM: Weather = Weather { loss: 150, duplicate: 100, power: 60, crash: 2, delay_max_ms: 80 };

/// The time to recover after the last failure. The longest waits are a restart, the quorum's timeout, a split vote or
/// two, and fetching a log with one record per round trip.
pub(super) const QUIET_MS: u64 = 20_000;

/// Kafka's defaults.
pub(super) fn timings() -> Timings {
    Timings {
        lease_ttl: SECOND,
        renew_interval: 500 * MILLISECOND,
        request_timeout: 333 * MILLISECOND,
        election_timeout: PROTOCOL.election_timeout,
        rules: Default::default(),
        own: Default::default(),
    }
}

/// Drills voters under failures, with one leader after another cut off.
///
/// # Panics
/// If a law is broken; the message says which.
pub fn drill() {
    for seed in 0..8 {
        let mut fleet = Fleet::new(2 + seed as u16 % 4, seed);
        fleet.set_weather(STORM);
        fleet.run(40_000);
        fleet.set_weather(CALM);
        fleet.run(QUIET_MS);
        for _ in 0..if fleet.bench.nodes().count() > 2 { 4 } else { 0 } {
            let leader = fleet.believers().first().copied();
            fleet.cut_off(leader);
            let ms = 2_000 + fleet.bench.draw(6_000);
            fleet.run(ms);
        }
        fleet.cut_off(None);
        fleet.run(QUIET_MS);
        let believers = fleet.believers();
        assert_eq!(believers.len(), 1, "one leads when every cut is healed");
        assert!(fleet.agree_on(believers[0]), "all follow it");
    }
}

/// The longest downtime of a process.
const AWAY_MAX: u64 = 3 * SECOND;

pub(super) struct Fleet {
    bench: Bench<Kraft>,
    weather: Weather,
    /// The leader by token.
    pub(super) leaders: BTreeMap<u64, NodeId>,
    /// Everything that any voter has known to be committed.
    committed: Vec<Epoch>,
    /// Requests for real votes: the sender and the request's number.
    asked: BTreeSet<(NodeId, u32)>,
    /// The vote by voter and epoch.
    votes: BTreeMap<(NodeId, Epoch), NodeId>,
    /// The winner by epoch, as recorded by any voter.
    reigns: BTreeMap<Epoch, NodeId>,
    pub(super) power_losses: u32,
}

impl Fleet {
    pub(super) fn new(count: u16, seed: u64) -> Self {
        let mut bench = Bench::new(count, timings(), seed, Kraft::new);
        bench.disks.delay = Some(300_000..3_300_000);
        for node in bench.nodes() {
            bench.seat_mut(node).clock.ahead = SECOND.into();
            bench.start_at(0, node);
        }
        let mut fleet = Fleet {
            bench,
            weather: CALM,
            leaders: BTreeMap::new(),
            committed: Vec::new(),
            asked: BTreeSet::new(),
            votes: BTreeMap::new(),
            reigns: BTreeMap::new(),
            power_losses: 0,
        };
        fleet.set_weather(CALM);
        fleet
    }

    pub(super) fn set_weather(&mut self, weather: Weather) {
        self.weather = weather;
        let network = &mut self.bench.network;
        (network.loss, network.duplicate) = (weather.loss, weather.duplicate);
        network.delay = 200_000..200_000 + weather.delay_max_ms * MILLISECOND;
    }

    /// Cuts one voter off from all others, and reconnects the rest.
    pub(super) fn cut_off(&mut self, who: Option<NodeId>) {
        self.bench.network.mend(|_, _| true);
        if let Some(who) = who {
            let others: Vec<_> = self.bench.nodes().filter(|node| *node != who).collect();
            self.bench.network.cut_apart(&[who], &others, u64::MAX);
        }
    }

    /// Runs for `ms` milliseconds.
    pub(super) fn run(&mut self, ms: u64) {
        let until = self.bench.now() + ms * MILLISECOND;
        while let Some(step) = self.bench.next(until) {
            assert_eq!(self.bench.broken(), None);
            let Some(node) = step.node() else { continue };
            self.law_of_the_log(node);
            for output in &step.outputs {
                match output {
                    Output::Send { to, message } => self.law_of_the_disk(node, *to, message),
                    Output::Persist(state) => self.law_of_reigns(state),
                    Output::Elected(leadership) => self.law_of_leaders(node, *leadership),
                    _ => {}
                }
            }
            // A core waits for its disk, so a write is its step's last output.
            let writes = matches!(step.outputs.last(), Some(Output::Persist(_)));
            let power_fails = writes && self.happens(self.weather.power);
            self.power_losses += u32::from(power_fails);
            if power_fails || (matches!(step.event, Event::Arrived { .. }) && self.happens(self.weather.crash)) {
                self.stop(node);
            }
        }
    }

    fn happens(&mut self, per_thousand: u64) -> bool {
        self.bench.draw(1000) < per_thousand
    }

    /// Kills a process. A write under way survives or not.
    pub(super) fn stop(&mut self, node: NodeId) {
        let kept = self.bench.draw(2) as usize;
        self.bench.crash(node, kept);
        let back = self.bench.now() + self.bench.draw(AWAY_MAX);
        self.bench.start_at(back, node);
    }

    fn disk(&self, node: NodeId) -> Option<Durable> {
        self.bench.seat(node).disk().and_then(Durable::decode)
    }

    /// An epoch has one leader, which has everything ever committed, and whose leader change is on a majority's disks.
    fn law_of_leaders(&mut self, node: NodeId, leadership: Leadership) {
        let former = self.leaders.insert(leadership.token, node);
        assert!(former.is_none(), "{former:?} and {node:?} lead in epoch {}", leadership.token);
        let epoch = leadership.token as Epoch;
        let state = &self.bench.seat(node).elector().unwrap().state;
        assert!(state.log.starts_with(&self.committed), "{:?} lacks of {:?}", state.log, self.committed);
        let have = self.bench.nodes().filter_map(|node| self.disk(node));
        let have = have.filter(|state| state.log.contains(&epoch)).count();
        assert!(have > self.bench.nodes().count() / 2, "the leader change of epoch {epoch} is on {have} disks");
    }

    /// An epoch has one winner, even if that never comes to lead.
    fn law_of_reigns(&mut self, written: &[u8]) {
        let state = Durable::decode(written).expect("what was written can be read");
        if let Some(leader) = state.leader {
            let before = *self.reigns.entry(state.epoch).or_insert(leader);
            assert_eq!(before, leader, "two have won epoch {}", state.epoch);
        }
    }

    /// What voters know to be committed is the same everywhere, and stays.
    fn law_of_the_log(&mut self, node: NodeId) {
        let Some(core) = self.bench.seat(node).elector() else { return };
        let marked = core.high_watermark.unwrap_or(0) as usize;
        let known = &core.state.log[..marked.min(core.state.log.len())];
        let common = known.len().min(self.committed.len());
        assert_eq!(known[..common], self.committed[..common], "{node:?} knows other things to be committed");
        self.committed.extend(&known[common..]);
    }

    /// No message could become untrue through a loss of power.
    fn law_of_the_disk(&mut self, node: NodeId, to: NodeId, message: &Message) {
        let disk = self.disk(node).unwrap_or_default();
        match *message {
            Message::Request { epoch, ask: Ask::Fetch { offset, .. }, .. } => {
                assert!(disk.epoch >= epoch && disk.end_offset() >= offset, "{disk:?} is on disk before {message:?}");
            }
            Message::Request { epoch, correlation, ask: Ask::Vote { pre_vote: false, .. } } => {
                self.asked.insert((node, correlation));
                self.law_of_votes(node, node, epoch, &disk);
            }
            Message::Response { epoch, correlation, result: Ok(Answer::Vote { granted: true }), .. }
                if self.asked.contains(&(to, correlation)) =>
            {
                self.law_of_votes(node, to, epoch, &disk);
            }
            Message::Request { epoch, .. } | Message::Response { epoch, .. } => {
                assert!(disk.epoch >= epoch, "{disk:?} is on disk before {message:?}");
            }
        }
    }

    fn law_of_votes(&mut self, node: NodeId, candidate: NodeId, epoch: Epoch, disk: &Durable) {
        assert!(
            (disk.epoch, disk.voted) == (epoch, Some(candidate)),
            "{disk:?} is on disk before a vote for {candidate:?}"
        );
        let before = *self.votes.entry((node, epoch)).or_insert(candidate);
        assert_eq!(before, candidate, "{node:?} votes twice in epoch {epoch}");
    }

    pub(super) fn believers(&self) -> Vec<NodeId> {
        self.bench.believers()
    }

    /// Whether all voters follow this leader and have its log.
    pub(super) fn agree_on(&self, leader: NodeId) -> bool {
        let state = |node| self.bench.seat(node).elector().map(|core| &core.state);
        let lead = state(leader).unwrap();
        let agrees = |s: &Durable| (s.epoch, s.leader, &s.log) == (lead.epoch, lead.leader, &lead.log);
        self.bench.nodes().all(|node| state(node).is_some_and(agrees))
    }
}
