//! The service-level objectives of the design exercise, each with its target, what was measured, and the command.

use super::{
    chance::limit,
    numbers::{Cell, Numbers},
    tables::{value, written},
};
use protocols::election::{self, Protocol};

/// An objective for all protocols with tokens together: what was measured may be at most the target.
struct Row {
    metric: &'static str,
    target: &'static str,
    /// In the unit of the figure.
    at_most: f64,
    how: &'static str,
    pattern: &'static str,
    figure: &'static str,
    format: &'static str,
    command: &'static str,
}

/// A lower bound of the runs in which a former leader's write reached the store.
const STALE_TRIED: &str = "stale_met_at_least";
/// Protocols with tokens, with fencing on.
const SAFE: &str = "1,3,4,6,7/*/@tokened/*";

/// The defaults of a row that must hold.
const HARD: Row = Row {
    metric: "",
    target: "exactly 0",
    at_most: 0.0,
    how: "sum",
    pattern: SAFE,
    figure: "",
    format: "n",
    command: "experiments 1 3 4 6 7",
};

const ROWS: [Row; 4] = [
    Row { metric: "Runs in which two leaders acted", figure: "double_leader_runs", ..HARD },
    Row { metric: "Sequence numbers reused or skipped back", figure: "seq_reused", ..HARD },
    Row { metric: "Runs with a stale write accepted", figure: "stale_accepted_runs", ..HARD },
    Row {
        metric: "Runs that violated the invariant `seq_strictly_increasing`",
        figure: "violated.seq_strictly_increasing",
        ..HARD
    },
];

/// An objective that each protocol with tokens meets or misses.
struct Objective {
    metric: &'static str,
    target: &'static str,
    /// The limit, in the unit of the figure; for some the protocol's own renew interval.
    within: Within,
    /// The experiment and scenario whose usual variant is judged.
    pattern: &'static str,
    figure: &'static str,
    format: &'static str,
    unit: &'static str,
    command: &'static str,
    /// Which protocols it covers: those on a service, and those that elect among themselves.
    of: [bool; 2],
    /// Why a protocol may lack the figure.
    missing: &'static str,
    /// Protocols for which the figure means nothing, and why.
    unfit: &'static [(&'static [&'static str], &'static str)],
    /// Must the target also cover the longest time that the protocol's timers allow? If not met there, a few runs below
    /// the target show little.
    bounded: bool,
}

/// The limit of an objective.
#[derive(Clone, Copy)]
enum Within {
    AtMost(f64),
    AtLeast(f64),
    RenewInterval,
}

const OBJECTIVES: [Objective; 8] = [
    Objective {
        metric: "Failover on a service, longest",
        target: "below 5 s",
        within: Within::AtMost(5_000.0),
        pattern: "1/clean-kill",
        figure: "failover_ms.most",
        format: "s",
        unit: " s",
        command: "experiments 1",
        of: [true, false],
        missing: "nobody took over",
        unfit: &[],
        bounded: true,
    },
    Objective {
        metric: "Failover among the nodes themselves, longest",
        target: "below 1.5 s",
        within: Within::AtMost(1_500.0),
        pattern: "1/clean-kill",
        figure: "failover_ms.most",
        format: "s",
        unit: " s",
        command: "experiments 1",
        of: [false, true],
        missing: "nobody took over",
        unfit: &[],
        bounded: true,
    },
    Objective {
        metric: "Election latency in churn, 99th percentile of the sample",
        target: "below 500 ms",
        within: Within::AtMost(500.0),
        pattern: "6/churn",
        figure: "election_latency_ms.p99",
        format: "ms",
        unit: " ms",
        command: "experiments 6",
        of: [true, true],
        missing: "no election",
        unfit: &[(
            &["k8s-lease", "object-lease", "db-row-node-clock"],
            "no server ends the grant, so the clock starts when a candidate takes it: only the time of the answer",
        )],
        bounded: false,
    },
    Objective {
        metric: "No starvation in churn: turns of the candidate that had fewest",
        target: "at least 1",
        within: Within::AtLeast(1.0),
        pattern: "6/churn",
        figure: "wins.least",
        format: "n",
        unit: "",
        command: "experiments 6",
        of: [true, true],
        missing: "no election",
        unfit: &[],
        bounded: false,
    },
    Objective {
        metric: "No retry storm in churn: most requests to the service in one second",
        target: "at most 10 a candidate, 90 (our limit: the objective names none)",
        within: Within::AtMost(90.0),
        pattern: "6/churn",
        figure: "requests_in_1s_max",
        format: "n",
        unit: "",
        command: "experiments 6",
        of: [true, true],
        missing: "no service is asked",
        unfit: &[(&["raft"], "only the library in the candidate's own process is asked")],
        bounded: false,
    },
    Objective {
        metric: "Step-down after a resignation: last write after the end of the grant",
        target: "within the protocol's own renew interval",
        within: Within::RenewInterval,
        pattern: "7/graceful-step-down",
        figure: "stop_after_loss_ms.most",
        format: "ms",
        unit: " ms",
        command: "experiments 7",
        of: [true, true],
        missing: "no single service records the end of a grant",
        unfit: &[],
        bounded: false,
    },
    Objective {
        metric: "Step-down after a lost lease (cut off from the service): last write after the end of the grant",
        target: "within the protocol's own renew interval",
        within: Within::RenewInterval,
        pattern: "3/partition",
        figure: "stop_after_loss_ms.most",
        format: "ms",
        unit: " ms",
        command: "experiments 3",
        of: [true, true],
        missing: "no single service records the end of a grant",
        unfit: &[],
        bounded: false,
    },
    Objective {
        metric: "Step-down after a pause beyond the lease: last write after the end of the grant",
        target: "within the protocol's own renew interval",
        within: Within::RenewInterval,
        pattern: "4/gc-pause",
        figure: "stop_after_loss_ms.most",
        format: "ms",
        unit: " ms",
        command: "experiments 4",
        of: [true, true],
        missing: "no single service records the end of a grant",
        unfit: &[],
        bounded: false,
    },
];

