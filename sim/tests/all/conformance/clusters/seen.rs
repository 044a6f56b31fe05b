//! What clients saw of a cluster, its summary, and the comparison of real runs with the model's.

use super::{client::Service, fault::Fault};
use protocols::{error::Failure, types::MILLISECOND};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What a client saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A success: of a write, a renewal, or a connection of its session.
    Answered,
    /// A failure of this kind.
    Failed(String),
    /// The end of its lease or session.
    Lost,
}

/// A client's log, with times in nanoseconds of one clock.
#[derive(Clone)]
pub struct Log {
    seen: Arc<Mutex<Vec<(u64, Seen)>>>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Log {
    /// An empty log.
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Log {
        Log { seen: Arc::default(), clock: Arc::new(clock) }
    }

    fn seen(&self) -> MutexGuard<'_, Vec<(u64, Seen)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs what the client sees now.
    pub fn sees(&self, seen: Seen) {
        let now = (self.clock)();
        self.seen().push((now, seen));
    }

    /// Logs a failure.
    pub fn fails(&self, why: &Failure) {
        self.sees(Seen::Failed(kind(why)));
    }

    /// Whether it ever succeeded.
    pub fn was_answered(&self) -> bool {
        self.seen().iter().any(|(_, seen)| *seen == Seen::Answered)
    }
}

/// The kind of a failure, without addresses, numbers and the operating system's wording.
fn kind(why: &Failure) -> String {
    let text = match why {
        Failure::Rejected(text) | Failure::Unknown(text) => text,
    };
    let known = [
        ("etcdserver: request timed out", "request timed out"),
        ("etcdserver: leader changed", "leader changed"),
        ("etcdserver: no leader", "no leader"),
        ("etcdserver: not capable", "not capable"),
        ("requested lease not found", "lease not found"),
        ("lease not found", "lease not found"),
        ("not a primary lessor", "not a primary lessor"),
        ("connection loss", "connection loss"),
        ("No cluster leader", "No cluster leader"),
        ("leadership lost", "leadership lost"),
        ("not the leader", "not the leader"),
        ("rpc error", "rpc error"),
        ("timed out", "no answer in time"),
        ("session expired", "session expired"),
    ];
    if let Some((_, kind)) = known.into_iter().find(|(words, _)| text.contains(words)) {
        return kind.to_owned();
    }
    let unconnected = [
        "no connection",
        "connection error",
        "onnection refused",
        "h2 protocol error",
        "http2 error",
        "transport",
        "the stream ended",
        "no answer:",
    ];
    match unconnected.into_iter().any(|words| text.contains(words)) {
        true => "no connection".to_owned(),
        false => text.clone(),
    }
}

/// The times of a run, in nanoseconds of the clients' clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// The fault struck.
    pub struck: u64,
    /// The fault ended: everything was healed or restarted.
    pub over: u64,
    /// Observation ended.
    pub ended: u64,
}

/// The result of a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Came {
    /// The longest time without a write, in milliseconds; counted from the fault's end if no service was possible
    /// before.
    pub dark_ms: u64,
    /// Whether the holder lost the lease that it kept alive.
    pub lost: bool,
    /// The failures of writes and renewals, with their numbers.
    pub failures: BTreeMap<String, u32>,
}

/// Summarizes the logs of the lease's holder and of the writer. `without` tells that no service was possible during the
/// fault.
pub fn came(holder: &Log, prober: &Log, times: Times, without: bool) -> Came {
    let since = if without { times.over } else { times.struck };
    let mut written: Vec<u64> =
        prober.seen().iter().filter(|(_, seen)| *seen == Seen::Answered).map(|(at, _)| *at).collect();
    written.retain(|at| *at >= since);
    // Without another success it stays dark to the end.
    let first = written.first().copied().unwrap_or(times.ended) - since;
    let last = times.ended.saturating_sub(written.last().copied().unwrap_or(since));
    let between = written.windows(2).map(|two| two[1] - two[0]).chain([last]).max().unwrap_or(0);
    let dark = if without { first } else { first.max(between) };
    let mut failures = BTreeMap::new();
    for log in [holder, prober] {
        for (_, seen) in log.seen().iter().filter(|(at, _)| *at >= times.struck) {
            if let Seen::Failed(kind) = seen {
                *failures.entry(kind.clone()).or_default() += 1;
            }
        }
    }
    Came { dark_ms: dark / MILLISECOND, lost: holder.seen().iter().any(|(_, seen)| *seen == Seen::Lost), failures }
}

