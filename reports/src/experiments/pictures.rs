//! The numbers as pictures.

use super::numbers::{Cell, Numbers, Spread};
use crate::plot::ranges::{Ranges, Row};

/// The figures of a distribution that a bar shows: from, mark, to.
type Ends = fn(&Spread) -> [f64; 3];

const WHOLE: Ends = |s| [s.least, s.p50, s.most];
const TO_P99: Ends = |s| [s.p5, s.p50, s.p99];

/// A row for each cell of the pattern, with a bar for each of these distributions that it has.
fn rows(numbers: &Numbers, pattern: &str, spreads: &[&str], ends: Ends) -> Vec<Row> {
    let row = |cell: &Cell| {
        let bar = |(place, name): (usize, &&str)| Some((place, ends(cell.spreads.get(*name)?)));
        let bars: Vec<_> = spreads.iter().enumerate().filter_map(bar).collect();
        let label = if cell.variant.is_empty() {
            cell.protocol.clone()
        } else {
            format!("{}, {}", cell.protocol, cell.variant)
        };
        (!bars.is_empty()).then_some(Row { label, bars, bound: None })
    };
    numbers.matching(pattern).filter_map(row).collect()
}

fn with_bounds(mut rows: Vec<Row>, numbers: &Numbers, pattern: &str) -> Vec<Row> {
    for row in &mut rows {
        let of_row = |cell: &&Cell| cell.protocol == row.label;
        row.bound = numbers.matching(pattern).find(of_row).and_then(|cell| cell.figure("bound_ms"));
    }
    rows
}

/// The pictures of an experiment with their file names; empty ones are left out.
pub fn of(numbers: &Numbers, experiment: u8) -> Vec<(&'static str, Ranges)> {
    let made = match experiment {
        1 => vec![("1-failover", failover(numbers))],
        3 => vec![("3-stop-after-loss", stop_after_loss(numbers))],
        4 => vec![("4-refused", refused(numbers))],
        5 => vec![("5-reused", reused(numbers))],
        6 => vec![("6-election-latency", election_latency(numbers)), ("6-requests", requests(numbers))],
        7 => vec![("7-handoff", handoff(numbers))],
        8 => vec![("8-work-set", work_set(numbers))],
        9 => vec![("9-shards-moved", shards_moved(numbers)), ("9-shards-dark", shards_dark(numbers))],
        11 => vec![("11-read-leases", read_leases(numbers))],
        _ => Vec::new(),
    };
    made.into_iter().filter(|(_, picture)| !picture.rows.is_empty()).collect()
}

fn work_set(numbers: &Numbers) -> Ranges {
    Ranges {
        title: "Compaction of 100 GiB while its leader is killed every minute".to_owned(),
        about: "1,600 segments, which take 512 s without a failure; by how often the cursor is kept".to_owned(),
        axis: "segments in ten minutes".to_owned(),
        bound: String::new(),
        series: vec!["done: fewest, median and most of a run".to_owned(), "done again".to_owned()],
        rows: rows(numbers, "8/churn/*/*", &["work_done_per_run", "work_redone_per_run"], WHOLE),
        logarithmic: false,
        target: None,
    }
}

/// How many shards move per member that leaves or joins, on average, beside what two placement rules would move.
fn shards_moved(numbers: &Numbers) -> Ranges {
    let row = |cell: &Cell, (what, of): (&str, &str)| {
        let times = cell.figure(of)?;
        let mean = |name: &str| Some([cell.figure(&format!("{name}_{of}"))? / times; 3]);
        let bars = ["moved", "ring", "modulo"].into_iter().enumerate();
        let bars = bars.map(|(place, name)| Some((place, mean(name)?))).collect::<Option<_>>()?;
        Some(Row { label: format!("{}, {}, {what}", cell.protocol, cell.variant), bars, bound: None })
    };
    let both = |cell| [("leaves", "left"), ("comes", "came")].into_iter().filter_map(move |of| row(cell, of));
    Ranges {
        title: "Shards that move when a member leaves or joins".to_owned(),
        about: "Mean of all runs; a shard has moved if another member leads it once everything has settled".to_owned(),
        axis: "shards".to_owned(),
        bound: String::new(),
        series: vec!["moved".to_owned(), "a ring moves".to_owned(), "a modulo moves".to_owned()],
        rows: numbers.matching("9/shard-rebalance/*/*").flat_map(both).collect(),
        logarithmic: false,
        target: None,
    }
}

