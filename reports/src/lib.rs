//! Judges runs: invariants and metrics that fold over a history as it streams, and the reports made of them.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! Nothing here depends on how a run came about. A history streams through [`Judge`] from the simulation, from a file,
//! or from a production log, and the verdict is the same.
//!
//! ```
//! use protocols::history::{Sink, json::Reader};
//! use reports::{Judge, Names, Verdict};
//!
//! // `a` wrote with token 5 after the resource had accepted token 7, and the store took it.
//! let log = r#"{"t_us":1,"event":"apply","resource":"sequence","node":"a","token":5,"seq":1,"verdict":"ok"}
//! {"t_us":2,"event":"apply","resource":"sequence","node":"b","token":7,"seq":2,"verdict":"ok"}
//! {"t_us":3,"event":"apply","resource":"sequence","node":"a","token":5,"seq":3,"verdict":"ok"}
//! "#;
//! let mut judge = Judge::new(None);
//! for event in Reader::new(log.as_bytes())? {
//!     judge.record(&event?);
//! }
//! let judgement = judge.finish();
//! assert_eq!(judgement.verdict, Verdict::Safety);
//! assert!(judgement.violated().any(|name| name == "no_stale_write"));
//! # Ok::<(), protocols::history::json::ReadError>(())
//! ```

pub mod agreement;
pub mod cause;
pub mod experiments;
pub mod index;
pub mod invariant;
pub mod json;
pub mod judge;
pub mod judges;
pub mod known;
pub mod metrics;
pub mod plot;
pub mod specification;
pub mod statistics;
pub mod text;
pub mod timeline;

mod beliefs;
pub mod by_group;
mod by_resource;
mod clock;
mod cluster;
mod contest;
mod copies;
mod course;
mod effects;
mod freshness;
mod phrases;
mod requests;
mod said;
mod shards;
mod words;
mod works;

pub use cause::Cause;
pub use clock::Clock;
pub use judge::{Judge, Judgement, Verdict};
pub use judges::Judges;
pub use metrics::Metrics;
pub use said::{Said, Sentence};
pub use shards::{Change, ShardFigures};
pub use words::Names;
