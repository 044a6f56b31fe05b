//! Switches defects on, one at a time, and sweeps with each.

use crate::{
    list::Defect,
    tree::{BASELINE, MET, SWITCH, Tree},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The exit code of a command that does not know its arguments.
const USAGE: i32 = 64;
/// A process's limit of address space, in KiB: a defect may make it grow without bound.
const MEMORY_MAX_KIB: u64 = 8 << 20;
/// The number of seeds that measure how often the first failing cell fails.
const SHARE_SEEDS: u64 = 10;

pub struct Measure<'a> {
    pub tree: &'a Tree,
    /// Arguments of `sweep`, without the seeds.
    pub sweep: Vec<String>,
    /// Sweeps up to each of these seeds in turn, until something fails.
    pub seeds: Vec<u64>,
    /// Arguments of the second sweep, without the seeds.
    pub swarm: Vec<String>,
    /// Likewise for the second sweep.
    pub swarm_seeds: Vec<u64>,
    /// Parallel processes.
    pub jobs: usize,
    /// The number of seeds of the clean code that make the baseline; 0 uses the committed one.
    pub baseline_seeds: u64,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// `sweep`, `swarm`, or nothing when no run failed.
    pub by: Option<String>,
    /// The cell with the most failures.
    pub scenario: String,
    pub protocol: String,
    /// The first failure's reason.
    pub why: String,
    /// The number of cells with failures.
    pub cells: u64,
    /// The number of seeds needed.
    pub seeds: u64,
    /// The share of that cell's runs that fail; of all runs if the sweep has no cells.
    pub share: f64,
    /// Whether the defect's code ran at all.
    pub met: bool,
    /// The time spent looking for it, in seconds.
    pub seconds: f64,
}

/// Failures of the clean code by scenario, protocol and figure. They do not count as detecting a defect.
pub type Known = BTreeSet<(String, String, String)>;

/// A sweep of the clean code over a range of seeds: its duration and its failures.
pub struct Clean {
    pub took: Duration,
    known: Known,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    scenario: String,
    protocol: String,
    seed: u64,
    verdict: String,
    why: String,
    /// The figure that moved, if the failure is one.
    figure: String,
}

impl Failure {
    fn key(&self) -> (String, String, String) {
        (self.scenario.clone(), self.protocol.clone(), self.figure.clone())
    }
}

enum Ending {
    Green,
    /// The failures, and the number of runs.
    Failed(Vec<Failure>, u64),
    /// It did not end by itself.
    Hung,
    /// It ended without reporting failures.
    Broke(String),
    /// The program has no such command.
    Unknown,
}

