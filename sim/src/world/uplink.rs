//! Bandwidth: a process's packets leave its machine one after the other, whatever their destinations.
//!
//! There are two kinds of traffic. *Data* travels between clients, nodes and the store; *control* travels between
//! candidates, fencing devices and the coordination service: heartbeats, votes, renewals. Usually both share one link,
//! in the order of sending, and a heartbeat waits for the data before it. Control may also have its own link.
//!
//! A message counts [`super::network::MESSAGE_BYTES`], a segment of a client library's connection its content. Data on
//! a connection waits here, as in a socket's buffer, until the window is full; datagrams wait without limit. Only
//! senders have limited links, and retransmissions take no bandwidth.

use scenarios::plan::Network;

/// The kind of traffic that a packet belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Traffic between clients, nodes and the store.
    Data,
    /// Traffic of elections.
    Control,
}

/// A queue of packets that leave one after the other.
#[derive(Clone, Copy, Default, Debug)]
struct Queue {
    /// Nanoseconds per byte, times 1024; 0 for unlimited bandwidth.
    byte_cost: u64,
    free_at: u64,
}

impl Queue {
    /// A queue with this bandwidth in kilobits per second; 0 is unlimited.
    fn of_kbps(kbps: u64) -> Queue {
        // 8 bits per byte, a million nanoseconds per (kbit/s)⁻¹.
        Queue { byte_cost: (8 * 1_000_000 * 1_024_u64).checked_div(kbps).unwrap_or(0), free_at: 0 }
    }

    fn send_out(&mut self, now: u64, bytes: u64) -> u64 {
        self.free_at = self.free_at.max(now) + ((bytes * self.byte_cost) >> 10);
        self.free_at
    }
}

/// The outgoing link of a process.
#[derive(Clone, Debug)]
pub struct Uplink {
    data: Queue,
    /// Control's own link, if it has one.
    control: Option<Queue>,
    usual_kbps: u64,
    /// The bandwidth that active faults leave to the data link, in kilobits per second each.
    narrowed_kbps: Vec<u64>,
    /// Whether any bandwidth is limited.
    limited: bool,
}

impl Uplink {
    /// The network's bandwidth without faults.
    pub fn new(network: &Network) -> Uplink {
        let usual_kbps = network.bandwidth_mbps * 1_000;
        let own = Queue::of_kbps(usual_kbps);
        let control = network.control_apart.then_some(own);
        Uplink { data: own, control, usual_kbps, narrowed_kbps: Vec::new(), limited: usual_kbps > 0 }
    }

    /// When a packet of `bytes` bytes handed over at `now` has left.
    #[inline]
    pub fn send_out(&mut self, now: u64, bytes: u64, traffic: Traffic) -> u64 {
        // The common case.
        if !self.limited {
            return now;
        }
        match (traffic, &mut self.control) {
            (Traffic::Control, Some(control)) => control.send_out(now, bytes),
            _ => self.data.send_out(now, bytes),
        }
    }

    /// A fault limits the data link to `kbps` kilobits per second from now on, or ends. The lowest of several limits
    /// counts. Packets that still wait when it ends leave at once.
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

    /// The machine has lost the waiting packets.
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
        // 1,000 bytes take 8 ms at 1 Mbit/s.
        assert_eq!(link.send_out(SECOND, 1_000, Traffic::Data), SECOND + 8 * MILLISECOND);
        assert_eq!(link.send_out(SECOND, 125, Traffic::Control), SECOND + 9 * MILLISECOND);
        assert_eq!(link.send_out(2 * SECOND, 125, Traffic::Control), 2 * SECOND + MILLISECOND);
        assert_eq!(uplink(0, false).send_out(SECOND, u64::MAX, Traffic::Data), SECOND, "unlimited");
    }

    #[test]
    fn control_with_a_link_of_its_own_waits_for_no_data() {
        let mut link = uplink(1, true);
        link.send_out(0, 125_000, Traffic::Data);
        assert_eq!(link.send_out(0, 125, Traffic::Control), MILLISECOND);
        link.narrow(0, 8, true);
        assert_eq!(link.send_out(MILLISECOND, 125, Traffic::Control), 2 * MILLISECOND, "a fault is of the data's");
    }

    #[test]
    fn the_narrowest_fault_counts_and_what_waits_leaves_when_it_is_over() {
        let mut link = uplink(0, false);
        link.narrow(0, 80, true);
        link.narrow(0, 8, true);
        assert_eq!(link.send_out(0, 1_000, Traffic::Data), SECOND);
        link.narrow(0, 8, false);
        assert_eq!(link.send_out(0, 1_000, Traffic::Data), 100 * MILLISECOND);
        link.narrow(50 * MILLISECOND, 80, false);
        assert_eq!(link.send_out(50 * MILLISECOND, 1_000, Traffic::Data), 50 * MILLISECOND);
    }
}
