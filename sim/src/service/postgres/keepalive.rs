//! When a kernel gives a connection up.
//!
//! After torvalds/linux, `net/ipv4/tcp_timer.c: tcp_keepalive_timer`: after `idle` without a sign of life a probe goes out, and
//! then one every `interval`; after `count` of them without an answer, or with `TCP_USER_TIMEOUT` once that has passed in
//! silence, the connection is gone. While something that was sent is not acknowledged no probes are sent, and sending again
//! ends after `TCP_USER_TIMEOUT`, or `tcp_retries2` (about 15 minutes).

use super::settings::Settings;
use protocols::types::SECOND;
use protocols_clients::env::Peer;

/// What a kernel knows of a silent connection. Times are nanoseconds of its machine's monotonic clock.
#[derive(Debug)]
pub struct Keepalive {
    idle: u64,
    interval: u64,
    count: u64,
    user_timeout: Option<u64>,
    unacknowledged: u64,
    heard: u64,
    unanswered: u64,
    due: u64,
}

impl Keepalive {
    /// As a session has set it; something came just now.
    pub fn new(settings: &Settings, now: u64) -> Keepalive {
        let keepalive = settings.keepalive();
        let (idle, interval) = (keepalive.idle_s * SECOND, keepalive.interval_s * SECOND);
        Keepalive {
            idle,
            interval,
            count: keepalive.count,
            user_timeout: settings.limit("tcp_user_timeout"),
            unacknowledged: settings.unacknowledged(),
            heard: now,
            unanswered: 0,
            due: now.saturating_add(idle),
        }
    }

    /// When the next probe is due.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// It is due, and this is what comes of it: is the connection gone?
    pub fn probe(&mut self, peer: Peer, now: u64) -> bool {
        match peer {
            Peer::Answers => {
                (self.heard, self.unanswered) = (now, 0);
                self.due = now.saturating_add(self.idle);
                false
            }
            Peer::Resets => true,
            Peer::Silent { unacknowledged: Some(length) } => {
                self.due = now.saturating_add(self.interval);
                length >= self.unacknowledged
            }
            Peer::Silent { unacknowledged: None } => {
                let silent = now.saturating_sub(self.heard);
                let is_over = match self.user_timeout {
                    Some(limit) => silent >= limit && self.unanswered > 0,
                    None => self.unanswered >= self.count,
                };
                self.unanswered += 1;
                self.due = now.saturating_add(self.interval);
                is_over
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: Peer = Peer::Silent { unacknowledged: None };

    /// After how many seconds of silence it is gone.
    fn lasts_s(settings: &Settings) -> u64 {
        let mut keepalive = Keepalive::new(settings, 0);
        loop {
            let now = keepalive.due();
            if keepalive.probe(SILENT, now) {
                return now / SECOND;
            }
        }
    }

    #[test]
    fn silence_is_borne_for_as_long_as_linux_does() {
        let mut settings = Settings::default();
        assert_eq!(lasts_s(&settings), 7_200 + 9 * 75, "the defaults of PostgreSQL on Linux");
        for (name, value) in
            [("tcp_keepalives_idle", "15"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3")]
        {
            settings.set(name, Some(value)).expect("a number");
        }
        assert_eq!(lasts_s(&settings), 30);
        settings.set("tcp_user_timeout", Some("22s")).expect("a length");
        assert_eq!(lasts_s(&settings), 25, "at the first probe after that");
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again_for_a_quarter_of_an_hour() {
        let mut keepalive = Keepalive::new(&Settings::default(), 0);
        let unacknowledged = |s: u64| Peer::Silent { unacknowledged: Some(s * SECOND) };
        assert!(!keepalive.probe(unacknowledged(924), 924 * SECOND));
        assert!(keepalive.probe(unacknowledged(925), 925 * SECOND));
        assert!(keepalive.probe(Peer::Resets, 926 * SECOND));
    }
}
