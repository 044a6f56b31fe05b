//! Where it runs: the simulated world, the models of coordination services in it, and what can be done with runs. The
//! command line is another crate's, `sim-cli`; real processes are `sim-real`'s. In their build
//! only [`identity`] and [`parameters`] are left of this crate.
//!
//! A plan says everything that will happen, before anything does; a run carries it out and is judged while it happens; the
//! same plan always gives the same run:
//!
//! ```
//! use scenarios::{Params, scenario};
//! use sim::run::{self, Options};
//!
//! let story = scenario::find("gc-pause").expect("a scenario");
//! let protocol = protocols::election::find("etcd-election").expect("a protocol");
//! let plan = story.compile(&Params::default(), protocol, 42)?;
//! let run = run::run(&plan, Options::default())?;
//! assert_eq!(run.judgement.verdict, reports::Verdict::Pass);
//! // Two believed at once, and the store let only one of them write.
//! assert!(run.judgement.metrics.leaders_believing_max > 1);
//! assert_eq!(run.judgement.metrics.leaders_acting_by_effect_max, 1);
//! # Ok::<(), sim::error::Failed>(())
//! ```
//!
//! | module | has |
//! |---|---|
//! | `run` | one plan in, one judged run out |
//! | `registry` | what there is to run, to which other crates add |
//! | `sweep`, `outcome` | many seeds on all cores, held to what protocols promise; how each of them ended |
//! | `world`, `host` | the simulated world, and what runs its tasks |
//! | `service` | etcd, Redis and a power device as they answer in that world |
//! | `determinism`, `bisect`, `election_times`, `ttl_sweep` | what the commands of these names measure |
//! | `advise` | which lease serves an availability target |
//! | `assess` | whether a setting is safe under a hazard, and by what margin |
//! | `merge` | one result of the shards of a sweep |
//! | `mutants` | after how many seeds known bugs are detected |
//! | `reduce` | what it takes for a plan to fail, and the smallest plan that fails the same way |
//! | `experiments` | what is asked of all of this, and the runs that answer it |
//! | `shown` | whether a run shows a bug, and how many of a sweep do |
//! | `artifacts`, `repro`, `identity` | what a failing run leaves, and how to repeat it |
//!
//! Only this crate names madsim, and only [`host`] does. This file is the mode guard: no other one asks what is built.

#[cfg(not(any(madsim, real_mode)))]
compile_error!(
    "build with `cargo run` or `cargo test` from within the repository, and without an exported RUSTFLAGS: \
     .cargo/config.toml sets the flags that the simulation needs"
);

pub mod identity;
pub mod parameters;

#[cfg(madsim)]
pub mod advise;
#[cfg(madsim)]
pub mod artifacts;
#[cfg(madsim)]
pub mod assess;
#[cfg(madsim)]
pub mod baseline;
#[cfg(madsim)]
pub mod bisect;
#[cfg(madsim)]
pub mod canary;
#[cfg(madsim)]
pub mod determinism;
#[cfg(madsim)]
pub mod election_times;
#[cfg(madsim)]
pub mod error;
#[cfg(madsim)]
pub mod exact;
#[cfg(madsim)]
pub mod experiments;
#[cfg(madsim)]
pub mod fleet;
#[cfg(madsim)]
pub mod frontier;
#[cfg(madsim)]
pub mod host;
#[cfg(madsim)]
pub mod interrupt;
#[cfg(madsim)]
pub mod known;
#[cfg(madsim)]
pub mod matrix;
#[cfg(madsim)]
pub mod merge;
#[cfg(madsim)]
pub mod mutants;
#[cfg(madsim)]
pub mod outcome;
#[cfg(madsim)]
pub mod pool;
#[cfg(madsim)]
pub mod probe;
#[cfg(madsim)]
pub mod promise;
#[cfg(madsim)]
pub mod recorder;
#[cfg(madsim)]
pub mod reduce;
#[cfg(madsim)]
pub mod registry;
#[cfg(madsim)]
pub mod repro;
#[cfg(madsim)]
pub mod run;
#[cfg(madsim)]
pub mod seeds;
#[cfg(madsim)]
pub mod service;
#[cfg(madsim)]
pub mod shown;
#[cfg(madsim)]
pub mod swarm;
#[cfg(madsim)]
pub mod sweep;
#[cfg(madsim)]
pub mod ttl_sweep;
#[cfg(madsim)]
pub mod words;
#[cfg(madsim)]
pub mod world;
