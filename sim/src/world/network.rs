//! Links: one per direction between any two processes, each with its own random stream, so that events on one never
//! affect another.

use super::{
    retransmit::{Gap, LOST_MAX, RETRANSMIT_FIRST, SYN_RETRANSMIT_FIRST, Sent, late_by_timeouts},
    uplink::{Traffic, Uplink},
};
use protocols::{
    election::{Protocol, Transport},
    types::{MICROSECOND, MILLISECOND, NodeId},
};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenarios::{
    plan::{Network, Plan},
    streams,
    topology::Topology,
};

/// The size of a message for bandwidth and windows: a small request with its headers.
pub const MESSAGE_BYTES: u64 = scenarios::plan::MESSAGE_BYTES;
/// The most messages in flight on a connection, as fit into a byte stream's window.
pub const MESSAGES_MAX: usize = super::stream::WINDOW / MESSAGE_BYTES as usize;

/// The latency of a message from a process to itself, in nanoseconds.
const LOOPBACK: u64 = 20 * MICROSECOND;

/// How messages travel in one direction between two processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane {
    Datagram,
    /// On a connection that the sender makes.
    Forward,
    /// On the connection that the receiver made.
    Backward,
}

/// The connection of a forward lane.
#[derive(Clone, Copy, Default, Debug)]
pub struct Connection {
    /// Counts the connections in this direction.
    pub number: u32,
    /// Whether the other side has accepted it and received something.
    pub established: bool,
    /// The incarnation of the accepting process.
    pub starts: u32,
    /// Whether the accepting process is gone.
    pub dead: bool,
    /// Whether its machine has sent a reset, which is in flight.
    pub reset_sent: bool,
}

/// One direction between two processes.
pub struct Link {
    random: ChaCha8Rng,
    latency: u64,
    jitter: u64,
    loss: u32,
    duplicate: u32,
    reorder: u32,
    /// Extra latency from `Latency` faults, in nanoseconds.
    extra: u64,
    /// Extra loss from all `Loss` faults, and from each of them.
    extra_loss: u32,
    losses: Vec<f64>,
    /// The number of active partitions.
    blocked: u32,
    last_at: u64,
    pub lane: Lane,
    /// The connection, on a forward lane.
    pub connection: Connection,
    /// Whether messages can be sent without further checks; on a forward lane, whether there is a connection.
    pub open: bool,
    /// Whether arrivals need no further checks. Updated by [`Link::refresh`].
    pub clear: bool,
    /// When the requested connection can carry its first message.
    opens_at: u64,
    /// Messages in flight that are in no lane: they met silence, or a paused process has not read them.
    pub unread: usize,
    /// When the oldest parked message met silence; 0 if there is none.
    pub parked_since: u64,
    /// The messages lost on the connection and not yet resent.
    pub gap: Gap,
    /// The period in which nothing arrives on the connection because of a loss.
    stalled: (u64, u64),
    /// Between candidates: how long a connection may be stuck before the sender's transport gives it up, in
    /// nanoseconds.
    patience: u64,
}

pub enum Passage {
    /// In order, arriving at this time.
    InOrder(u64),
    /// Out of order.
    Astray(u64),
    /// In order, and a duplicate at the second time.
    Twice(u64, u64),
    Lost,
}

