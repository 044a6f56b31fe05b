//! The answers of `advise` as numbers: a cell for each question of an experiment.

use crate::commands::{
    advise,
    args::{Cli, Command},
    exit::Stop,
};
use clap::Parser;
use reports::{experiments::Cell, statistics::count};
use scenarios::units::{duration_text, percent_text};
use serde_json::Value;
use sim::{
    experiments::{ADVICE, Experiment, Measured},
    interrupt,
    registry::Registry,
    ttl_sweep,
};

/// The profile has the pauses of this many runs of experiment 2.
const PROFILE_RUNS: u64 = 20;

/// The pauses of experiment 2 as a file for `advise`.
pub(super) fn profile() -> String {
    let (lengths_ms, over_ms) = ttl_sweep::profile(0..PROFILE_RUNS);
    let lines: String = lengths_ms.iter().map(|ms| format!("{ms:.0}ms\n")).collect();
    let hours = over_ms / 3_600_000.0;
    format!(
        "# The pauses of {PROFILE_RUNS} runs of experiment 2, {hours:.0} hours; written by `fencepost experiments`.\n{lines}"
    )
}

/// Adds the cells of an experiment's questions, until the program is asked to end.
pub(super) fn cells(registry: &Registry, experiment: &Experiment, measured: &mut Measured) -> Result<(), Stop> {
    for question in &experiment.advice {
        let cell = cell(registry, experiment.number, question);
        // An interrupted answer lacks trials.
        if interrupt::asked() {
            measured.interrupted = true;
            return Ok(());
        }
        measured.cells.push(cell?);
    }
    Ok(())
}

fn cell(registry: &Registry, experiment: u8, question: &str) -> Result<Cell, Stop> {
    let words = ["fencepost"].into_iter().chain(question.split(' '));
    let asked = Cli::try_parse_from(words).map_err(|e| Stop::usage(format!("{question}: {e}")))?;
    let Command::Advise(args) = asked.command else {
        return Err(Stop::usage(format!("{question}: only `advise` can be asked")));
    };
    let answer = advise::json(registry, &args)?;
    let pauses = args.pauses.as_ref().and_then(|path| path.file_stem()).unwrap_or_default().to_string_lossy();
    let text = |value: &Value| value["protocol"].as_str().unwrap_or_default().to_owned();
    let mut cell = Cell {
        experiment,
        scenario: ADVICE.to_owned(),
        protocol: text(&answer["protocols"][0]),
        variant: format!(
            "{} under {pauses} with {} in {}",
            percent_text(1_000_000 - args.slo),
            count(args.crashes.0, "crash"),
            duration_text(args.crashes.1)
        ),
        tokened: true,
        fencing: true,
        runs: 1,
        command: question.to_owned(),
        ..Cell::default()
    };
    let parts = |value: &Value, of: f64| value.as_f64().map(|value| (value * of).round() as u64);
    for (whose, step) in [("advised", &answer["advice"]), ("beside", &answer["now"])] {
        let figures = [
            ("ms", parts(&step["lease_ttl_ms"], 1.0)),
            ("changes_per_1000d", parts(&step["changes_a_day"], 1e3)),
            ("sure_ppm", parts(&step["confidence"], 1e6)),
            ("dark_ppm", parts(&step["dark"], 1e6)),
        ];
        let known = figures.into_iter().filter_map(|(name, value)| Some((format!("{whose}_{name}"), value?)));
        cell.counts.extend(known);
    }
    let trials = answer["trials"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let (Some(tried), true) = (trials.first(), answer["advice"].is_object()) {
        let figures = [("trial_pauses", &tried["pauses"], 1.0), ("trial_changes", &tried["changes"], 1.0)];
        let figures = figures.into_iter().chain([("trial_dark_ppm", &tried["dark"], 1e6)]);
        cell.counts.extend(figures.filter_map(|(name, value, of)| Some((name.to_owned(), parts(value, of)?))));
    }
    Ok(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_pauses_are_those_of_the_experiment() {
        let committed = include_str!("../../../../../reports/experiments/profiles/hostile.txt");
        assert!(committed == profile(), "run `fencepost experiments 2`: the pauses of experiment 2 are others now");
    }

    #[test]
    fn only_advise_can_be_asked() {
        let registry = Registry::default();
        assert!(cell(&registry, 2, "list").is_err() && cell(&registry, 2, "advise --slo").is_err());
        let question =
            "advise --slo 99.9% --pause 2s --over 30d --protocol etcd-election --now etcd-election@3s --no-trial";
        let cell = cell(&registry, 2, question).unwrap_or_else(|_| panic!("an answer"));
        assert_eq!((cell.protocol.as_str(), cell.figure("beside_ms")), ("etcd-election", Some(3_000.0)));
        assert!(cell.figure("advised_ms") >= Some(3_000.0) && cell.figure("trial_pauses").is_none());
    }
}
