//! A fleet of cores on a bad network with bad disks, and the laws that hold on it whatever happens.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// How bad it is; parts per thousand.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    pub(super) loss: u32,
    pub(super) duplicate: u32,
    /// A loss of power at a write.
    pub(super) power: u32,
    /// A crash after a message.
    pub(super) crash: u32,
    pub(super) delay_max_ms: u32,
}

pub(super) const CALM: Weather = Weather { loss: 0, duplicate: 0, power: 0, crash: 0, delay_max_ms: 2 };

enum Event {
    Deliver { from: NodeId, to: NodeId, message: Message },
    Timer { node: usize, start: u32, at: u64 },
    Disk { node: usize, start: u32 },
    Start { node: usize },
}

struct Machine {
    core: Option<Kraft>,
    disk: Option<Vec<u8>>,
    writing: Option<Vec<u8>>,
    timer: Option<u64>,
    starts: u32,
    believes: Option<u64>,
}

pub(super) struct Fleet {
    machines: Vec<Machine>,
    events: BTreeMap<(u64, u64), Event>,
    pub(super) now: u64,
    count: u64,
    random: ChaCha8Rng,
    pub(super) weather: Weather,
    /// Who is cut off from everybody.
    pub(super) cut_off: Option<usize>,
    /// Token to leader.
    pub(super) leaders: BTreeMap<u64, usize>,
    /// What any voter has known to be committed.
    committed: Vec<Epoch>,
    /// Votes that were asked for in earnest: by whom, and the request's number.
    asked: BTreeSet<(NodeId, u32)>,
    /// (voter, epoch) to whom it voted for.
    votes: BTreeMap<(usize, Epoch), NodeId>,
    /// Epoch to who won it, as any voter wrote it down.
    reigns: BTreeMap<Epoch, NodeId>,
    pub(super) power_losses: u32,
}

