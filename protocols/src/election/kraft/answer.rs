//! A voter's answers (`handleVoteRequest`, `handleBeginQuorumEpochRequest`, `handleEndQuorumEpochRequest`,
//! `handleFetchRequest` in `KafkaRaftClient.java`).

use super::{
    Kraft, Output,
    message::{Answer, Ask, Epoch, Found, Offset, Refusal},
    role::{Ballot, Parked, Role},
};
use crate::{clock::Now, point::Point, types::NodeId};

impl Kraft {
    pub(super) fn asked(&mut self, now: Now, from: NodeId, correlation: u32, epoch: Epoch, ask: Ask) {
        let result = match ask {
            Ask::Fetch { .. } => {
                return self.fetched(now, Parked { from, correlation, epoch, ask, until: 0 });
            }
            // `INVALID_REQUEST`, which nobody sends: a record's epoch never exceeds its log owner's.
            Ask::Vote { pre_vote: true, last_epoch, .. } if last_epoch > epoch => return,
            Ask::Vote { pre_vote: false, last_epoch, .. } if last_epoch >= epoch => return,
            _ if epoch < self.state.epoch => Err(Refusal::FencedEpoch),
            Ask::Vote { pre_vote, last_epoch, end_offset } => {
                if epoch > self.state.epoch {
                    self.become_unattached(now, epoch);
                }
                let up_to_date = self.state.is_up_to_date(last_epoch, end_offset);
                let granted = self.can_grant(from, up_to_date, pre_vote);
                if pre_vote && !granted {
                    crate::mark!("kraft: a pre-vote is refused");
                }
                if !up_to_date {
                    crate::mark!("kraft: vote refused, the log is behind");
                }
                if !granted && self.state.voted.is_some_and(|voted| voted != from) {
                    crate::mark!("kraft: vote refused, already voted");
                }
                if granted && !pre_vote {
                    self.vote_for(now, from);
                    self.voted(from);
                }
                Ok(Answer::Vote { granted })
            }
            Ask::BeginQuorumEpoch => {
                self.meet_leader(now, epoch, Some(from));
                Ok(Answer::BeginQuorumEpoch)
            }
            Ask::EndQuorumEpoch { successors } => {
                self.meet_leader(now, epoch, Some(from));
                if matches!(self.role, Role::Follower { .. }) && self.state.leader == Some(from) {
                    crate::mark!("kraft: the leader names successors");
                    self.role_until = now.mono + self.succession_backoff(&successors);
                }
                Ok(Answer::EndQuorumEpoch)
            }
        };
        self.respond(from, correlation, result);
    }

    /// `canGrantVote` of each role.
    fn can_grant(&self, to: NodeId, up_to_date: bool, pre_vote: bool) -> bool {
        match &self.role {
            Role::Unattached | Role::Prospective(_) if pre_vote => up_to_date,
            Role::Unattached | Role::Prospective(_) => match (self.state.voted, self.state.leader) {
                (Some(voted), _) => voted == to,
                (None, Some(_)) => false,
                (None, None) => up_to_date,
            },
            Role::Candidate(_) | Role::Resigned { .. } => pre_vote && up_to_date,
            Role::Follower { has_fetched } => pre_vote && !has_fetched && up_to_date,
            Role::Leader(_) => false,
        }
    }

    fn vote_for(&mut self, now: Now, candidate: NodeId) {
        if self.state.voted.is_some() {
            return;
        }
        self.state.voted = Some(candidate);
        // The candidate has as good a chance as this voter would.
        self.role_until = now.mono + self.election_timeout();
        if let Role::Prospective(ballot) = &mut self.role {
            *ballot = Ballot::new(self.setup.names.len(), self.setup.node);
        }
    }

    /// `endEpochElectionBackoff` and `strictExponentialElectionBackoffMs`: the first successor starts at once, each
    /// next one after twice the previous pause, the last after half of the longest pause, and voters that are not
    /// successors after the whole of it. Without successors, all start at once.
    fn succession_backoff(&self, successors: &[NodeId]) -> u64 {
        let longest = self.setup.timings.lease_ttl;
        let (count, me) = (successors.len(), self.me());
        match successors.iter().position(|successor| *successor == me).unwrap_or(count) {
            0 => 0,
            position if position == count => longest,
            position => {
                let halvings = |n: usize| u32::try_from(n - 1).unwrap_or(u32::MAX);
                let first = longest.checked_shr(halvings(count)).unwrap_or(0);
                first.saturating_mul(1_u64.checked_shl(halvings(position)).unwrap_or(u64::MAX)).min(longest)
            }
        }
    }

