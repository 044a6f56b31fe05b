//! A fleet of cores on an unreliable network with unreliable disks, and the laws that must always hold (the paper's
//! figure 3). Tests run it on random schedules, and sweeps run [`drill`] before anything else.

use super::{
    Durable, Output, PROTOCOL, RaftCore, Role,
    durable::Log,
    message::{Message, Term},
};
use crate::{
    bench::{Bench, event::Event},
    election::{Timers, Timings, rules::Rules},
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};
use std::collections::BTreeMap;

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

/// The time to recover after the last failure: a restart, and some split votes.
pub(super) const QUIET_MS: u64 = 6_000;

/// The paper's timers, with these rules.
pub(super) fn timings(rules: Rules) -> Timings {
    Timings { rules, ..PROTOCOL.default_timings() }
}

/// Drills servers whose leaders append entries, under failures, and with one leader after another cut off before its
/// entries are everywhere.
///
/// # Panics
/// If a law is broken; the message says which.
pub fn drill() {
    for seed in 0..16 {
        let mut fleet = Fleet::appending(2 + seed as u16 % 4, Rules::USUAL, Some(20 * MILLISECOND), seed);
        fleet.set_weather(STORM);
        fleet.run(8_000);
        fleet.set_weather(CALM);
        fleet.run(QUIET_MS);
        assert_eq!(fleet.believers().len(), 1, "one leads when all is well");
        assert!(fleet.committed.last_index() > 100, "only {} entries are committed", fleet.committed.last_index());
        for _ in 0..if fleet.bench.nodes().count() > 2 { 6 } else { 0 } {
            let leader = fleet.believers().first().copied();
            fleet.cut_off(leader);
            let ms = 300 + fleet.bench.draw(1_200);
            fleet.run(ms);
        }
        // A server that was cut off and lags returns when the leader goes.
        for _ in 0..if fleet.bench.nodes().count() > 2 { 6 } else { 0 } {
            let leader = fleet.believers().first().copied();
            let behind = fleet.bench.nodes().find(|node| Some(*node) != leader);
            fleet.cut_off(behind);
            let ms = 300 + fleet.bench.draw(600);
            fleet.run(ms);
            fleet.cut_off(leader);
            fleet.run(1_500);
        }
        fleet.cut_off(None);
        fleet.run(QUIET_MS);
        assert_eq!(fleet.believers().len(), 1, "one leads when every cut is healed");
    }
    // With only the entries that start terms, all servers end with the same log.
    for seed in 0..8 {
        let mut fleet = Fleet::new(3 + seed as u16 % 3, Rules::USUAL, seed);
        fleet.set_weather(STORM);
        fleet.run(8_000);
        fleet.set_weather(CALM);
        fleet.run(QUIET_MS);
        let believers = fleet.believers();
        assert_eq!(believers.len(), 1, "one leads when all is well");
        assert!(fleet.agree_on(believers[0]), "all follow it");
    }
}

/// The longest downtime of a process.
const AWAY_MAX: u64 = 400 * MILLISECOND;

pub(super) struct Fleet {
    pub(super) bench: Bench<RaftCore>,
    rules: Rules,
    weather: Weather,
    /// The leader by token.
    pub(super) leaders: BTreeMap<Term, NodeId>,
    /// Everything that any server has known to be committed.
    pub(super) committed: Log,
    /// The vote by server and term.
    votes: BTreeMap<(NodeId, Term), NodeId>,
    pub(super) power_losses: u32,
    /// The number of steps after which two believed.
    pub(super) two_believed: u32,
}

impl Fleet {
    /// A fleet whose clocks are off by up to two per cent; the lease has a margin of ten.
    pub(super) fn new(count: u16, rules: Rules, seed: u64) -> Self {
        Fleet::appending(count, rules, None, seed)
    }

    /// The same, with leaders that append an entry every `entry_interval` nanoseconds.
    pub(super) fn appending(count: u16, rules: Rules, entry_interval: Option<u64>, seed: u64) -> Self {
        let timings = timings(rules);
        let timings = Timings { own: Timers { entry_interval, ..timings.own }, ..timings };
        let mut bench = Bench::new(count, timings, seed, RaftCore::new);
        bench.disks.delay = Some(300_000..3_300_000);
        for node in bench.nodes() {
            let fast_ppm = bench.draw(40_000) as i64 - 20_000;
            let clock = &mut bench.seat_mut(node).clock;
            (clock.ahead, clock.fast_ppm) = (SECOND.into(), fast_ppm);
            bench.start_at(0, node);
        }
        let mut fleet = Fleet {
            bench,
            rules,
            weather: CALM,
            leaders: BTreeMap::new(),
            committed: Log::default(),
            votes: BTreeMap::new(),
            power_losses: 0,
            two_believed: 0,
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

    /// Cuts one server off from all others, and reconnects the rest.
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
                    Output::Send { to, message } => {
                        self.law_of_the_disk(node, message);
                        // A vote that was on disk before its voter died is sent again on request.
                        if let Message::Vote { term, pre_vote: false, granted: true } = *message {
                            self.law_of_votes(node, *to, term);
                            self.law_of_logs(node, *to, term);
                        }
                    }
                    Output::Voted { candidate, token } => self.law_of_votes(node, *candidate, *token),
                    Output::Elected(leadership) => self.law_of_leaders(node, *leadership),
                    _ => {}
                }
            }
            self.law_of_leases();
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

