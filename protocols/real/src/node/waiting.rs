//! Requests from clients that wait for the core's answer.

use protocols::types::{NodeId, RequestId};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use tokio::sync::oneshot;

/// Requests that may wait at a time.
pub const WAITING_MAX: usize = 16 * 1024;

/// What a client is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A number: a new one, or the last one that was handed out.
    Number {
        /// Fencing token under which it was handed out.
        token: u64,
        /// The number.
        seq: u64,
    },
    /// Not the leader, and who is, as far as this node knows.
    NotLeader(Option<NodeId>),
    /// Leadership ended while the request was under way: it may or may not have taken effect.
    Unknown,
}

/// Who waits for what.
#[derive(Default)]
pub struct WaitingClients {
    waiting: Mutex<BTreeMap<RequestId, Vec<oneshot::Sender<Answer>>>>,
}

impl WaitingClients {
    /// Waits for the answer to `request`; `None` when too many wait already. A retry waits beside the attempt before.
    pub fn wait(&self, request: RequestId) -> Option<oneshot::Receiver<Answer>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING_MAX {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        waiting.entry(request).or_default().push(sender);
        Some(receiver)
    }

    /// Nobody waits for `request` any more, but for those who still listen.
    pub fn give_up(&self, request: RequestId) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(senders) = waiting.get_mut(&request) {
            senders.retain(|s| !s.is_closed());
            if senders.is_empty() {
                waiting.remove(&request);
            }
        }
    }

    /// The core has answered.
    pub fn answer(&self, request: RequestId, answer: Answer) {
        let senders = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&request);
        for sender in senders.into_iter().flatten() {
            // A client that has gone away needs no answer.
            let _ = sender.send(answer);
        }
    }

    /// What was under way will not be answered any more.
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
