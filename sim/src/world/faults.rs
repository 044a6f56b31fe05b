//! Faults: when they strike, whom, and what they do to the world.

use super::{World, queue::Event};
use crate::host::HostAction;
use protocols::{
    history::{FaultEvent, Kind, NodeState, Phase},
    point::Point,
    types::NodeId,
};
use scenarios::{
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
};

/// The plan's faults and how far each has come.
pub(super) struct Faults {
    planned: Vec<PlannedFault>,
    struck: Vec<Option<Struck>>,
    passages: Vec<Passages>,
    /// One bit per point that some fault still waits for.
    watched: u16,
    /// Struck while nobody led: they strike whoever leads next.
    waiting: Vec<u32>,
    candidates: u16,
}

/// A fault that goes on.
#[derive(Clone)]
struct Struck {
    on: Vec<NodeId>,
    to: Vec<NodeId>,
    /// How often the first of `on` had been started: a resume is for that incarnation only.
    starts: u32,
    rate_before: Vec<i64>,
}

/// How far a chain of passages has come.
struct Passages {
    fault: u32,
    stages: Vec<Stage>,
    stage: usize,
    armed_from: u64,
    count: u64,
}

struct Stage {
    point: Point,
    who: Who,
    nth: u64,
    delay: u64,
}

/// Milliseconds of a plan as nanoseconds.
fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

impl Faults {
    pub fn new(plan: &Plan) -> Self {
        let planned = plan.faults.clone();
        let mut faults = Faults {
            struck: vec![None; planned.len()],
            passages: Vec::new(),
            watched: 0,
            waiting: Vec::new(),
            candidates: plan.candidates.len() as u16,
            planned,
        };
        for (index, fault) in faults.planned.iter().enumerate() {
            let (mut stages, mut armed_from) = (Vec::new(), 0);
            let mut trigger = &fault.when;
            loop {
                match trigger {
                    Trigger::At { ms } => {
                        armed_from = nanoseconds(*ms);
                        break;
                    }
                    Trigger::Passage { point, node, nth, after, delay_ms } => {
                        let Some(point) = Point::from_name(point) else { break };
                        let delay = nanoseconds(*delay_ms);
                        stages.push(Stage { point, who: node.clone(), nth: *nth, delay });
                        match after {
                            Some(before) => trigger = before,
                            None => break,
                        }
                    }
                }
            }
            if stages.is_empty() {
                continue;
            }
            stages.reverse();
            armed_from += stages[0].delay;
            faults.passages.push(Passages { fault: index as u32, stages, stage: 0, armed_from, count: 0 });
        }
        faults.watch();
        faults
    }

    /// The faults that strike at a time, with it.
    pub fn scheduled(&self) -> Vec<(u64, u32)> {
        let at = |(index, fault): (usize, &PlannedFault)| match fault.when {
            Trigger::At { ms } => Some((nanoseconds(ms), index as u32)),
            Trigger::Passage { .. } => None,
        };
        self.planned.iter().enumerate().filter_map(at).collect()
    }

    fn watch(&mut self) {
        self.watched = self.passages.iter().fold(0, |bits, p| bits | 1 << p.stages[p.stage].point as u16);
    }

    /// Does some fault wait for this point?
    #[inline]
    pub fn watches(&self, point: Point) -> bool {
        self.watched & (1 << point as u16) != 0
    }
}

impl World {
    /// Whoever was elected last and still believes.
    fn leader(&self) -> Option<NodeId> {
        self.believers.last().map(|b| b.node)
    }

    /// Everyone that `who` means now; `None`: nobody leads, and somebody should.
    fn resolve(&self, who: &Who, trigger: Option<NodeId>) -> Option<Vec<NodeId>> {
        let candidates = self.faults.candidates;
        let all = || (0..candidates).map(NodeId);
        let service = NodeId(candidates);
        let store = NodeId(candidates + 1);
        Some(match who {
            Who::Leader => vec![self.leader()?],
            Who::Followers => {
                let leader = self.leader()?;
                all().filter(|n| *n != leader).collect()
            }
            Who::Candidates => all().collect(),
            Who::Service => vec![service],
            Who::Store => vec![store],
            Who::Clients => (candidates + 2..self.processes.len() as u16).map(NodeId).collect(),
            // Outside of a point there is no such node; then it means the leader.
            Who::Trigger => vec![trigger.or_else(|| self.leader())?],
            Who::Named(name) => self.find(name).into_iter().collect(),
        })
    }

