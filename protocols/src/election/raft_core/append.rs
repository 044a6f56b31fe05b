//! The follower's side of AppendEntries (figure 2).

use super::{
    RaftCore,
    message::{Index, Term},
    role::Role,
};
use crate::{clock::Now, elector::Deposed, types::NodeId};

impl RaftCore {
    /// Handles `from`'s claim to lead in `term`; returns whether this server follows.
    pub(super) fn follow(&mut self, now: Now, from: NodeId, term: Term) -> bool {
        // A term has one leader, so another server's claim is not valid.
        let leads_itself = term == self.state.term && matches!(self.role, Role::Leader(_));
        if term < self.state.term || leads_itself {
            return false;
        }
        self.adopt(now, term);
        if !matches!(self.role, Role::Follower) {
            self.step_down(now, Deposed::Lost);
        }
        self.campaigning = false;
        self.heard_at = Some(now.mono);
        if !self.is_hashicorp() {
            self.wait_anew(now);
        }
        self.observe(Some(from));
        true
    }

    /// Takes the leader's entries. Returns whether the log had the entry before them, and how far it agrees with the
    /// leader's, or else where it ends.
    pub(super) fn append(
        &mut self,
        prev_index: Index,
        prev_term: Term,
        entries: &[Term],
        commit: Index,
    ) -> (bool, Index) {
        let rises = entries.first().is_none_or(|first| *first >= prev_term)
            && entries.windows(2).all(|pair| pair[0] <= pair[1])
            && entries.last().is_none_or(|last| *last <= self.state.term);
        if self.state.term_at(prev_index) != Some(prev_term) || !rises {
            // Beyond the committed entries, the log may disagree anywhere.
            return (false, self.state.last_index().min(prev_index.saturating_sub(1)));
        }
        if self.state.append(prev_index, entries) {
            crate::mark!("raft-core: a log is cut back");
        }
        let matched = prev_index + entries.len() as Index;
        self.commit = self.commit.max(commit.min(matched));
        (true, matched)
    }
}
