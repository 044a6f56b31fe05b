//! Data without a common store: every candidate's node keeps its own copy, like a database with a promoted replica. The
//! leader writes to the copy on its own node, which is replicated to the others.
//!
//! A copy is a log of its resources' changes, and the ledgers derived from it. Each leadership writes a *timeline* that
//! begins where its copy's log ended at the promotion, so if two copies have entries of the same leadership at the same
//! place, they agree up to there. A copy whose log diverges is rewound to the last common place, as `pg_rewind` does
//! with a former primary (PostgreSQL 16, reference, pg_rewind) and as Raft repairs followers (Ongaro and Ousterhout,
//! "In Search of an Understandable Consensus Algorithm", 2014, §5.3).
//!
//! | file | content |
//! |---|---|
//! | `mode.rs` | when a copy acknowledges |
//! | `log.rs` | a copy's log with its ledgers, and where two logs diverge |
//! | `message.rs` | the messages between copies |
//! | `primary.rs` | what the leader's copy knows of the others, and how these apply its entries |
//! | `taking_over.rs` | what a leader's copy asks first in majority mode, and a copy's answers to a deposed one |
//! | `guard.rs` | LeaseGuard: leases for reads, from the log |
//! | `replica.rs` | one copy; `replica/committing.rs`: what it decides and when that is committed |
//! | `holder.rs` | a candidate and its copy, as one core |
//! | `drill.rs` | copies under faults, which sweeps run before anything else |

pub mod drill;
mod guard;
mod holder;
mod log;
mod message;
mod mode;
mod primary;
mod replica;
mod taking_over;

pub use guard::{Guard, UNEQUAL_LEASES};
pub use holder::{Holder, Seat};
pub use log::{Disk, Durable};
pub use mode::Copies;
