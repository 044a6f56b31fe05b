//! Clients' requests that wait for the core's answer.

use protocols::types::{NodeId, RequestId};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use tokio::sync::oneshot;

/// How many requests may wait at a time.
pub const WAITING_MAX: usize = 16 * 1024;

/// The answer to a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A new number, or the last one handed out.
    Number {
        /// The fencing token under which it was handed out.
        token: u64,
        seq: u64,
    },
    /// This node does not lead; the leader, if known.
    NotLeader(Option<NodeId>),
    /// Leadership ended while the request was under way: the request may have taken effect.
    Unknown,
}

/// The waiting clients by request.
#[derive(Default)]
pub struct WaitingClients {
    waiting: Mutex<BTreeMap<RequestId, Vec<oneshot::Sender<Answer>>>>,
}

impl WaitingClients {
    /// Waits for the answer to `request`; `None` when too many are waiting. A retry waits alongside the earlier
    /// attempt.
    pub fn wait(&self, request: RequestId) -> Option<oneshot::Receiver<Answer>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING_MAX {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        waiting.entry(request).or_default().push(sender);
        Some(receiver)
    }

    /// Forgets the waiters of `request` that no longer listen.
    pub fn give_up(&self, request: RequestId) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(senders) = waiting.get_mut(&request) {
            senders.retain(|s| !s.is_closed());
            if senders.is_empty() {
                waiting.remove(&request);
            }
        }
    }

    /// Passes the core's answer on.
    pub fn answer(&self, request: RequestId, answer: Answer) {
        let senders = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&request);
        for sender in senders.into_iter().flatten() {
            // The client may have gone away.
            let _ = sender.send(answer);
        }
    }

    /// Ends all waiting: requests under way will not be answered.
    pub fn leadership_ended(&self) {
        let all = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for sender in all.into_values().flatten() {
            let _ = sender.send(Answer::Unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64) -> RequestId {
        RequestId { client: NodeId(9), number }
    }

    #[test]
    fn everyone_who_waits_for_a_request_is_answered() {
        let waiting = WaitingClients::default();
        let (mut first, mut second) =
            (waiting.wait(request(1)).expect("room"), waiting.wait(request(1)).expect("room"));
        waiting.answer(request(1), Answer::Number { token: 2, seq: 3 });
        assert_eq!(first.try_recv(), Ok(Answer::Number { token: 2, seq: 3 }));
        assert_eq!(second.try_recv(), Ok(Answer::Number { token: 2, seq: 3 }));
    }

    #[test]
    fn waiting_is_bounded_and_room_comes_back() {
        let waiting = WaitingClients::default();
        let many: Vec<_> = (0..WAITING_MAX as u64).map(|n| waiting.wait(request(n))).collect();
        assert!(waiting.wait(request(u64::MAX)).is_none());
        drop(many);
        waiting.give_up(request(0));
        assert!(waiting.wait(request(u64::MAX)).is_some());
    }

    #[test]
    fn the_end_of_leadership_is_an_unknown_outcome() {
        let waiting = WaitingClients::default();
        let mut client = waiting.wait(request(1)).expect("room");
        waiting.leadership_ended();
        assert_eq!(client.try_recv(), Ok(Answer::Unknown));
    }
}