    fn resolve_all(&self, group: &[Who], trigger: Option<NodeId>) -> Option<Vec<NodeId>> {
        let mut nodes = Vec::new();
        for who in group {
            nodes.extend(self.resolve(who, trigger)?);
        }
        nodes.sort();
        nodes.dedup();
        Some(nodes)
    }

    /// A watched point was passed.
    #[cold]
    pub(super) fn passage(&mut self, node: NodeId, point: Point) {
        let mut ripe = Vec::new();
        let leader = self.leader();
        let mut passages = std::mem::take(&mut self.faults.passages);
        for passage in &mut passages {
            let stage = &passage.stages[passage.stage];
            let is_meant = match &stage.who {
                Who::Leader => leader == Some(node),
                who => self.resolve(who, Some(node)).is_some_and(|nodes| nodes.contains(&node)),
            };
            if stage.point != point || !is_meant || self.now < passage.armed_from {
                continue;
            }
            passage.count += 1;
            if passage.count < stage.nth {
                continue;
            }
            passage.count = 0;
            passage.stage += 1;
            match passage.stages.get(passage.stage) {
                Some(next) => passage.armed_from = self.now + next.delay,
                None => ripe.push(passage.fault),
            }
        }
        passages.retain(|p| p.stage < p.stages.len());
        self.faults.passages = passages;
        self.faults.watch();
        for fault in ripe {
            self.strike(fault, Some(node));
        }
    }

    /// Faults that found nobody leading strike now.
    pub(super) fn leader_appeared(&mut self) {
        for fault in std::mem::take(&mut self.faults.waiting) {
            // As an event of its own: whoever was just elected first finishes what it does.
            self.queue.push(self.now, Event::Strike { fault });
        }
    }

    /// A fault strikes.
    pub(super) fn strike(&mut self, index: u32, trigger: Option<NodeId>) {
        let what = self.faults.planned[index as usize].what.clone();
        let empty = Vec::new();
        let (from, to) = match &what {
            Fault::Pause { node, .. }
            | Fault::Kill { node, .. }
            | Fault::PowerLoss { node, .. }
            | Fault::Restart { node }
            | Fault::ClockStep { node, .. }
            | Fault::ClockRate { node, .. }
            | Fault::Resign { node } => (std::slice::from_ref(node), &empty),
            Fault::Partition { from, to, .. } | Fault::Latency { from, to, .. } | Fault::Loss { from, to, .. } => {
                (from.as_slice(), to)
            }
        };
        let (Some(on), Some(to)) = (self.resolve_all(from, trigger), self.resolve_all(to, trigger)) else {
            self.faults.waiting.push(index);
            return;
        };
        let starts = on.first().map_or(0, |n| self.processes[n.index()].starts);
        let rate_before = on.iter().map(|n| self.processes[n.index()].clocks.rate()).collect();
        let struck = Struck { on, to, starts, rate_before };
        self.apply(index, &what, struck);
    }

    fn apply(&mut self, index: u32, what: &Fault, struck: Struck) {
        let lasts = match what {
            Fault::Pause { for_ms, .. } => Some(Some(*for_ms)),
            Fault::Partition { for_ms, .. }
            | Fault::Latency { for_ms, .. }
            | Fault::Loss { for_ms, .. }
            | Fault::ClockRate { for_ms, .. } => Some(*for_ms),
            _ => None,
        };
        let phase = if lasts.is_some() { Phase::Begin } else { Phase::Once };
        self.record_fault(index, what, &struck, phase);
        if let Some(Some(for_ms)) = lasts {
            self.queue.push(self.now + nanoseconds(for_ms), Event::Heal { fault: index });
        }
        let on = struck.on.clone();
        match what {
            Fault::Pause { .. } => on.iter().for_each(|n| self.pause(*n)),
            Fault::Kill { restart_after_ms, .. } => on.iter().for_each(|n| self.kill(*n, true, *restart_after_ms)),
            Fault::PowerLoss { restart_after_ms, .. } => {
                on.iter().for_each(|n| self.kill(*n, false, *restart_after_ms));
            }
            Fault::Restart { .. } => on.iter().for_each(|n| self.boot(*n)),
            Fault::Partition { one_way, .. } => self.partition(&struck, *one_way, true),
            Fault::Latency { extra_us, .. } => {
                self.each_link(&struck, |world, a, b| world.links.slow(a, b, *extra_us, true));
            }
            Fault::Loss { probability, .. } => {
                self.each_link(&struck, |world, a, b| world.links.lose(a, b, *probability));
            }
            Fault::ClockStep { by_ms, .. } => on.iter().for_each(|n| self.processes[n.index()].clocks.step(*by_ms)),
            Fault::ClockRate { ppm, .. } => on.iter().for_each(|n| self.set_rate(*n, *ppm)),
            Fault::Resign { .. } => on.iter().for_each(|n| self.input(*n, protocols::core::Input::Resign)),
        }
        self.faults.struck[index as usize] = Some(struck);
    }

