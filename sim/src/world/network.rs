//! A link: one direction between two processes, with its own random stream, so that events on one never affect another.

use super::retransmit::{Gap, LOST_MAX, RETRANSMIT_FIRST, SYN_RETRANSMIT_FIRST, Sent, late_by_timeouts};
use protocols::types::MICROSECOND;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenarios::{plan::Network, streams};

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

fn random(seed: u64, from: &str, to: &str) -> ChaCha8Rng {
    streams::stream(seed, &format!("network/{from}>{to}"))
}

impl Link {
    pub fn new(network: &Network, seed: u64, from: &str, to: &str) -> Self {
        Link {
            random: random(seed, from, to),
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

    /// Draws from this seed from now on.
    pub fn draw_from(&mut self, seed: u64, from: &str, to: &str) {
        self.random = random(seed, from, to);
    }

    /// Marks a link within one machine: a leader's node writes to its own copy.
    pub fn make_loopback(&mut self) {
        (self.latency, self.jitter) = (LOOPBACK, 0);
        (self.loss, self.duplicate, self.reorder) = (0, 0, 0);
    }

    #[inline]
    fn draw_chance(&mut self, threshold: u32) -> bool {
        // No draw for a zero probability: a quiet profile costs nothing.
        threshold != 0 && self.random.next_u32() < threshold
    }

    #[inline]
    fn draw_latency(&mut self) -> u64 {
        let jitter = if self.jitter == 0 { 0 } else { (u64::from(self.random.next_u32()) * self.jitter) >> 32 };
        self.latency + self.extra + jitter
    }

    /// A datagram that leaves at `left`.
    #[inline]
    pub fn datagram(&mut self, left: u64) -> Passage {
        let at = left + self.draw_latency();
        if self.draw_chance(self.loss) || self.draw_chance(self.extra_loss) {
            return Passage::Lost;
        }
        if self.draw_chance(self.reorder) {
            let detour = self.draw_latency();
            return Passage::Astray(at + 2 * detour);
        }
        let at = at.max(self.last_at);
        self.last_at = at;
        if self.draw_chance(self.duplicate) {
            let detour = self.draw_latency();
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
        let arrives = left + self.draw_latency();
        Sent { left, arrives, lost: self.draw_losses() }
    }

    /// How many times in a row a segment is lost.
    #[inline]
    fn draw_losses(&mut self) -> u32 {
        let mut lost = 0;
        while (self.draw_chance(self.loss) || self.draw_chance(self.extra_loss)) && lost < LOST_MAX {
            lost += 1;
        }
        lost
    }

    /// Sends a message on a connection at `left`, or once there is a connection.
    #[inline]
    pub fn message(&mut self, left: u64) -> Sent {
        let left = left.max(self.opens_at);
        let mut arrives = left + self.draw_latency();
        if self.draw_chance(self.reorder) {
            arrives += 2 * self.draw_latency();
        }
        Sent { left, arrives, lost: self.draw_losses() }
    }

    /// When a message resent at `left`, after silence, arrives: never before its predecessor.
    pub fn in_order(&mut self, left: u64) -> u64 {
        let sent = self.message(left);
        self.queue_behind(sent.arrives + late_by_timeouts(sent.lost, RETRANSMIT_FIRST))
    }

    /// Nothing arrives on the connection from now until `at`.
    pub fn stall(&mut self, now: u64, at: u64) {
        let since = if self.stalled.1 > now { self.stalled.0 } else { now };
        self.stalled = (since, at);
    }

    /// `at`, or the arrival of the predecessor if that is later.
    #[inline]
    pub fn queue_behind(&mut self, at: u64) -> u64 {
        self.last_at = self.last_at.max(at);
        self.last_at
    }

    /// The lane's kind; between candidates, how long a connection may be stuck before the sender's transport gives it
    /// up, in nanoseconds.
    pub fn lay(&mut self, lane: Lane, patience: u64) {
        (self.lane, self.patience) = (lane, patience);
        self.refresh();
    }

    /// Requests a connection, which opens once this direction's first packet has travelled, at `from` or later.
    pub fn dial(&mut self, from: u64) {
        self.opens_at = from + self.draw_greeting();
        self.open = true;
    }

    /// Adds a partition, or removes one.
    pub fn block(&mut self, on: bool) {
        self.blocked = if on { self.blocked + 1 } else { self.blocked.saturating_sub(1) };
        self.refresh();
    }

    /// Adds latency, in microseconds, or removes it.
    pub fn slow(&mut self, extra_us: u64, on: bool) {
        let extra = extra_us * MICROSECOND;
        self.extra = if on { self.extra + extra } else { self.extra.saturating_sub(extra) };
    }

    /// Adds loss, or removes it.
    pub fn lose(&mut self, probability: f64, on: bool) {
        if on {
            self.losses.push(probability);
        } else if let Some(place) = self.losses.iter().position(|other| *other == probability) {
            self.losses.swap_remove(place);
        }
        self.extra_loss = threshold(self.losses.iter().fold(0.0, |all, one| all + one - all * one));
    }

    /// How long the first packet of a connection takes in this direction.
    pub fn draw_greeting(&mut self) -> u64 {
        self.draw_latency() + late_by_timeouts(self.draw_losses(), SYN_RETRANSMIT_FIRST)
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
    pub fn wire(&self) -> u64 {
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