/// A probability as a threshold for 32 random bits.
fn threshold(probability: f64) -> u32 {
    (probability.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32
}

impl Link {
    fn new(network: &Network, seed: u64, from: &str, to: &str) -> Self {
        Link {
            random: streams::stream(seed, &format!("network/{from}>{to}")),
            latency: network.latency_us * MICROSECOND,
            jitter: network.jitter_us * MICROSECOND,
            loss: threshold(network.loss),
            duplicate: threshold(network.duplicate),
            reorder: threshold(network.reorder),
            extra: 0,
            extra_loss: 0,
            losses: Vec::new(),
            blocked: 0,
            last_at: 0,
            lane: Lane::Datagram,
            connection: Connection::default(),
            open: false,
            clear: true,
            opens_at: 0,
            unread: 0,
            parked_since: 0,
            gap: Gap::default(),
            stalled: (0, 0),
            patience: 0,
        }
    }

    /// Marks a link within one machine: a leader's node writes to its own copy.
    fn make_loopback(&mut self) {
        (self.latency, self.jitter) = (LOOPBACK, 0);
        (self.loss, self.duplicate, self.reorder) = (0, 0, 0);
    }

    #[inline]
    fn chance(&mut self, threshold: u32) -> bool {
        // No draw for a zero probability: a quiet profile costs nothing.
        threshold != 0 && self.random.next_u32() < threshold
    }

    #[inline]
    fn latency(&mut self) -> u64 {
        let jitter = if self.jitter == 0 { 0 } else { (u64::from(self.random.next_u32()) * self.jitter) >> 32 };
        self.latency + self.extra + jitter
    }

    /// A datagram that leaves at `left`.
    #[inline]
    pub fn datagram(&mut self, left: u64) -> Passage {
        let at = left + self.latency();
        if self.chance(self.loss) || self.chance(self.extra_loss) {
            return Passage::Lost;
        }
        if self.chance(self.reorder) {
            let detour = self.latency();
            return Passage::Astray(at + 2 * detour);
        }
        let at = at.max(self.last_at);
        self.last_at = at;
        if self.chance(self.duplicate) {
            let detour = self.latency();
            return Passage::Twice(at, at + detour);
        }
        Passage::InOrder(at)
    }

    /// When a segment that leaves at `left` arrives, if losses are detected only by timeouts.
    pub fn segment(&mut self, left: u64) -> u64 {
        let sent = self.transmit(left);
        sent.arrives + late_by_timeouts(sent.lost, RETRANSMIT_FIRST)
    }

    /// Transmits a segment that leaves at `left`.
    #[inline]
    pub fn transmit(&mut self, left: u64) -> Sent {
        let arrives = left + self.latency();
        Sent { left, arrives, lost: self.losses() }
    }

    /// How many times in a row a segment is lost.
    #[inline]
    fn losses(&mut self) -> u32 {
        let mut lost = 0;
        while (self.chance(self.loss) || self.chance(self.extra_loss)) && lost < LOST_MAX {
            lost += 1;
        }
        lost
    }

    /// Sends a message on a connection at `left`, or once there is a connection.
    #[inline]
    pub fn message(&mut self, left: u64) -> Sent {
        let left = left.max(self.opens_at);
        let mut arrives = left + self.latency();
        if self.chance(self.reorder) {
            arrives += 2 * self.latency();
        }
        Sent { left, arrives, lost: self.losses() }
    }

    /// When a message resent at `left`, after silence, arrives: never before its predecessor.
    pub fn in_order(&mut self, left: u64) -> u64 {
        let sent = self.message(left);
        self.behind(sent.arrives + late_by_timeouts(sent.lost, RETRANSMIT_FIRST))
    }

    /// Nothing arrives on the connection from now until `at`.
    pub fn stall(&mut self, now: u64, at: u64) {
        let since = if self.stalled.1 > now { self.stalled.0 } else { now };
        self.stalled = (since, at);
    }

    /// `at`, or the arrival of the predecessor if that is later.
    #[inline]
    pub fn behind(&mut self, at: u64) -> u64 {
        self.last_at = self.last_at.max(at);
        self.last_at
    }

    /// How long the first packet of a connection takes in this direction.
    fn greeting(&mut self) -> u64 {
        self.latency() + late_by_timeouts(self.losses(), SYN_RETRANSMIT_FIRST)
    }

    /// The connection has ended; another may follow.
    pub fn hang_up(&mut self) {
        self.connection = Connection { number: self.connection.number + 1, ..Connection::default() };
        (self.open, self.unread, self.last_at, self.opens_at) = (false, 0, 0, 0);
        (self.parked_since, self.gap, self.stalled) = (0, Gap::default(), (0, 0));
        self.refresh();
    }

    /// Messages that met silence are resent. Nothing of the lane has arrived, so they need not queue behind it.
    pub fn start_lane(&mut self) {
        (self.last_at, self.gap) = (0, Gap::default());
    }

    /// The lane's messages have new arrival times, the last of them `last_at`.
    pub fn retime(&mut self, last_at: u64) {
        self.last_at = last_at;
    }

    /// All messages that met silence have been resent.
    pub fn resume(&mut self) {
        self.stalled = (self.parked_since, self.last_at);
        self.parked_since = 0;
    }

    /// Whether a connection between candidates has been silent for longer than its transport tolerates.
    #[inline]
    pub fn is_stuck(&self, now: u64) -> bool {
        let parked = || self.parked_since != 0 && now - self.parked_since >= self.patience;
        let stalled = || self.stalled.1 > now && now - self.stalled.0 >= self.patience;
        self.patience != 0 && (parked() || stalled())
    }

    /// The average time of a packet on the wire if it is not lost, in nanoseconds.
    fn wire(&self) -> u64 {
        self.latency + self.jitter / 2 + self.extra
    }

    /// The longest time of a packet on the wire if it is not lost, in nanoseconds.
    pub fn wire_max(&self) -> u64 {
        self.latency + self.jitter + self.extra
    }

    pub fn refresh(&mut self) {
        let there = self.lane != Lane::Forward || (self.connection.established && !self.connection.dead);
        self.clear = self.blocked == 0 && there;
    }

    /// Whether a partition blocks it.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked > 0
    }
}

