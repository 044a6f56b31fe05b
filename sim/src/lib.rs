//! The simulated world, the models of coordination services in it, and everything that is done with runs. The command
//! line is in `sim-cli`, real processes are in `sim-real`; when that is built, only [`identity`] and [`parameters`]
//! remain of this crate.
//!
//! A plan states everything that will happen beforehand; a run carries it out and is judged as it goes. The same plan
//! always gives the same run:
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
//! | module | contents |
//! |---|---|
//! | `run` | one plan in, one judged run out |
//! | `registry` | everything that can be run; other crates add to it |
//! | `sweep`, `outcome` | many seeds on all cores, compared with the promises of protocols; how each run ended |
//! | `world`, `host` | the simulated world, and the executor of its tasks |
//! | `service` | models of the coordination services and of a fencing device |
//! | `determinism`, `bisect`, `election_times`, `ttl_sweep` | the measurements of the commands of these names |
//! | `advise` | the lease that meets an availability target |
//! | `assess` | whether a setting is safe under a hazard, and by what margin |
//! | `merge` | merges the shards of a sweep |
//! | `mutants` | after how many seeds known bugs are detected |
//! | `reduce` | the faults that a failure needs, and the smallest plan that fails the same way |
//! | `experiments` | questions, and the runs that answer them |
//! | `shown` | whether a run shows a bug, and how many runs of a sweep do |
//! | `artifacts`, `repro`, `identity` | the files of a failing run, and how to repeat it |
//!
//! Only this crate names madsim, and within it only [`host`]. This file is the mode guard: no other file asks what is
//! built.

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
