//! When TCP sends again what met silence.

use protocols::types::{MILLISECOND, SECOND};

/// First retransmission timeout, nanoseconds (Linux: TCP_RTO_MIN).
pub const RETRANSMIT_FIRST: u64 = 200 * MILLISECOND;
/// Longest retransmission timeout, nanoseconds (Linux: TCP_RTO_MAX).
pub const RETRANSMIT_MAX: u64 = 120 * SECOND;
/// First retransmission of a connect, nanoseconds (RFC 6298).
pub const SYN_RETRANSMIT_FIRST: u64 = SECOND;
/// When something first sent at `since` is sent again, at `now` or later, with timeouts that double from `first`.
pub fn retransmitted_at(since: u64, now: u64, first: u64) -> u64 {
    let (mut at, mut timeout) = (since + first, first);
    while at < now {
        timeout = (timeout * 2).min(RETRANSMIT_MAX);
        at += timeout;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmissions_double() {
        let ms = MILLISECOND;
        assert_eq!(retransmitted_at(0, 100 * ms, RETRANSMIT_FIRST), 200 * ms);
        assert_eq!(retransmitted_at(0, 201 * ms, RETRANSMIT_FIRST), 600 * ms);
        assert_eq!(retransmitted_at(0, 5_000 * ms, RETRANSMIT_FIRST), 6_200 * ms);
    }
}
