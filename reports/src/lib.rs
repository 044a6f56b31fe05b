//! What a run means: invariants and metrics that fold over its history as it happens, and the reports made of them.
//!
//! Nothing here knows how a run came about. A history streams through [`Judge`] from the simulation, from a file, or from
//! somebody's production log, and the verdict is the same.

pub mod invariant;
pub mod json;
pub mod judge;
pub mod judges;
pub mod known;
pub mod metrics;
pub mod plot;
pub mod statistics;
pub mod stories;
pub mod text;
pub mod timeline;

mod beliefs;
mod by_group;
mod by_resource;
mod cluster;
mod contest;
mod effects;
mod freshness;
mod reads;
mod requests;
mod words;

pub use judge::{Judge, Judgement, Verdict};
pub use judges::Judges;
pub use metrics::Metrics;
pub use words::Names;
