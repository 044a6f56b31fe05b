//! Requests under way: at most one to each voter (`RequestManager.java`).
//!
//! Kafka's requests travel over TCP, which retransmits losses. Here an unanswered request is resent unchanged, and of
//! two answers to it only the first counts.

use super::message::{Ask, Epoch, Message};
use crate::types::{MILLISECOND, NodeId};

/// TCP's shortest wait before a retransmission: Linux's `TCP_RTO_MIN`.
const RETRANSMIT: u64 = 200 * MILLISECOND;
/// `controller.quorum.retry.backoff.ms`. After a well-formed refusal Kafka asks again at once; here that backs off as
/// well, or a voter in search of the leader would ask as fast as the network answers.
const BACKOFF: u64 = 20 * MILLISECOND;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Requests {
    /// Indexed by voter.
    under_way: Vec<Option<UnderWay>>,
    last_correlation: u32,
    /// No new request before this time.
    backoff_until: u64,
    /// `controller.quorum.request.timeout.ms`.
    timeout: u64,
    /// How long a fetch may be parked at the leader.
    fetch_wait: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct UnderWay {
    correlation: u32,
    message: Message,
    again_at: u64,
    again_after: u64,
    given_up_at: u64,
}

impl Requests {
    /// `first_correlation` should differ at each start of the process, so that answers to an earlier process do not
    /// match.
    pub(super) fn new(voters: usize, first_correlation: u32, timeout: u64, fetch_wait: u64) -> Self {
        let under_way = (0..voters).map(|_| None).collect();
        Requests { under_way, last_correlation: first_correlation, backoff_until: 0, timeout, fetch_wait }
    }

    /// Forgets all requests, so no answer is expected.
    pub(super) fn reset(&mut self) {
        self.under_way.iter_mut().for_each(|request| *request = None);
        self.backoff_until = 0;
    }

    pub(super) fn may_ask(&self, voter: NodeId, now: u64) -> bool {
        now >= self.backoff_until && self.under_way.get(voter.index()).is_some_and(Option::is_none)
    }

    pub(super) fn none_under_way(&self) -> bool {
        self.under_way.iter().all(Option::is_none)
    }

    /// The message for a new request to `voter`.
    pub(super) fn ask(&mut self, voter: NodeId, epoch: Epoch, ask: Ask, now: u64) -> Message {
        self.last_correlation = self.last_correlation.wrapping_add(1);
        let correlation = self.last_correlation;
        let lies = if matches!(ask, Ask::Fetch { .. }) { self.fetch_wait } else { 0 };
        let again_after = RETRANSMIT + lies;
        let message = Message::Request { correlation, epoch, ask };
        if let Some(slot) = self.under_way.get_mut(voter.index()) {
            let (again_at, given_up_at) = (now + again_after, now + self.timeout);
            let message = message.clone();
            *slot = Some(UnderWay { correlation, message, again_at, again_after, given_up_at });
        }
        message
    }

    /// Whether this is the expected answer from `voter`, which then expects no other.
    pub(super) fn answered(&mut self, voter: NodeId, correlation: u32) -> bool {
        let slot = self.under_way.get_mut(voter.index());
        slot.and_then(|slot| slot.take_if(|request| request.correlation == correlation)).is_some()
    }

    /// Records that a request was refused.
    pub(super) fn back_off(&mut self, now: u64) {
        self.backoff_until = now + BACKOFF;
    }

    /// The messages to be resent by now.
    pub(super) fn due(&mut self, now: u64) -> Vec<(NodeId, Message)> {
        let mut due = Vec::new();
        for (voter, slot) in self.under_way.iter_mut().enumerate() {
            // Timed out: a new request may be made.
            slot.take_if(|request| request.given_up_at <= now);
            if let Some(request) = slot.as_mut().filter(|request| request.again_at <= now) {
                request.again_at = now + request.again_after;
                due.push((NodeId(voter as u16), request.message.clone()));
            }
        }
        due
    }

    /// The time of the next action; `u64::MAX` if there is none.
    pub(super) fn next_at(&self, now: u64) -> u64 {
        let under_way = self.under_way.iter().flatten().map(|request| request.again_at.min(request.given_up_at));
        let backoff = Some(self.backoff_until).filter(|until| *until > now);
        under_way.chain(backoff).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
impl Requests {
    pub(super) fn last_correlation(&self) -> u32 {
        self.last_correlation
    }
}
