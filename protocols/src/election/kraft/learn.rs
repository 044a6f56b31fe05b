//! What a voter makes of answers (`handleVoteResponse`, `handleFetchResponse` and `maybeHandleCommonResponse` in
//! `KafkaRaftClient.java`).

use super::{
    Kraft,
    message::{Answer, Epoch, Found, Offset, Refusal},
    role::Role,
};
use crate::{clock::Now, types::NodeId};

impl Kraft {
    /// An answer that was expected has come.
    pub(super) fn answered(
        &mut self,
        now: Now,
        from: NodeId,
        epoch: Epoch,
        leader: Option<NodeId>,
        result: Result<Answer, Refusal>,
    ) {
        if result.is_err() {
            self.requests.back_off(now.mono);
        }
        if epoch < self.state.epoch || result == Err(Refusal::UnknownEpoch) {
            return;
        }
        let of_our_epoch = epoch == self.state.epoch;
        self.meet_leader(now, epoch, leader);
        match result {
            // What it says of epoch and leader is all there is.
            Err(_) => {}
            Ok(_) if !of_our_epoch => {}
            Ok(Answer::Vote { granted }) => {
                if let Role::Prospective(ballot) | Role::Candidate(ballot) = &mut self.role {
                    ballot.record(from, granted);
                    self.count_votes(now);
                }
            }
            Ok(Answer::BeginQuorumEpoch) => {}
            Ok(Answer::EndQuorumEpoch) => {
                if let Role::Resigned { unacknowledged, .. } = &mut self.role {
                    unacknowledged.retain(|voter| *voter != from);
                }
            }
            Ok(Answer::Fetch { found, high_watermark }) => self.fetch_succeeded(now, from, found, high_watermark),
        }
    }

    /// Somebody says who leads in an epoch, or that nobody does (`maybeTransition`).
    pub(super) fn meet_leader(&mut self, now: Now, epoch: Epoch, leader: Option<NodeId>) {
        let known = self.state.leader;
        match leader {
            _ if epoch < self.state.epoch => {}
            // Nobody can know better than this voter whether it leads. No epoch has two leaders.
            Some(leader) if !self.is_other(leader) => {}
            Some(leader) if epoch > self.state.epoch || known.is_none() => self.become_follower(now, epoch, leader),
            None if epoch > self.state.epoch => self.become_unattached(now, epoch),
            _ => {}
        }
    }

    fn fetch_succeeded(&mut self, now: Now, from: NodeId, found: Found, committed: Option<Offset>) {
        if !matches!(self.role, Role::Follower { .. }) || self.state.leader != Some(from) {
            return;
        }
        match found {
            Found::Nothing => self.commit(committed),
            Found::Record(epoch) => {
                self.state.append(epoch);
                self.commit(committed);
            }
            // What is left may differ from the leader's log still, so nothing of it is committed for being short enough.
            Found::Diverging { epoch, end_offset } => {
                // Kafka stops the process when it is asked to cut off what it knows to be committed.
                if self.high_watermark.is_some_and(|committed| end_offset < committed) {
                    return;
                }
                crate::mark!(KraftDiverged);
                let end = self.state.common_end(epoch, end_offset);
                self.state.truncate(end);
            }
        }
        self.role = Role::Follower { has_fetched: true };
        self.campaigning = false;
        self.role_until = now.mono + self.fetch_timeout();
    }

    /// The leader has committed so much, of a log that this one is the beginning of (`updateFollowerHighWatermark`).
    fn commit(&mut self, committed: Option<Offset>) {
        let committed = committed.map(|offset| offset.min(self.state.end_offset()));
        self.high_watermark = committed.max(self.high_watermark);
    }
}
