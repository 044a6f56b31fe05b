//! The laws of placement: how long a member must be heard, and may be silent; and that a shard moves only when its
//! owner comes or goes. Sweeps run [`drill`] before anything else.

use super::{
    placement::{Placement, Places},
    view::View,
};
use crate::types::{MILLISECOND, NodeId};

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
