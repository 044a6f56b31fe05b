//! The simulated world: an event loop with network, clocks, processes and faults, in one thread.
//!
//! Architecture invariant: time moves only from event to event. `now` is the time of the current event; every task that
//! it woke runs until it waits again, before the next event. So an extra poll by a library changes nothing.
//!
//! Architecture invariant: the world is a thread-local, and handles to it are plain integers. So nothing needs a lock,
//! and everything is `Send`. Wakers are called while the world is borrowed, which is safe because waking only queues a
//! task; tasks, futures and drops run outside of the borrow.

pub mod action;
mod adversary;
pub mod clocks;
mod connection;
mod data;
pub mod disk;
mod driver;
pub mod env;
mod faults;
mod finished;
mod grants;
pub mod keepalive;
pub mod model;
mod network;
mod packet;
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
use action::HostAction;
use clocks::Clocks;
use connection::Parked;
use disk::Folder;
use driver::Driven;
use faults::Faults;
pub use finished::Finished;
use grants::Grants;
pub use grants::Holder;
use network::Links;
use packet::Said;
use programs::Programs;
use protocols::{
    clock::Now,
    core::Core,
    division::Division,
    election::Protocol,
    elector::ServiceOutput,
    history::{Kind, SERVICE_REQUESTS, SERVICE_REQUESTS_BURST, SERVICE_REQUESTS_PEAK},
    payload::Opaque,
    types::{Incarnation, MILLISECOND, NodeId, SECOND},
};
use queue::{Event, Queue};
use rand_chacha::ChaCha8Rng;
use scenarios::{plan::Plan, streams, topology::Topology};
use sleep::Sleep;
use stall::Stall;
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    io::Write,
    sync::Arc,
    task::Waker,
};
use stream::{Conn, Held, Listening};
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
    disk: Folder,
}

/// The world of one run.
pub struct World {
    now: u64,
    queue: Queue,
    links: Links,
    processes: Vec<Process>,
    conns: Vec<Conn>,
    listeners: BTreeMap<(NodeId, u16), Listening>,
    held: Vec<Held>,
    parked: Vec<Parked>,
    sleeps: Vec<Sleep>,
    free_sleeps: Vec<u32>,
    faults: Faults,
    granted: Grants,
    /// Messages between candidates in flight.
    said: Said,
    /// With their groups, in the order of their elections.
    believers: Vec<(u16, Incarnation)>,
    division: Division,
    topology: Arc<Topology>,
    /// Makes the message with which a leader announces itself; adversaries forge it.
    claim: Option<fn(NodeId, u16, u64) -> Opaque>,
    /// The states of the services' members, for operators' interventions.
    members: BTreeMap<NodeId, model::State>,
    trace: Trace,
    recorder: Recorder,
    delivered: u64,
    /// Messages sent for elections, by kind.
    by_kind: BTreeMap<&'static str, u64>,
    /// The times of requests to services in the last second, counted from the first fault on.
    asked: Option<VecDeque<u64>>,
    driver: Driver,
    programs: Programs,
    outputs: Vec<protocols::core::Output>,
    todo: VecDeque<HostAction>,
    woke: bool,
    done: bool,
    stall: Stall,
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
                random: streams::stream(plan.seed, &format!("node/{name}")),
                pauses: 0,
                connections: 0,
                driven: Driven::default(),
                disk: Folder::new(plan.seed, name),
            }
        };
        let mut world = World {
            now: 0,
            queue: Queue::new(names.len()),
            links: Links::new(&plan, protocol, &topology),
            processes: names.iter().enumerate().map(process).collect(),
            conns: Vec::new(),
            listeners: BTreeMap::new(),
            held: Vec::new(),
            parked: Vec::new(),
            sleeps: Vec::new(),
            free_sleeps: Vec::new(),
            faults: Faults::new(plan.clone()),
            granted: Grants::new(plan.groups),
            said: Said::default(),
            believers: Vec::new(),
            division: plan.division(&topology),
            members: BTreeMap::new(),
            trace: Trace::new(text, names.to_vec()),
            recorder,
            delivered: 0,
            by_kind: BTreeMap::new(),
            asked: None,
            driver,
            topology: topology.clone(),
            claim: protocol.claim,
            programs: Programs::default(),
            outputs: Vec::new(),
            todo: VecDeque::new(),
            woke: true,
            done: false,
            stall: Stall::default(),
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

    /// Counts a message of the election.
    pub fn count(&mut self, kind: &'static str) {
        *self.by_kind.entry(kind).or_default() += 1;
    }

    /// Counts a request of an elector to its service's client.
    pub fn count_request(&mut self, output: &ServiceOutput) {
        let asks =
            matches!(output, ServiceOutput::Request { .. } | ServiceOutput::Push(_) | ServiceOutput::Open { .. });
        if asks {
            self.count(SERVICE_REQUESTS);
            let Some(asked) = &mut self.asked else { return };
            asked.push_back(self.now);
            while asked.front().is_some_and(|at| at + SECOND <= self.now) {
                asked.pop_front();
            }
            let burst = asked.iter().rev().take_while(|at| **at + 10 * MILLISECOND > self.now).count();
            for (kind, many) in [(SERVICE_REQUESTS_PEAK, asked.len()), (SERVICE_REQUESTS_BURST, burst)] {
                let most = self.by_kind.entry(kind).or_default();
                *most = (*most).max(many as u64);
            }
        }
    }

    /// A fault strikes. Peaks count from the first fault on, since requests at the start are not due to faults.
    fn count_peak(&mut self) {
        self.asked.get_or_insert_default();
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// All woken tasks have run.
    pub fn forget_woken(&mut self) {
        self.woke = false;
    }

    /// The host's next action, if any.
    pub fn next_action(&mut self) -> Option<HostAction> {
        self.todo.pop_front()
    }

    #[inline]
    fn wake(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.woke = true;
            waker.wake();
        }
    }

    /// Executes events until a task is woken, the host has something to do, or the run is over.
    pub fn run(&mut self) {
        if self.recorder.stops && !self.done && interrupt::asked() {
            return self.end();
        }
        while !self.woke && !self.done && self.todo.is_empty() {
            if !self.take_next() {
                return;
            }
        }
        let sleeps = &self.sleeps;
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
            Event::Sleep { slot, generation } => self.sleep_is_due(slot, generation),
            Event::Disk { node, number } => self.disk_is_done(node, number),
            Event::Stream(segment) => self.segment_arrives(segment),
            Event::Strike { fault } => self.strike(fault, None),
            Event::Heal { fault } => self.heal(fault),
            Event::KeepAlive(probe) => self.probe(probe.0, probe.1),
            Event::GrantEnds { group, generation } => self.grant_ends(group, generation),
            Event::Boot { node } => self.boot(node),
            Event::Copy { fault } => self.copy_data(fault),
            Event::End => self.end(),
        }
    }

    fn end(&mut self) {
        let by_kind = std::mem::take(&mut self.by_kind).into_iter().map(|(kind, n)| (kind.to_owned(), n));
        self.record(Kind::End { messages: self.delivered, by_kind: by_kind.collect() });
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
