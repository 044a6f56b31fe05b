//! The service-level objectives of the reference text, each with what was measured, its target, and the command.

use super::{
    numbers::Numbers,
    tables::{value, written},
};

/// A row: what was measured may be at most the target.
struct Row {
    metric: &'static str,
    target: &'static str,
    /// In the unit of the figure.
    at_most: f64,
    how: &'static str,
    pattern: &'static str,
    figure: &'static str,
    format: &'static str,
    unit: &'static str,
    command: &'static str,
    /// Must it hold? Otherwise whether it does is a finding.
    hard: bool,
}

/// With tokens and fencing on.
const SAFE: &str = "1,3,4,6,7/*/@tokened/*";

/// A row that must hold.
const HARD: Row = Row {
    metric: "",
    target: "exactly 0",
    at_most: 0.0,
    how: "sum",
    pattern: SAFE,
    figure: "",
    format: "n",
    unit: "",
    command: "experiments 1 3 4 6 7",
    hard: true,
};

/// A failover after a kill with the usual lease of 3 s.
const FAILOVER: Row = Row {
    metric: "",
    target: "below 5 s",
    at_most: 5_000.0,
    how: "max",
    pattern: "",
    figure: "failover_ms.most",
    format: "s",
    unit: " s",
    command: "experiments 1",
    hard: false,
};

/// An election in churn.
const CHURN: Row = Row {
    metric: "",
    target: "p99 below 500 ms",
    at_most: 500.0,
    how: "max",
    pattern: "",
    figure: "election_latency_ms.p99",
    format: "ms",
    unit: " ms",
    command: "experiments 6",
    hard: false,
};

const ROWS: [Row; 19] = [
    Row {
        metric: "Runs in which two leaders acted (every protocol with tokens, fencing on)",
        figure: "double_leader_runs",
        ..HARD
    },
    Row { metric: "Failover, lease: etcd-election, longest", pattern: "1/clean-kill/etcd-election", ..FAILOVER },
    Row { metric: "Failover, lease: redis-fenced, longest", pattern: "1/clean-kill/redis-fenced", ..FAILOVER },
    Row { metric: "Failover, lease: k8s-lease, longest", pattern: "1/clean-kill/k8s-lease", ..FAILOVER },
    Row { metric: "Failover, lease: zk-election, longest", pattern: "1/clean-kill/zk-election", ..FAILOVER },
    Row { metric: "Failover, lease: consul-session, longest", pattern: "1/clean-kill/consul-session", ..FAILOVER },
    Row {
        metric: "Failover, consensus: raft (openraft), longest",
        target: "below 1.5 s",
        at_most: 1_500.0,
        pattern: "1/clean-kill/raft",
        ..FAILOVER
    },
    Row {
        metric: "Failover, consensus: raft-core, longest",
        target: "below 1.5 s",
        at_most: 1_500.0,
        pattern: "1/clean-kill/raft-core",
        ..FAILOVER
    },
    Row { metric: "Election latency in churn: etcd-election", pattern: "6/churn/etcd-election", ..CHURN },
    Row { metric: "Election latency in churn: zk-election", pattern: "6/churn/zk-election", ..CHURN },
    Row { metric: "Election latency in churn: redis-fenced", pattern: "6/churn/redis-fenced", ..CHURN },
    Row { metric: "Election latency in churn: db-row", pattern: "6/churn/db-row", ..CHURN },
    Row { metric: "Election latency in churn: raft-core", pattern: "6/churn/raft-core", ..CHURN },
    Row { metric: "Election latency in churn: raft (openraft)", pattern: "6/churn/raft", ..CHURN },
    Row {
        metric: "Graceful step-down: last write after the end of the grant, etcd-election",
        target: "within the renew interval, 1,000 ms",
        at_most: 1_000.0,
        pattern: "7/graceful-step-down/etcd-election",
        figure: "stop_after_loss_ms.most",
        format: "ms",
        unit: " ms",
        command: "experiments 7",
        ..FAILOVER
    },
    Row {
        metric: "Graceful step-down: the same, every protocol with tokens and a service",
        target: "within the renew interval, 1,000 ms",
        at_most: 1_000.0,
        pattern: "7/graceful-step-down/@tokened",
        figure: "stop_after_loss_ms.most",
        format: "ms",
        unit: " ms",
        command: "experiments 7",
        ..FAILOVER
    },
    Row {
        metric: "Sequence numbers reused or skipped back (every protocol with tokens, fencing on)",
        figure: "seq_reused",
        ..HARD
    },
    Row {
        metric: "Runs with a stale write accepted (every protocol with tokens, fencing on)",
        figure: "stale_accepted_runs",
        ..HARD
    },
    Row {
        metric: "Invariant `seq_strictly_increasing` violated, runs (the same)",
        figure: "violated.seq_strictly_increasing",
        ..HARD
    },
];

fn measured(numbers: &Numbers, row: &Row) -> Result<f64, String> {
    value(numbers, row.how, row.pattern, row.figure)
}

/// The table.
///
/// # Errors
/// A number of it was not measured.
pub fn table(numbers: &Numbers) -> Result<String, String> {
    let mut text = "| metric | measured | target | | command |\n|---|---:|---|---|---|".to_owned();
    for row in &ROWS {
        let value = measured(numbers, row)?;
        let verdict = if value <= row.at_most { "pass" } else { "**fail**" };
        let (metric, unit, target, command) = (row.metric, row.unit, row.target, row.command);
        let value = written(value, row.format)?;
        text += &format!("\n| {metric} | {value}{unit} | {target} | {verdict} | `fencepost {command}` |");
    }
    Ok(text)
}

/// What must hold and does not, of what was measured: a sentence each. Also what must break without fencing and does not.
pub fn broken(numbers: &Numbers) -> Vec<String> {
    let mut broken = Vec::new();
    for row in ROWS.iter().filter(|row| row.hard) {
        // Of a selection of experiments some rows have nothing.
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
    use crate::experiments::numbers::{Cell, SCHEMA};

    fn numbers(experiment: u8, fencing: bool, incidents: u64) -> Numbers {
        let (scenario, protocol) = ("gc-pause".to_owned(), "etcd-election".to_owned());
        let mut cell = Cell { experiment, scenario, protocol, tokened: true, fencing, runs: 2, ..Cell::default() };
        cell.count([("double_leader_runs", incidents)]);
        Numbers { schema: SCHEMA, cells: vec![cell], refusals: Vec::new() }
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
