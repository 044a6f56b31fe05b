//! When TCP resends what was lost or met silence.
//!
//! A loss is detected when data sent later is acknowledged (RACK, RFC 8985 §6; Linux: `tcp_recovery.c`), so on a busy
//! connection it costs about a round trip. If nothing follows, the sender's timers detect it. With one segment in
//! flight, the tail loss probe allows for a delayed acknowledgement, and fires no sooner than the retransmission
//! timeout (RFC 8985 §7.2; Linux: `tcp_schedule_loss_probe` adds `TCP_RTO_MIN` when one packet is out). With several,
//! it fires after two round trips, and also reveals the loss. After a timeout, the window is one segment (RFC 5681
//! §3.1), nothing new is sent, and timeouts double.
//!
//! Windows never limit otherwise: messages are small, and few are in flight.

use protocols::types::{MILLISECOND, SECOND};

/// The first retransmission timeout, in nanoseconds (Linux: TCP_RTO_MIN).
pub const RETRANSMIT_FIRST: u64 = 200 * MILLISECOND;
/// The longest retransmission timeout, in nanoseconds (Linux: TCP_RTO_MAX).
pub const RETRANSMIT_MAX: u64 = 120 * SECOND;
/// The most losses in a row: as many as keep timeouts below [`RETRANSMIT_MAX`].
pub const LOST_MAX: u32 = 10;
/// The first retransmission timeout of a connect, in nanoseconds (RFC 6298).
pub const SYN_RETRANSMIT_FIRST: u64 = SECOND;
/// What a tail loss probe waits beyond two round trips if several segments are out, in nanoseconds (Linux:
/// TCP_TIMEOUT_MIN_US).
const PROBE_SLACK: u64 = 2 * MILLISECOND;

/// When data first sent at `since` is resent, at `now` or later, with timeouts that double from `first`.
pub fn retransmitted_at(since: u64, now: u64, first: u64) -> u64 {
    let (mut at, mut timeout) = (since + first, first);
    while at < now {
        timeout = (timeout * 2).min(RETRANSMIT_MAX);
        at += timeout;
    }
    at
}

/// The delay of data lost `lost` times, if only timeouts that double from `first` detect it; in nanoseconds.
pub fn late_by_timeouts(lost: u32, first: u64) -> u64 {
    (0..lost).map(|nth| first << nth).take_while(|timeout| *timeout < RETRANSMIT_MAX).sum()
}

/// A segment in flight; times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When it left the sender.
    pub left: u64,
    /// When it arrives, or would without loss.
    pub arrives: u64,
    /// How many times in a row it is lost, including resends.
    pub lost: u32,
}

/// The segments that are missing at one end of a connection, and those waiting behind them: they all arrive at one
/// time, which further sends may bring forward.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Gap {
    /// When a missing segment was last sent.
    sent: u64,
    /// How many more times it will be lost.
    again: u32,
    /// When it arrives, as far as known; 0 if nothing is missing.
    arrives: u64,
}

impl Gap {
    /// Whether anything is missing.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.arrives != 0
    }

    /// Closes the gap if it has arrived by now.
    pub fn expire(&mut self, now: u64) {
        if self.arrives <= now {
            *self = Gap::default();
        }
    }

    /// Notes a sent segment. `trip` is a round trip in nanoseconds, if acknowledgements return. If the gap opens or its
    /// arrival moves, returns the former arrival (0 if it opens) and the new one.
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

    /// Only timeouts detect the loss, and `again` further ones. Returns the arrival.
    fn wait(&mut self, sent: Sent, again: u32) -> u64 {
        let arrives = sent.arrives + late_by_timeouts(again + 1, RETRANSMIT_FIRST);
        *self = Gap { sent: sent.left, again, arrives };
        arrives
    }

    /// A later segment arrives, and its acknowledgement reveals the loss. Returns the new arrival, if it changes.
    fn followed(&mut self, by: Sent, trip: u64) -> Option<u64> {
        // Possible reordering is waited for (RFC 8985 §6.2, RACK.reo_wnd).
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

    /// Another segment is lost before the loss was detected. Returns the arrival.
    fn widen(&mut self, sent: Sent, again: u32, trip: Option<u64>) -> u64 {
        let timeout = self.arrives;
        if sent.left < self.sent || sent.left >= self.sent + RETRANSMIT_FIRST {
            // It is resent together with the earlier ones.
            return timeout;
        }
        self.wait(sent, again.max(self.again));
        if let (Some(trip), 0) = (trip, self.again) {
            // The last segment serves as probe; what it reveals is resent a round trip later.
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

    /// A segment sent at `ms` on a link of 2 ms, and lost `lost` times.
    fn sent(ms: u64, lost: u32) -> Sent {
        Sent { left: ms * MS, arrives: (ms + 2) * MS, lost }
    }

    /// The result for the last segment.
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
        // Sent at 15, acknowledged at 19, and then the lost segment is resent.
        assert_eq!(after(&[sent(10, 1), sent(15, 0)], trip), (Some(21), Gap::default()));
        // Right behind it: it might be reordered, by up to a quarter of a trip.
        assert_eq!(after(&[sent(10, 1), sent(10, 0)], trip), (Some(17), Gap::default()));
        // A lost resend is detected by segments sent after it.
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
        // The probe is sent 2 × 4 + 2 ms after the last segment; it is acknowledged 4 ms later, and the resend takes 2
        // ms.
        assert_eq!(after(&[sent(10, 1), sent(12, 1)], trip).0, Some(12 + 10 + 4 + 2));
        assert_eq!(after(&[sent(10, 1), sent(209, 1)], trip).0, None, "the timeout comes first");
        assert_eq!(after(&[sent(10, 1), sent(12, 2)], trip).0, Some(614), "so does it when the probe is lost");
        // A following segment reveals it sooner.
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