pub struct Links {
    /// The uplink of each process.
    uplinks: Vec<Uplink>,
    links: Vec<Link>,
    nodes: usize,
    store: NodeId,
}

impl Links {
    pub fn new(plan: &Plan, protocol: &Protocol, topology: &Topology) -> Self {
        let names = topology.names();
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (from, to)));
        let links = pairs.map(|(from, to)| Link::new(&plan.network, plan.seed, from, to)).collect();
        let uplinks = vec![Uplink::new(&plan.network); names.len()];
        let mut links = Links { uplinks, links, nodes: names.len(), store: topology.store() };
        links.lay_lanes(plan, protocol, topology);
        if plan.copies.is_some() {
            topology.candidates().for_each(|node| links.get(node, node).make_loopback());
        }
        links
    }

    /// Clients connect to candidates, and candidates to the store, as in production; the protocol chooses how
    /// candidates talk to each other. Messages to a fencing device are datagrams, as with IPMI.
    fn lay_lanes(&mut self, plan: &Plan, protocol: &Protocol, topology: &Topology) {
        let candidates = || topology.candidates();
        if protocol.transport == Transport::Stream {
            // The transport's timeout is that of a request.
            let patience = plan.timings.request_timeout_ms.saturating_mul(MILLISECOND);
            for (from, to) in candidates().flat_map(|a| candidates().map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let link = self.get(from, to);
                (link.lane, link.patience) = (Lane::Forward, patience);
                link.refresh();
            }
        }
        if plan.network.datagrams {
            return;
        }
        let asking = topology.clients().flat_map(|client| candidates().map(move |node| (client, node)));
        for (from, to) in asking.chain(candidates().map(|node| (node, topology.store()))) {
            for (link, lane) in [((from, to), Lane::Forward), ((to, from), Lane::Backward)] {
                let link = self.get(link.0, link.1);
                link.lane = lane;
                link.refresh();
            }
        }
    }

    /// A process requests a connection to another at `now`: nothing else leaves before a round trip.
    pub fn dial(&mut self, from: NodeId, to: NodeId, now: u64) {
        let back = self.get(to, from).greeting();
        let link = self.get(from, to);
        link.opens_at = now + link.greeting() + back;
        link.open = true;
    }

    pub fn store(&self) -> NodeId {
        self.store
    }

    /// The link in one direction.
    #[inline]
    pub fn get(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        &mut self.links[from.index() * self.nodes + to.index()]
    }

    /// When data handed to the machine at `now` has left it, in nanoseconds.
    #[inline]
    pub fn leaves(&mut self, from: NodeId, now: u64, bytes: u64, traffic: Traffic) -> u64 {
        self.uplinks[from.index()].leaves(now, bytes, traffic)
    }

    pub fn uplink(&mut self, node: NodeId) -> &mut Uplink {
        &mut self.uplinks[node.index()]
    }

    /// The round-trip time between two processes, in nanoseconds.
    pub fn trip(&mut self, from: NodeId, to: NodeId) -> u64 {
        self.get(from, to).wire() + self.get(to, from).wire()
    }

    /// Adds a partition to one direction, or removes one.
    pub fn block(&mut self, from: NodeId, to: NodeId, on: bool) {
        let link = self.get(from, to);
        link.blocked = if on { link.blocked + 1 } else { link.blocked.saturating_sub(1) };
        link.refresh();
    }

    /// Adds latency to one direction, in microseconds, or removes it.
    pub fn slow(&mut self, from: NodeId, to: NodeId, extra_us: u64, on: bool) {
        let link = self.get(from, to);
        let extra = extra_us * MICROSECOND;
        link.extra = if on { link.extra + extra } else { link.extra.saturating_sub(extra) };
    }

    /// Adds loss to one direction, or removes it.
    pub fn lose(&mut self, from: NodeId, to: NodeId, probability: f64, on: bool) {
        let link = self.get(from, to);
        if on {
            link.losses.push(probability);
        } else if let Some(place) = link.losses.iter().position(|other| *other == probability) {
            link.losses.swap_remove(place);
        }
        link.extra_loss = threshold(link.losses.iter().fold(0.0, |all, one| all + one - all * one));
    }
}
