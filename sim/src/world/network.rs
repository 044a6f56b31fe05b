//! Links: one per direction between any two processes, each with its own random stream, so that what happens on one never
//! shifts another.

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

/// What a message counts as, for bandwidth and windows: a small request with its headers.
pub const MESSAGE_BYTES: u64 = scenarios::plan::MESSAGE_BYTES;
/// How many messages may be under way on a connection: what fits into the window of a byte stream.
pub const MESSAGES_MAX: usize = super::stream::WINDOW / MESSAGE_BYTES as usize;

/// What a message takes from a process to itself, nanoseconds.
const LOOPBACK: u64 = 20 * MICROSECOND;

/// How messages travel in one direction between two processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane {
    /// As datagrams.
    Datagram,
    /// On a connection that the sender makes.
    Forward,
    /// On the connection that the receiver has made.
    Backward,
}

/// The connection on a forward lane.
#[derive(Clone, Copy, Default, Debug)]
pub struct Connection {
    /// Counts the connections from the one process to the other.
    pub number: u32,
    /// The other side has accepted it, and something has arrived there.
    pub established: bool,
    /// How often the process that accepted it had been started.
    pub starts: u32,
    /// That process is gone.
    pub dead: bool,
    /// Its machine has said so, and that is under way.
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
    /// Extra latency by `Latency` faults, nanoseconds.
    extra: u64,
    /// Extra loss by `Loss` faults, and of each of them.
    extra_loss: u32,
    losses: Vec<f64>,
    /// How many partitions lie over it.
    blocked: u32,
    last_at: u64,
    /// How messages travel.
    pub lane: Lane,
    /// The connection, on a forward lane.
    pub connection: Connection,
    /// Can messages be sent without a second look? On a forward lane: there is a connection.
    pub open: bool,
    /// Does what arrives need no second look? Kept by [`Link::refresh`].
    pub clear: bool,
    /// When the connection that was asked for can carry the first message.
    opens_at: u64,
    /// Messages under way that are in no lane: they met silence, or a paused process has not read them.
    pub unread: usize,
    /// When the oldest message that met silence did; 0 for none.
    pub parked_since: u64,
    /// What was lost on the connection and is missing.
    pub gap: Gap,
    /// Between these times nothing arrives on the connection, since something was lost.
    stalled: (u64, u64),
    /// Between candidates: a connection that is stuck for so many nanoseconds is given up by the sender's transport.
    patience: u64,
}

/// How a datagram travels.
pub enum Passage {
    /// In order, arriving at this nanosecond.
    InOrder(u64),
    /// Out of order.
    Astray(u64),
    /// In order, and once more at the second time.
    Twice(u64, u64),
    /// Not at all.
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

    /// It does not leave the machine: a leader's node writes to the copy that it has itself.
    fn is_loopback(&mut self) {
        (self.latency, self.jitter) = (LOOPBACK, 0);
        (self.loss, self.duplicate, self.reorder) = (0, 0, 0);
    }

    #[inline]
    fn chance(&mut self, threshold: u32) -> bool {
        // No draw where there is no chance: a quiet profile costs nothing.
        threshold != 0 && self.random.next_u32() < threshold
    }

    #[inline]
    fn latency(&mut self) -> u64 {
        let jitter = if self.jitter == 0 { 0 } else { (u64::from(self.random.next_u32()) * self.jitter) >> 32 };
        self.latency + self.extra + jitter
    }

    /// A datagram leaves at `left`.
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

    /// When a segment that leaves at `left` arrives, if nobody learns that it is lost but by timeouts.
    pub fn segment(&mut self, left: u64) -> u64 {
        let sent = self.transmit(left);
        sent.arrives + late_by_timeouts(sent.lost, RETRANSMIT_FIRST)
    }

    /// A segment leaves at `left`.
    #[inline]
    pub fn transmit(&mut self, left: u64) -> Sent {
        let arrives = left + self.latency();
        Sent { left, arrives, lost: self.losses() }
    }

    /// How many times in a row something that is sent is lost.
    #[inline]
    fn losses(&mut self) -> u32 {
        let mut lost = 0;
        while (self.chance(self.loss) || self.chance(self.extra_loss)) && lost < LOST_MAX {
            lost += 1;
        }
        lost
    }

    /// A message on a connection leaves at `left`, or when there is a connection.
    #[inline]
    pub fn message(&mut self, left: u64) -> Sent {
        let left = left.max(self.opens_at);
        let mut arrives = left + self.latency();
        if self.chance(self.reorder) {
            arrives += 2 * self.latency();
        }
        Sent { left, arrives, lost: self.losses() }
    }

    /// When a message that is sent again at `left`, after silence, arrives: never before the one that was sent before it.
    pub fn in_order(&mut self, left: u64) -> u64 {
        let sent = self.message(left);
        self.behind(sent.arrives + late_by_timeouts(sent.lost, RETRANSMIT_FIRST))
    }

    /// Nothing arrives on the connection from now on until `at`.
    pub fn stalls(&mut self, now: u64, at: u64) {
        let since = if self.stalled.1 > now { self.stalled.0 } else { now };
        self.stalled = (since, at);
    }

    /// `at`, or when the one before it arrives.
    #[inline]
    pub fn behind(&mut self, at: u64) -> u64 {
        self.last_at = self.last_at.max(at);
        self.last_at
    }

