//! The rule that places shards.

use super::ring::Ring;
use crate::types::NodeId;
use serde::{Deserialize, Serialize};

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
