//! Faults: when they strike, which processes, and their effects on the world.

use super::{
    World,
    data::Copies,
    drivers::HostAction,
    model::{Dropped, State},
    passages::Passed,
    queue::Event,
};
use protocols::{
    core::Input,
    history::{GrantEnd, Kind, NodeState, Phase},
    point::Point,
    types::{MICROSECOND, MILLISECOND, NodeId},
};
use scenarios::{
    fault::{Fault, PlannedFault, SUPERVISOR_MS, Who},
    plan::Plan,
    topology::Moment,
    triggers::{self, Triggers, nanoseconds},
};
use std::{collections::BTreeMap, sync::Arc};

pub(super) struct Faults {
    pub(super) plan: Arc<Plan>,
    pub(super) triggers: Triggers,
    struck: Vec<Option<Struck>>,
    /// Faults that struck while nobody led; they will strike the next leader.
    waiting: Vec<u32>,
    /// What faults will restore.
    pub(super) copies: Copies,
    /// The rates of clocks that faults changed, in parts per million, the original one first.
    rates: BTreeMap<NodeId, Vec<i64>>,
    /// If they are counted.
    pub(super) passed: Option<Vec<Passed>>,
}

/// An active fault.
#[derive(Clone)]
struct Struck {
    on: Vec<NodeId>,
    to: Vec<NodeId>,
    group: u16,
    /// Of `on`: a resume applies to these incarnations only.
    starts: Vec<u32>,
    /// Its trigger, unless that was a time.
    point: Option<(Point, NodeId)>,
}

impl Faults {
    pub fn new(plan: Arc<Plan>) -> Self {
        let (triggers, struck) = (Triggers::new(&plan), vec![None; plan.faults.len()]);
        let (copies, rates) = (Copies::new(), BTreeMap::new());
        Faults { plan, triggers, struck, waiting: Vec::new(), copies, rates, passed: None }
    }

    pub fn scheduled(&self) -> Vec<(u64, u32)> {
        self.triggers.scheduled().to_vec()
    }

    /// Whether some fault waits for this point.
    #[inline]
    pub fn watches(&self, point: Point) -> bool {
        self.triggers.watches(point)
    }

    /// Whether some fault will ever wait for it.
    pub fn waits_for(&self, point: Point) -> bool {
        self.triggers.points().contains(&point)
    }
}

impl World {
    /// The member that leads the service.
    fn service_leader(&self) -> Option<NodeId> {
        let leads = |(node, state): &(&NodeId, &State)| self.processes[node.index()].up && state.leads();
        self.disks.members.iter().find(leads).map(|(node, _)| *node)
    }

    fn moment(&self, group: u16, passed_by: Option<NodeId>) -> Moment {
        Moment { leader: self.leader(group), service_leader: self.service_leader(), passed_by }
    }

    /// A watched point was passed.
    #[cold]
    pub(super) fn passage(&mut self, node: NodeId, group: u16, point: Point) {
        let (topology, moment) = (self.topology.clone(), self.moment(group, Some(node)));
        let is_meant = |who: &Who| topology.resolve_at(who, moment).is_some_and(|nodes| nodes.contains(&node));
        let head = self.programs.sending.take().unwrap_or_default();
        self.count_passage(node, group, point);
        for fault in self.faults.triggers.passage(self.now, (group, point), &head, is_meant) {
            self.strike(fault, Some((point, node)));
        }
    }

    /// Strikes the faults that found no leader.
    pub(super) fn leader_appeared(&mut self, group: u16) {
        let plan = self.faults.plan.clone();
        let speaks_of_it = |index: &mut u32| plan.faults[*index as usize].group == group;
        for fault in self.faults.waiting.extract_if(.., speaks_of_it).collect::<Vec<_>>() {
            // Queued as an event, so that the new leader first finishes its step.
            self.queue.push(self.now, Event::Strike { fault });
        }
    }

