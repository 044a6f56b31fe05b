//! When TCP sends again what was lost or met silence.
//!
//! What was lost shows when something that was sent later is acknowledged (RACK, RFC 8985 §6; Linux: `tcp_recovery.c`), so on
//! a busy connection a loss costs about a round trip. When nothing follows, the sender's timers tell. A lone segment's tail
//! loss probe allows for an acknowledgement that the receiver delays, and comes no sooner than the retransmission timeout
//! (RFC 8985 §7.2; Linux: `tcp_schedule_loss_probe` adds `TCP_RTO_MIN` when one packet is out). Where several are out, it
//! comes after two round trips, and what it tells is the same. Once a timeout has struck, the window is one segment (RFC 5681
//! §3.1), nothing new follows, and timeouts double.
//!
//! Windows never limit otherwise: messages are small, and a round trip has few of them.

use protocols::types::{MILLISECOND, SECOND};

/// First retransmission timeout, nanoseconds (Linux: TCP_RTO_MIN).
pub const RETRANSMIT_FIRST: u64 = 200 * MILLISECOND;
/// Longest retransmission timeout, nanoseconds (Linux: TCP_RTO_MAX).
pub const RETRANSMIT_MAX: u64 = 120 * SECOND;
/// Nothing is lost more often than this in a row: as long as timeouts are shorter than [`RETRANSMIT_MAX`].
pub const LOST_MAX: u32 = 10;
/// First retransmission of a connect, nanoseconds (RFC 6298).
pub const SYN_RETRANSMIT_FIRST: u64 = SECOND;
/// What a tail loss probe waits beyond two round trips when several segments are out, nanoseconds (Linux: TCP_TIMEOUT_MIN_US).
const PROBE_SLACK: u64 = 2 * MILLISECOND;

/// When something first sent at `since` is sent again, at `now` or later, with timeouts that double from `first`.
pub fn retransmitted_at(since: u64, now: u64, first: u64) -> u64 {
    let (mut at, mut timeout) = (since + first, first);
    while at < now {
        timeout = (timeout * 2).min(RETRANSMIT_MAX);
        at += timeout;
    }
    at
}

/// How much later something arrives that is lost so many times, if only timeouts that double from `first` tell; nanoseconds.
pub fn late_by_timeouts(lost: u32, first: u64) -> u64 {
    (0..lost).map(|nth| first << nth).take_while(|timeout| *timeout < RETRANSMIT_MAX).sum()
}

/// A segment on its way. Times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When it has left the sender.
    pub left: u64,
    /// When it arrives, or would if it were not lost.
    pub arrives: u64,
    /// How many times in a row it is lost, what is sent again included.
    pub lost: u32,
}

/// What is missing at the receiver of a connection in one direction, with what waits behind it: all of that arrives at one
/// time, which may come nearer while more is sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gap {
    /// When what is missing was last sent.
    sent: u64,
    /// How many times it will be lost again.
    again: u32,
    /// When it arrives, as far as is known; 0: nothing is missing.
    arrives: u64,
}

impl Gap {
    /// Is something missing?
    #[inline]
    pub fn is_open(&self) -> bool {
        self.arrives != 0
    }

    /// Forgets what has arrived by now.
    pub fn expire(&mut self, now: u64) {
        if self.arrives <= now {
            *self = Gap::default();
        }
    }

    /// Something is sent. `trip`: a round trip, nanoseconds, if acknowledgements come back. When a gap opens, or what is in it
    /// comes at another time: when it was to come, 0 for a gap that opens, and when it comes.
    pub fn note(&mut self, sent: Sent, trip: Option<u64>) -> Option<(u64, u64)> {
        let was = self.arrives;
        let is = match (sent.lost, self.is_open()) {
            (0, false) => was,
            (0, true) => self.followed(sent, trip?)?,
            (lost, false) => self.wait(sent, lost - 1),
            (lost, true) => self.widen(sent, lost - 1, trip),
        };
        (is != was).then_some((was, is))
    }

    /// Only timeouts tell of what is lost once, and then `again` times. Gives when it comes.
    fn wait(&mut self, sent: Sent, again: u32) -> u64 {
        let arrives = sent.arrives + late_by_timeouts(again + 1, RETRANSMIT_FIRST);
        *self = Gap { sent: sent.left, again, arrives };
        arrives
    }

    /// What was sent later arrives, and the sender is told. Gives when what is missing comes, if that makes a difference.
    fn followed(&mut self, by: Sent, trip: u64) -> Option<u64> {
        // What might only be out of order is waited for (RFC 8985 §6.2, RACK.reo_wnd).
        let resent = by.left.max(self.sent + trip / 4) + trip;
        if by.left < self.sent || resent >= self.sent + RETRANSMIT_FIRST {
            return None;
        }
        let arrives = resent + (by.arrives - by.left);
        if self.again > 0 {
            return Some(self.wait(Sent { left: resent, arrives, lost: 1 }, self.again - 1));
        }
        *self = Gap::default();
        Some(arrives)
    }