fn shards_dark(numbers: &Numbers) -> Ranges {
    Ranges {
        title: "Dark time of a shard that changes its leader".to_owned(),
        about: "From the last accepted write of each leadership to the first of the next; 500 requests a second to each shard"
            .to_owned(),
        axis: "milliseconds, logarithmic".to_owned(),
        bound: String::new(),
        series: vec![
            "its member died: shortest, median and longest".to_owned(),
            "a member joined, and it was handed over".to_owned(),
        ],
        rows: rows(numbers, "9/shard-rebalance/*/*", &["dark_left_ms", "dark_came_ms"], WHOLE),
        logarithmic: true,
        target: None,
    }
}

fn failover(numbers: &Numbers) -> Ranges {
    Ranges {
        title: "Failover after a clean kill".to_owned(),
        about: "From the kill of the leader to its successor's first accepted write; lease 3 s, Raft 150–300 ms, 3 candidates".to_owned(),
        axis: "milliseconds, logarithmic".to_owned(),
        bound: "bound: lease + election, or the election timeout, as the protocol's timers allow".to_owned(),
        series: vec!["shortest, median and longest".to_owned()],
        rows: with_bounds(rows(numbers, "1/clean-kill", &["failover_ms"], WHOLE), numbers, "1/clean-kill"),
        logarithmic: true,
        target: None,
    }
}

fn stop_after_loss(numbers: &Numbers) -> Ranges {
    Ranges {
        title: "How long an isolated leader keeps writing".to_owned(),
        about: "From the end of its grant in the service to the last write that it sent; below 0, it stopped before"
            .to_owned(),
        axis: "milliseconds after the grant has ended, logarithmic to both sides of 0".to_owned(),
        bound: String::new(),
        series: vec!["earliest, median and latest".to_owned()],
        rows: rows(numbers, "3/partition", &["stop_after_loss_ms"], WHOLE),
        logarithmic: true,
        target: None,
    }
}

fn refused(numbers: &Numbers) -> Ranges {
    Ranges {
        title: "Refused writes of a leader that was paused for longer than its lease".to_owned(),
        about: "Refused writes of one run; lease 3 s, a pause of at least a lease and 500 ms, 200 requests a second"
            .to_owned(),
        axis: "refused writes of a run, logarithmic".to_owned(),
        bound: String::new(),
        series: vec!["fewest, median and most".to_owned()],
        rows: rows(numbers, "4/gc-pause/@tokened", &["refused_per_run"], WHOLE),
        logarithmic: true,
        target: None,
    }
}

/// Experiment 5 beside 4: one row for each protocol, one series for each experiment.
fn reused(numbers: &Numbers) -> Ranges {
    let mut all = rows(numbers, "5/gc-pause/*/fencing off", &["seq_reused_per_run"], WHOLE);
    for row in &mut all {
        row.label = row.label.trim_end_matches(", fencing off").to_owned();
        let fenced = format!("4/gc-pause/{}", row.label);
        let on = numbers.matching(&fenced).find_map(|cell| cell.spreads.get("seq_reused_per_run"));
        row.bars.extend(on.map(|spread| (1, WHOLE(spread))));
    }
    Ranges {
        title: "Numbers reused or out of order after a pause longer than the lease".to_owned(),
        about: "A store that checks nothing, and one that fences; the latter's plans also cut clients off in one seed of three".to_owned(),
        axis: "numbers of a run that were no higher than one before, logarithmic from 1 on".to_owned(),
        bound: String::new(),
        series: vec!["fencing off: fewest, median and most".to_owned(), "fencing on".to_owned()],
        rows: all,
        logarithmic: true,
        target: None,
    }
}