// Compares real runs with the model's, and prints the table of both.

/// How much sooner, and later, than in any run of the model a real cluster may serve again, in milliseconds: one step
/// of the service's own timeouts, plus two seconds for a loaded machine.
const fn slack_ms(service: Service) -> (u64, u64) {
    let step_ms = match service {
        // Election timeouts of etcd and Consul; below, a tick of ZooKeeper.
        Service::Etcd | Service::Consul => 1_000,
        Service::Zookeeper => 2_000,
    };
    (step_ms, step_ms + 2_000)
}

/// How long processes may take to start on a loaded machine, in milliseconds; in the model they start at once.
const STARTS_MS: u64 = 15_000;

/// The results of one fault on both sides.
pub struct Both {
    pub fault: Fault,
    pub real: Vec<Came>,
    pub model: Vec<Came>,
}

/// The differences, one per line; `known` are the failures that the model's clients see under any fault.
pub fn differences(service: Service, both: &Both, known: &BTreeSet<String>) -> Vec<String> {
    let Both { fault, real, model } = both;
    let mut different = Vec::new();
    let (sooner, later) = slack_ms(service);
    let later = if fault.is_without_service() { later + STARTS_MS } else { later };
    let dark = |came: &Came| came.dark_ms;
    let range = (model.iter().map(dark).min().unwrap_or(0), model.iter().map(dark).max().unwrap_or(0));
    for came in real {
        let name = fault.name();
        if came.dark_ms + sooner < range.0 || came.dark_ms > range.1 + later {
            let (low, high) = range;
            different.push(format!("{name}: dark for {} ms, and {low} to {high} ms in the model", came.dark_ms));
        }
        if !model.iter().any(|run| run.lost == came.lost) {
            let (word, never) = if came.lost { ("lost", "never") } else { ("kept", "always lost") };
            different.push(format!("{name}: the lease was {word}, in the model {never} in {} runs", model.len()));
        }
        for kind in came.failures.keys().filter(|kind| !known.contains(*kind)) {
            different.push(format!("{name}: clients of the model never hear `{kind}`"));
        }
    }
    different
}

/// Every kind of failure that the model's clients see.
pub fn kinds(all: &[Both]) -> BTreeSet<String> {
    all.iter().flat_map(|both| &both.model).flat_map(|came| came.failures.keys().cloned()).collect()
}

/// A fault's line of the table.
pub fn line(service: Service, both: &Both) -> String {
    let lasts_s = both.fault.lasts_ms(service) / 1_000;
    let [real, model] = [&both.real, &both.model].map(|runs| side(runs));
    format!(
        "| {}, {lasts_s} s | {} | {} | {} | {} | {} | {} |",
        both.fault.name(),
        real[0],
        model[0],
        real[1],
        model[1],
        real[2],
        model[2]
    )
}

/// The runs that lost the lease, the dark times, and the failures.
fn side(runs: &[Came]) -> [String; 3] {
    let lost = runs.iter().filter(|came| came.lost).count();
    let mut dark: Vec<u64> = runs.iter().map(|came| came.dark_ms).collect();
    dark.sort_unstable();
    let [low, middle, high] =
        [0, dark.len() / 2, dark.len().saturating_sub(1)].map(|place| dark.get(place).copied().unwrap_or(0));
    let mut failures = BTreeMap::<&str, usize>::new();
    for kind in runs.iter().flat_map(|came| came.failures.keys()) {
        *failures.entry(kind).or_default() += 1;
    }
    let failures: Vec<String> = failures.into_iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
    [format!("{lost} of {}", runs.len()), format!("{middle} ({low}–{high})"), failures.join(", ")]
}
