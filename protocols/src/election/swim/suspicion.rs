//! The time that a suspect has to defend itself: Lifeguard's timeout, which is long at first and shrinks with every
//! independent accuser.
//!
//! Source: Dadgar, Phillips, Currey, "Lifeguard: Local Health Awareness for More Accurate Failure Detection" (DSN 2018,
//! section IV-B), as hashicorp/memberlist has it: `suspicion.go: newSuspicion, Confirm, remainingSuspicionTime`, `util.go:
//! suspicionTimeout`, `state.go: suspectNode`.

use crate::types::{MILLISECOND, NodeId};

/// `SuspicionMult`.
const MULTIPLIER: u64 = 4;
/// `SuspicionMaxTimeoutMult`.
const MAX_MULTIPLIER: u64 = 6;

/// A suspect's shortest timeout in a cluster of `members`, nanoseconds: `MULTIPLIER` probe intervals, times the decimal
/// logarithm of `members` if that exceeds 1.
pub fn shortest(members: usize, interval: u64) -> u64 {
    let scale = (members.max(1) as f64).log10().max(1.0);
    MULTIPLIER * ((scale * 1_000.0) as u64) * interval / 1_000
}

/// A running suspicion.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Suspicion {
    /// The number of further accusers that bring the timeout down to its shortest.
    wanted: usize,
    shortest: u64,
    longest: u64,
    start: u64,
    /// The accusers, in order.
    accusers: Vec<NodeId>,
}

impl Suspicion {
    /// `by` accuses a member at `start` (nanoseconds) in a cluster of `members` with one probe per `interval`.
    pub fn new(by: NodeId, members: usize, interval: u64, start: u64) -> Self {
        // Neither the accuser nor the suspect confirms; if too few others are left, none is waited for.
        let wanted = (MULTIPLIER - 2) as usize;
        let wanted = if members < wanted + 2 { 0 } else { wanted };
        let shortest = shortest(members, interval);
        Suspicion { wanted, shortest, longest: MAX_MULTIPLIER * shortest, start, accusers: vec![by] }
    }

    /// Adds an accusation. Returns true if it matters: from a new accuser, while more are needed.
    pub fn confirm(&mut self, by: NodeId) -> bool {
        let news = self.accusers.len() - 1 < self.wanted && !self.accusers.contains(&by);
        if news {
            self.accusers.push(by);
        }
        news
    }

    /// When the suspect counts as dead, nanoseconds: start + max − (max − min) · log(n + 1) / log(k + 1), in whole
    /// milliseconds, at least min.
    pub fn due(&self) -> u64 {
        if self.wanted == 0 {
            return self.start + self.shortest;
        }
        let share = (self.accusers.len() as f64).ln() / (self.wanted as f64 + 1.0).ln();
        let timeout = self.longest as f64 - share * (self.longest - self.shortest) as f64;
        let timeout = (timeout / MILLISECOND as f64).floor() as u64 * MILLISECOND;
        self.start + timeout.max(self.shortest)
    }
}
