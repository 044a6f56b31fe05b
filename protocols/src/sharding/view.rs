//! The live members as known to one node, and the laws of placement among them.

use super::placement::{Placement, Places};
use crate::types::{MILLISECOND, NodeId, SECOND};

/// How often a node announces that it is alive, and checks whether others should lead its shards, nanoseconds.
pub const BEAT: u64 = 200 * MILLISECOND;
/// A member silent for this long counts as dead, nanoseconds. An error does little harm: nobody is deposed for it.
pub const SILENCE: u64 = SECOND;
/// How long a new member must be heard from before it gets shards, nanoseconds: by then it stands in every contest, and
/// members that come and go are left alone.
const PROVEN: u64 = SECOND;
/// How soon after the last change all shards that can be handed over have been, nanoseconds: a member has become missed
/// or proven, and a lost order has been repeated.
pub const SETTLED_WITHIN: u64 = SILENCE + PROVEN + 2 * SECOND;

/// What a node has heard from the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct View {
    own: NodeId,
    /// By member: since when it has been heard without a gap, and when last.
    heard: Vec<Option<(u64, u64)>>,
}

impl View {
    /// The view of node `own` among `members` at its start.
    pub(super) fn new(own: NodeId, members: u16) -> Self {
        View { own, heard: vec![None; usize::from(members)] }
    }

    /// Records a member's announcement.
    pub(super) fn heard(&mut self, member: NodeId, now: u64) {
        let Some(heard) = self.heard.get_mut(member.index()) else { return };
        let since = heard.filter(|(_, last)| now - last < SILENCE).map_or(now, |(since, _)| since);
        *heard = Some((since, now));
    }

    /// Whether a member is alive, and so may get shards.
    pub(super) fn lives(&self, member: NodeId, now: u64) -> bool {
        let proven = |(since, last): (u64, u64)| now - last < SILENCE && now - since >= PROVEN;
        member == self.own || self.heard.get(member.index()).copied().flatten().is_some_and(proven)
    }

    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let own = self.own;
        (0..self.heard.len() as u16).map(NodeId).filter(move |member| *member != own)
    }
}

// The laws of placement: how long a member must be heard, and may be silent; and that a shard moves only when its
// owner comes or goes. Sweeps run [`drill`] before anything else.

/// Checks the laws.
///
/// # Panics
/// If one is broken; the message says which.
pub fn drill() {
    heard_for_a_second();
    only_what_is_gone_moves();
}

/// A member owns shards from a second after it was first heard from until a second after it was last heard from.
fn heard_for_a_second() {
    let ms = |ms: u64| 10_000 * MILLISECOND + ms * MILLISECOND;
    let [own, other] = [0, 1].map(NodeId);
    let mut view = View::new(own, 2);
    assert!(view.lives(own, 0), "whoever looks lives");
    for at in (0..=2_000).step_by(200) {
        view.heard(other, ms(at));
        assert_eq!(view.lives(other, ms(at)), at >= 1_000, "heard of for {at} ms");
    }
    assert!(view.lives(other, ms(2_999)), "silent for 999 ms");
    assert!(!view.lives(other, ms(3_000)), "silent for a second");
    for at in (3_400..=5_000).step_by(200) {
        view.heard(other, ms(at));
        assert_eq!(view.lives(other, ms(at)), at >= 4_400, "heard of again for {} ms", at - 3_400);
    }
}

/// A shard's owner stays the same when other members come or go.
fn only_what_is_gone_moves() {
    let places = Places::new(Placement::Ring, &["a", "b", "c", "d", "e"]);
    for shard in 0..40 {
        let owner = |gone: &[NodeId]| places.owner(shard, |member| !gone.contains(&member)).expect("somebody lives");
        let all = owner(&[]);
        for gone in (0..5).map(NodeId) {
            let without = owner(&[gone]);
            assert!(without == all || gone == all, "shard {shard} moves though {all:?} is there");
            assert!(owner(&[gone, without]) != without, "shard {shard} is given to who has gone");
        }
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