impl Objective {
    fn row(&self, numbers: &Numbers) -> Result<String, String> {
        let Objective { metric, target, pattern, figure, unit, command, .. } = self;
        let (mut met, mut missed) = (Vec::new(), Vec::new());
        let mut without: Vec<(String, String)> = Vec::new();
        let asked = |protocol: &&&Protocol| protocol.tokened && self.of[usize::from(protocol.elects_among_peers())];
        for protocol in election::ALL.iter().filter(asked) {
            let name = protocol.name;
            let of_it = format!("{pattern}/{name}");
            if let Some((_, why)) = self.unfit.iter().find(|(names, _)| names.contains(&name)) {
                without.push((name.to_owned(), (*why).to_owned()));
                continue;
            }
            let cell = numbers.matching(&of_it).next();
            let Some((cell, value)) = cell.and_then(|cell| Some((cell, cell.figure(figure)?))) else {
                without.push((name.to_owned(), self.missing.to_owned()));
                continue;
            };
            let mut text = format!("{name} {}{unit}", written(value, self.format)?);
            if matches!(self.within, Within::RenewInterval)
                && let Some(renew) = cell.figure("renew_interval_ms")
            {
                text += &format!(" of {}", written(renew, self.format)?);
            }
            match self.is_good(cell, value) {
                false => missed.push(text),
                true => match self.beyond(cell)? {
                    Some(why) => without.push((text, why)),
                    None => met.push(text),
                },
            }
        }
        if met.is_empty() && missed.is_empty() {
            return Err(format!("`{pattern}` has no `{figure}`"));
        }
        let listed = |all: Vec<String>| if all.is_empty() { "–".to_owned() } else { all.join(", ") };
        let missed = if missed.is_empty() { "–".to_owned() } else { format!("**{}**", missed.join(", ")) };
        let (met, without) = (listed(met), by_reason(&without));
        Ok(format!("\n| {metric} | {target} | {met} | {missed} | {without} | `fencepost {command}` |"))
    }

    fn is_good(&self, cell: &Cell, value: f64) -> bool {
        match self.within {
            Within::AtMost(most) => value <= most,
            Within::AtLeast(least) => value >= least,
            Within::RenewInterval => cell.figure("renew_interval_ms").is_some_and(|renew| value <= renew),
        }
    }

    /// Why the runs that met the target do not prove it: the protocol's timers allow more.
    fn beyond(&self, cell: &Cell) -> Result<Option<String>, String> {
        let Within::AtMost(most) = self.within else { return Ok(None) };
        let Some(bound) = cell.figure("bound_ms").filter(|bound| self.bounded && *bound > most) else {
            return Ok(None);
        };
        let (bound, runs) = (written(bound, self.format)?, cell.runs);
        let share = limit(runs as f64);
        let unit = self.unit;
        Ok(Some(format!(
            "its timers allow {bound}{unit}; all of {runs} runs below the target leave room for {share} above it"
        )))
    }
}

