//! The inline driver: steps cores from the event loop. A pause can strike at every named point; the outputs left of
//! that step wait here until the process resumes.

use super::{
    Driver, World,
    drivers::HostAction,
    network::Passage,
    packet::Packet,
    queue::{Due, Event},
};
use protocols::{
    core::{Core, Input, Output, TimerId},
    elector::ServiceOutput,
    point::Point,
    types::NodeId,
};
use std::{collections::VecDeque, task::Waker};
use tokio::sync::mpsc::UnboundedSender;

/// How many messages a paused process's machine accepts, including those from connections that were given up; more are
/// lost.
const INBOX_MAX: usize = 1 << 16;

/// The driver's state for a process, and what waits for its core.
#[derive(Default)]
pub(super) struct Driven {
    pub core: Option<Box<dyn Core>>,
    /// The outputs left when a pause interrupted the last step.
    stash: VecDeque<Output>,
    /// Inputs that arrived during the pause.
    inbox: VecDeque<Input>,
    /// Timers that fell due during the pause.
    due: VecDeque<TimerId>,
    timers: Vec<Timer>,
    /// The input queue, under the task driver.
    inputs: Option<UnboundedSender<Input>>,
    /// The queues of requests to the coordination service, by group.
    service: Vec<UnboundedSender<ServiceOutput>>,
    /// A task that waits at the point where its process was paused.
    pub(super) at_point: Option<Waker>,
}

#[derive(Clone, Copy, Default)]
struct Timer {
    due: u64,
    generation: u32,
    set: bool,
}

impl World {
    /// Executes the next event; false if there is none.
    #[inline]
    pub(super) fn take_next(&mut self) -> bool {
        let Some((at, due)) = self.queue.pop() else { return false };
        self.now = at.max(self.now);
        self.stall.event(self.now);
        match due {
            Due::Message { from, to } => {
                if let Some(message) = self.queue.take(from, to) {
                    self.message_arrives(from, to, message);
                }
            }
            Due::Event(event) => self.happen(event),
        }
        true
    }

    #[inline]
    pub(super) fn send_datagram(&mut self, from: NodeId, to: NodeId, message: Packet) {
        let left = self.send_out(from, &message);
        match self.links.get(from, to).datagram(left) {
            Passage::InOrder(at) => self.queue.push_lane(at, from, to, message),
            Passage::Astray(at) => {
                protocols::mark!("world: a message is reordered");
                self.queue.push(at, Event::Datagram(Box::new((from, to, message))));
            }
            Passage::Twice(at, again) => {
                protocols::mark!("world: a message arrives twice");
                let copy = self.links.said.copy(message);
                self.queue.push_lane(at, from, to, message);
                self.queue.push(again, Event::Datagram(Box::new((from, to, copy))));
            }
            Passage::Lost => self.lose("lost", from, to, message),
        }
    }

    #[inline]
    pub(super) fn message_arrives(&mut self, from: NodeId, to: NodeId, message: Packet) {
        let [kind, b, c] = self.links.said.words(&message);
        let a = kind | u64::from(from.0) << 32 | u64::from(to.0) << 48;
        let (processes, said) = (&self.processes, &self.links.said);
        self.trace.note(self.now, [a, b, c], || {
            format!("{} > {} {}", processes[from.index()].name, processes[to.index()].name, said.text(&message))
        });
        if !self.links.get(from, to).clear || !self.processes[to.index()].up {
            return self.second_look(from, to, message);
        }
        // Fast path: most messages are not between candidates, and are copied as little as possible.
        let Packet::Message(message) = message else { return self.arrives(from, to, message) };
        self.counts.delivered += 1;
        let process = &self.processes[to.index()];
        if process.paused || process.driven.inputs.is_some() {
            return self.hand_over(to, Input::Message { from, message });
        }
        self.step(to, || Input::Message { from, message });
    }

    /// A datagram arrives out of order.
    #[inline(never)]
    pub(super) fn datagram_arrives(&mut self, (from, to, message): (NodeId, NodeId, Packet)) {
        self.message_arrives(from, to, message);
    }

    /// Queues a local input, to be taken as the next event.
    pub fn input(&mut self, node: NodeId, input: Input) {
        let starts = self.processes[node.index()].starts;
        self.queue.push(self.now, Event::Input { node, starts, input: Box::new(input) });
    }

    /// Passes an input to a running process.
    pub(super) fn deliver(&mut self, node: NodeId, input: Input) {
        let process = &self.processes[node.index()];
        if process.paused || process.driven.inputs.is_some() {
            self.hand_over(node, input);
        } else {
            self.step(node, || input);
        }
    }

