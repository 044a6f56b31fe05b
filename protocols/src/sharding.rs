//! Which node should lead which shard, and how leadership gets there. A shard is a group: a contest for one leadership,
//! with its own tokens, resources and clients.
//!
//! All nodes stand in all contests, so that a vacant shard has a leader as soon as its protocol elects one. Where the
//! shard *should* be led follows from the names of the live members ([`Placement`]), without asking anybody. Each node
//! tells all others that it is alive, and hands over what it leads but another should: after its work, to a named
//! successor. That is how Kafka restores leadership (`auto.leader.rebalance.enable`: any replica in sync may take over,
//! and the preferred replica is re-elected later; Kafka's documentation, "Balancing leadership"), but with the
//! placement of client-side rings (Ringpop; Cortex' and Loki's `dskit`) rather than a controller's. Slicer (Adya et
//! al., "Slicer: Auto-Sharding for Datacenter Applications", OSDI 2016, §4) and Helix (Gopalakrishna et al.,
//! "Untangling Cluster Management with Helix", SoCC 2012) have a central assigner, which can consider the load but must
//! be elected itself.
//!
//! Nodes may see different members. Then two may consider a shard theirs, but only one leads it: leadership and fencing
//! token come from the election alone, and a view never makes a node a leader. Nor can nodes with different views pass
//! a shard around in circles: on the ring each shard has a single order of preference, whichever members are alive, and
//! a handover always goes to a member that precedes the sender in that order.
//!
//! | file | content |
//! |---|---|
//! | `placement.rs` | the rule that places shards, and the consistent hash ring |
//! | `view.rs` | the live members as known to one node; the laws of placement, which sweeps check before all else |
//! | `sharded.rs` | a node's groups and their handovers, as one core |

mod placement;
mod sharded;
pub mod view;

pub use placement::{POINTS, Placement, Places, Ring};
pub use sharded::Sharded;
pub use view::{BEAT, SETTLED_WITHIN, SILENCE};
