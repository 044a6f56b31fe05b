//! Changes of role (`QuorumState.java`, and the `poll…` functions of `KafkaRaftClient.java`).

use super::{
    Kraft, Output,
    message::{Ask, Epoch, Message, Refusal},
    role::{Ballot, Leading, Parked, Role},
};
use crate::{clock::Now, elector::Deposed, point::Point, types::NodeId};

impl Kraft {
    /// The role after a start, from the one before (`QuorumState.initialize`).
    pub(super) fn initialize(&mut self, now: Now) {
        let me = Some(self.me());
        self.role_until = now.mono + self.election_timeout();
        if self.voters() == 1 {
            self.become_prospective(now);
        } else if self.state.leader == me {
            crate::mark!("kraft: a former leader restarts as resigned");
            // It must neither vote in that epoch nor write to its log again.
            self.role = Role::Resigned { successors: Vec::new(), unacknowledged: self.setup.others().collect() };
        } else if self.state.voted == me && self.state.leader.is_none() {
            crate::mark!("kraft: a former candidate stands again after its restart");
            self.campaign();
            self.role = Role::Candidate(Ballot::new(self.voters(), self.me()));
            self.voted(self.me());
        } else if let Some(leader) = self.state.leader {
            self.become_follower(now, self.state.epoch, leader);
        }
    }

    pub(super) fn role_is_over(&mut self, now: Now) {
        if matches!(self.role, Role::Leader(_)) {
            crate::mark!("kraft: the leader has lost its quorum");
        }
        match &self.role {
            Role::Unattached | Role::Follower { .. } | Role::Candidate(_) => self.become_prospective(now),
            Role::Prospective(_) => self.lose_pre_vote(now),
            Role::Leader(_) => self.resign(now, Deposed::Expired),
            // An epoch without a leader, lest others take it for the old epoch's leader.
            Role::Resigned { .. } => match self.state.epoch.checked_add(1) {
                Some(next) => self.become_unattached(now, next),
                None => self.role_until = now.mono + self.election_timeout(),
            },
        }
    }

    /// Enters an epoch without a known leader.
    pub(super) fn become_unattached(&mut self, now: Now, epoch: Epoch) {
        let parked = self.leave_leadership(Deposed::Lost);
        let goes_on = match &self.role {
            Role::Candidate(_) | Role::Unattached | Role::Resigned { .. } => true,
            Role::Prospective(ballot) => !ballot.is_rejected(),
            Role::Leader(_) | Role::Follower { .. } => false,
        };
        // A voter already waiting for an election keeps its timeout.
        if !goes_on {
            self.role_until = now.mono + self.election_timeout();
        }
        self.enter(epoch, None);
        self.role = Role::Unattached;
        self.requests.reset();
        self.refuse_parked(parked);
        self.observe(None);
    }

    pub(super) fn become_follower(&mut self, now: Now, epoch: Epoch, leader: NodeId) {
        let parked = self.leave_leadership(Deposed::Lost);
        self.enter(epoch, Some(leader));
        self.role = Role::Follower { has_fetched: false };
        self.role_until = now.mono + self.fetch_timeout();
        self.requests.reset();
        self.refuse_parked(parked);
        self.observe(Some(leader));
    }

    /// A vote is valid only in its epoch.
    fn enter(&mut self, epoch: Epoch, leader: Option<NodeId>) {
        if epoch != self.state.epoch {
            self.state.epoch = epoch;
            self.state.voted = None;
        }
        self.state.leader = leader;
    }

    fn become_prospective(&mut self, now: Now) {
        self.campaign();
        self.role = Role::Prospective(Ballot::new(self.voters(), self.me()));
        self.role_until = now.mono + self.election_timeout();
        self.requests.reset();
        self.observe(None);
        self.count_votes(now);
    }

    fn campaign(&mut self) {
        if !std::mem::replace(&mut self.campaigning, true) {
            self.held.push(Output::Campaign);
            self.held.push(Output::Point(Point::BeforeCampaign));
        }
    }

    fn lose_pre_vote(&mut self, now: Now) {
        crate::mark!("kraft: the pre-vote is lost");
        match self.state.leader {
            Some(leader) => self.become_follower(now, self.state.epoch, leader),
            None => self.become_unattached(now, self.state.epoch),
        }
    }

    fn become_candidate(&mut self, now: Now) {
        // The last epoch has no successor to stand in.
        let Some(next) = self.state.epoch.checked_add(1) else { return };
        self.enter(next, None);
        self.state.voted = Some(self.me());
        self.voted(self.me());
        self.role = Role::Candidate(Ballot::new(self.voters(), self.me()));
        self.role_until = now.mono + self.election_timeout();
        self.requests.reset();
        self.count_votes(now);
    }