    pub(super) fn strike(&mut self, index: u32, point: Option<(Point, NodeId)>) {
        let plan = self.faults.plan.clone();
        let PlannedFault { what, group, .. } = &plan.faults[index as usize];
        let (group, moment) = (*group, self.moment(*group, point.map(|(_, node)| node)));
        // Only a leader changes the members.
        let needs_leader = matches!(what, Fault::Join { .. } | Fault::Leave { .. });
        let groups =
            triggers::groups(&self.topology, what, moment).filter(|_| moment.leader.is_some() || !needs_leader);
        let Some((on, to)) = groups else {
            protocols::mark!("world: a fault waits for a leader");
            self.faults.waiting.push(index);
            return;
        };
        let starts = on.iter().map(|n| self.processes[n.index()].starts).collect();
        let struck = Struck { on, to, group, starts, point };
        self.apply(index, what, struck);
    }

    fn apply(&mut self, index: u32, what: &Fault, struck: Struck) {
        self.count_peak();
        let lasts = what.parts().lasts;
        let phase = if lasts.is_some() { Phase::Begin } else { Phase::Once };
        self.record_fault(index, what, &struck, phase);
        if let Some(Some(for_ms)) = lasts {
            self.queue.push(self.now + nanoseconds(for_ms), Event::Heal { fault: index });
        }
        self.carry_out_fault(index, what, &struck, true);
        self.faults.struck[index as usize] = Some(struck);
    }

    pub(super) fn heal(&mut self, index: u32) {
        let plan = self.faults.plan.clone();
        let what = &plan.faults[index as usize].what;
        let Some(struck) = self.faults.struck[index as usize].take() else { return };
        // The fault ends before the process acts again.
        let ends_first = matches!(what, Fault::Pause { .. });
        if ends_first {
            self.record_fault(index, what, &struck, Phase::End);
        }
        self.carry_out_fault(index, what, &struck, false);
        if !ends_first {
            self.record_fault(index, what, &struck, Phase::End);
        }
    }

    /// Applies a fault's effect (`on`), or ends it if it lasts.
    fn carry_out_fault(&mut self, index: u32, what: &Fault, struck: &Struck, on: bool) {
        let Struck { on: nodes, group, .. } = struck;
        let group = *group;
        match what {
            Fault::Pause { .. } if on => nodes.iter().for_each(|n| self.pause(*n)),
            Fault::Pause { .. } => self.resume_all(struck),
            Fault::Kill { restart_after_ms, .. } => nodes.iter().for_each(|n| self.kill(*n, true, *restart_after_ms)),
            Fault::PowerLoss { restart_after_ms, .. } => {
                nodes.iter().for_each(|n| self.kill(*n, false, *restart_after_ms));
            }
            Fault::LoseData { restart_after_ms, .. } | Fault::RestoreCopy { restart_after_ms, .. } => {
                nodes.iter().for_each(|n| self.replace_data(*n, index, *restart_after_ms));
            }
            Fault::Restart { .. } => nodes.iter().for_each(|n| self.boot(*n)),
            Fault::Partition { one_way, .. } => self.partition(struck, *one_way, on),
            Fault::Latency { extra_us, .. } => {
                self.each_link(struck, |world, a, b| world.links.slow(a, b, *extra_us, on));
            }
            Fault::Loss { probability, .. } => {
                self.each_link(struck, |world, a, b| world.links.lose(a, b, *probability, on));
            }
            Fault::Hang { .. } => {
                for a in &struck.on {
                    struck.to.iter().for_each(|b| self.hang(*a, *b, on));
                }
            }
            Fault::Bandwidth { kbps, .. } => nodes.iter().for_each(|n| self.narrow(*n, *kbps, on)),
            Fault::ForgeToken { .. } => nodes.iter().for_each(|n| self.forge_token(*n, group)),
            Fault::ForgeClaim { .. } => nodes.iter().for_each(|n| self.forge_claim(*n, &struck.to)),
            Fault::RogueFence { .. } => nodes.iter().for_each(|n| self.rogue_fence(*n, &struck.to)),
            Fault::LyingDevice { .. } | Fault::CloudDevice { .. } => self.set_manner(nodes, what, on),
            Fault::ClockStep { by_ms, .. } => nodes.iter().for_each(|n| self.step_clock(*n, *by_ms)),
            Fault::ClockRate { ppm, .. } => nodes.iter().for_each(|n| self.change_rate(*n, *ppm, on)),
            Fault::SlowDisk { extra_us, .. } => self.each_disk(nodes, *extra_us, on),
            Fault::SyncHang { .. } if on => nodes.iter().for_each(|n| self.disks.of(*n).hang()),
            Fault::SyncHang { .. } => nodes.iter().for_each(|n| self.end_hang(*n)),
            Fault::SyncFail { silent, .. } => {
                nodes.iter().for_each(|n| self.disks.of(*n).fail_syncs(*silent, on));
            }
            Fault::DropLease { .. } => nodes.iter().for_each(|n| self.drop_leadership(*n, group, Dropped::Lease)),
            Fault::DropKey { node: Who::Service } => {
                nodes.iter().for_each(|n| self.drop_from(*n, *n, group, Dropped::Counter));
            }
            Fault::DropKey { .. } => nodes.iter().for_each(|n| self.drop_leadership(*n, group, Dropped::Key)),
            Fault::Transfer { .. } => {
                if let Some(heir) = struck.to.first().copied() {
                    nodes.iter().for_each(|n| self.input(*n, Input::Transfer(heir).of_group(group)));
                }
            }
            Fault::Join { .. } => self.ask_leader(nodes, group, true),
            Fault::Leave { .. } => self.ask_leader(nodes, group, false),
            Fault::Resign { .. } => nodes.iter().for_each(|n| self.input(*n, Input::Resign.of_group(group))),
        }
    }

