//! The rule that places shards, and the consistent hash ring behind it.

use crate::types::NodeId;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Which of the live members should lead a shard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The next member on a consistent hash ring.
    Ring,
    /// The live member at the shard's number modulo their count. Its defect is the reason for rings: a change of the
    /// count moves nearly all shards.
    Modulo,
}

impl Placement {
    pub const ALL: [Placement; 2] = [Placement::Ring, Placement::Modulo];

    /// Its name in plans and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Placement::Ring => "ring",
            Placement::Modulo => "modulo",
        }
    }
}

/// A rule, and the members among which it places shards.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Places {
    placement: Placement,
    pub(super) ring: Ring,
    members: u16,
}

impl Places {
    /// Places for members with these names, by [`NodeId`].
    pub fn new<S: AsRef<str>>(placement: Placement, names: &[S]) -> Self {
        Places { placement, ring: Ring::new(names), members: names.len() as u16 }
    }

    /// The member that should lead a shard, given which are alive; `None` if none is.
    pub fn owner(&self, shard: u16, lives: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        match self.placement {
            Placement::Ring => self.ring.order(shard).find(|member| lives(*member)),
            Placement::Modulo => {
                let living: Vec<NodeId> = (0..self.members).map(NodeId).filter(|member| lives(*member)).collect();
                let place = usize::from(shard).checked_rem(living.len())?;
                living.get(place).copied()
            }
        }
    }

    /// How many of `shards` shards change owners between two sets of live members.
    pub fn moved(&self, shards: u16, before: impl Fn(NodeId) -> bool, after: impl Fn(NodeId) -> bool) -> u64 {
        (0..shards).filter(|shard| self.owner(*shard, &before) != self.owner(*shard, &after)).count() as u64
    }
}

// A consistent hash ring (Karger et al., "Consistent Hashing and Random Trees", STOC 1997): members and shards are
// hashed onto a circle, and a shard belongs to the next live member clockwise. Each member has several points (the
// virtual nodes of Dynamo, DeCandia et al., SOSP 2007, §6.2), so that members have roughly equal shares, and the share
// of one that leaves is spread over all others.
//
// When a member leaves, only its own shards move; when one joins, it takes its own, about one in n, and nothing else
// moves. With few shards the shares are uneven: that is the price, and bounded loads (Mirrokni, Thorup and
// Zadimoghaddam, 2018) would reduce it at the cost of a few more moves.

/// Points per member. With this many, a member's share is off by about a tenth; with four, by half.
pub const POINTS: u32 = 128;

/// The members' points on the circle.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ring {
    /// Points and their members, in the circle's order.
    points: Vec<(u64, NodeId)>,
}

impl Ring {
    /// The ring for members with these names, by [`NodeId`]. A name has the same points on every node, whatever the
    /// other members.
    pub fn new<S: AsRef<str>>(names: &[S]) -> Self {
        let of_member = |(member, name): (usize, &S)| {
            let name = name.as_ref().to_owned();
            (0..POINTS).map(move |point| (xxh3_64(format!("{name}#{point}").as_bytes()), NodeId(member as u16)))
        };
        let mut points: Vec<_> = names.iter().enumerate().flat_map(of_member).collect();
        points.sort_unstable();
        Ring { points }
    }

    /// All members in a shard's order of preference; some repeatedly.
    pub fn order(&self, shard: u16) -> impl Iterator<Item = NodeId> + '_ {
        let at = xxh3_64(format!("shard {shard}").as_bytes());
        let first = self.points.partition_point(|(point, _)| *point < at);
        let (before, after) = self.points.split_at(first);
        after.iter().chain(before).map(|(_, member)| *member)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Placement, Places},
        *,
    };
    use proptest::prelude::*;

    fn names(count: u16) -> Vec<String> {
        (1..=count).map(|number| format!("n{number}")).collect()
    }

    /// The number of shards of each member.
    fn shares(members: u16, shards: u16) -> Vec<u64> {
        let places = Places::new(Placement::Ring, &names(members));
        let mut shares = vec![0; usize::from(members)];
        (0..shards).filter_map(|shard| places.owner(shard, |_| true)).for_each(|owner| shares[owner.index()] += 1);
        shares
    }

    #[test]
    fn shares_are_about_equal() {
        for members in 2..=9 {
            let (shares, fair) = (shares(members, 10_000), 10_000.0 / f64::from(members));
            for share in &shares {
                let off = *share as f64 / fair;
                assert!((0.7..1.35).contains(&off), "{members} members have {shares:?}, fair is {fair}");
            }
        }
    }

    /// A change of the hash, or of the format of names, would move every shard of every fleet.
    #[test]
    fn places_stay_where_they_are() {
        let places = Places::new(Placement::Ring, &names(5));
        let owners: Vec<u16> = (0..16).filter_map(|shard| places.owner(shard, |_| true)).map(|owner| owner.0).collect();
        assert_eq!(owners, PLACED);
    }

    const PLACED: [u16; 16] = [1, 4, 1, 0, 2, 4, 3, 0, 3, 1, 3, 2, 0, 3, 2, 4];

    proptest! {
        /// When a member leaves, only its shards move, and it gets exactly those back. A handover between views goes up
        /// the shard's order, so differing views cannot pass it around in circles.
        #[test]
        fn little_moves_and_never_in_circles(members in 2u16..10, gone in 0u16..10, a in any::<u16>(), b in any::<u16>()) {
            let places = Places::new(Placement::Ring, &names(members));
            let gone = NodeId(gone % members);
            for shard in 0..200 {
                let before = places.owner(shard, |_| true);
                let after = places.owner(shard, |member| member != gone);
                prop_assert!(after != Some(gone) && (before == after || before == Some(gone)));
                let sees = |view: u16| move |member: NodeId| view >> member.0 & 1 == 1;
                let order = |node: NodeId| places.ring.order(shard).position(|member| member == node);
                // A leader hands over by its own view, in which it is alive; so does its successor.
                let first = NodeId(a % members);
                let second = places.owner(shard, |m| m == first || sees(a)(m)).unwrap();
                let third = places.owner(shard, |m| m == second || sees(b)(m)).unwrap();
                prop_assert!(order(second) <= order(first) && order(third) <= order(second));
            }
        }

        /// For comparison with the ring: a different number of members moves most shards.
        #[test]
        fn a_modulo_moves_most(members in 4u16..10, gone in 0u16..10) {
            let [ring, modulo] = [Placement::Ring, Placement::Modulo].map(|rule| Places::new(rule, &names(members)));
            let gone = NodeId(gone % members);
            let moved = |places: &Places| places.moved(1_000, |_| true, |member| member != gone);
            prop_assert!(moved(&ring) < 1_000 * 14 / (10 * u64::from(members)), "{}", moved(&ring));
            prop_assert!(moved(&modulo) > 600, "{}", moved(&modulo));
        }
    }
}
