//! A change of leaders: what the copy of the new one asks the others first in majority mode, and what a copy answers to a
//! leader that it knows to be deposed.

use super::log::Durable;
use crate::{
    core::Output,
    fence::ledger::Fence,
    history::{Kind, UNKNOWN_VERSION},
    message::{Message as ToLeader, Message, WriteVerdict},
    types::{Incarnation, NodeId},
};

/// How many beats a copy has to send its log, before the others are asked again for their states.
const PATIENCE: u32 = 3;

/// A copy about to become the primary.
#[derive(Debug)]
pub(super) struct TakingOver {
    pub by: Incarnation,
    /// The number of copies that make a majority.
    majority: usize,
    answers: Vec<Answer>,
    /// The leader's requests, which are answered afterwards.
    pub asked: Vec<ToLeader>,
    /// The copy whose log was requested, and the number of beats since.
    pub fetching: Option<(NodeId, u32)>,
}

/// A copy's answer to the request for a promise.
#[derive(Clone, Copy, Debug)]
struct Answer {
    node: NodeId,
    /// The token of the leadership it last followed, and the length of its log. The greater pair is the newer log.
    newness: (u64, u64),
}

impl TakingOver {
    /// A take-over among `copies` copies.
    pub fn new(by: Incarnation, copies: usize) -> Self {
        TakingOver { by, majority: copies / 2 + 1, answers: Vec::new(), asked: Vec::new(), fetching: None }
    }

    /// Keeps a request of the leader, once.
    pub fn ask(&mut self, message: ToLeader) {
        if !self.asked.contains(&message) {
            self.asked.push(message);
        }
    }

    /// Records a copy's promise. Returns the node with the newest log, once a majority has promised.
    pub fn promised(&mut self, node: NodeId, followed: Option<Incarnation>, length: u64) -> Option<NodeId> {
        let newness = (followed.map_or(0, |followed| followed.token), length);
        self.answers.retain(|answer| answer.node != node);
        self.answers.push(Answer { node, newness });
        if self.fetching.is_some() || self.answers.len() < self.majority {
            return None;
        }
        // This copy's own log, unless another is newer; otherwise the first of the newest.
        let newest = self.answers.iter().map(|answer| answer.newness).max()?;
        let holders = || self.answers.iter().filter(|answer| answer.newness == newest).map(|answer| answer.node);
        holders().find(|node| *node == self.by.node).or_else(|| holders().next())
    }

    /// Called on each beat; returns whether to ask all copies again.
    pub fn starts_over(&mut self) -> bool {
        match &mut self.fetching {
            Some((_, beats)) if *beats < PATIENCE => {
                *beats += 1;
                false
            }
            Some(_) => {
                let own = self.by.node;
                self.answers.retain(|answer| answer.node == own);
                self.fetching = None;
                true
            }
            None => true,
        }
    }
}

// A copy's answers to a leader that it knows to be deposed.

/// Refuses a request of the leader on the copy's own node.
pub(super) fn refuse(log: &Durable, by: Incarnation, message: Message, out: &mut Vec<Output>) {
    let highest = log.promised.map_or(0, |promised| promised.token);
    let Incarnation { token, node, generation } = by;
    let verdict = WriteVerdict::Fenced { highest };
    let kind = match message {
        Message::Seal { resource, .. } => {
            let Some(ledger) = log.ledgers().get(resource.index()) else { return };
            let (seq, version, payload) = (ledger.seq(), ledger.version(), ledger.payload());
            Some(Kind::Seal { resource, incarnation: by, accepted: false, seq, version, payload })
        }
        Message::Write(write) => {
            // This copy's version may be ahead of the committed log, or behind it.
            Some(Kind::Apply { node, write, verdict, version: UNKNOWN_VERSION })
        }
        _ => None,
    };
    let reply = match message {
        Message::Seal { resource, .. } => Message::SealRefused { resource, generation, token, highest },
        Message::ReadStore { request, .. } => Message::StoreIs { request, generation, token, verdict, seq: 0 },
        other => fenced(other, highest),
    };
    out.extend(kind.map(Output::Record));
    out.push(Output::Send { to: node, message: reply });
}

/// The refusal that replaces a request, or an answer to it.
pub(super) fn fenced(message: Message, highest: u64) -> Message {
    let verdict = WriteVerdict::Fenced { highest };
    match message {
        Message::Write(write) => {
            let (resource, generation, seq, request) = (write.resource, write.generation, write.seq, write.request());
            Message::Written { resource, generation, seq, request, verdict }
        }
        Message::Written { resource, generation, seq, request, .. } => {
            Message::Written { resource, generation, seq, request, verdict }
        }
        Message::Sealed { resource, generation, token, .. } => {
            Message::SealRefused { resource, generation, token, highest }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_log_of_a_majority_is_taken_and_the_own_one_where_none_is_newer() {
        let leads = |token| Some(Incarnation { token, node: NodeId(0), generation: 1 });
        let by = Incarnation { token: 3, node: NodeId(4), generation: 1 };
        let newest = |answers: &[(u16, u64, u64)]| {
            let mut taking_over = TakingOver::new(by, 5);
            let answers =
                answers.iter().map(|(node, token, length)| taking_over.promised(NodeId(*node), leads(*token), *length));
            answers.last().flatten().map(|node| node.0)
        };
        assert_eq!(newest(&[(4, 1, 7), (2, 1, 9)]), None, "two of five are no majority");
        assert_eq!(newest(&[(4, 1, 7), (2, 1, 9), (3, 1, 8)]), Some(2), "the longest");
        assert_eq!(newest(&[(4, 1, 7), (2, 1, 9), (3, 2, 8)]), Some(3), "the longest of an older leader is older");
        assert_eq!(newest(&[(2, 1, 9), (4, 1, 9), (3, 1, 8)]), Some(4), "its own is as new");
        assert_eq!(newest(&[(4, 1, 7), (2, 1, 8), (2, 1, 9)]), None, "one that answers twice counts once");
    }
}
