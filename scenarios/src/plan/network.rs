//! Latencies and timeouts that follow from a plan's network.

use super::Network;
use protocols::{load::ATTEMPT_TIMEOUT, node::STORE_SILENCE, types::MILLISECOND};

/// The least time that a leader which talks to the store by datagrams waits for an answer, milliseconds.
const DATAGRAM_PATIENCE_MS: u64 = 50;

impl Network {
    /// The longest latency of a packet that is not lost, microseconds.
    pub fn one_way_max_us(&self) -> u64 {
        self.latency_us.saturating_add(self.jitter_us)
    }

    /// How long a client waits for a node's answer before it considers the node silent, milliseconds: the usual
    /// timeout, or twice the time to connect, ask and get an answer after the node asked the store, all at the longest
    /// latency.
    pub fn attempt_timeout_ms(&self) -> u64 {
        (ATTEMPT_TIMEOUT / MILLISECOND).max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a leader waits for the store's answer before it abandons the connection, milliseconds. With datagrams
    /// every loss costs this wait, so it is just long enough for the longest latency.
    pub fn store_silence_ms(&self) -> u64 {
        let usual_ms = if self.datagrams { DATAGRAM_PATIENCE_MS } else { STORE_SILENCE / MILLISECOND };
        usual_ms.max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a write may take before its time of issue counts as dark, milliseconds: 50, plus ten latencies, since a
    /// client may have to ask two nodes and the leader has to ask the store.
    pub fn dark_after_ms(&self) -> u64 {
        50 + (10 * self.one_way_max_us()).div_ceil(1000)
    }
}
