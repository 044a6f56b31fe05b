//! The code under test, which also runs in production: election protocols, the leader's work and the fenced store, as
//! cores without I/O and without a clock.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! This crate imports none of Fencepost's others, and does not know whether its world is simulated. `protocols-clients`
//! drives its cores and carries out their requests.
//!
//! A leader that was paused writes with the token of its election, but the resource has seen a higher one by then:
//!
//! ```
//! use protocols::{
//!     fence::ledger::{Fence, Ledger},
//!     message::{Write, WriteVerdict},
//!     types::{NodeId, Operation, Resource},
//! };
//!
//! let (paused, successor, client) = (NodeId(0), NodeId(1), NodeId(9));
//! let mut ledger = Ledger::new();
//! assert!(ledger.seal(paused, 1, 5));
//! let first = Write {
//!     resource: Resource::SEQUENCE,
//!     operation: Operation::Record,
//!     generation: 1,
//!     token: 5,
//!     seq: 1,
//!     read_version: 0,
//!     client,
//!     number: 1,
//!     payload: None,
//! };
//! assert_eq!(ledger.write(paused, &first), WriteVerdict::Ok);
//! // It is paused here. Its successor seals the resource before reading its state.
//! assert!(ledger.seal(successor, 1, 6));
//! let late = Write { seq: 2, read_version: 1, number: 2, ..first };
//! assert_eq!(ledger.write(paused, &late), WriteVerdict::Fenced { highest: 6 });
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`elector`], [`payload`] | what an election protocol is, and how its own types travel |
//! | [`election`] | the protocols, one file each, and what each promises under which hazard |
//! | [`service`] | coordination services as data: requests and answers |
//! | [`node`], [`work`] | a candidate: its elector, and its work while it leads |
//! | [`fence`] | the ledger that refuses former leaders, and the store of ledgers |
//! | [`copies`] | data without a common store: a copy on every candidate's node |
//! | [`sharding`] | which node should lead which of several groups, and how leadership gets there |
//! | [`core`], [`message`], [`load`] | the interface to drivers, the messages, and the clients |
//! | [`history`] | the events of a run: all that the judge sees |

pub mod address;
pub mod bench;
pub mod bug;
pub mod by_design;
pub mod clock;
pub mod copies;
pub mod core;
pub mod coverage;
pub mod division;
pub mod election;
pub mod elector;
pub mod error;
pub mod fence;
pub mod group;
pub mod history;
pub mod job_set;
pub mod known_bugs;
pub mod load;
pub mod message;
pub mod multiplexer;
pub mod news;
pub mod node;
pub mod parameter;
pub mod payload;
pub mod point;
pub mod random;
pub mod registry;
pub mod service;
pub mod sharding;
pub mod types;
pub mod work;
