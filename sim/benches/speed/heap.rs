//! The lower bound: message-sized events through a bare binary heap, hashed as they leave it.

use std::{cmp::Reverse, collections::BinaryHeap};

/// As large as a message.
type Event = (u64, u64, [u64; 6]);

/// Delivers `events` events, with about as many pending at a time as in the engine.
pub fn run(events: u64) -> u64 {
    let mut heap: BinaryHeap<Reverse<Event>> = (0..64).map(|n| Reverse((n, n, [n; 6]))).collect();
    let (mut hash, mut order, mut delivered) = (0u64, 64, 0);
    while delivered < events {
        let Some(Reverse((at, number, payload))) = heap.pop() else { break };
        hash = (hash ^ at ^ number ^ payload[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        order += 1;
        heap.push(Reverse((at + 200 + hash % 300, order, payload)));
        delivered += 1;
    }
    std::hint::black_box(hash);
    delivered
}
