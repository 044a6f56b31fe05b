//! Links: one per direction between any two processes, each with its own random stream, so that what happens on one never
//! shifts another.

use protocols::types::{MICROSECOND, NodeId};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenarios::{plan::Network, streams};

/// What a datagram counts as, for bandwidth: a small request with its headers.
const DATAGRAM_BYTES: u64 = 160;

/// One direction between two processes.
pub struct Link {
    random: ChaCha8Rng,
    latency: u64,
    jitter: u64,
    /// Nanoseconds that a byte takes, times 1024.
    byte_cost: u64,
    loss: u32,
    duplicate: u32,
    reorder: u32,
    /// Extra latency by `Latency` faults, nanoseconds.
    extra: u64,
    /// Extra loss by `Loss` faults.
    extra_loss: u32,
    /// How many partitions lie over it.
    blocked: u32,
    last_at: u64,
    free_at: u64,
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
        let byte_cost = match network.bandwidth_mbps {
            0 => 0,
            // 8 bits a byte, 1000 ns per (Mbit/s)⁻¹.
            mbps => 8 * 1_000 * 1_024 / mbps,
        };
        Link {
            random: streams::stream(seed, &format!("network/{from}>{to}")),
            latency: network.latency_us * MICROSECOND,
            jitter: network.jitter_us * MICROSECOND,
            byte_cost,
            loss: threshold(network.loss),
            duplicate: threshold(network.duplicate),
            reorder: threshold(network.reorder),
            extra: 0,
            extra_loss: 0,
            blocked: 0,
            last_at: 0,
            free_at: 0,
        }
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

    /// When `bytes` that are handed to the link at `now` have left the sender.
    #[inline]
    fn depart(&mut self, now: u64, bytes: u64) -> u64 {
        if self.byte_cost == 0 {
            return now;
        }
        self.free_at = self.free_at.max(now) + ((bytes * self.byte_cost) >> 10);
        self.free_at
    }

    /// Sends a datagram at `now`.
    #[inline]
    pub fn datagram(&mut self, now: u64) -> Passage {
        let departs = self.depart(now, DATAGRAM_BYTES);
        let at = departs + self.latency();
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

    /// When a stream's segment of so many bytes that is sent at `now` arrives. A lost one is sent again, as TCP does, after
    /// 200 ms, doubling.
    pub fn segment(&mut self, now: u64, bytes: usize) -> u64 {
        let mut at = self.depart(now, bytes as u64) + self.latency();
        let mut timeout = super::retransmit::RETRANSMIT_FIRST;
        while (self.chance(self.loss) || self.chance(self.extra_loss)) && timeout < super::retransmit::RETRANSMIT_MAX {
            at += timeout;
            timeout *= 2;
        }
        at
    }

    /// Is there a partition over it?
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked > 0
    }
}

/// All links.
pub struct Links {
    links: Vec<Link>,
    nodes: usize,
}

impl Links {
    /// Links between the named processes.
    pub fn new(network: &Network, seed: u64, names: &[String]) -> Self {
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (from, to)));
        let links = pairs.map(|(from, to)| Link::new(network, seed, from, to)).collect();
        Links { links, nodes: names.len() }
    }

    /// The link in one direction.
    #[inline]
    pub fn get(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        &mut self.links[from.index() * self.nodes + to.index()]
    }

    /// Lays a partition over one direction, or takes one away.
    pub fn block(&mut self, from: NodeId, to: NodeId, on: bool) {
        let link = self.get(from, to);
        link.blocked = if on { link.blocked + 1 } else { link.blocked.saturating_sub(1) };
    }

    /// Adds or takes away latency, microseconds, on one direction.
    pub fn slow(&mut self, from: NodeId, to: NodeId, extra_us: u64, on: bool) {
        let link = self.get(from, to);
        let extra = extra_us * MICROSECOND;
        link.extra = if on { link.extra + extra } else { link.extra.saturating_sub(extra) };
    }

    /// Sets the extra loss on one direction; 0 ends it.
    pub fn lose(&mut self, from: NodeId, to: NodeId, probability: f64) {
        self.get(from, to).extra_loss = threshold(probability);
    }
}