    /// A process that died while paused is not resumed.
    fn resume_all(&mut self, struck: &Struck) {
        for (node, starts) in struck.on.iter().zip(&struck.starts) {
            if self.processes[node.index()].starts == *starts {
                self.resume(*node);
            }
        }
    }

    fn step_clock(&mut self, node: NodeId, by_ms: i64) {
        self.processes[node.index()].clocks.step(by_ms);
        self.clock_was_stepped(node);
        self.reschedule_grant(node);
        self.record_clock(node);
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
        if !on {
            self.flush_held();
        }
    }

    /// Asks a leader to add or remove members. A new member starts first.
    fn ask_leader(&mut self, nodes: &[NodeId], group: u16, join: bool) {
        for node in nodes {
            if join {
                self.boot(*node);
            }
            if let Some(leader) = self.leader(group) {
                let order = if join { Input::AddVoter(*node) } else { Input::RemoveVoter(*node) };
                self.input(leader, order.of_group(group));
            }
        }
    }

    fn each_disk(&mut self, nodes: &[NodeId], extra_us: u64, on: bool) {
        for node in nodes {
            self.disks.of(*node).slow(extra_us * MICROSECOND, on);
        }
    }

    /// Sets the state of a running member of a service.
    pub fn set_member_state(&mut self, node: NodeId, state: State) {
        self.disks.members.insert(node, state);
        self.service_leads();
    }

    /// A member of the service may have become leader: strikes the faults that found none.
    pub fn service_leads(&mut self) {
        let plan = self.faults.plan.clone();
        let waits = |index: &u32| plan.faults[*index as usize].what.whom().contains(&&Who::ServiceLeader);
        for fault in self.faults.waiting.extract_if(.., |index| waits(index)).collect::<Vec<_>>() {
            self.queue.push(self.now, Event::Strike { fault });
        }
    }

    /// Takes leadership from a candidate at every member of the coordination service, from outside. A member that is
    /// down is not changed.
    fn drop_leadership(&mut self, node: NodeId, group: u16, what: Dropped) {
        let up: Vec<NodeId> = self.disks.members.keys().copied().filter(|n| self.processes[n.index()].up).collect();
        up.into_iter().for_each(|server| self.drop_from(server, node, group, what));
    }

    /// The same at one member.
    fn drop_from(&mut self, server: NodeId, node: NodeId, group: u16, what: Dropped) {
        let wall_ms = self.clocks(server).wall / MILLISECOND;
        let Some(service) = self.disks.members.get(&server).filter(|_| self.processes[server.index()].up) else {
            return;
        };
        let holder = service.drop_leadership(&self.processes[node.index()].name, group, what, wall_ms);
        self.note_grant(group, holder, GrantEnd::Lost);
        // Its watchers are notified.
        self.drivers.woke = true;
    }