impl Measure<'_> {
    /// Sweeps the clean code and returns its failures.
    ///
    /// # Errors
    /// A sweep does not run.
    pub fn clean(&self) -> Result<Vec<Clean>, String> {
        self.record()?;
        let mut clean = Vec::new();
        for (by, arguments, seeds) in self.steps() {
            let began = Instant::now();
            let out = self.tree.work.join("out/none");
            let mut known = Known::new();
            match self.run(None, &arguments, &seeds, &out, Duration::from_secs(24 * 3600)) {
                Ending::Green => {}
                Ending::Unknown if by == "swarm" => {
                    println!("there is no `{}`; it is left out", arguments.join(" "));
                    continue;
                }
                Ending::Failed(failures, _) => {
                    println!("with no defect on, {} is not green; that is left out:", arguments.join(" "));
                    for f in &failures {
                        println!("  {} {} seed {}: {}", f.scenario, f.protocol, f.seed, f.why);
                        known.insert(f.key());
                    }
                }
                Ending::Hung | Ending::Unknown => return Err(format!("{} does not run", arguments.join(" "))),
                Ending::Broke(why) => return Err(format!("with no defect on, {} breaks: {why}", arguments.join(" "))),
            }
            clean.push(Clean { took: began.elapsed(), known });
        }
        Ok(clean)
    }

    /// Records the figures of the clean code. Failures of this sweep are reported by [`Measure::clean`].
    fn record(&self) -> Result<(), String> {
        let (file, out) = (self.tree.baseline(), self.tree.work.join("out/record"));
        let _ = fs::remove_file(&file);
        if self.baseline_seeds == 0 {
            let committed = self.tree.root.join("seeds/baseline/scenarios.json");
            return fs::copy(committed, file).map(drop).map_err(|e| format!("there is no baseline: {e}"));
        }
        let mut command = Command::new(self.tree.binary());
        command.args(&self.sweep).args(["--seeds", &format!("0..{}", self.baseline_seeds)]);
        command.args(["--quiet", "--jobs", &self.jobs.to_string(), "--out"]).arg(out);
        command.arg("--record-baseline").arg(&file).env_remove(SWITCH).env_remove(BASELINE);
        let output = command.stdout(Stdio::null()).output().map_err(|e| format!("the sweep does not start: {e}"))?;
        if file.exists() {
            return Ok(());
        }
        Err(format!("no baseline was recorded: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Looks for each of `defects`, and passes each result to `done` as soon as it is known.
    pub fn all(&self, defects: &[&Defect], clean: &[Clean], done: impl Fn(&Defect, Found) + Sync) {
        let queue: Mutex<VecDeque<&Defect>> = Mutex::new(defects.iter().copied().collect());
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(defect) = next else { return };
                        done(defect, self.one(defect, clean));
                    }
                });
            }
        });
    }

    /// The sweeps in order: name, arguments, seeds.
    fn steps(&self) -> Vec<(&'static str, Vec<String>, [u64; 2])> {
        let mut steps = Vec::new();
        for (by, arguments, seeds) in [("sweep", &self.sweep, &self.seeds), ("swarm", &self.swarm, &self.swarm_seeds)] {
            let mut from = 0;
            for to in seeds.iter().filter(|_| !arguments.is_empty()) {
                steps.push((by, arguments.clone(), [from, *to]));
                from = *to;
            }
        }
        steps
    }

    fn one(&self, defect: &Defect, clean: &[Clean]) -> Found {
        let began = Instant::now();
        let out = self.tree.work.join("out").join(&defect.id);
        let _ = fs::remove_dir_all(&out);
        let mut found = Found::default();
        // Commands that do not exist were dropped when the clean code was swept; they come last.
        for ((by, arguments, seeds), clean) in self.steps().into_iter().zip(clean) {
            let patience = Duration::from_secs(60) + clean.took * 15;
            match self.run(Some(&defect.id), &arguments, &seeds, &out, patience) {
                Ending::Green | Ending::Unknown => continue,
                Ending::Hung => found.why = format!("hang: stopped after {} s", patience.as_secs()),
                Ending::Broke(why) => found.why = why,
                Ending::Failed(mut failures, runs) => {
                    failures.retain(|failure| !clean.known.contains(&failure.key()));
                    if failures.is_empty() {
                        continue;
                    }
                    self.judge(defect, (by, &failures, runs), &out, patience, &mut found);
                }
            }
            found.by = Some(by.to_owned());
            found.seeds = if found.seeds == 0 { seeds[1] } else { found.seeds };
            break;
        }
        found.met = out.join("met").exists();
        // Artifacts of a defect that fails everywhere would fill the disk.
        let _ = fs::remove_dir_all(&out);
        found.seconds = began.elapsed().as_secs_f64();
        found
    }

    fn judge(
        &self,
        defect: &Defect,
        (by, failures, runs): (&str, &[Failure], u64),
        out: &Path,
        patience: Duration,
        found: &mut Found,
    ) {
        let mut cells = BTreeMap::<(&str, &str), u64>::new();
        for failure in failures {
            // A violation says more than a figure that moved.
            let weight = if failure.figure.is_empty() { 1_000 } else { 1 };
            *cells.entry((&failure.scenario, &failure.protocol)).or_default() += weight;
        }
        let worst = cells.iter().max_by_key(|(cell, count)| (**count, std::cmp::Reverse(**cell)));
        let Some(((scenario, protocol), _)) = worst else { return };
        let of_it = || failures.iter().filter(|f| (&*f.scenario, &*f.protocol) == (scenario, protocol));
        let first = of_it().find(|f| f.figure.is_empty()).or_else(|| of_it().next());
        (found.scenario, found.protocol) = ((*scenario).to_owned(), (*protocol).to_owned());
        found.why = first.map(|f| format!("{}: {}", f.verdict, f.why)).unwrap_or_default();
        found.cells = cells.len() as u64;
        found.seeds = failures.iter().map(|f| f.seed + 1).min().unwrap_or(0);
        found.share = failures.len() as f64 / runs.max(1) as f64;
        let told = first.is_some_and(|f| f.figure.is_empty() && !f.scenario.starts_with("canary"));
        if !told {
            // A moved figure counts all runs of its cell, and each of a sweep's first seeds runs every canary.
            found.share = 1.0;
        } else if by == "sweep" {
            // Measure that cell's failure rate over more seeds.
            let mut arguments: Vec<String> = vec![self.sweep[0].clone(), (*scenario).to_owned()];
            arguments.extend(self.sweep.iter().skip(1).filter(|a| *a != "all").cloned());
            arguments.extend(["--protocol".to_owned(), (*protocol).to_owned()]);
            let again = self.run(Some(&defect.id), &arguments, &[0, SHARE_SEEDS], &out.join("cell"), patience);
            if let Ending::Failed(failures, runs) = again {
                let failures: Vec<_> = failures.iter().filter(|f| f.figure.is_empty()).collect();
                found.share = failures.len() as f64 / runs.max(1) as f64;
            }
        }
    }

    fn run(&self, id: Option<&str>, arguments: &[String], seeds: &[u64; 2], out: &Path, patience: Duration) -> Ending {
        let _ = fs::create_dir_all(out);
        let [failures, inconclusive, summary] =
            ["failures.ndjson", "inconclusive.ndjson", "summary.json"].map(|name| out.join(name));
        for file in [&failures, &inconclusive, &summary] {
            let _ = fs::remove_file(file);
        }
        let mut command = Command::new("sh");
        let limited = format!("ulimit -v {MEMORY_MAX_KIB}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited]).arg(self.tree.binary()).args(arguments);
        command.args(["--seeds", &format!("{}..{}", seeds[0], seeds[1])]).args(["--jobs", "1", "--quiet", "--out"]);
        command.arg(out).env(BASELINE, self.tree.baseline()).env_remove(SWITCH).envs(id.map(|id| (SWITCH, id)));
        let top: PathBuf = out.to_owned();
        command.env(MET, if top.ends_with("cell") { top.join("../met") } else { top.join("met") });
        let log = out.join("stderr");
        let Ok(stderr) = fs::File::create(&log) else { return Ending::Broke("no log can be written".to_owned()) };
        let Ok(mut child) = command.stdout(Stdio::null()).stderr(stderr).spawn() else {
            return Ending::Broke("it cannot be started".to_owned());
        };
        let began = Instant::now();
        let code = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if began.elapsed() > patience => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Ending::Hung;
                }
                Ok(None) => thread::sleep(Duration::from_millis(20)),
                Err(error) => return Ending::Broke(error.to_string()),
            }
        };
        match code {
            Some(0) => Ending::Green,
            Some(USAGE) => Ending::Unknown,
            code => {
                let summary: serde_json::Value =
                    serde_json::from_str(&fs::read_to_string(&summary).unwrap_or_default()).unwrap_or_default();
                let mut all = Vec::new();
                for file in [failures, inconclusive] {
                    let lines = fs::read_to_string(file).unwrap_or_default();
                    all.extend(lines.lines().filter_map(|line| serde_json::from_str(line).ok()));
                }
                all.extend(summary["moved"].as_array().into_iter().flatten().map(|moved| figure(moved, seeds[1])));
                if all.is_empty() {
                    let said = fs::read_to_string(&log).unwrap_or_default();
                    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                    return Ending::Broke(format!("ended with {code:?}: {last}"));
                }
                Ending::Failed(all, summary["runs"].as_u64().unwrap_or(seeds[1] - seeds[0]))
            }
        }
    }
}

/// A figure far outside its baseline, as a failure of its cell. Finding it took all the seeds.
fn figure(moved: &serde_json::Value, seeds: u64) -> Failure {
    let cell = moved["cell"].as_str().unwrap_or_default();
    let mut words = cell.rsplitn(3, ' ');
    let (_, protocol, scenario) = (words.next(), words.next(), words.next());
    let (figure, was) = (moved["figure"].as_str().unwrap_or_default(), &moved["was"]);
    Failure {
        scenario: scenario.unwrap_or(cell).to_owned(),
        protocol: protocol.unwrap_or_default().to_owned(),
        seed: seeds.saturating_sub(1),
        verdict: "figure".to_owned(),
        why: format!("{figure} is {}; it was {} to {}", moved["is"], was[0], was[4]),
        figure: figure.to_owned(),
    }
}
