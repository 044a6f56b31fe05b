//! Who lives, as far as one node knows: who has said so lately, and for long enough.

use crate::types::{MILLISECOND, NodeId, SECOND};

/// How often a node says that it lives, and looks whether what it leads is another's, nanoseconds.
pub const BEAT: u64 = 200 * MILLISECOND;
/// Who has said nothing for so long does not live, nanoseconds. It costs nothing to be wrong: nobody is deposed for it.
pub const SILENCE: u64 = SECOND;
/// Who has begun to say so is given something only after it has gone on for so long, nanoseconds: by then it stands in every
/// contest, and who comes and goes is left alone.
const PROVEN: u64 = SECOND;
/// Within so long after the last change every shard has been handed over where that is possible at all, nanoseconds: somebody
/// is missed or proven, and an order that was lost is given again.
pub const SETTLED_WITHIN: u64 = SILENCE + PROVEN + 2 * SECOND;

/// What one node has heard of the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct View {
    own: NodeId,
    /// Of each member: since when it says that it lives without a silence, and when it did last.
    heard: Vec<Option<(u64, u64)>>,
}

impl View {
    /// What the node of that number knows of so many members at its start: nothing.
    pub(super) fn new(own: NodeId, members: u16) -> Self {
        View { own, heard: vec![None; usize::from(members)] }
    }

    /// A member says that it lives.
    pub(super) fn heard(&mut self, member: NodeId, now: u64) {
        let Some(heard) = self.heard.get_mut(member.index()) else { return };
        let since = heard.filter(|(_, last)| now - last < SILENCE).map_or(now, |(since, _)| since);
        *heard = Some((since, now));
    }

    /// Does a member live, so that it may be given something?
    pub(super) fn lives(&self, member: NodeId, now: u64) -> bool {
        let proven = |(since, last): (u64, u64)| now - last < SILENCE && now - since >= PROVEN;
        member == self.own || self.heard.get(member.index()).copied().flatten().is_some_and(proven)
    }

    /// All others.
    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let own = self.own;
        (0..self.heard.len() as u16).map(NodeId).filter(move |member| *member != own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_heard_lives_and_who_comes_back_has_to_prove_it_again() {
        let [own, other] = [0, 1].map(NodeId);
        let mut view = View::new(own, 2);
        assert!(view.lives(own, 0) && !view.lives(other, 0));
        (0..=10).for_each(|beat| view.heard(other, beat * BEAT));
        assert!(view.lives(other, 10 * BEAT) && view.lives(other, 10 * BEAT + SILENCE - 1));
        assert!(!view.lives(other, 10 * BEAT + SILENCE));
        view.heard(other, 60 * BEAT);
        assert!(!view.lives(other, 60 * BEAT), "it was away");
        (61..=65).for_each(|beat| view.heard(other, beat * BEAT));
        assert!(view.lives(other, 65 * BEAT));
        view.heard(NodeId(7), 0);
        assert!(!view.lives(NodeId(7), 2 * SECOND), "there is no such member");
    }
}
