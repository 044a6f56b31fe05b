//! Judges the log of a store or a service that someone else has written: JSON, YAML, EDN, tables or key=value pairs, with other
//! names for fields and values, times in any common notation, in one file or several.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! ```
//! # let file = std::env::temp_dir().join(format!("logs-doctest-{}.log", std::process::id()));
//! # std::fs::write(&file, "{\"ts\":1,\"pod\":\"a\",\"fence\":7,\"state\":\"DONE\"}\n{\"ts\":2,\"pod\":\"b\",\"fence\":8,\"state\":\"DONE\"}\n{\"ts\":3,\"pod\":\"a\",\"fence\":7,\"state\":\"DONE\"}\n").unwrap();
//! use logs::{Options, Unit, Verdict};
//!
//! let judged = Options::default()
//!     .map("t_us", "ts").map("node", "pod").map("token", "fence").map("verdict", "state")
//!     .word("verdict", "DONE", "ok")
//!     .set("resource", "orders")
//!     .times_in(Unit::S)
//!     .judge(&[file])?;
//! // Pod a wrote with token 7 after pod b had written with 8.
//! assert_eq!(judged.judgement.verdict, Verdict::Safety);
//! # Ok::<(), logs::LogError>(())
//! ```
//!
//! The options are those of `fencepost check`, and errors refer to them by those names.

mod advice;
mod answers;
mod apart;
mod called;
mod claim;
mod columns;
mod edn;
mod error;
mod guess;
mod judge;
mod key;
mod looks;
mod meaning;
mod merged;
mod messages;
mod notes;
mod opaque;
mod open;
mod options;
mod pattern;
mod preset;
mod question;
mod reading;
mod rows;
mod seen;
mod service;
mod source;
mod spans;
mod spare;
mod surveyed;
mod tail;
mod text;
mod times;
mod tokens;
mod translate;
mod unbegun;
mod unended;
mod values;
mod wrapped;
mod yaml;

pub use error::LogError;
pub use judge::{Asked, Judged};
pub use messages::Messages;
pub use notes::Notes;
pub use open::Input;
pub use options::Options;
pub use preset::{ALL as PRESETS, Message, Preset, Says, find as preset};
pub use reports::{Judgement, Verdict};
pub use source::Format;
pub use tail::Tail;
pub use values::Unit;

#[cfg(test)]
mod tests;
