//! The simulated world: an event loop with network, clocks, processes and faults, in one thread.
//!
//! Architecture invariant: time moves only from event to event. `now` is the time of the current event; every task that
//! it woke runs until it waits again, before the next event. So an extra poll by a library changes nothing.
//!
//! Architecture invariant: the world is a thread-local, and handles to it are plain integers. So nothing needs a lock,
//! and everything is `Send`. Wakers are called while the world is borrowed, which is safe because waking only queues a
//! task; tasks, futures and drops run outside of the borrow.

mod adversary;
pub mod clocks;
mod connection;
mod data;
pub mod disk;
mod driver;
pub mod drivers;
pub mod env;
mod faults;
mod grants;
pub mod keepalive;
mod leader_key;
mod links;
pub mod model;
mod network;
mod packet;
mod passages;
pub mod programs;
mod queue;
mod record;
pub(crate) mod retransmit;
mod sleep;
pub mod stall;
mod stream;
mod trace;
mod uplink;

use crate::{interrupt, recorder::Recorder};
use clocks::Clocks;
use data::Disks;
use driver::Driven;
use drivers::{Drivers, HostAction};
use faults::Faults;
use grants::Grants;
pub use grants::Holder;
use links::{Links, Streams};
pub use passages::Passed;
use programs::Programs;
use protocols::{
    clock::Now,
    core::Core,
    election::Protocol,
    payload::Opaque,
    types::{MICROSECOND, MILLISECOND, NodeId},
};
use queue::{Event, Queue};
use rand_chacha::ChaCha8Rng;
use record::Counts;
pub use record::Finished;
use scenarios::{plan::Plan, streams as random, topology::Topology};
use stall::Stall;
use std::{cell::RefCell, io::Write, sync::Arc, task::Waker};
pub use trace::Trace;

/// How cores are stepped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Driver {
    /// By the event loop itself: fast.
    #[default]
    Inline,
    /// As tasks, as in real mode. Gives the same history.
    Task,
}

pub struct Process {
    pub name: String,
    pub clocks: Clocks,
    /// How many times it has been started.
    pub starts: u32,
    /// Whether it runs; it may be paused.
    pub up: bool,
    /// Whether its machine has power.
    pub powered: bool,
    pub paused: bool,
    /// Its random stream, for code that asks its environment for randomness.
    pub random: ChaCha8Rng,
    /// The number of active pauses.
    pauses: u32,
    connections: u64,
    driven: Driven,
}

/// The world of one run: what happens next, the processes, and five states that they share.
pub struct World {
    now: u64,
    queue: Queue,
    stall: Stall,
    done: bool,
    processes: Vec<Process>,
    links: Links,
    streams: Streams,
    disks: Disks,
    grants: Grants,
    drivers: Drivers,
    faults: Faults,
    topology: Arc<Topology>,
    /// Makes the message with which a leader announces itself; adversaries forge it.
    claim: Option<fn(NodeId, u16, u64) -> Opaque>,
    counts: Counts,
    trace: Trace,
    recorder: Recorder,
    programs: Programs,
}

thread_local! {
    static WORLD: RefCell<Option<Box<World>>> = const { RefCell::new(None) };
}

/// Works on this thread's world.
///
/// # Panics
/// There is no world, or it is already borrowed: both are defects of the harness.
#[inline]
pub fn with<T>(work: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with(|world| work(world.borrow_mut().as_mut().expect("the world is installed")))
}

/// Works on this thread's world, if any: for drops, which also happen during teardown.
pub fn try_with<T>(work: impl FnOnce(&mut World) -> T) -> Option<T> {
    WORLD.try_with(|world| world.try_borrow_mut().ok()?.as_mut().map(|w| work(w))).ok().flatten()
}

pub fn install(world: World) {
    WORLD.with(|place| *place.borrow_mut() = Some(Box::new(world)));
}

/// Removes this thread's world.
///
/// # Panics
/// There is none.
pub fn uninstall() -> Box<World> {
    WORLD.with(|place| place.borrow_mut().take()).expect("the world is installed")
}

impl World {
    /// A world that will execute `plan`; nothing has started yet.
    pub fn new(
        plan: Arc<Plan>,
        protocol: &Protocol,
        topology: Arc<Topology>,
        driver: Driver,
        recorder: Recorder,
        text: Option<Box<dyn Write + Send>>,
    ) -> Self {
        let names = topology.names();
        let process = |(index, name): (usize, &String)| {
            let (offset, ppm) = plan.candidates.get(index).map_or((0, 0), |c| (c.wall_offset_ms, c.rate_ppm));
            Process {
                name: name.clone(),
                clocks: Clocks::new(index, offset, ppm),
                starts: 0,
                up: false,
                powered: true,
                paused: false,
                random: random::stream(plan.seed, &format!("node/{name}")),
                pauses: 0,
                connections: 0,
                driven: Driven::default(),
            }
        };
        let mut world = World {
            now: 0,
            queue: Queue::new(names.len()),
            stall: Stall::default(),
            done: false,
            processes: names.iter().enumerate().map(process).collect(),
            links: Links::new(&plan, protocol, &topology),
            streams: Streams::default(),
            disks: Disks::new(plan.seed, names),
            grants: Grants::new(plan.groups, plan.division(&topology)),
            drivers: Drivers::new(driver),
            faults: Faults::new(plan.clone()),
            topology: topology.clone(),
            claim: protocol.claim,
            programs: Programs::default(),
            counts: Counts::default(),
            trace: Trace::new(text, names.to_vec()),
            recorder,
        };
        world.schedule(&plan);
        world
    }