    /// Passes an input to a process that is paused, or whose core is stepped by a task.
    #[inline(never)]
    fn hand_over(&mut self, node: NodeId, input: Input) {
        let process = &mut self.processes[node.index()];
        if process.paused {
            // Its machine accepts it while there is room.
            if process.driven.inbox.len() < INBOX_MAX {
                if let Input::Message { from, .. } | Input::Peer { from, .. } = &input {
                    self.links.get(*from, node).unread += 1;
                }
                process.driven.inbox.push_back(input);
            }
        } else if let Some(inputs) = &process.driven.inputs {
            // The receiver's task wakes.
            if inputs.send(input).is_ok() {
                self.drivers.woke = true;
            }
        }
    }

    /// Steps a core. A closure makes the input in place, which avoids a slow move of a fresh value.
    #[inline]
    fn step(&mut self, node: NodeId, input: impl FnOnce() -> Input) {
        let process = &mut self.processes[node.index()];
        let Some(mut core) = process.driven.core.take() else { return };
        let now = process.clocks.at(self.now);
        let mut outputs = std::mem::take(&mut self.drivers.outputs);
        core.step(now, input(), &mut outputs);
        let process = &mut self.processes[node.index()];
        process.driven.core = Some(core);
        let starts = process.starts;
        let mut done = 0;
        while let Some(output) = outputs.get_mut(done) {
            done += 1;
            if !self.carry_out(node, output) {
                continue;
            }
            let process = &mut self.processes[node.index()];
            // A process that died at the point does nothing more.
            if process.up && process.starts == starts {
                protocols::mark!("world: a process is stopped at a point, in the middle of a step");
                process.driven.stash.extend(outputs.drain(done..));
            }
            break;
        }
        outputs.clear();
        self.drivers.outputs = outputs;
    }

