//! Merges the shards of a sweep into the result that the whole sweep would have given.
//!
//! Medians cannot be merged, so each shard saves all the values behind them in [`FILE`].

use crate::{
    baseline::Unreadable,
    identity::identity,
    known,
    outcome::{Failure, telling},
    registry::Registry,
    repro,
    shown::{self, Part},
    swarm::{Drawn, Swarm, Swept},
    sweep::{Cell, Compared, Outcome, Raw, Sweep},
};
use protocols::fence::checks::Fencing;
use scenarios::{Params, plan::SWARM, registry::Missing};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

/// Why shards cannot be merged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    #[error("cannot read {file}: {why}; a complete `sweep … --shard I/N --out DIR` leaves one", file = file.display())]
    Unread { file: PathBuf, why: String },
    #[error("{file} {why}", file = file.display())]
    NoShard { file: PathBuf, why: String },
    #[error("{0}")]
    Apart(String),
    #[error(transparent)]
    Bug(#[from] Missing),
    #[error(transparent)]
    Baseline(#[from] Unreadable),
}

/// A shard's file for merging, in its folder.
pub const FILE: &str = "shard.json";
/// The error if no folder is given.
const NO_SHARDS: &str = "give the folders of the shards";
/// The version of that format.
const SCHEMA: u32 = 2;

/// What a sweep was asked to do. Shards that differ in this belong to different sweeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub version: String,
    pub commit: String,
    /// Whether there were uncommitted changes.
    pub dirty: bool,
    /// The compiler, the target and the hash of Cargo.lock; schema 1 had none.
    #[serde(default)]
    pub build: [String; 3],
    pub scenarios: Vec<String>,
    pub protocols: Vec<String>,
    /// The numbers of candidates.
    pub nodes: Vec<u16>,
    pub fencing: Fencing,
    /// Requests per second.
    pub rate: u64,
    pub bug: Option<String>,
    /// All options, as on a command line.
    pub options: String,
    /// The seeds, all other options, and what is compared with the baseline.
    pub compared: Compared,
}

/// The cost of a sweep or a shard.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Took {
    /// The number of runs planned.
    pub runs_planned: u64,
    /// Wall-clock time, in seconds.
    pub wall_s: f64,
    /// The number of parallel runs.
    pub jobs: u64,
    /// Time summed over all cores, in seconds.
    pub core_s: f64,
}

impl Asked {
    pub fn of(sweep: &Sweep) -> Asked {
        Asked {
            scenarios: sweep.scenarios.iter().map(|scenario| scenario.name.to_owned()).collect(),
            protocols: sweep.protocols.iter().map(|protocol| protocol.name.to_owned()).collect(),
            nodes: sweep.sizes.numbers().to_vec(),
            fencing: sweep.params.fencing,
            rate: sweep.params.rate,
            bug: sweep.params.bugs.first().map(|bug| bug.id.to_owned()),
            options: repro::options(&Params { nodes: Params::default().nodes, ..sweep.params.clone() }).join(" "),
            compared: sweep.compared(),
            ..Asked::by_this_build()
        }
    }

    pub fn of_swarm(swarm: &Swarm) -> Asked {
        let options = swarm.figure_options();
        Asked {
            scenarios: vec![SWARM.to_owned()],
            protocols: swarm.choice.protocols.iter().map(|protocol| protocol.name.to_owned()).collect(),
            fencing: swarm.choice.fencing,
            options: options.clone(),
            compared: Compared { options, seeds: [swarm.seeds.start, swarm.seeds.end], chance: None },
            ..Asked::by_this_build()
        }
    }

    /// Nothing, asked of this program.
    fn by_this_build() -> Asked {
        let identity = identity();
        Asked {
            version: identity.version.to_owned(),
            commit: identity.commit.to_owned(),
            dirty: identity.dirty,
            build: [identity.rustc.to_owned(), identity.target.to_owned(), identity.lock_hash],
            scenarios: Vec::new(),
            protocols: Vec::new(),
            nodes: Vec::new(),
            fencing: Fencing::On,
            rate: 0,
            bug: None,
            options: String::new(),
            compared: Compared { options: String::new(), seeds: [0, 0], chance: None },
        }
    }

    /// The first thing in which two sweeps differ.
    fn difference(&self, other: &Asked) -> Option<&'static str> {
        let pairs = [
            ("version", self.version == other.version),
            ("commit", self.commit == other.commit && self.dirty == other.dirty),
            ("builds", self.build == other.build),
            ("seeds", self.compared.seeds == other.compared.seeds),
            ("scenarios", self.scenarios == other.scenarios),
            ("protocols", self.protocols == other.protocols),
            ("numbers of candidates", self.nodes == other.nodes),
            ("options", self == other),
        ];
        pairs.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
    }
}