    /// Advances from prospective to candidate to leader, or falls back, according to the votes.
    pub(super) fn count_votes(&mut self, now: Now) {
        match &self.role {
            Role::Prospective(ballot) if ballot.is_granted() => self.become_candidate(now),
            Role::Prospective(ballot) if ballot.is_rejected() => self.lose_pre_vote(now),
            Role::Candidate(ballot) if ballot.is_granted() => self.become_leader(now),
            // A losing candidate waits for its election timeout.
            _ => {}
        }
    }

    fn become_leader(&mut self, now: Now) {
        let epoch_start = self.state.end_offset();
        // A candidate's log has no record of its epoch, since nobody has led in it.
        if !self.state.append(self.state.epoch) {
            return;
        }
        self.state.leader = Some(self.me());
        self.role = Role::Leader(Leading::new(self.voters(), self.me(), epoch_start, now.mono));
        self.role_until = self.quorum_until(now);
        self.requests.reset();
    }

    /// Resigns, and tells the others to elect.
    pub(super) fn resign(&mut self, now: Now, why: Deposed) {
        let Role::Leader(leading) = &self.role else { return };
        let successors = leading.successors();
        let parked = self.leave_leadership(why);
        self.role = Role::Resigned { unacknowledged: successors.clone(), successors };
        self.role_until = now.mono + self.election_timeout();
        self.requests.reset();
        self.refuse_parked(parked);
        self.observe(None);
    }

    /// Ends the belief, and returns the parked fetches.
    fn leave_leadership(&mut self, why: Deposed) -> Vec<Parked> {
        if std::mem::take(&mut self.believes) {
            self.held.push(Output::Deposed(why));
        }
        match &mut self.role {
            Role::Leader(leading) => std::mem::take(&mut leading.parked),
            _ => Vec::new(),
        }
    }

    fn refuse_parked(&mut self, parked: Vec<Parked>) {
        for fetch in parked {
            self.respond(fetch.from, fetch.correlation, Err(Refusal::NotLeader));
        }
    }

    /// Sends the role's requests to voters without one under way.
    pub(super) fn ask_on(&mut self, now: Now) {
        let fetch = self.state.fetch(self.high_watermark);
        let asks = match &mut self.role {
            Role::Prospective(ballot) | Role::Candidate(ballot) if ballot.is_rejected() => Vec::new(),
            Role::Prospective(ballot) => to_each(ballot.unrecorded(), self.state.vote(true)),
            Role::Candidate(ballot) => to_each(ballot.unrecorded(), self.state.vote(false)),
            Role::Follower { .. } => to_each(self.state.leader.into_iter(), fetch),
            Role::Unattached if !self.requests.none_under_way() => Vec::new(),
            Role::Unattached => {
                // Every voter knows the leader or is it. Randomness is drawn only if it is used.
                let others: Vec<_> = self.setup.others().filter(|o| self.requests.may_ask(*o, now.mono)).collect();
                match others.len() as u64 {
                    0 => Vec::new(),
                    count => {
                        let one = others[(self.random.next_u64() % count) as usize];
                        vec![(one, fetch)]
                    }
                }
            }
            Role::Leader(leading) if now.mono >= leading.begin_at => {
                let interval = super::fetch_timeout(self.setup.timings.lease_ttl) / 2;
                leading.begin_at = now.mono + interval;
                to_each(leading.silent(now.mono, interval).into_iter(), Ask::BeginQuorumEpoch)
            }
            Role::Leader(_) => Vec::new(),
            Role::Resigned { successors, unacknowledged } => {
                to_each(unacknowledged.iter().copied(), Ask::EndQuorumEpoch { successors: successors.clone() })
            }
        };
        for (to, ask) in asks {
            if self.requests.may_ask(to, now.mono) {
                self.ask(now, to, ask);
            }
        }
    }

    pub(super) fn respond(&mut self, to: NodeId, correlation: u32, result: Result<super::Answer, Refusal>) {
        let (epoch, leader) = (self.state.epoch, self.state.leader);
        self.send(to, Message::Response { correlation, epoch, leader, result });
    }
}

fn to_each(voters: impl Iterator<Item = NodeId>, ask: Ask) -> Vec<(NodeId, Ask)> {
    voters.map(|voter| (voter, ask.clone())).collect()
}
