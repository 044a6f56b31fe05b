//! Which node should lead which shard, and how leadership gets there. A shard is a group: a contest for one leadership, with
//! tokens, resources and clients of its own.
//!
//! Everybody stands in every contest, so that a shard whose place is empty has a leader as soon as its protocol elects one.
//! Where it *should* be led follows from the names of the members that live ([`Placement`]), so that nobody has to be asked.
//! Each node says to all others that it lives, and hands over what it leads and another should: work first, to a named
//! successor. That is Kafka's way of putting leadership back (`auto.leader.rebalance.enable`: whoever is in sync may take over,
//! and the preferred replica is elected again later; Kafka's documentation, "Balancing leadership"), with the placement of
//! client-side rings (Ringpop; Cortex' and Loki's `dskit`) instead of a controller's. Slicer (Adya et al., "Slicer: Auto-Sharding
//! for Datacenter Applications", OSDI 2016, §4) and Helix (Gopalakrishna et al., "Untangling Cluster Management with Helix",
//! SoCC 2012) have a central assigner: theirs can look at the load, and has to be elected itself.
//!
//! Nodes may see different members. Then two may think that a shard is theirs, and only one leads it: leadership comes from the
//! election alone, the fencing token from there, and a view never makes anybody a leader. Nor can nodes with different views
//! pass a shard around in circles: on the ring each shard has one order of preference, whoever lives, and whoever hands over
//! hands over to somebody who stands before itself in that.
//!
//! | file | has |
//! |---|---|
//! | `placement.rs` | the rule by which shards are placed |
//! | `ring.rs` | the consistent hash ring |
//! | `view.rs` | who lives, as far as one node knows |
//! | `sharded.rs` | a node's groups, and who hands over what, as one core |
//! | `drill.rs` | who is given what, which sweeps look at before anything else |

pub mod drill;
mod placement;
mod ring;
mod sharded;
mod view;

pub use placement::{Placement, Places};
pub use ring::{POINTS, Ring};
pub use sharded::Sharded;
pub use view::{BEAT, SETTLED_WITHIN, SILENCE};