/// The result of one shard.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Shard {
    schema: u32,
    /// Its number, and the number of shards.
    part: (u64, u64),
    asked: Asked,
    /// The hash of the program itself, if no commit says what it was built from.
    program: Option<String>,
    took: Took,
    interrupted: bool,
    cells: Vec<Raw>,
    failures: Vec<Failure>,
    inconclusive: Vec<Failure>,
    /// For the bugs that the sweep is to show, the number of runs that show each.
    bugs: Vec<Part>,
    /// Of a swarm.
    drawn: Option<Drawn>,
}

impl Shard {
    /// The result of shard `part`, whose artifacts lie below `out`.
    pub fn of(part: (u64, u64), asked: &Asked, took: Took, outcome: &Outcome, out: &Path) -> Shard {
        // Wrong answers of the judge itself are found anew by every program.
        let own = |failures: &[Failure]| failures.iter().filter(|f| f.verdict != known::VERDICT).cloned().collect();
        let mut failures: Vec<Failure> = own(&outcome.failures);
        for failure in &mut failures {
            let below = |folder: &String| Path::new(folder).strip_prefix(out).ok().map(|f| f.display().to_string());
            failure.artifacts = failure.artifacts.as_ref().and_then(below);
        }
        let cells = outcome.cells.iter().filter(|cell| !cell.scenario.starts_with(known::PREFIX));
        Shard {
            schema: SCHEMA,
            part,
            asked: asked.clone(),
            program: program(asked),
            took,
            interrupted: outcome.interrupted,
            cells: cells.map(Raw::from).collect(),
            failures,
            inconclusive: own(&outcome.inconclusive),
            bugs: outcome.bugs.iter().map(Part::from).collect(),
            drawn: None,
        }
    }

    /// The result of a shard of a swarm.
    pub fn of_swarm(self, swept: &Swept) -> Shard {
        Shard { drawn: Some(swept.drawn()), ..self }
    }

    /// Its number, if it is another shard than `part` of the sweep that was asked for.
    pub fn is_another(&self, part: (u64, u64), asked: &Asked) -> Option<u64> {
        let another = self.part.0 != part.0 && self.part.1 == part.1 && self.asked == *asked;
        another.then_some(self.part.0)
    }

    /// The file's content.
    ///
    /// # Errors
    /// Cannot happen.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|text| text + "\n")
    }

    /// Reads a shard's file from `folder`.
    ///
    /// # Errors
    /// The file is missing or holds something else.
    pub fn read(folder: &Path) -> Result<Shard, MergeError> {
        let file = folder.join(FILE);
        let unread = |e: std::io::Error| MergeError::Unread { file: file.clone(), why: e.to_string() };
        let no_shard = |why| MergeError::NoShard { file: file.clone(), why };
        let text = std::fs::read_to_string(&file).map_err(unread)?;
        let shard: Shard = serde_json::from_str(&text).map_err(|e| no_shard(format!("is no shard: {e}")))?;
        let (part, of) = shard.part;
        match shard.schema {
            SCHEMA if (1..=of).contains(&part) => Ok(shard),
            SCHEMA => Err(no_shard(format!("is no shard: {part} of {of}"))),
            other => Err(no_shard(format!("has schema {other}, and this build reads schema {SCHEMA}"))),
        }
    }
}

/// The hash of this program, which differs from commit to commit and from edit to edit; `None` if the commit says all.
fn program(asked: &Asked) -> Option<String> {
    let told = !asked.dirty && !asked.commit.is_empty();
    let file = (!told).then(std::env::current_exe)?.ok()?;
    std::fs::read(file).ok().map(|bytes| format!("{:032x}", xxh3_128(&bytes)))
}

/// The merged result of all shards.
pub struct Merged {
    /// The outcome. Artifacts are named as they lie in their shard's folder.
    pub outcome: Outcome,
    pub asked: Asked,
    /// The cost of all shards together; `jobs` is the largest of theirs.
    pub took: Took,
    /// What else a swarm has; its outcome is left empty.
    pub swarm: Option<Swept>,
    /// The folder of the shard that has each artifact.
    pub sources: BTreeMap<String, PathBuf>,
}

