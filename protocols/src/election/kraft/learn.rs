//! How a voter handles answers (`handleVoteResponse`, `handleFetchResponse` and `maybeHandleCommonResponse` in
//! `KafkaRaftClient.java`).

use super::{
    Kraft,
    message::{Answer, Epoch, Found, Offset, Refusal},
    role::Role,
};
use crate::{clock::Now, types::NodeId};

impl Kraft {
    /// Handles the answer to a request under way.
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
            // A refusal only tells epoch and leader.
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

    /// Takes note of an epoch's leader, or of an epoch without one (`maybeTransition`).
    pub(super) fn meet_leader(&mut self, now: Now, epoch: Epoch, leader: Option<NodeId>) {
        let known = self.state.leader;
        match leader {
            _ if epoch < self.state.epoch => {}
            // This voter itself knows best whether it leads, and no epoch has two leaders.
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
            // The rest may still differ from the leader's log, so none of it becomes committed by being short enough.
            Found::Diverging { epoch, end_offset } => {
                // Kafka stops the process when it is told to truncate committed records.
                if self.high_watermark.is_some_and(|committed| end_offset < committed) {
                    return;
                }
                crate::mark!("kraft: a log that has diverged is cut off");
                let end = self.state.common_end(epoch, end_offset);
                self.state.truncate(end);
            }
        }
        self.role = Role::Follower { has_fetched: true };
        self.campaigning = false;
        self.role_until = now.mono + self.fetch_timeout();
    }

    /// Advances to the leader's high watermark, in a log that is a prefix of the leader's
    /// (`updateFollowerHighWatermark`).
    fn commit(&mut self, committed: Option<Offset>) {
        let committed = committed.map(|offset| offset.min(self.state.end_offset()));
        self.high_watermark = committed.max(self.high_watermark);
    }
}
