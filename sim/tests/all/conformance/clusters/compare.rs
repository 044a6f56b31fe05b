//! Compares real runs with the model's, and prints the table of both.

use super::{client::Service, fault::Fault, seen::Came};
use std::collections::{BTreeMap, BTreeSet};

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
