//! The simulated world, the models of coordination services in it, and everything that is done with runs. The command
//! line is in `sim-cli`, real processes are in `sim-real`. Without the feature `simulation`, only [`identity`] and
//! [`parameters`] remain of this crate: `cargo real` needs no more.
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
//! | `nightly` | nights of a swarm: earlier failures, a canary, new seeds |
//! | `reduce` | the faults that a failure needs, and the smallest plan that fails the same way |
//! | `experiments` | questions, and the runs that answer them |
//! | `shown` | whether a run shows a bug, and how many runs of a sweep do |
//! | `artifacts`, `repro`, `identity` | the files of a failing run, and how to repeat it |
//!
//! Only this crate names madsim, and within it only [`host`]. No other file asks what is built, but for [`host`], which
//! asks who provides the clock.

#[cfg(not(any(
    madsim,
    not(feature = "simulation"),
    all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))
)))]
compile_error!(
    "without `--cfg madsim`, the simulation runs on Linux with glibc only, on x86-64 and ARM64; within the repository, \
     .cargo/config.toml sets it, unless RUSTFLAGS is exported"
);

pub mod identity;
pub mod parameters;

#[cfg(feature = "simulation")]
pub mod advise;
#[cfg(feature = "simulation")]
pub mod artifacts;
#[cfg(feature = "simulation")]
pub mod assess;
#[cfg(feature = "simulation")]
pub mod baseline;
#[cfg(feature = "simulation")]
pub mod bisect;
#[cfg(feature = "simulation")]
pub mod canary;
#[cfg(feature = "simulation")]
pub mod determinism;
#[cfg(feature = "simulation")]
pub mod election_times;
#[cfg(feature = "simulation")]
pub mod error;
#[cfg(feature = "simulation")]
pub mod exact;
#[cfg(feature = "simulation")]
pub mod exhaustive;
#[cfg(feature = "simulation")]
pub mod experiments;
#[cfg(feature = "simulation")]
pub mod fleet;
#[cfg(feature = "simulation")]
pub mod frontier;
#[cfg(feature = "simulation")]
pub mod host;
#[cfg(feature = "simulation")]
pub mod interrupt;
#[cfg(feature = "simulation")]
pub mod known;
#[cfg(feature = "simulation")]
pub mod matrix;
#[cfg(feature = "simulation")]
pub mod merge;
#[cfg(feature = "simulation")]
pub mod mutants;
#[cfg(feature = "simulation")]
pub mod nightly;
#[cfg(feature = "simulation")]
pub mod outcome;
#[cfg(feature = "simulation")]
pub mod pool;
#[cfg(feature = "simulation")]
pub mod probe;
#[cfg(feature = "simulation")]
pub mod program;
#[cfg(feature = "simulation")]
pub mod promise;
#[cfg(feature = "simulation")]
pub mod recorder;
#[cfg(feature = "simulation")]
pub mod reduce;
#[cfg(feature = "simulation")]
pub mod registry;
#[cfg(feature = "simulation")]
pub mod repro;
#[cfg(feature = "simulation")]
pub mod run;
#[cfg(feature = "simulation")]
pub mod seeds;
#[cfg(feature = "simulation")]
pub mod service;
#[cfg(feature = "simulation")]
pub mod shown;
#[cfg(feature = "simulation")]
pub mod swarm;
#[cfg(feature = "simulation")]
pub mod sweep;
#[cfg(feature = "simulation")]
pub mod ttl_sweep;
#[cfg(feature = "simulation")]
pub mod words;
#[cfg(feature = "simulation")]
pub mod world;
