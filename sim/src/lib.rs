//! The simulated world, the models of coordination services in it, and everything that is done with runs. The command
//! line is in `sim-cli`, real processes are in `sim-real`; when that is built, only [`identity`] and [`parameters`]
//! remain of this crate.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
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
//! built, but for [`host`], which asks who provides the clock.

#[cfg(not(any(
    madsim,
    real_mode,
    all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))
)))]
compile_error!(
    "without `--cfg madsim`, the simulation runs on Linux with glibc only, on x86-64 and ARM64; within the repository, \
     .cargo/config.toml sets it, unless RUSTFLAGS is exported"
);

pub mod identity;
pub mod parameters;

#[cfg(not(real_mode))]
pub mod advise;
#[cfg(not(real_mode))]
pub mod artifacts;
#[cfg(not(real_mode))]
pub mod assess;
#[cfg(not(real_mode))]
pub mod baseline;
#[cfg(not(real_mode))]
pub mod bisect;
#[cfg(not(real_mode))]
pub mod canary;
#[cfg(not(real_mode))]
pub mod determinism;
#[cfg(not(real_mode))]
pub mod election_times;
#[cfg(not(real_mode))]
pub mod error;
#[cfg(not(real_mode))]
pub mod exact;
#[cfg(not(real_mode))]
pub mod experiments;
#[cfg(not(real_mode))]
pub mod fleet;
#[cfg(not(real_mode))]
pub mod frontier;
#[cfg(not(real_mode))]
pub mod host;
#[cfg(not(real_mode))]
pub mod interrupt;
#[cfg(not(real_mode))]
pub mod known;
#[cfg(not(real_mode))]
pub mod matrix;
#[cfg(not(real_mode))]
pub mod merge;
#[cfg(not(real_mode))]
pub mod mutants;
#[cfg(not(real_mode))]
pub mod outcome;
#[cfg(not(real_mode))]
pub mod pool;
#[cfg(not(real_mode))]
pub mod probe;
#[cfg(not(real_mode))]
pub mod program;
#[cfg(not(real_mode))]
pub mod promise;
#[cfg(not(real_mode))]
pub mod recorder;
#[cfg(not(real_mode))]
pub mod reduce;
#[cfg(not(real_mode))]
pub mod registry;
#[cfg(not(real_mode))]
pub mod repro;
#[cfg(not(real_mode))]
pub mod run;
#[cfg(not(real_mode))]
pub mod seeds;
#[cfg(not(real_mode))]
pub mod service;
#[cfg(not(real_mode))]
pub mod shown;
#[cfg(not(real_mode))]
pub mod swarm;
#[cfg(not(real_mode))]
pub mod sweep;
#[cfg(not(real_mode))]
pub mod ttl_sweep;
#[cfg(not(real_mode))]
pub mod words;
#[cfg(not(real_mode))]
pub mod world;
