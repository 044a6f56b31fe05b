//! Data without a common store: every candidate's node keeps a copy of its own, as a database with a promoted replica does.
//! The leader writes to the copy on its own node, and that is replicated to the others.
//!
//! A copy is a log of what its resources took, and the ledgers that follow from it. Each leadership writes a *timeline* that
//! begins where the log of its copy ended when it was promoted; so two copies that have an entry of one leadership at one
//! place are the same up to there. A copy whose log goes another way is rewound to where it parted, which is what `pg_rewind`
//! does to a former primary (PostgreSQL 16, reference, pg_rewind), and how Raft repairs followers (Ongaro and Ousterhout, "In
//! Search of an Understandable Consensus Algorithm", 2014, §5.3).
//!
//! | file | has |
//! |---|---|
//! | `mode.rs` | when a copy acknowledges |
//! | `log.rs` | the log of one copy, with its ledgers, and where two logs part |
//! | `message.rs` | what copies say to each other |
//! | `follower.rs` | what becomes of a log when a primary's entries come |
//! | `primary.rs` | what the leader's copy knows of the others |
//! | `taking_over.rs` | what a leader's copy has to ask the others first, where a majority decides |
//! | `replica.rs`, `refusal.rs` | one copy, and what it tells a leader whose time is over |
//! | `holder.rs` | a candidate and its copy, as one core |
//! | `drill.rs` | copies in trouble, which sweeps run before anything else |

pub mod drill;
mod follower;
mod holder;
mod log;
mod message;
mod mode;
mod primary;
mod refusal;
mod replica;
mod taking_over;

pub use holder::{Holder, Seat};
pub use log::{Disk, Durable};
pub use mode::Copies;
