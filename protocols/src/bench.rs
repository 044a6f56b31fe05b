//! A bench: several electors without a world, each with true time, a clock and a disk, plus the messages under way.
//!
//! The next step is either the next event due ([`Bench::next`], [`Bench::run`]), with delays, losses and duplicates
//! drawn from a seed, or the caller's choice ([`choice`]), as in a model checker: a bench can be copied, compared and
//! hashed. Crashes, restarts, pauses and cuts are up to the caller.
//!
//! It is less than a simulated run on purpose: no clients, no store, no leader's work. Requests to a coordination
//! service come out of the bench, and answers go in. Messages to nodes without an elector come out as well
//! ([`event::Event::Outside`]), so a test can play a fencing device.
//!
//! ```
//! use protocols::{bench::Bench, election::lowest_id, types::{NodeId, SECOND}};
//!
//! let timings = lowest_id::PROTOCOL.default_timings();
//! let mut bench = Bench::new(3, timings, 42, lowest_id::PROTOCOL.elector);
//! bench.start_all();
//! bench.run(10 * SECOND);
//! assert_eq!(bench.believers(), [NodeId(0)]);
//! bench.crash(NodeId(0), 0);
//! bench.run(20 * SECOND);
//! assert_eq!(bench.believers(), [NodeId(1)]);
//! ```

pub mod choice;
pub mod event;
pub mod network;
pub mod seat;
pub mod silent;
mod state;
mod step;

use crate::{
    election::{Setup, Timings},
    elector::{AnyElector, Elector, Input},
    random::Random,
    types::NodeId,
};
use event::{Due, Event, Number, Pending, Step};
use network::{Disks, Network, draw};
use seat::Seat;
use std::{collections::BTreeMap, sync::Arc};

/// Makes an elector. The setup's `stored` is the content of the node's disk; its nonce is drawn from the bench's seed.
pub type Make<E> = Arc<dyn Fn(Setup) -> E + Send + Sync>;

/// Electors at a bench, of a single protocol or of any.
pub struct Bench<E: Elector = Box<AnyElector>> {
    now: u64,
    seats: Vec<Seat<E>>,
    /// Keyed by due time (nanoseconds of true time) and number.
    pending: BTreeMap<(u64, Number), Pending<E::Peer, E::Service>>,
    numbers: Number,
    writes: u64,
    random: Random,
    /// The network's delays and faults.
    pub network: Network,
    /// The disks' delays and faults.
    pub disks: Disks,
    timings: Timings,
    make: Make<E>,
    broken: Option<String>,
}

