//! The leader: heartbeats, replication, its belief, and handover.

use super::{
    Output, RaftCore, belief,
    bugs::{LEASE_FROM_ANSWER, LEASE_OUTLIVES_TRANSFER, WRITES_DURING_TRANSFER},
    message::{Index, Message, Term},
    role::{Leading, Role},
};
use crate::{
    clock::Now,
    elector::Deposed,
    point::Point,
    types::{Leadership, NodeId},
};

impl RaftCore {
    pub(super) fn become_leader(&mut self, now: Now) {
        // A candidate's log has no entry of its term, since nobody has led in it.
        self.state.log.push(self.state.term);
        self.role = Role::Leader(Leading::new(self.servers(), self.state.last_index(), now.mono));
        self.heard_at = None;
        self.lead_on(now);
        self.renew(now);
    }

    /// Handles everything that a leader has to do by now.
    pub(super) fn lead_on(&mut self, now: Now) {
        let Role::Leader(leading) = &self.role else { return };
        if leading.hands_over.is_some_and(|(_, until)| until <= now.mono) || self.quorum_until(leading) <= now.mono {
            return self.step_down(now, Deposed::Expired);
        }
        if leading.heartbeat_at <= now.mono {
            let interval = self.setup.timings.renew_interval.max(1);
            let spread = if self.is_hashicorp() { self.random.next_u64() % interval } else { 0 };
            if let Role::Leader(leading) = &mut self.role {
                leading.heartbeat_at = now.mono + interval + spread;
            }
            if self.servers() > 1 {
                self.held.push(Output::Point(Point::BeforeRenew));
            }
            for to in self.peers() {
                self.replicate(now, to);
            }
            if self.double().is_some() {
                self.advance(now);
            }
            // A belief that does not expire has no renewals.
            if self.belief.is_some_and(|belief| belief.valid_until == u64::MAX) {
                self.held.push(Output::Point(Point::Renewed));
            }
        }
        self.append_entry(now);
    }

    /// When to append the next entry. None during a handover, or the successor could never catch up.
    fn entry_at(&self, leading: &Leading) -> u64 {
        let accepts = leading.hands_over.is_none() || self.setup.bugs.has(&WRITES_DURING_TRANSFER);
        if accepts && self.setup.timings.own.entry_interval.is_some() { leading.entry_at } else { u64::MAX }
    }

    /// Appends an entry if it is due, as if a client had requested it, and sends it to all.
    fn append_entry(&mut self, now: Now) {
        let Role::Leader(leading) = &self.role else { return };
        if self.entry_at(leading) > now.mono {
            return;
        }
        let interval = self.setup.timings.own.entry_interval.unwrap_or(u64::MAX);
        if let Role::Leader(leading) = &mut self.role {
            leading.entry_at = now.mono.saturating_add(interval);
        }
        self.state.log.push(self.state.term);
        for to in self.peers() {
            self.replicate(now, to);
        }
    }

    /// When a leader has to act next.
    pub(super) fn leads_on_at(&self, leading: &Leading) -> u64 {
        let hands_over = leading.hands_over.map_or(u64::MAX, |(_, until)| until);
        let believes = self.belief.map_or(u64::MAX, |belief| belief.valid_until);
        let kept = leading.heartbeat_at.min(self.quorum_until(leading));
        kept.min(self.entry_at(leading)).min(hands_over).min(believes)
    }

    /// When a leader without a majority has to step down.
    pub(super) fn quorum_until(&self, leading: &Leading) -> u64 {
        if !self.rules().check_quorum || self.servers() == 1 {
            return u64::MAX;
        }
        let time = if self.is_hashicorp() { self.setup.timings.lease_ttl } else { self.shortest() };
        leading.quorum_since().unwrap_or(0).max(leading.since).saturating_add(time)
    }

    /// Sends a follower its next entries, or a heartbeat if it has everything.
    fn replicate(&mut self, now: Now, to: NodeId) {
        let Role::Leader(leading) = &self.role else { return };
        let prev_index = leading.next[to.index()].max(1) - 1;
        let message = Message::AppendEntries {
            term: self.state.term,
            prev_index,
            prev_term: self.state.term_at(prev_index).unwrap_or(0),
            entries: self.state.log.after(prev_index),
            commit: self.commit,
            sent: now.mono,
        };
        self.send(to, message);
    }

    /// Handles a follower's answer.
    pub(super) fn appended(&mut self, now: Now, from: NodeId, term: Term, success: bool, index: Index, sent: u64) {
        if term > self.state.term {
            if matches!(self.role, Role::Leader(_)) {
                crate::mark!("raft-core: a follower's answer has a higher term than the leader");
            }
            return self.adopt(now, term);
        }
        let (last, own_term) = (self.state.last_index(), self.state.term);
        let from_answer = self.is_hashicorp() || self.setup.bugs.has(&LEASE_FROM_ANSWER);
        let counts_from = if from_answer { now.mono } else { sent };
        let Role::Leader(leading) = &mut self.role else { return };
        // The server sent nothing with a time in the future.
        if term < own_term || sent > now.mono {
            return;
        }
        leading.answered(from, counts_from);
        let place = from.index();
        if success {
            leading.matched[place] = leading.matched[place].max(index.min(last));
            leading.next[place] = leading.matched[place] + 1;
        } else {
            let back = leading.next[place].saturating_sub(1).min(index.saturating_add(1));
            leading.next[place] = back.max(leading.matched[place] + 1);
            self.replicate(now, from);
        }
        self.advance(now);
    }