impl Fleet {
    pub(super) fn new(count: usize, seed: u64) -> Self {
        let machine = || Machine { core: None, disk: None, writing: None, timer: None, starts: 0, believes: None };
        let mut fleet = Fleet {
            machines: (0..count).map(|_| machine()).collect(),
            events: BTreeMap::new(),
            now: SECOND,
            count: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
            weather: CALM,
            cut_off: None,
            leaders: BTreeMap::new(),
            committed: Vec::new(),
            asked: BTreeSet::new(),
            votes: BTreeMap::new(),
            reigns: BTreeMap::new(),
            power_losses: 0,
        };
        (0..count).for_each(|node| fleet.push(0, Event::Start { node }));
        fleet
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn happens(&mut self, per_thousand: u32) -> bool {
        self.below(1000) < u64::from(per_thousand)
    }

    fn push(&mut self, after: u64, event: Event) {
        self.count += 1;
        self.events.insert((self.now + after, self.count), event);
    }

    /// Runs for so long.
    pub(super) fn run(&mut self, ms: u64) {
        let until = self.now + ms * MILLISECOND;
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            self.happen(event);
        }
        self.now = until;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Deliver { from, to, message } => {
                if self.cut_off.is_some_and(|n| n == from.index() || n == to.index()) {
                    return;
                }
                self.step(to.index(), Input::Peer { from, message });
                if self.happens(self.weather.crash) {
                    self.stop(to.index());
                }
            }
            Event::Timer { node, start, at } => {
                let machine = &mut self.machines[node];
                if machine.starts == start && machine.timer == Some(at) {
                    machine.timer = None;
                    self.step(node, Input::Timer(DUE));
                }
            }
            Event::Disk { node, start } => {
                let machine = &mut self.machines[node];
                if machine.starts == start
                    && let Some(bytes) = machine.writing.take()
                {
                    machine.disk = Some(bytes);
                    self.step(node, Input::Persisted);
                }
            }
            Event::Start { node } => {
                let nonce = self.random.next_u64();
                let count = self.machines.len() as u16;
                let machine = &mut self.machines[node];
                machine.starts += 1;
                machine.core = Some(Kraft::new(setup(node as u16, count, nonce, machine.disk.clone())));
                self.step(node, Input::Start);
            }
        }
    }

    /// The process dies. What was being written is there, or not.
    pub(super) fn stop(&mut self, node: usize) {
        let kept = self.below(2) == 0;
        let machine = &mut self.machines[node];
        if machine.core.take().is_none() {
            return;
        }
        machine.starts += 1;
        machine.timer = None;
        machine.believes = None;
        if let Some(bytes) = machine.writing.take().filter(|_| kept) {
            machine.disk = Some(bytes);
        }
        let after = self.below(3_000) * MILLISECOND;
        self.push(after, Event::Start { node });
    }

    fn step(&mut self, node: usize, input: Input) {
        let machine = &mut self.machines[node];
        let Some(core) = &mut machine.core else { return };
        let mut out = Vec::new();
        core.step(Now { mono: self.now, wall: 0 }, input, &mut out);
        self.law_of_the_log(node);
        for output in out {
            if self.machines[node].core.is_none() {
                return;
            }
            self.carry_out(node, output);
        }
    }

    fn carry_out(&mut self, node: usize, output: Output) {
        let start = self.machines[node].starts;
        match output {
            Output::Send { to, message } => {
                self.law_of_the_disk(node, to, message);
                self.send(NodeId(node as u16), to, message);
            }
            Output::SetTimer { at, .. } => {
                self.machines[node].timer = Some(at);
                self.push(at.saturating_sub(self.now), Event::Timer { node, start, at });
            }
            Output::CancelTimer(_) => self.machines[node].timer = None,
            Output::Persist(bytes) => {
                self.law_of_reigns(&bytes);
                self.machines[node].writing = Some(bytes);
                if self.happens(self.weather.power) {
                    self.power_losses += 1;
                    return self.stop(node);
                }
                let takes = 300_000 + self.below(3_000_000);
                self.push(takes, Event::Disk { node, start });
            }
            Output::Elected(leadership) => self.law_of_leaders(node, leadership),
            Output::Renewed(leadership) => assert_eq!(self.machines[node].believes, Some(leadership.token)),
            Output::Deposed(_) => assert!(self.machines[node].believes.take().is_some(), "deposed twice"),
            _ => {}
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: Message) {
        let copies =
            if self.happens(self.weather.loss) { 0 } else { 1 + u32::from(self.happens(self.weather.duplicate)) };
        for _ in 0..copies {
            let delay = 200_000 + self.below(u64::from(self.weather.delay_max_ms) * MILLISECOND);
            self.push(delay, Event::Deliver { from, to, message });
        }
    }

    /// One leader an epoch, with all that was ever committed, and a majority has its leader change on disk.
    fn law_of_leaders(&mut self, node: usize, leadership: Leadership) {
        assert!(self.machines[node].believes.replace(leadership.token).is_none(), "elected twice");
        let former = self.leaders.insert(leadership.token, node);
        assert!(former.is_none(), "{former:?} and {node} lead in epoch {}", leadership.token);
        let epoch = leadership.token as Epoch;
        let state = &self.machines[node].core.as_ref().unwrap().state;
        assert!(state.log.starts_with(&self.committed), "{:?} lacks of {:?}", state.log, self.committed);
        let have = self.machines.iter().filter_map(|m| Durable::decode(m.disk.as_ref()?));
        let have = have.filter(|state| state.log.contains(&epoch)).count();
        assert!(have > self.machines.len() / 2, "the leader change of epoch {epoch} is on {have} disks");
    }

    /// One winner an epoch, whether it came to lead or not.
    fn law_of_reigns(&mut self, written: &[u8]) {
        let state = Durable::decode(written).expect("what was written can be read");
        if let Some(leader) = state.leader {
            let before = *self.reigns.entry(state.epoch).or_insert(leader);
            assert_eq!(before, leader, "two have won epoch {}", state.epoch);
        }
    }

    /// What anybody knows to be committed is the same everywhere and stays.
    fn law_of_the_log(&mut self, node: usize) {
        let Some(core) = &self.machines[node].core else { return };
        let marked = core.high_watermark.unwrap_or(0) as usize;
        let known = &core.state.log[..marked.min(core.state.log.len())];
        let common = known.len().min(self.committed.len());
        assert_eq!(known[..common], self.committed[..common], "node {node} knows other things to be committed");
        self.committed.extend(&known[common..]);
    }

    /// Nothing is said that a loss of power could make untrue.
    fn law_of_the_disk(&mut self, node: usize, to: NodeId, message: Message) {
        let disk = self.machines[node].disk.as_deref().and_then(Durable::decode).unwrap_or_default();
        match message {
            Message::Request { epoch, ask: Ask::Fetch { offset, .. }, .. } => {
                assert!(disk.epoch >= epoch && disk.end_offset() >= offset, "{disk:?} is on disk before {message:?}");
            }
            Message::Request { epoch, correlation, ask: Ask::Vote { pre_vote: false, .. } } => {
                self.asked.insert((NodeId(node as u16), correlation));
                self.law_of_votes(node, NodeId(node as u16), epoch, &disk);
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

    fn law_of_votes(&mut self, node: usize, candidate: NodeId, epoch: Epoch, disk: &Durable) {
        assert!(
            (disk.epoch, disk.voted) == (epoch, Some(candidate)),
            "{disk:?} is on disk before a vote for {candidate:?}"
        );
        let before = *self.votes.entry((node, epoch)).or_insert(candidate);
        assert_eq!(before, candidate, "node {node} votes twice in epoch {epoch}");
    }

    /// Who believes.
    pub(super) fn believers(&self) -> Vec<usize> {
        let believes = self.machines.iter().enumerate().filter(|(_, machine)| machine.believes.is_some());
        believes.map(|(node, _)| node).collect()
    }

    /// Do all follow this leader, with its log?
    pub(super) fn agree_on(&self, leader: usize) -> bool {
        let states = self.machines.iter().filter_map(|m| m.core.as_ref()).map(|core| &core.state);
        let lead = &self.machines[leader].core.as_ref().unwrap().state;
        states.filter(|s| (s.epoch, s.leader, &s.log) == (lead.epoch, lead.leader, &lead.log)).count()
            == self.machines.len()
    }
}