    /// A fault changes the rate of a process's clocks, or ends. Of several active ones, the last to strike counts.
    fn change_rate(&mut self, node: NodeId, ppm: i64, on: bool) {
        let own = self.processes[node.index()].clocks.rate();
        let rates = self.faults.rates.entry(node).or_insert_with(|| vec![own]);
        if on {
            rates.push(ppm);
        } else if let Some(place) = rates.iter().skip(1).rposition(|rate| *rate == ppm) {
            rates.remove(place + 1);
        }
        let rate = rates.last().copied().unwrap_or(own);
        self.set_rate(node, rate);
    }

    fn set_rate(&mut self, node: NodeId, ppm: i64) {
        let now = self.now;
        self.processes[node.index()].clocks.set_rate(now, ppm);
        self.reschedule_timers(node);
        self.reschedule_sleeps(node);
        self.reschedule_grant(node);
        self.record_clock(node);
    }

    /// Records a process's clock settings from now on.
    pub(super) fn record_clock(&mut self, node: NodeId) {
        let clocks = &self.processes[node.index()].clocks;
        let (wall_offset_us, rate_ppm) = (clocks.wall_offset(self.now) / MICROSECOND as i64, clocks.rate());
        self.record(Kind::Clock { node, wall_offset_us, rate_ppm });
    }

    fn pause(&mut self, node: NodeId) {
        let process = &mut self.processes[node.index()];
        // A process that is down cannot be paused; it will start running.
        process.pauses += u32::from(process.up);
        if process.up && !process.paused {
            process.paused = true;
            self.record(Kind::Node { node, state: NodeState::Paused });
            self.drivers.todo.push_back(HostAction::Pause(node));
        }
    }

    fn resume(&mut self, node: NodeId) {
        let process = &mut self.processes[node.index()];
        process.pauses = process.pauses.saturating_sub(1);
        if process.up && process.paused && process.pauses == 0 {
            process.paused = false;
            self.record(Kind::Node { node, state: NodeState::Resumed });
            self.drivers.todo.push_back(HostAction::Resume(node));
            self.catch_up(node);
        }
    }

    /// A fencing device cuts a machine's power, and may restore it after `restart_after` nanoseconds.
    pub fn power_off(&mut self, node: NodeId, restart_after: Option<u64>) {
        self.kill(node, false, None);
        if let Some(after) = restart_after {
            self.queue.push(self.now + after, Event::Boot { node });
        }
    }

    /// A process ends by itself, and its supervisor restarts it.
    pub fn crash(&mut self, node: NodeId) {
        self.kill(node, true, Some(SUPERVISOR_MS));
    }

    pub(super) fn kill(&mut self, node: NodeId, crash: bool, restart_after_ms: Option<f64>) {
        if self.processes[node.index()].up {
            self.close_all(node, crash);
            let process = &mut self.processes[node.index()];
            process.up = false;
            process.powered = crash;
            process.paused = false;
            process.pauses = 0;
            self.links.uplink(node).forget();
            self.grants.believers.retain(|(_, b)| b.node != node);
            self.forget_program(node);
            self.forget(node, node == self.topology.store());
            let disk = self.disks.of(node);
            if crash {
                disk.lose_process()
            } else {
                disk.lose_power()
            }
            let state = if crash { NodeState::Down } else { NodeState::Off };
            self.record(Kind::Node { node, state });
            self.drivers.todo.push_back(HostAction::Kill(node));
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
        let mut event = what.event(index, phase, (&struck.on, &struck.to), names);
        event.point = struck.point.map(|(point, node)| (point.name().to_owned(), node));
        let kind = Kind::Fault(Box::new(event));
        // A fault on a process, rather than on one leadership, belongs to no group.
        let group = if kind.is_shared() { 0 } else { struck.group };
        self.record_in(group, kind);
    }
}