    /// Carries out an output; returns whether it stopped the process. The most frequent outputs are copied from where
    /// they lie, and only once.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, node: NodeId, output: &mut Output) -> bool {
        match output {
            Output::Send { to, message } => self.send(node, *to, message),
            Output::Record(kind) => self.enter(None, kind),
            Output::Point(point) => return self.pass_point(node, 0, *point),
            Output::SetTimer { id, at } => self.set_timer(node, *id, *at),
            Output::CancelTimer(id) => {
                if let Some(timer) = self.processes[node.index()].driven.timers.get_mut(*id as usize) {
                    timer.generation += 1;
                    timer.set = false;
                }
            }
            rare => return self.carry_out_rare(node, std::mem::replace(rare, Output::CancelTimer(TimerId::MAX))),
        }
        false
    }

    /// The same for an output that is rarer.
    #[inline(never)]
    fn carry_out_rare(&mut self, node: NodeId, output: Output) -> bool {
        match output {
            Output::Tell { to, message } => self.tell(node, to, message),
            Output::Redial { to } => self.redial(node, to),
            Output::Persist(state) => self.persist(node, state),
            Output::PowerOff { node, restart_after } => self.power_off(node, restart_after),
            Output::Service(output) => self.ask_service(node, 0, *output),
            Output::OfGroup(group, output) => return self.carry_out_of_group(node, group, *output),
            mut frequent => return self.carry_out(node, &mut frequent),
        }
        false
    }

    /// The same for a group other than the first.
    #[inline(never)]
    fn carry_out_of_group(&mut self, node: NodeId, group: u16, output: Output) -> bool {
        match output {
            Output::Record(kind) => self.record_in(group, kind),
            Output::Point(point) => return self.pass_point(node, group, point),
            Output::Service(output) => self.ask_service(node, group, *output),
            // Other outputs do not depend on the group.
            _ => {}
        }
        false
    }

    fn ask_service(&mut self, node: NodeId, group: u16, output: ServiceOutput) {
        self.count_request(&output);
        let service = self.processes[node.index()].driven.service.get(usize::from(group));
        if service.is_some_and(|service| service.send(output).is_ok()) {
            self.drivers.woke = true;
        }
    }

    #[inline]
    fn set_timer(&mut self, node: NodeId, id: TimerId, due: u64) {
        let process = &mut self.processes[node.index()];
        let timers = &mut process.driven.timers;
        if timers.len() <= id as usize {
            timers.resize(id as usize + 1, Timer::default());
        }
        let timer = &mut timers[id as usize];
        timer.generation += 1;
        timer.due = due;
        timer.set = true;
        let generation = timer.generation;
        let at = process.clocks.true_time(due).max(self.now);
        self.queue.push(at, Event::CoreTimer { node, id, generation });
    }

    #[inline]
    pub(super) fn core_timer(&mut self, node: NodeId, id: TimerId, generation: u32) {
        let process = &mut self.processes[node.index()];
        let Some(timer) = process.driven.timers.get_mut(id as usize) else { return };
        if !timer.set || timer.generation != generation || !process.up {
            return;
        }
        timer.set = false;
        self.trace.note(self.now, [0x21 | u64::from(node.0) << 8, u64::from(id), 0], || format!("timer {node:?} {id}"));
        if process.paused {
            process.driven.due.push_back(id);
        } else {
            self.step(node, || Input::Timer(id));
        }
    }

    /// A node's clock rate has changed, so its timers are due at other true times.
    pub(super) fn reschedule_timers(&mut self, node: NodeId) {
        for id in 0..self.processes[node.index()].driven.timers.len() {
            let Timer { due, set, .. } = self.processes[node.index()].driven.timers[id];
            if set {
                self.set_timer(node, id as TimerId, due);
            }
        }
    }

    /// True if some fault of the plan waits for this point.
    pub fn waits_for(&self, point: Point) -> bool {
        self.faults.waits_for(point)
    }

    /// Passes a named point; returns whether the process stops there.
    #[inline]
    pub fn pass_point(&mut self, node: NodeId, group: u16, point: Point) -> bool {
        if !self.faults.watches(point) {
            return false;
        }
        let starts = self.processes[node.index()].starts;
        self.passage(node, group, point);
        let process = &self.processes[node.index()];
        process.paused || !process.up || process.starts != starts
    }

    /// The process resumes: first the interrupted step, then inputs, then timers.
    pub(super) fn catch_up(&mut self, node: NodeId) {
        let waker = self.processes[node.index()].driven.at_point.take();
        self.wake(waker);
        loop {
            let process = &mut self.processes[node.index()];
            if process.paused || !process.up {
                return;
            }
            let driven = &mut process.driven;
            if let Some(mut output) = driven.stash.pop_front() {
                protocols::mark!("world: a process goes on in the middle of a step");
                self.carry_out(node, &mut output);
            } else if let Some(input) = driven.inbox.pop_front() {
                protocols::mark!("world: what came during a pause is taken up");
                if let Input::Message { from, .. } | Input::Peer { from, .. } = &input {
                    let link = self.links.get(*from, node);
                    link.unread = link.unread.saturating_sub(1);
                }
                self.deliver(node, input);
            } else if let Some(id) = driven.due.pop_front() {
                protocols::mark!("world: what fell due during a pause is done");
                // Earlier inputs may have set it again, or cancelled it.
                if driven.timers.get(id as usize).is_some_and(|t| !t.set) {
                    self.step(node, || Input::Timer(id));
                }
            } else {
                return;
            }
        }
    }

    /// Sets the queues of requests to the coordination service, by group.
    pub fn set_service(&mut self, node: NodeId, service: Vec<UnboundedSender<ServiceOutput>>) {
        self.processes[node.index()].driven.service = service;
    }

    /// Puts a process under the task driver, with this input queue.
    pub fn set_inputs(&mut self, node: NodeId, inputs: UnboundedSender<Input>) {
        self.processes[node.index()].driven.inputs = Some(inputs);
    }

    /// The process is gone, and everything that waited for it. A store keeps what it has made durable.
    pub(super) fn forget(&mut self, node: NodeId, durable: bool) {
        let process = &mut self.processes[node.index()];
        let driven = std::mem::take(&mut process.driven);
        if durable {
            process.driven.core = driven.core;
        }
        // Generations continue, or the next incarnation would take an old timer for its own.
        process.driven.timers = driven.timers;
        for timer in &mut process.driven.timers {
            timer.generation += 1;
            timer.set = false;
        }
    }

    /// Starts a process whose machine has power.
    pub(super) fn boot(&mut self, node: NodeId) {
        let process = &mut self.processes[node.index()];
        if process.up {
            return;
        }
        process.up = true;
        process.powered = true;
        process.starts += 1;
        self.trace.note(self.now, [0x24, u64::from(node.0), 0], || format!("boot {node:?}"));
        self.record(protocols::history::Kind::Node { node, state: protocols::history::NodeState::Up });
        self.flush_held();
        self.connect_early(node);
        self.drivers.todo.push_back(HostAction::Start(node));
    }

    pub fn driver(&self) -> Driver {
        self.drivers.kind
    }

    /// Whether the process already has a core, as a restarted store does.
    pub fn has_core(&self, node: NodeId) -> bool {
        self.processes[node.index()].driven.core.is_some()
    }
}