    fn disk(&self, node: NodeId) -> Durable {
        self.bench.seat(node).disk().and_then(Durable::decode).unwrap_or_default()
    }

    /// Election Safety and Leader Completeness: a term has one leader, which has everything ever committed.
    fn law_of_leaders(&mut self, node: NodeId, leadership: Leadership) {
        let former = self.leaders.insert(leadership.token, node);
        assert!(former.is_none(), "{former:?} and {node:?} lead in term {}", leadership.token);
        let state = &self.bench.seat(node).elector().unwrap().state;
        assert!(state.log.starts_with(&self.committed), "{:?} lacks of {:?}", state.log, self.committed);
        let elected = self.votes.iter().filter(|((_, term), to)| *term == leadership.token && **to == node).count();
        assert!(elected > self.bench.nodes().count() / 2, "{elected} votes for {node:?} in {}", leadership.token);
    }

    /// State Machine Safety: what servers know to be committed is the same everywhere, and stays.
    fn law_of_the_log(&mut self, node: NodeId) {
        let Some(core) = self.bench.seat(node).elector() else { return };
        let mut known = core.state.log.clone();
        known.truncate(core.commit);
        if !self.committed.starts_with(&known) {
            let before = std::mem::replace(&mut self.committed, known);
            assert!(
                self.committed.starts_with(&before),
                "{node:?} knows {:?} to be committed, not {before:?}",
                self.committed
            );
        }
    }

    /// No message could become untrue through a loss of power.
    fn law_of_the_disk(&mut self, node: NodeId, message: &Message) {
        let disk = self.disk(node);
        let fits = match *message {
            Message::RequestVote { term, pre_vote: false, .. } => (disk.term, disk.voted) == (term, Some(node)),
            Message::Vote { term, pre_vote: false, granted: true } => disk.term == term && disk.voted.is_some(),
            Message::AppendEntries { term, .. } => disk.term == term && disk.last_term() == term,
            Message::Appended { term, success: true, index, .. } => disk.term == term && disk.last_index() >= index,
            Message::Appended { term, .. } | Message::TimeoutNow { term } => disk.term >= term,
            Message::RequestVote { .. } | Message::Vote { .. } => true,
        };
        assert!(fits, "{disk:?} is on disk before {message:?}");
    }

    fn law_of_votes(&mut self, node: NodeId, candidate: NodeId, term: Term) {
        let disk = self.disk(node);
        assert_eq!((disk.term, disk.voted), (term, Some(candidate)), "on disk before a vote is said");
        let before = *self.votes.entry((node, term)).or_insert(candidate);
        assert_eq!(before, candidate, "{node:?} votes twice in term {term}");
    }

    /// No server votes for a log that is behind its own (§5.4.1). A candidate's log is no shorter than when it asked. A
    /// vote is sent once it is on disk; a voter that has heard from a leader of the term by then may have more than
    /// when it voted.
    fn law_of_logs(&self, voter: NodeId, candidate: NodeId, term: Term) {
        let core = |node| self.bench.seat(node).elector();
        let votes = |core: &&RaftCore| core.leader.is_none();
        let stands =
            |core: &&RaftCore| core.state.term == term && matches!(core.role, Role::Candidate(_) | Role::Leader(_));
        let (Some(own), Some(asking)) = (core(voter).filter(votes), core(candidate).filter(stands)) else { return };
        let [own, asking] = [own, asking].map(|core| (core.state.last_term(), core.state.last_index()));
        assert!(asking >= own, "{voter:?} has a log up to {own:?} and votes for one up to {asking:?}");
    }

    /// With all rules on, no two leaders believe at once, whatever the disks and the network do.
    fn law_of_leases(&mut self) {
        let believers = self.believers();
        self.two_believed += u32::from(believers.len() > 1);
        if self.rules.are_usual() {
            assert!(believers.len() <= 1, "{believers:?} believe at once");
        }
    }

    pub(super) fn believers(&self) -> Vec<NodeId> {
        self.bench.believers()
    }

    /// Whether all servers follow this leader and have its log.
    pub(super) fn agree_on(&self, leader: NodeId) -> bool {
        let core = |node| self.bench.seat(node).elector();
        let lead = core(leader).unwrap();
        let agrees = |other: &RaftCore| (other.state.term, &other.state.log) == (lead.state.term, &lead.state.log);
        self.bench.nodes().all(|node| core(node).is_some_and(agrees))
    }
}
