//! Bandwidth: what a process sends leaves its machine one packet after the other, whomever it is for.
//!
//! Two kinds of traffic are told apart. *Data* is what clients, nodes and the store say to each other; *control* is what
//! candidates say to each other, to a fencing device and to the coordination service: heartbeats, votes, renewals. Usually both
//! leave by one link, in the order in which they were sent, and a heartbeat waits for the data before it. With a link of its
//! own, control does not.
//!
//! A message counts as [`super::network::MESSAGE_BYTES`], a segment of a client library's connection as what is in it. What is
//! sent on a connection waits here, as in a socket's buffer, until its window is full; datagrams wait without a limit. Only
//! senders have links that can be full, and what is sent again by a machine, unasked, takes no room.

use scenarios::plan::Network;

/// What a packet is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// What clients, nodes and the store say.
    Data,
    /// What elects.
    Control,
}

/// A queue of packets that leave one after the other.
#[derive(Clone, Copy, Default, Debug)]
struct Queue {
    /// Nanoseconds that a byte takes, times 1024; 0 where it takes none.
    byte_cost: u64,
    free_at: u64,
}

impl Queue {
    /// One that carries so many thousand bits a second; 0 is any number.
    fn of_kbps(kbps: u64) -> Queue {
        // 8 bits a byte, a million nanoseconds per (kbit/s)⁻¹.
        Queue { byte_cost: (8 * 1_000_000 * 1_024_u64).checked_div(kbps).unwrap_or(0), free_at: 0 }
    }

    fn leaves(&mut self, now: u64, bytes: u64) -> u64 {
        self.free_at = self.free_at.max(now) + ((bytes * self.byte_cost) >> 10);
        self.free_at
    }
}

/// What carries a process's packets away.
#[derive(Clone, Debug)]
pub struct Uplink {
    data: Queue,
    /// Control's own link, if it has one.
    control: Option<Queue>,
    usual_kbps: u64,
    /// What faults leave of the link that carries data, each in thousand bits a second.
    narrowed_kbps: Vec<u64>,
    /// Is any of it narrow?
    limited: bool,
}

impl Uplink {
    /// As the network has it when nothing is wrong.
    pub fn new(network: &Network) -> Uplink {
        let usual_kbps = network.bandwidth_mbps * 1_000;
        let own = Queue::of_kbps(usual_kbps);
        let control = network.control_apart.then_some(own);
        Uplink { data: own, control, usual_kbps, narrowed_kbps: Vec::new(), limited: usual_kbps > 0 }
    }

    /// When a packet of so many bytes that is handed over at `now` has left.
    #[inline]
    pub fn leaves(&mut self, now: u64, bytes: u64, traffic: Traffic) -> u64 {
        // Nearly always.
        if !self.limited {
            return now;
        }
        match (traffic, &mut self.control) {
            (Traffic::Control, Some(control)) => control.leaves(now, bytes),
            _ => self.data.leaves(now, bytes),
        }
    }

    /// A fault leaves the link that carries data so many thousand bits a second from now on, or is over. Of several that
    /// with the least counts. What still waited when it is over leaves at once.
    pub fn narrow(&mut self, now: u64, kbps: u64, on: bool) {
        if on {
            self.narrowed_kbps.push(kbps);
        } else if let Some(place) = self.narrowed_kbps.iter().position(|other| *other == kbps) {
            self.narrowed_kbps.swap_remove(place);
        }
        let least = self.narrowed_kbps.iter().copied().min().unwrap_or(self.usual_kbps);
        let free_at = if on { self.data.free_at } else { now };
        self.data = Queue { free_at, ..Queue::of_kbps(least) };
        self.limited = least > 0 || self.control.is_some_and(|control| control.byte_cost > 0);
    }

    /// Its machine has lost what waited.
    pub fn forget(&mut self) {
        self.data.free_at = 0;
        if let Some(control) = &mut self.control {
            control.free_at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::types::{MILLISECOND, SECOND};
    use scenarios::params::PROFILES;

    fn uplink(bandwidth_mbps: u64, control_apart: bool) -> Uplink {
        Uplink::new(&Network { bandwidth_mbps, control_apart, ..PROFILES[0].network() })
    }

    #[test]
    fn packets_leave_one_after_the_other() {
        let mut link = uplink(1, false);
        // 1,000 bytes are 8 ms at 1 Mbit/s.
        assert_eq!(link.leaves(SECOND, 1_000, Traffic::Data), SECOND + 8 * MILLISECOND);
        assert_eq!(link.leaves(SECOND, 125, Traffic::Control), SECOND + 9 * MILLISECOND);
        assert_eq!(link.leaves(2 * SECOND, 125, Traffic::Control), 2 * SECOND + MILLISECOND);
        assert_eq!(uplink(0, false).leaves(SECOND, u64::MAX, Traffic::Data), SECOND, "unlimited");
    }

    #[test]
    fn control_with_a_link_of_its_own_waits_for_no_data() {
        let mut link = uplink(1, true);
        link.leaves(0, 125_000, Traffic::Data);
        assert_eq!(link.leaves(0, 125, Traffic::Control), MILLISECOND);
        link.narrow(0, 8, true);
        assert_eq!(link.leaves(MILLISECOND, 125, Traffic::Control), 2 * MILLISECOND, "a fault is of the data's");
    }

    #[test]
    fn the_narrowest_fault_counts_and_what_waits_leaves_when_it_is_over() {
        let mut link = uplink(0, false);
        link.narrow(0, 80, true);
        link.narrow(0, 8, true);
        assert_eq!(link.leaves(0, 1_000, Traffic::Data), SECOND);
        link.narrow(0, 8, false);
        assert_eq!(link.leaves(0, 1_000, Traffic::Data), 100 * MILLISECOND);
        link.narrow(50 * MILLISECOND, 80, false);
        assert_eq!(link.leaves(50 * MILLISECOND, 1_000, Traffic::Data), 50 * MILLISECOND);
    }
}
