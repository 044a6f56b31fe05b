//! How long things take on a plan's network.

use super::Network;
use protocols::{load::ATTEMPT_TIMEOUT, node::STORE_SILENCE, types::MILLISECOND};

/// How long a leader that talks to the store by datagrams waits for an answer at least, milliseconds.
const DATAGRAM_PATIENCE_MS: u64 = 50;

impl Network {
    /// The longest that a packet takes when none is lost, microseconds.
    pub fn one_way_max_us(&self) -> u64 {
        self.latency_us.saturating_add(self.jitter_us)
    }

    /// How long a client waits for a node's answer before it takes that for silent, milliseconds: the usual time, or twice
    /// as long as it takes to connect, to ask and to be answered after the store was asked, each over the longest trips.
    pub fn attempt_timeout_ms(&self) -> u64 {
        (ATTEMPT_TIMEOUT / MILLISECOND).max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a leader waits for the store's answer before it gives the connection up, milliseconds. On datagrams, where
    /// every one that is lost is missed, just long enough for the longest trips.
    pub fn store_silence_ms(&self) -> u64 {
        let usual_ms = if self.datagrams { DATAGRAM_PATIENCE_MS } else { STORE_SILENCE / MILLISECOND };
        usual_ms.max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a write may take before the time at which it was issued counts as dark, milliseconds: 50, plus ten trips,
    /// since a client may have to ask two nodes and the leader has to ask the store.
    pub fn dark_after_ms(&self) -> u64 {
        50 + (10 * self.one_way_max_us()).div_ceil(1000)
    }
}
