//! The rule by which shards are placed.

use super::ring::Ring;
use crate::types::NodeId;
use serde::{Deserialize, Serialize};

/// Which of the members that live should lead a shard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The next one on a consistent hash ring.
    Ring,
    /// The shard's number modulo how many live counts them off. What it does wrong is why there are rings: another number
    /// moves nearly all.
    Modulo,
}

impl Placement {
    /// Both.
    pub const ALL: [Placement; 2] = [Placement::Ring, Placement::Modulo];

    /// Its word in plans and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Placement::Ring => "ring",
            Placement::Modulo => "modulo",
        }
    }
}

/// A rule, and the members that it may place shards at.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Places {
    placement: Placement,
    pub(super) ring: Ring,
    members: u16,
}

impl Places {
    /// Places at members of these names, by [`NodeId`].
    pub fn new<S: AsRef<str>>(placement: Placement, names: &[S]) -> Self {
        Places { placement, ring: Ring::new(names), members: names.len() as u16 }
    }

    /// Who should lead a shard while these live; nobody when nobody does.
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

    /// How many of so many shards have another owner after the members that live have changed.
    pub fn moved(&self, shards: u16, before: impl Fn(NodeId) -> bool, after: impl Fn(NodeId) -> bool) -> u64 {
        (0..shards).filter(|shard| self.owner(*shard, &before) != self.owner(*shard, &after)).count() as u64
    }
}