impl<E: Elector> Bench<E> {
    /// A bench with `count` seats, none of which has a running process yet. The network delivers everything after a
    /// microsecond; writes complete at once.
    pub fn new(count: u16, timings: Timings, seed: u64, make: impl Fn(Setup) -> E + Send + Sync + 'static) -> Self {
        Bench {
            now: 0,
            seats: (0..count).map(|_| Seat::empty()).collect(),
            pending: BTreeMap::new(),
            numbers: 0,
            writes: 0,
            random: Random::new(seed),
            network: Network::default(),
            disks: Disks::default(),
            timings,
            make: Arc::new(make),
            broken: None,
        }
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<E> {
        (0..self.seats.len() as u16).map(NodeId)
    }

    /// A node's seat. Every node below the count has one.
    pub fn seat(&self, node: NodeId) -> &Seat<E> {
        &self.seats[node.index()]
    }

    /// The same, mutable, to set its clock.
    pub fn seat_mut(&mut self, node: NodeId) -> &mut Seat<E> {
        &mut self.seats[node.index()]
    }

    /// The nodes that believe they lead: `Elected`, and not `Deposed` since.
    pub fn believers(&self) -> Vec<NodeId> {
        self.nodes().filter(|node| self.seat(*node).belief.is_some()).collect()
    }

    /// How many messages are under way.
    pub fn messages_under_way(&self) -> usize {
        self.pending.values().filter(|pending| matches!(pending, Pending::Message { .. })).count()
    }

    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// The first violation of [`Elector`]'s rules, as one sentence.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// A random number below `bound`, from the bench's own stream.
    pub fn draw(&mut self, bound: u64) -> u64 {
        draw(&mut self.random, &(0..bound))
    }

    /// Starts every process that is down.
    pub fn start_all(&mut self) -> Vec<Step<E>> {
        let down: Vec<NodeId> = self.nodes().filter(|node| !self.seat(*node).is_up()).collect();
        down.into_iter().map(|node| self.start(node)).collect()
    }

    /// Starts a node's process from its disk. Does nothing if it is already running.
    pub fn start(&mut self, node: NodeId) -> Step<E> {
        if self.seat(node).is_up() {
            return self.nothing(Event::Nothing);
        }
        let names = self.nodes().map(|node| format!("n{}", node.0 + 1)).collect();
        let (nonce, stored) = (self.random.next_u64(), self.seat(node).disk.clone());
        let (timings, service, bugs) = (self.timings, Vec::new(), Default::default());
        let elector = (self.make)(Setup { group: 0, seat: None, node, names, timings, nonce, stored, service, bugs });
        let seat = &mut self.seats[node.index()];
        seat.starts += 1;
        seat.elector = Some(elector);
        self.step(node, Event::Stepped(node), Input::Start)
    }

    /// Starts the node at `at`, unless it is running by then.
    pub fn start_at(&mut self, at: u64, node: NodeId) {
        self.put(at, Pending::Start(node));
    }

    /// Kills the process. The first `done` of its pending writes still complete.
    pub fn crash(&mut self, node: NodeId, done: usize) {
        let seat = &mut self.seats[node.index()];
        if let Some(state) = seat.writing.drain(..).take(done).next_back() {
            seat.disk = Some(state);
        }
        seat.clear();
    }

    /// Pauses the node until `until`. It takes later arrivals afterwards, in order.
    pub fn pause(&mut self, node: NodeId, until: u64) {
        let seat = &mut self.seats[node.index()];
        seat.paused_until = until.max(seat.paused_until);
    }

    /// Resumes a paused node.
    pub fn resume(&mut self, node: NodeId) {
        let seat = &mut self.seats[node.index()];
        seat.paused_until = seat.paused_until.min(self.now);
    }

    /// Gives an elector an input now; a paused one takes it afterwards.
    pub fn give(&mut self, node: NodeId, input: Input<E::Peer, E::Service>) -> Step<E> {
        self.take(node, Event::Stepped(node), input)
    }

    /// The same at `at`, if the process lives that long.
    pub fn give_at(&mut self, at: u64, node: NodeId, input: Input<E::Peer, E::Service>) {
        let life = self.seat(node).starts;
        self.put(at, Pending::Input { to: node, life, input });
    }

    /// Sends a message through the network, in any node's name.
    pub fn send(&mut self, from: NodeId, to: NodeId, message: E::Peer) {
        for at in self.network.arrivals(self.now, from, to, &mut self.random) {
            self.put(at, Pending::Message { from, to, message: message.clone() });
        }
    }

    /// Schedules an [`Event::Alarm`] with this number.
    pub fn alarm(&mut self, at: u64, number: u64) {
        self.put(at, Pending::Alarm(number));
    }

    fn put(&mut self, at: u64, pending: Pending<E::Peer, E::Service>) {
        self.numbers += 1;
        self.pending.insert((at.max(self.now), self.numbers), pending);
    }

    fn next_due(&self) -> Option<(u64, Due)> {
        let seats = || self.seats.iter().enumerate();
        let found = seats().filter(|(_, seat)| !seat.inbox.is_empty());
        let found = found.map(|(index, seat)| (seat.paused_until, Due::Inbox(index)));
        let pending = self.pending.keys().next().map(|(at, number)| (*at, Due::Pending(*at, *number)));
        let timers = seats().filter_map(|(index, seat)| seat.due().map(|(at, id)| (at, Due::Timer(index, id))));
        // Overdue events are due now, in the order of their due times.
        found.chain(pending).chain(timers).min().map(|(at, due)| (at.max(self.now), due))
    }

    /// When the next event is due, true time in nanoseconds.
    pub fn next_at(&self) -> Option<u64> {
        self.next_due().map(|(at, _)| at)
    }

    /// Runs the next event due by `until`. If there is none, advances time to `until` and returns `None`.
    pub fn next(&mut self, until: u64) -> Option<Step<E>> {
        let Some((at, due)) = self.next_due().filter(|(at, _)| *at <= until) else {
            self.now = self.now.max(until);
            return None;
        };
        self.now = at;
        Some(match due {
            Due::Inbox(index) => self.look_into_inbox(NodeId(index as u16)),
            Due::Pending(at, number) => self.arrive((at, number)),
            Due::Timer(index, id) => self.fire(NodeId(index as u16), id),
        })
    }

    /// Runs all events due by `until`.
    pub fn run(&mut self, until: u64) {
        while self.next(until).is_some() {}
    }
}