    /// Commits what a majority has, once that includes an entry of this term (§5.4.2), and updates the belief.
    pub(super) fn advance(&mut self, now: Now) {
        self.answer_oneself(now);
        let Role::Leader(leading) = &self.role else { return };
        let reached = leading.majority_has();
        if reached >= leading.first {
            self.commit = self.commit.max(reached);
        }
        self.renew(now);
        self.go_on_handing_over(now);
    }

    /// How long this leader may believe as of now; `None`: not yet.
    fn believes_until(&self, leading: &Leading) -> Option<u64> {
        let rules = self.rules();
        let bound = match belief(&self.setup.timings) {
            // Its own vote has to be on disk; with others, the requests for votes are sent only then.
            _ if self.servers() == 1 => return (self.commit >= leading.first).then_some(u64::MAX),
            Some(bound) => bound,
            None => return Some(u64::MAX),
        };
        let from = match rules.leader_lease && !self.is_hashicorp() {
            true if self.commit < leading.first => return None,
            true => leading.quorum_since()?,
            // The votes count as a first round.
            false => leading.quorum_since().unwrap_or(0).max(leading.since),
        };
        Some(from.saturating_add(bound))
    }

    /// Begins or extends the belief, as far as a majority has acknowledged this leader.
    pub(super) fn renew(&mut self, now: Now) {
        let Role::Leader(leading) = &self.role else { return };
        let Some(valid_until) = self.believes_until(leading).filter(|until| *until > now.mono) else { return };
        let leadership = Leadership { token: self.state.term, valid_until };
        match self.belief {
            Some(belief) if belief.valid_until >= valid_until => {}
            Some(_) => {
                self.belief = Some(leadership);
                self.held.push(Output::Point(Point::Renewed));
                self.held.push(Output::Renewed(leadership));
            }
            // Acknowledged although its belief in this term has ended: it needs another term.
            None if leading.ended => self.hand_over(now, None),
            None => {
                self.belief = Some(leadership);
                self.campaigning = false;
                self.held.push(Output::Elected(leadership));
            }
        }
    }

    fn depose(&mut self, why: Deposed) {
        if self.belief.take().is_some() {
            self.held.push(Output::Deposed(why));
        }
        if let Role::Leader(leading) = &mut self.role {
            leading.ended = true;
        }
    }

    /// Becomes a follower without a leader.
    pub(super) fn step_down(&mut self, now: Now, why: Deposed) {
        self.depose(why);
        // A follower keeps its timeout.
        if !matches!(self.role, Role::Follower) {
            self.role = Role::Follower;
            self.wait_anew(now);
        }
        self.observe(None);
    }

    /// Ends the belief, and has another server stand at once: `to`, or the one with the longest log (§3.10).
    pub(super) fn hand_over(&mut self, now: Now, to: Option<NodeId>) {
        let patience = self.shortest();
        let Role::Leader(leading) = &mut self.role else { return };
        let to = to.filter(|to| to.index() < leading.matched.len()).or_else(|| leading.successor(self.setup.node));
        if self.belief.is_some() {
            self.held.push(Output::Point(Point::BeforeRelease));
        }
        match to {
            Some(to) if to != self.setup.node && leading.hands_over.is_none() => {
                leading.hands_over = Some((to, now.mono.saturating_add(patience)));
                if !self.setup.bugs.has(&LEASE_OUTLIVES_TRANSFER) {
                    self.depose(Deposed::Resigned);
                }
                self.go_on_handing_over(now);
            }
            Some(to) if to != self.setup.node => {}
            _ => self.step_down(now, Deposed::Resigned),
        }
    }

    /// Makes the successor stand once it has the whole log; before that nobody could vote for it.
    fn go_on_handing_over(&mut self, now: Now) {
        let Role::Leader(Leading { hands_over: Some((to, _)), matched, .. }) = &self.role else { return };
        let to = *to;
        if matched[to.index()] == self.state.last_index() {
            crate::mark!("raft-core: leadership is handed over");
            self.send(to, Message::TimeoutNow { term: self.state.term });
            match &mut self.role {
                // It leads, and appends, until it hears of the successor's term.
                Role::Leader(_) if self.setup.bugs.has(&WRITES_DURING_TRANSFER) => {}
                Role::Leader(leading) if self.setup.bugs.has(&LEASE_OUTLIVES_TRANSFER) => leading.hands_over = None,
                _ => self.step_down(now, Deposed::Resigned),
            }
        }
    }
}
