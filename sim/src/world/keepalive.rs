//! When a kernel gives up a connection.
//!
//! Modelled on torvalds/linux, `net/ipv4/tcp_timer.c: tcp_keepalive_timer`: after `idle` without a sign of life, the
//! kernel sends a probe, and then one every `interval`; the connection ends after `count` unanswered probes, or after
//! `TCP_USER_TIMEOUT` of silence, if set. While sent data is unacknowledged there are no probes; resending ends after
//! `TCP_USER_TIMEOUT`, or `tcp_retries2` (about 15 minutes).

use protocols::types::MILLISECOND;
use protocols_clients::env::Peer;

/// Linux' `tcp_keepalive_probes`.
pub const PROBES: u64 = 9;
/// How long Linux resends unacknowledged data (`tcp_retries2` = 15), in nanoseconds.
const SENT_AGAIN: u64 = 924_600 * MILLISECOND;

/// A socket's options; times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probing {
    /// The silence before the first probe.
    pub idle: u64,
    /// The interval between unanswered probes.
    pub interval: u64,
    /// The number of unanswered probes that end the connection.
    pub count: u64,
    /// `TCP_USER_TIMEOUT`.
    pub user_timeout: Option<u64>,
}

/// A kernel's view of a silent connection; times in nanoseconds of one clock.
#[derive(Debug)]
pub struct Keepalive {
    probing: Probing,
    heard: u64,
    unanswered: u64,
    due: u64,
}

impl Keepalive {
    /// Starts after a sign of life at `now`.
    pub fn new(probing: Probing, now: u64) -> Keepalive {
        Keepalive { probing, heard: now, unanswered: 0, due: now.saturating_add(probing.idle) }
    }

    pub fn due(&self) -> u64 {
        self.due
    }

    /// Handles a due probe; returns whether the connection has ended.
    pub fn probe(&mut self, peer: Peer, now: u64) -> bool {
        let Probing { idle, interval, count, user_timeout } = self.probing;
        match peer {
            Peer::Answers => {
                (self.heard, self.unanswered) = (now, 0);
                self.due = now.saturating_add(idle);
                false
            }
            Peer::Resets => true,
            Peer::Silent { unacknowledged: Some(length) } => {
                self.due = now.saturating_add(interval);
                length >= user_timeout.unwrap_or(SENT_AGAIN)
            }
            Peer::Silent { unacknowledged: None } => {
                let silent = now.saturating_sub(self.heard);
                let is_over = match user_timeout {
                    Some(limit) => silent >= limit && self.unanswered > 0,
                    None => self.unanswered >= count,
                };
                self.unanswered += 1;
                self.due = now.saturating_add(interval);
                is_over
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::types::SECOND;

    const SILENT: Peer = Peer::Silent { unacknowledged: None };

    fn probing(idle_s: u64, interval_s: u64, count: u64) -> Probing {
        Probing { idle: idle_s * SECOND, interval: interval_s * SECOND, count, user_timeout: None }
    }

    /// The seconds of silence after which the connection ends.
    fn lasts_s(probing: Probing) -> u64 {
        let mut keepalive = Keepalive::new(probing, 0);
        loop {
            let now = keepalive.due();
            if keepalive.probe(SILENT, now) {
                return now / SECOND;
            }
        }
    }

    #[test]
    fn silence_is_borne_for_as_long_as_linux_does() {
        assert_eq!(lasts_s(probing(7_200, 75, PROBES)), 7_200 + 9 * 75, "Linux's own");
        assert_eq!(lasts_s(probing(30, 30, PROBES)), 300, "as Go's dialer has it");
        let short = probing(15, 5, 3);
        assert_eq!(lasts_s(short), 30);
        let limited = Probing { user_timeout: Some(22 * SECOND), ..short };
        assert_eq!(lasts_s(limited), 25, "at the first probe after that");
    }

    #[test]
    fn an_answer_begins_the_count_anew() {
        let mut keepalive = Keepalive::new(probing(15, 5, 3), 0);
        for s in [15, 20, 25] {
            assert!(!keepalive.probe(SILENT, s * SECOND));
        }
        assert!(!keepalive.probe(Peer::Answers, 30 * SECOND));
        assert_eq!(keepalive.due(), 45 * SECOND);
        assert!(!keepalive.probe(SILENT, 45 * SECOND));
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again_for_a_quarter_of_an_hour() {
        let mut keepalive = Keepalive::new(probing(7_200, 75, PROBES), 0);
        let unacknowledged = |s: u64| Peer::Silent { unacknowledged: Some(s * SECOND) };
        assert!(!keepalive.probe(unacknowledged(924), 924 * SECOND));
        assert!(keepalive.probe(unacknowledged(925), 925 * SECOND));
        assert!(keepalive.probe(Peer::Resets, 926 * SECOND));
    }
}