/// Lists names, grouped by reason.
fn by_reason(without: &[(String, String)]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in without {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let texts: Vec<String> = reasons.iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect();
    if texts.is_empty() { "–".to_owned() } else { texts.join("; ") }
}

fn measured(numbers: &Numbers, row: &Row) -> Result<f64, String> {
    value(numbers, row.how, row.pattern, row.figure)
}

/// The table: one row per objective, in which every protocol with tokens appears.
///
/// # Errors
/// A number in it was not measured.
pub(super) fn table(numbers: &Numbers) -> Result<String, String> {
    let head = "| objective | target | met by | missed by | not judged | command |\n|---|---|---|---|---|---|";
    let mut text = head.to_owned();
    for row in &ROWS {
        let value = measured(numbers, row)?;
        let [runs, tried] =
            ["runs", STALE_TRIED].map(|figure| super::tables::value(numbers, row.how, row.pattern, figure));
        let of = match row.figure {
            "stale_accepted_runs" => format!("{} runs or more in which a stale write arrived", written(tried?, "n")?),
            _ => format!("{} runs", written(runs?, "n")?),
        };
        let all = format!("all with tokens, fencing on: {}, in {of}", written(value, row.format)?);
        let (met, missed) =
            if value <= row.at_most { (all, "–".to_owned()) } else { ("–".to_owned(), format!("**{all}**")) };
        text += &format!("\n| {} | {} | {met} | {missed} | – | `fencepost {}` |", row.metric, row.target, row.command);
    }
    for objective in &OBJECTIVES {
        text += &objective.row(numbers)?;
    }
    Ok(text)
}

/// Measured objectives that must hold and do not, one sentence each; also those that must break without fencing and do
/// not.
pub fn broken(numbers: &Numbers) -> Vec<String> {
    let mut broken = Vec::new();
    for row in &ROWS {
        // A selection of experiments lacks the numbers for some rows.
        if let Ok(value) = measured(numbers, row).map_err(drop)
            && value > row.at_most
        {
            broken.push(format!("{}: {value}, and {} is required", row.metric, row.target));
        }
    }
    for cell in numbers.matching("*/*/*/*").filter(|cell| cell.verdicts.get("vacuous") == Some(&cell.runs)) {
        broken.push(format!("{}: in none of its runs did the situation under test arise", cell.key()));
    }
    for cell in numbers.matching("5/gc-pause/*/*").filter(|cell| !cell.fencing) {
        if cell.figure("double_leader_runs") == Some(0.0) && cell.protocol != "stonith" {
            broken.push(format!("{}: without fencing nothing went wrong, so it shows nothing", cell.key()));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::numbers::SCHEMA;

    fn numbers(experiment: u8, fencing: bool, incidents: u64) -> Numbers {
        let (scenario, protocol) = ("gc-pause".to_owned(), "etcd-election".to_owned());
        let mut cell = Cell { experiment, scenario, protocol, tokened: true, fencing, runs: 2, ..Cell::default() };
        cell.count([("double_leader_runs", incidents)]);
        Numbers { schema: SCHEMA, cells: vec![cell], ..Numbers::default() }
    }

    #[test]
    fn every_protocol_with_tokens_has_a_place_in_a_row() {
        let mut numbers = numbers(6, true, 0);
        numbers.cells[0].scenario = "churn".to_owned();
        numbers.cells[0].count([("requests_in_1s_max", 91)]);
        let storm = OBJECTIVES.iter().find(|objective| objective.figure == "requests_in_1s_max").expect("one");
        let row = storm.row(&numbers).unwrap();
        assert!(row.contains("| – | **etcd-election 91** |"), "{row}");
        for protocol in election::ALL.iter().filter(|protocol| protocol.tokened) {
            assert!(row.contains(protocol.name), "{}: {row}", protocol.name);
        }
        assert!(storm.row(&Numbers { cells: Vec::new(), ..numbers }).is_err());
    }

    #[test]
    fn an_incident_with_fencing_is_broken_and_so_is_none_without() {
        assert!(broken(&numbers(4, true, 0)).is_empty());
        assert!(broken(&numbers(4, true, 1))[0].contains("exactly 0 is required"));
        assert!(broken(&numbers(5, false, 2)).is_empty());
        assert!(broken(&numbers(5, false, 0))[0].contains("shows nothing"));
        let mut untried = numbers(4, true, 0);
        untried.cells[0].verdicts.insert("vacuous".to_owned(), 2);
        assert!(broken(&untried)[0].contains("in none of its runs"));
    }
}