/// How long nobody is answered after the fault, and how many reads were stale, by how reads are made safe.
fn read_leases(numbers: &Numbers) -> Ranges {
    let row = |cell: &Cell| {
        let bars = ["reads_dark_ms", "writes_dark_ms"].into_iter().enumerate();
        let bars: Vec<_> = bars.filter_map(|(place, name)| Some((place, WHOLE(cell.spreads.get(name)?)))).collect();
        let stale = cell.figure("reads_stale")?;
        let label = format!("{}: {}; {stale} stale", cell.scenario, cell.variant);
        (bars.len() == 2).then_some(Row { label, bars, bound: None })
    };
    Ranges {
        title: "Reads and writes after the leader is gone".to_owned(),
        about: "Longest time of a run, from the fault on, in which no client was answered; and stale reads of all runs. Raft, \
                three nodes, 50 writes and 400 reads a second"
            .to_owned(),
        axis: "milliseconds, logarithmic".to_owned(),
        bound: String::new(),
        series: vec!["reads: shortest, median and longest".to_owned(), "writes".to_owned()],
        rows: numbers.matching("11/*/*/*").filter_map(row).collect(),
        logarithmic: true,
        target: None,
    }
}

fn election_latency(numbers: &Numbers) -> Ranges {
    Ranges {
        title: "Election latency in churn".to_owned(),
        about: "The leader killed and started again every 5 s for 10 min, 9 candidates; the clock of who waits starts at the vacancy".to_owned(),
        axis: "milliseconds, logarithmic".to_owned(),
        bound: String::new(),
        series: vec!["5th percentile, median and 99th percentile".to_owned()],
        rows: rows(numbers, "6/churn/*/*", &["election_latency_ms"], TO_P99),
        logarithmic: true,
        target: Some((500.0, "target for the 99th percentile: 500 ms".to_owned())),
    }
}

fn requests(numbers: &Numbers) -> Ranges {
    let row = |cell: &Cell| {
        let names = ["requests_per_1000s", "requests_in_1s_max", "requests_in_10ms_max"];
        let bar = |(place, name): (usize, &str)| {
            let value = cell.figure(name)? / if place == 0 { 1e3 } else { 1.0 };
            Some((place, [value; 3]))
        };
        let bars: Vec<_> = names.into_iter().enumerate().filter_map(bar).collect();
        let label = if cell.variant.is_empty() {
            cell.protocol.clone()
        } else {
            format!("{}, {}", cell.protocol, cell.variant)
        };
        // Requests to a library in the candidate's own process cost no service anything.
        let asked = cell.figure("requests_in_1s_max").is_some_and(|most| most > 1.0);
        (bars.len() == 3 && asked).then_some(Row { label, bars, bound: None })
    };
    Ranges {
        title: "What churn costs the service".to_owned(),
        about: "Requests of nine candidates while the leader is killed every 5 s for 10 min".to_owned(),
        axis: "requests, logarithmic".to_owned(),
        bound: String::new(),
        series: vec!["a second, on average".to_owned(), "most in one second".to_owned(), "most in 10 ms".to_owned()],
        rows: numbers.matching("6/churn/*/*").filter_map(row).collect(),
        logarithmic: true,
        target: None,
    }
}

fn handoff(numbers: &Numbers) -> Ranges {
    let mut rows = rows(numbers, "7/graceful-step-down", &["handoff_effect_gap_ms", "handoff_intent_gap_ms"], WHOLE);
    // One bar of minutes would shrink all others to dots.
    let unsafe_always = |cell: &&Cell| cell.verdicts.get("safety") == Some(&cell.runs);
    let out: Vec<_> =
        numbers.matching("7/graceful-step-down").filter(unsafe_always).map(|c| c.protocol.clone()).collect();
    rows.retain(|row| !out.contains(&row.label));
    let positive = rows.iter().all(|row| row.bars.iter().all(|(_, bar)| bar[0] > 0.0));
    let mut about = "Between the old leader's last write and the new one's first, as accepted and as sent".to_owned();
    if !out.is_empty() {
        about += &format!("; without {}, where several lead in every run", out.join(", "));
    }
    Ranges {
        title: "The gap when a leader is asked to resign".to_owned(),
        about,
        axis: if positive { "milliseconds, logarithmic" } else { "milliseconds; below 0 they overlap" }.to_owned(),
        bound: String::new(),
        series: vec!["by effect: shortest, median and longest".to_owned(), "by intent".to_owned()],
        rows,
        logarithmic: positive,
        target: None,
    }
}