    /// A fault is over.
    pub(super) fn heal(&mut self, index: u32) {
        let what = self.faults.planned[index as usize].what.clone();
        let Some(struck) = self.faults.struck[index as usize].take() else { return };
        match &what {
            Fault::Pause { .. } => {
                self.record_fault(index, &what, &struck, Phase::End);
                for (place, node) in struck.on.iter().enumerate() {
                    // A process that died while it was paused has nothing to resume.
                    if place > 0 || self.processes[node.index()].starts == struck.starts {
                        self.resume(*node);
                    }
                }
                return;
            }
            Fault::Partition { one_way, .. } => {
                self.partition(&struck, *one_way, false);
                self.flush_held();
            }
            Fault::Latency { extra_us, .. } => {
                self.each_link(&struck, |world, a, b| world.links.slow(a, b, *extra_us, false));
            }
            Fault::Loss { .. } => self.each_link(&struck, |world, a, b| world.links.lose(a, b, 0.0)),
            Fault::ClockRate { .. } => {
                for (node, ppm) in struck.on.iter().zip(&struck.rate_before) {
                    self.set_rate(*node, *ppm);
                }
            }
            _ => {}
        }
        self.record_fault(index, &what, &struck, Phase::End);
    }

    fn each_link(&mut self, struck: &Struck, mut change: impl FnMut(&mut World, NodeId, NodeId)) {
        for a in &struck.on {
            for b in struck.to.iter().filter(|b| *b != a) {
                change(self, *a, *b);
            }
        }
    }

    fn partition(&mut self, struck: &Struck, one_way: bool, on: bool) {
        self.each_link(struck, |world, a, b| {
            world.links.block(a, b, on);
            if !one_way {
                world.links.block(b, a, on);
            }
        });
    }

    fn set_rate(&mut self, node: NodeId, ppm: i64) {
        let now = self.now;
        self.processes[node.index()].clocks.set_rate(now, ppm);
        self.reschedule_timers(node);
        self.reschedule_sleeps(node);
    }

    fn pause(&mut self, node: NodeId) {
        let process = &mut self.processes[node.index()];
        process.pauses += 1;
        if process.up && !process.paused {
            process.paused = true;
            self.record(Kind::Node { node, state: NodeState::Paused });
            self.todo.push_back(HostAction::Pause(node));
        }
    }

    fn resume(&mut self, node: NodeId) {
        let process = &mut self.processes[node.index()];
        process.pauses = process.pauses.saturating_sub(1);
        if process.up && process.paused && process.pauses == 0 {
            process.paused = false;
            self.record(Kind::Node { node, state: NodeState::Resumed });
            self.todo.push_back(HostAction::Resume(node));
            self.catch_up(node);
        }
    }

    fn kill(&mut self, node: NodeId, crash: bool, restart_after_ms: Option<f64>) {
        if self.processes[node.index()].up {
            self.close_all(node, crash);
            let process = &mut self.processes[node.index()];
            process.up = false;
            process.powered = crash;
            process.paused = false;
            process.pauses = 0;
            self.believers.retain(|b| b.node != node);
            self.forget(node, node == NodeId(self.faults.candidates + 1));
            let state = if crash { NodeState::Down } else { NodeState::Off };
            self.record(Kind::Node { node, state });
            self.todo.push_back(HostAction::Kill(node));
        }
        if let Some(ms) = restart_after_ms {
            self.queue.push(self.now + nanoseconds(ms), Event::Boot { node });
        }
    }

    fn record_fault(&mut self, index: u32, what: &Fault, struck: &Struck, phase: Phase) {
        let names = |nodes: &[NodeId]| {
            let names: Vec<&str> = nodes.iter().map(|n| self.processes[n.index()].name.as_str()).collect();
            names.join(", ")
        };
        let detail = what.describe(&names(&struck.on), &names(&struck.to));
        let fault = what.kind().to_owned();
        let mut on = struck.on.clone();
        // A partition strikes both sides.
        if matches!(what, Fault::Partition { .. }) {
            on.extend(&struck.to);
        }
        self.record(Kind::Fault(Box::new(FaultEvent { index, fault, phase, on, detail })));
    }
}