    /// More is lost before anything was found out. Gives when what is missing comes.
    fn widen(&mut self, sent: Sent, again: u32, trip: Option<u64>) -> u64 {
        let timeout = self.arrives;
        if sent.left < self.sent || sent.left >= self.sent + RETRANSMIT_FIRST {
            // It is sent again with what went before.
            return timeout;
        }
        self.wait(sent, again.max(self.again));
        if let (Some(trip), 0) = (trip, self.again) {
            // The last is the probe; what it tells of is sent a round trip later.
            self.arrives = timeout.min(sent.arrives + 2 * trip + PROBE_SLACK + trip);
        }
        self.arrives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = MILLISECOND;
    const TRIP: u64 = 4 * MS;

    /// Sent at that millisecond on a link that takes 2 ms, and lost so many times.
    fn sent(ms: u64, lost: u32) -> Sent {
        Sent { left: ms * MS, arrives: (ms + 2) * MS, lost }
    }

    /// What is said of the last of those that are sent.
    fn after(all: &[Sent], trip: Option<u64>) -> (Option<u64>, Gap) {
        let mut gap = Gap::default();
        let notes = all.iter().map(|sent| gap.note(*sent, trip).map(|(_, at)| at / MS)).collect::<Vec<_>>();
        (*notes.last().expect("something is sent"), gap)
    }

    #[test]
    fn retransmissions_double() {
        assert_eq!(retransmitted_at(0, 100 * MS, RETRANSMIT_FIRST), 200 * MS);
        assert_eq!(retransmitted_at(0, 201 * MS, RETRANSMIT_FIRST), 600 * MS);
        assert_eq!(retransmitted_at(0, 5_000 * MS, RETRANSMIT_FIRST), 6_200 * MS);
        assert_eq!(late_by_timeouts(0, RETRANSMIT_FIRST), 0);
        assert_eq!(late_by_timeouts(3, RETRANSMIT_FIRST), 1_400 * MS);
        assert_eq!(
            late_by_timeouts(LOST_MAX, SYN_RETRANSMIT_FIRST),
            127 * SECOND,
            "2^7 × 1 s is more than the longest"
        );
    }

    #[test]
    fn a_loss_that_nothing_follows_costs_a_timeout() {
        let trip = Some(TRIP);
        assert_eq!(after(&[sent(10, 0)], trip), (None, Gap::default()));
        assert_eq!(after(&[sent(10, 1)], trip).0, Some(212));
        assert_eq!(after(&[sent(10, 2)], trip).0, Some(612));
    }

    #[test]
    fn what_follows_tells_of_a_loss() {
        let trip = Some(TRIP);
        // Sent at 15, acknowledged at 19, and what was lost is sent again.
        assert_eq!(after(&[sent(10, 1), sent(15, 0)], trip), (Some(21), Gap::default()));
        // At once behind it: it might be out of order by a quarter of a trip.
        assert_eq!(after(&[sent(10, 1), sent(10, 0)], trip), (Some(17), Gap::default()));
        // What is sent again and lost is found out by what is sent after that.
        let twice = [sent(10, 2), sent(15, 0), sent(18, 0), sent(30, 0)];
        assert_eq!(after(&twice[..2], trip).0, Some(221));
        assert_eq!(after(&twice[..3], trip).0, None);
        assert_eq!(after(&twice, trip), (Some(36), Gap::default()));
    }

    #[test]
    fn nothing_follows_a_timeout_and_nothing_is_told_without_acknowledgements() {
        let trip = Some(TRIP);
        assert_eq!(after(&[sent(10, 2), sent(220, 0)], trip).0, None);
        assert_eq!(after(&[sent(10, 1), sent(207, 0)], trip).0, None, "the timeout comes first");
        assert_eq!(after(&[sent(10, 1), sent(15, 0)], None).0, None);
        assert_eq!(after(&[sent(10, 1), sent(15, 1)], None).0, Some(217), "both are in one gap");
    }

    #[test]
    fn when_all_that_is_out_is_lost_a_probe_tells() {
        let trip = Some(TRIP);
        // The probe is sent 2 × 4 + 2 ms after the last; it is acknowledged 4 ms later, and takes 2 ms.
        assert_eq!(after(&[sent(10, 1), sent(12, 1)], trip).0, Some(12 + 10 + 4 + 2));
        assert_eq!(after(&[sent(10, 1), sent(209, 1)], trip).0, None, "the timeout comes first");
        assert_eq!(after(&[sent(10, 1), sent(12, 2)], trip).0, Some(614), "so does it when the probe is lost");
        // What follows tells sooner.
        assert_eq!(after(&[sent(10, 1), sent(12, 1), sent(14, 0)], trip), (Some(20), Gap::default()));
    }

    #[test]
    fn what_has_arrived_is_not_missing() {
        let (_, mut gap) = after(&[sent(10, 1)], None);
        gap.expire(211 * MS);
        assert!(gap.is_open());
        gap.expire(212 * MS);
        assert!(!gap.is_open());
    }
}