/// Merges the shards in these folders.
///
/// # Errors
/// They are not all shards of one sweep, each once.
pub fn merge(shards: Vec<(PathBuf, Shard)>, registry: &Registry) -> Result<Merged, MergeError> {
    let shards = in_order(shards).map_err(MergeError::Apart)?;
    let mut sources = BTreeMap::new();
    for (folder, shard) in &shards {
        let kept = shard.failures.iter().filter_map(|failure| failure.artifacts.clone());
        sources.extend(kept.map(|artifacts| (artifacts, folder.clone())));
    }
    let bugs: Vec<Vec<Part>> = shards.iter().map(|(_, shard)| shard.bugs.clone()).collect();
    let bugs = shown::together(&bugs, &registry.plans.bugs)?;
    let mut shards = shards.into_iter().map(|(_, shard)| shard);
    let first = shards.next().ok_or_else(|| MergeError::Apart(NO_SHARDS.to_owned()))?;
    let Shard { asked, mut took, cells, mut failures, mut inconclusive, drawn, .. } = first;
    let mut drawn: Vec<Drawn> = drawn.into_iter().collect();
    let mut cells: Vec<Cell> = cells.into_iter().map(Cell::from).collect();
    for shard in shards {
        took.runs_planned += shard.took.runs_planned;
        took.wall_s += shard.took.wall_s;
        took.core_s += shard.took.core_s;
        took.jobs = took.jobs.max(shard.took.jobs);
        // The first shard also has the canaries, after all other cells.
        cells.iter_mut().zip(shard.cells).for_each(|(cell, more)| cell.join(&more.into()));
        failures.extend(shard.failures);
        inconclusive.extend(shard.inconclusive);
        drawn.extend(shard.drawn);
    }
    sort(&mut failures, &cells);
    sort(&mut inconclusive, &cells);
    let mut outcome = Outcome { cells, failures, inconclusive, bugs, ..Outcome::default() };
    if asked.scenarios == [SWARM] {
        let [from, to] = asked.compared.seeds;
        let mut swarm = Swept::merged(outcome, drawn, (&asked.options, from..to), registry)?;
        let outcome = std::mem::take(&mut swarm.outcome);
        return Ok(Merged { outcome, asked, took, swarm: Some(swarm), sources });
    }
    outcome.cells.iter_mut().for_each(Cell::finish);
    (outcome.moved, outcome.without_baseline) = asked.compared.with_baseline(&outcome.cells, &registry.invariants)?;
    outcome.judged_wrong(known::wrong());
    Ok(Merged { outcome, asked, took, swarm: None, sources })
}

/// The shards of one sweep in order, or what is wrong with them.
fn in_order(mut shards: Vec<(PathBuf, Shard)>) -> Result<Vec<(PathBuf, Shard)>, String> {
    shards.sort_by_key(|(_, shard)| shard.part);
    let Some((one, first)) = shards.first() else { return Err(NO_SHARDS.to_owned()) };
    let of = first.part.1;
    for (folder, shard) in &shards {
        let (one, other) = (one.display(), folder.display());
        if shard.part.1 != of {
            return Err(format!("{one} is one of {of} shards, and {other} one of {}", shard.part.1));
        }
        if let Some(what) = first.asked.difference(&shard.asked) {
            return Err(format!("{one} and {other} belong to different sweeps: the {what} differ"));
        }
        if first.program != shard.program {
            return Err(format!(
                "{one} and {other} are of two programs, built from no commit or with uncommitted changes"
            ));
        }
        if shard.interrupted {
            return Err(format!("shard {}/{of} in {other} was interrupted; run it again", shard.part.0));
        }
    }
    for (pair, part) in shards.windows(2).zip(1..) {
        let [(one, a), (other, b)] = pair else { continue };
        if a.part == b.part {
            let (one, other) = (one.display(), other.display());
            return Err(format!("{one} and {other} are both shard {}/{of}", a.part.0));
        }
        debug_assert!(a.part.0 >= part, "sorted, and none twice");
    }
    match (1..=of).find(|part| !shards.iter().any(|(_, shard)| shard.part.0 == *part)) {
        Some(missing) => Err(format!("shard {missing}/{of} is missing")),
        None => Ok(shards),
    }
}

/// By the order of their cells, then by seed. A swarm's cells are of all sizes, so only the seed counts.
fn sort(failures: &mut [Failure], cells: &[Cell]) {
    let key = |cell: &Cell| (cell.scenario.clone(), cell.protocol.clone(), cell.nodes);
    let places: BTreeMap<_, usize> = cells.iter().enumerate().map(|(place, cell)| (key(cell), place)).collect();
    failures.sort_by_key(|f| (places.get(&(f.scenario.clone(), f.protocol.clone(), f.nodes)).copied(), f.seed));
}

impl Merged {
    /// Keeps artifacts and causes of as many failures as the whole sweep would, renames them to lie below `out`, and
    /// returns what to copy there (from, to). Every artifact that a whole sweep keeps, one of its shards has kept.
    pub fn settle(&mut self, kept: usize, out: &Path) -> Vec<(PathBuf, PathBuf)> {
        let mut copies = Vec::new();
        for (rank, place) in telling(&self.outcome.failures).into_iter().enumerate() {
            let failure = &mut self.outcome.failures[place];
            if failure.verdict == known::VERDICT {
                continue;
            }
            let artifacts = failure.artifacts.take();
            if rank >= kept {
                failure.cause = None;
                continue;
            }
            let Some((folder, artifacts)) = artifacts.and_then(|name| Some((self.sources.get(&name)?, name))) else {
                continue;
            };
            let to = out.join(&artifacts);
            failure.artifacts = Some(to.display().to_string());
            copies.push((folder.join(artifacts), to));
        }
        copies
    }
}