    fn schedule(&mut self, plan: &Plan) {
        // Service and store start first, so that they are up when others look for them.
        let candidates = plan.candidates.len();
        for index in (candidates..self.processes.len()).chain(0..candidates) {
            let at = plan.candidates.get(index).map_or(0, |c| c.starts_at_ms * MILLISECOND);
            if !plan.candidates.get(index).is_some_and(|c| c.joins_later) {
                self.queue.push(at, Event::Boot { node: NodeId(index as u16) });
            }
        }
        for (at, fault) in self.faults.scheduled() {
            self.queue.push(at, Event::Strike { fault });
        }
        self.schedule_copies(plan);
        for branch in &plan.branches {
            self.queue.push(branch.at_us * MICROSECOND, Event::Branch { seed: branch.seed });
        }
        self.queue.push(plan.duration_ms * MILLISECOND, Event::End);
        self.topology.candidates().for_each(|node| self.record_clock(node));
    }

    /// True time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    #[inline]
    pub fn clocks(&self, node: NodeId) -> Now {
        self.processes[node.index()].clocks.at(self.now)
    }

    pub fn process(&mut self, node: NodeId) -> &mut Process {
        &mut self.processes[node.index()]
    }

    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.processes.iter().position(|p| p.name == name).map(|index| NodeId(index as u16))
    }

    /// How many processes there are, running or not.
    pub fn nodes(&self) -> u16 {
        self.processes.len() as u16
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// All woken tasks have run.
    pub fn forget_woken(&mut self) {
        self.drivers.woke = false;
    }

    /// The host's next action, if any.
    pub fn next_action(&mut self) -> Option<HostAction> {
        self.drivers.todo.pop_front()
    }

    #[inline]
    fn wake(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.drivers.woke = true;
            waker.wake();
        }
    }

    /// Executes events until a task is woken, the host has something to do, or the run is over.
    pub fn run(&mut self) {
        if self.recorder.stops && !self.done && interrupt::asked() {
            return self.end();
        }
        while !self.drivers.woke && !self.done && self.drivers.todo.is_empty() {
            if !self.take_next() {
                return;
            }
        }
        let sleeps = &self.drivers.sleeps;
        self.queue.compact(|event| {
            matches!(event, Event::Sleep { slot, generation } if sleeps[*slot as usize].generation != *generation)
        });
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Void => {}
            Event::Datagram(datagram) => self.datagram_arrives(*datagram),
            Event::Late(late) => self.late_arrives(*late),
            Event::Reset { from, to, number } => self.connection_reset(from, to, number),
            Event::CoreTimer { node, id, generation } => self.core_timer(node, id, generation),
            Event::Input { node, starts, input } => {
                let process = &self.processes[node.index()];
                if process.up && process.starts == starts {
                    self.trace.note(self.now, [0x22 | u64::from(node.0) << 8, 0, 0], || format!("input {node:?}"));
                    self.deliver(node, *input);
                }
            }
            Event::Sleep { slot, generation } => self.end_sleep(slot, generation),
            Event::Disk { node, number } => self.finish_on_disk(node, number),
            Event::Stream(segment) => self.segment_arrives(segment),
            Event::Strike { fault } => self.strike(fault, None),
            Event::Heal { fault } => self.heal(fault),
            Event::KeepAlive(probe) => self.probe(probe.0, probe.1),
            Event::GrantEnds { group, generation } => self.end_grant(group, generation),
            Event::Boot { node } => self.boot(node),
            Event::Copy { fault } => self.copy_data(fault),
            Event::Branch { seed } => self.branch(seed),
            Event::End => self.end(),
        }
    }

    /// Draws from another seed from now on. Nothing is noted: what differs afterwards is in the trace by itself.
    fn branch(&mut self, seed: u64) {
        for process in &mut self.processes {
            process.random = random::stream(seed, &format!("node/{}", process.name));
        }
        self.links.draw_from(seed, self.topology.names());
        self.disks.draw_from(seed, self.topology.names());
        self.drivers.todo.push_back(HostAction::Branch(seed));
    }

    fn end(&mut self) {
        let end = self.end_of_history();
        self.record(end);
        self.trace.seal();
        self.done = true;
    }

    /// Whether a task that stopped at a point may continue; if not, `waker` is called when the process resumes.
    fn poll_past_point(&mut self, node: NodeId, waker: &Waker) -> bool {
        let process = &mut self.processes[node.index()];
        let goes_on = process.up && !process.paused;
        if !goes_on {
            process.driven.at_point = Some(waker.clone());
        }
        goes_on
    }

    /// Gives a process its core, and steps it with `Start` at once.
    pub fn set_core(&mut self, node: NodeId, core: Box<dyn Core>) {
        self.processes[node.index()].driven.core = Some(core);
        self.input(node, protocols::core::Input::Start);
    }
}