    /// How long the first packet of a connection takes in this direction.
    fn greeting(&mut self) -> u64 {
        self.latency() + late_by_timeouts(self.losses(), SYN_RETRANSMIT_FIRST)
    }

    /// The connection is gone; another may follow.
    pub fn hang_up(&mut self) {
        self.connection = Connection { number: self.connection.number + 1, ..Connection::default() };
        (self.open, self.unread, self.last_at, self.opens_at) = (false, 0, 0, 0);
        (self.parked_since, self.gap, self.stalled) = (0, Gap::default(), (0, 0));
        self.refresh();
    }

    /// What met silence is sent again: nothing of what is on the lane has arrived, so nothing has to be behind it.
    pub fn start_lane(&mut self) {
        (self.last_at, self.gap) = (0, Gap::default());
    }

    /// What is on the lane arrives at other times now, the last of it at `last_at`.
    pub fn is_retimed(&mut self, last_at: u64) {
        self.last_at = last_at;
    }

    /// What met silence has been sent again.
    pub fn resumes(&mut self) {
        self.stalled = (self.parked_since, self.last_at);
        self.parked_since = 0;
    }

    /// Does a connection between candidates carry nothing for longer than its transport has patience?
    #[inline]
    pub fn is_stuck(&self, now: u64) -> bool {
        let parked = || self.parked_since != 0 && now - self.parked_since >= self.patience;
        let stalled = || self.stalled.1 > now && now - self.stalled.0 >= self.patience;
        self.patience != 0 && (parked() || stalled())
    }

    /// How long a packet is on the wire on average when it is not lost, nanoseconds.
    fn wire(&self) -> u64 {
        self.latency + self.jitter / 2 + self.extra
    }

    /// Longest that a packet is on the wire when it is not lost, nanoseconds.
    pub fn wire_max(&self) -> u64 {
        self.latency + self.jitter + self.extra
    }

    /// Recomputes [`Link::clear`].
    pub fn refresh(&mut self) {
        let there = self.lane != Lane::Forward || (self.connection.established && !self.connection.dead);
        self.clear = self.blocked == 0 && there;
    }

    /// Is there a partition over it?
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked > 0
    }
}

/// All links.
pub struct Links {
    /// What each process's packets leave by, by process.
    uplinks: Vec<Uplink>,
    links: Vec<Link>,
    nodes: usize,
    store: NodeId,
}

impl Links {
    /// Links between the plan's processes.
    pub fn new(plan: &Plan, protocol: &Protocol, topology: &Topology) -> Self {
        let names = topology.names();
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (from, to)));
        let links = pairs.map(|(from, to)| Link::new(&plan.network, plan.seed, from, to)).collect();
        let uplinks = vec![Uplink::new(&plan.network); names.len()];
        let mut links = Links { uplinks, links, nodes: names.len(), store: topology.store() };
        links.lay_lanes(plan, protocol, topology);
        if plan.copies.is_some() {
            topology.candidates().for_each(|node| links.get(node, node).is_loopback());
        }
        links
    }

    /// Clients connect to candidates, and candidates to the store, as they do in production; what candidates say to each
    /// other is their protocol's choice. What they say to a fencing device travels as datagrams, as IPMI does.
    fn lay_lanes(&mut self, plan: &Plan, protocol: &Protocol, topology: &Topology) {
        let candidates = || topology.candidates();
        if protocol.transport == Transport::Stream {
            // The transport gives up where a request would be given up.
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

    /// One process asks for a connection to another at `now`: a packet there and one back, before anything else leaves.
    pub fn dial(&mut self, from: NodeId, to: NodeId, now: u64) {
        let back = self.get(to, from).greeting();
        let link = self.get(from, to);
        link.opens_at = now + link.greeting() + back;
        link.open = true;
    }

    /// The fenced store.
    pub fn store(&self) -> NodeId {
        self.store
    }

    /// The link in one direction.
    #[inline]
    pub fn get(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        &mut self.links[from.index() * self.nodes + to.index()]
    }

    /// When what a process hands to its machine at `now` has left it, nanoseconds.
    #[inline]
    pub fn leaves(&mut self, from: NodeId, now: u64, bytes: u64, traffic: Traffic) -> u64 {
        self.uplinks[from.index()].leaves(now, bytes, traffic)
    }

    /// What carries a process's packets away.
    pub fn uplink(&mut self, node: NodeId) -> &mut Uplink {
        &mut self.uplinks[node.index()]
    }

    /// A round trip from one process to another, nanoseconds.
    pub fn trip(&mut self, from: NodeId, to: NodeId) -> u64 {
        self.get(from, to).wire() + self.get(to, from).wire()
    }

    /// Lays a partition over one direction, or takes one away.
    pub fn block(&mut self, from: NodeId, to: NodeId, on: bool) {
        let link = self.get(from, to);
        link.blocked = if on { link.blocked + 1 } else { link.blocked.saturating_sub(1) };
        link.refresh();
    }

    /// Adds or takes away latency, microseconds, on one direction.
    pub fn slow(&mut self, from: NodeId, to: NodeId, extra_us: u64, on: bool) {
        let link = self.get(from, to);
        let extra = extra_us * MICROSECOND;
        link.extra = if on { link.extra + extra } else { link.extra.saturating_sub(extra) };
    }

    /// Lays loss over one direction, or takes it away.
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