    fn fetched(&mut self, now: Now, fetch: Parked) {
        let refusal = match &self.role {
            _ if fetch.epoch < self.state.epoch => Some(Refusal::FencedEpoch),
            _ if fetch.epoch > self.state.epoch => Some(Refusal::UnknownEpoch),
            // A repetition of a parked fetch.
            Role::Leader(leading) if leading.parked.iter().any(|p| same(p, &fetch)) => return,
            Role::Leader(_) => None,
            _ => Some(Refusal::NotLeader),
        };
        if let Some(refusal) = refusal {
            crate::mark!("kraft: a fetch is refused");
            return self.respond(fetch.from, fetch.correlation, Err(refusal));
        }
        let Some((answer, waits)) = self.try_complete(now, &fetch) else { return };
        let until = now.mono + self.setup.timings.renew_interval;
        let Role::Leader(leading) = &mut self.role else { return };
        leading.parked.retain(|parked| parked.from != fetch.from);
        if waits {
            leading.parked.push(Parked { until, ..fetch });
        } else {
            self.respond(fetch.from, fetch.correlation, Ok(answer));
        }
        self.advance(now);
    }

    /// The answer to a fetch, and whether to wait for a better one (`tryCompleteFetchRequest`).
    fn try_complete(&mut self, now: Now, fetch: &Parked) -> Option<(Answer, bool)> {
        let Ask::Fetch { offset, last_fetched_epoch, high_watermark: known } = fetch.ask else { return None };
        if last_fetched_epoch > fetch.epoch {
            return None;
        }
        let found = self.state.find(offset, last_fetched_epoch);
        if !matches!(found, Found::Diverging { .. }) {
            self.note_fetch(now, fetch.from, offset);
        }
        let Role::Leader(leading) = &mut self.role else { return None };
        let high_watermark = leading.high_watermark;
        let waits = found == Found::Nothing && known >= high_watermark;
        Some((Answer::Fetch { found, high_watermark }, waits))
    }

    /// Records that a follower has everything before `offset` on disk.
    fn note_fetch(&mut self, now: Now, from: NodeId, offset: Offset) {
        let until = self.quorum_until(now);
        let Role::Leader(leading) = &mut self.role else { return };
        let majority = leading.note_fetch(from, offset, now.mono);
        leading.update_high_watermark();
        if !majority {
            return;
        }
        self.role_until = until;
        if self.believes {
            let leadership = self.leadership();
            self.held.push(Output::Renewed(leadership));
            self.held.push(Output::Point(Point::Renewed));
        }
    }

    /// Leads once the leader change is committed, and answers the fetches that waited for that.
    pub(super) fn advance(&mut self, now: Now) {
        let Role::Leader(leading) = &mut self.role else { return };
        leading.update_high_watermark();
        if leading.high_watermark.is_none() {
            return;
        }
        self.high_watermark = leading.high_watermark;
        if !self.believes {
            self.believes = true;
            self.campaigning = false;
            let leadership = self.leadership();
            self.held.push(Output::Elected(leadership));
        }
        self.answer_parked(now, true);
    }

    /// Answers the fetches whose wait is over, and with `news` also those that it may concern.
    pub(super) fn answer_parked(&mut self, now: Now, news: bool) {
        let Role::Leader(leading) = &mut self.role else { return };
        let high_watermark = leading.high_watermark;
        let is_over = |fetch: &mut Parked| {
            let knows_less = matches!(fetch.ask, Ask::Fetch { high_watermark: known, .. } if known < high_watermark);
            fetch.until <= now.mono || (news && knows_less)
        };
        let answers: Vec<Parked> = leading.parked.extract_if(.., is_over).collect();
        if self.believes && !answers.is_empty() {
            // The fetch responses serve as the leader's heartbeat.
            self.held.push(Output::Point(Point::BeforeRenew));
        }
        for fetch in answers {
            let found = Found::Nothing;
            self.respond(fetch.from, fetch.correlation, Ok(Answer::Fetch { found, high_watermark }));
        }
    }
}

fn same(parked: &Parked, fetch: &Parked) -> bool {
    parked.from == fetch.from && parked.correlation == fetch.correlation
}
