//! The index of nights of a swarm: what is open, what was fixed and when, and figures beside those of earlier nights.

use super::{
    model::{Column, Index, Story, Table},
    read::{number, text, words},
};
use crate::{statistics::quantile, words::count};
use serde_json::Value;

/// So many nights are compared with the last one.
const BESIDE_MAX: usize = 30;

/// The figures: each one's place in a night, its name and its unit.
const FIGURES: [(&str, &str, &str); 8] = [
    ("/figures/failover_ms_p50", "failover, median", "ms"),
    ("/figures/failover_ms_p95", "failover, p95", "ms"),
    ("/figures/election_time_ms_p50", "election, median", "ms"),
    ("/figures/dark_ms_p50", "dark, median", "ms"),
    ("/figures/runs_per_s", "runs per second", ""),
    ("/figures/marks", "coverage marks reached", ""),
    ("/runs", "new seeds", ""),
    ("/broken", "new seeds that broke a promise", ""),
];

/// The page of these nights, the last of which was the latest; `command` repeats the failure whose plan is in a file.
pub fn nights(nights: &[Value], command: &dyn Fn(&str) -> String) -> Index {
    let Some(last) = nights.last() else { return Index::default() };
    let open = list(&last["open"]);
    let seeds: u64 = nights.iter().map(|night| number(&night["runs"])).sum();
    let moved = list(&last["moved"]);
    let verdict = match (&last["worthless"], open.len(), moved.len()) {
        (Value::Null, 0, 0) => "No failure is open".to_owned(),
        (Value::Null, 0, moved) => format!("No failure is open, and {} moved", count(moved as u64, "figure")),
        (Value::Null, open, _) => format!("{} open", count(open as u64, "failure")),
        (why, ..) => format!("The last night is worthless: {}", text(why)),
    };
    let interrupted = if last["interrupted"] == true { "; the last night was interrupted" } else { "" };
    let notes = [
        format!(
            "The last night ended on {}, with version {} at {}",
            day(&last["ended"]),
            text(&last["version"]),
            commit(last)
        ),
        format!("{}, {} in all", count(nights.len() as u64, "night"), count(seeds, "seed")),
    ];
    let moved = moved.iter().map(|moved| format!("Moved: {}", text(moved)));
    Index {
        title: "Nights of sweep swarm".to_owned(),
        bad: number(&last["exit"]) != 0,
        verdict: verdict + interrupted,
        notes: notes.into_iter().chain(moved).collect(),
        stories: open.iter().map(|open| story(open, command)).collect(),
        tables: vec![figures(nights, last), fixed(nights), all(nights)],
        ..Index::default()
    }
}

fn story(open: &Value, command: &dyn Fn(&str) -> String) -> Story {
    let failure = &open["failure"];
    let of = |name: &str| text(&failure[name]);
    let more = match (&open["unread"], &open["redrawn"]) {
        (Value::Null, Value::Bool(false)) => {
            format!(". This program draws another plan from seed {}; the file has the one that fails", of("seed"))
        }
        (Value::Null, _) => String::new(),
        (why, _) => format!(". This program cannot run it again: {}", text(why)),
    };
    Story {
        title: format!("{} · seed {} · open since {}", of("protocol"), of("seed"), day(&open["since"])),
        cause: String::new(),
        why: format!("{}{more}", of("why")),
        command: command(&text(&open["file"])),
        timeline: None,
    }
}

/// Each figure beside its values in nights with the same options.
fn figures(nights: &[Value], last: &Value) -> Table {
    let alike = |night: &&Value| {
        night["worthless"].is_null() && ["protocols", "options"].iter().all(|name| night[name] == last[name])
    };
    let earlier: Vec<&Value> = nights[..nights.len() - 1].iter().filter(alike).collect();
    let beside = &earlier[earlier.len().saturating_sub(BESIDE_MAX)..];
    let row = |(place, name, unit): &(&str, &str, &str)| {
        let of = |night: &Value| night.pointer(place).cloned().unwrap_or_default();
        let is = if last["worthless"].is_null() { of(last) } else { Value::Null };
        let mut before: Vec<f64> = beside.iter().filter_map(|night| of(night).as_f64()).collect();
        before.sort_by(f64::total_cmp);
        let trend: Vec<Value> = beside.iter().map(|night| of(night)).chain([is.clone()]).collect();
        let name = if unit.is_empty() { (*name).to_owned() } else { format!("{name}, {unit}") };
        vec![name.into(), is, quantile(&before, 0.5).into(), trend.into()]
    };
    let columns = vec![
        Column::new("figure", "text"),
        Column::new("last night", "number"),
        Column::new("median before", "number"),
        Column::new("up to the last night", "line"),
    ];
    let title = format!("Figures, beside {} with the same options", count(beside.len() as u64, "earlier night"));
    Table { title, columns, rows: FIGURES.iter().map(row).collect() }
}

fn fixed(nights: &[Value]) -> Table {
    let columns = ["protocol", "seed", "violated", "open since", "fixed", "commit"];
    let rows = nights.iter().rev().flat_map(|night| {
        list(&night["fixed"]).iter().map(move |fixed| {
            let failure = &fixed["failure"];
            let days = [day(&fixed["since"]), day(&night["ended"])].map(Value::from);
            let [since, on] = days;
            let violated = words(&failure["violated"]).into();
            vec![failure["protocol"].clone(), failure["seed"].clone(), violated, since, on, commit(night).into()]
        })
    });
    let kind = |label| Column::new(label, if label == "seed" { "number" } else { "text" });
    Table { title: "Fixed".to_owned(), columns: columns.map(kind).into(), rows: rows.collect() }
}

fn all(nights: &[Value]) -> Table {
    let columns = vec![
        Column::new("ended", "text"),
        Column::new("version", "text"),
        Column::new("commit", "text"),
        Column::new("protocols", "text"),
        Column::new("options", "text"),
        Column::new("first seed", "number"),
        Column::new("new seeds", "number"),
        Column::new("broken", "number"),
        Column::new("fixed", "number"),
        Column::new("open", "number"),
        Column::new("exit", "number"),
        Column::new("worthless", "text"),
    ];
    let row = |night: &Value| {
        let of = |name: &str| night[name].clone();
        let long = |name: &str| Value::from(list(&night[name]).len());
        let [version, protocols, options] = ["version", "protocols", "options"].map(of);
        let (first, runs, broken) = (night["seeds"][0].clone(), of("runs"), of("broken"));
        let [fixed, open] = ["fixed", "open"].map(long);
        let ended = text(&night["ended"]).into();
        let commit = commit(night).into();
        vec![ended, version, commit, protocols, options, first, runs, broken, fixed, open, of("exit"), of("worthless")]
    };
    Table { title: "Nights".to_owned(), columns, rows: nights.iter().rev().map(row).collect() }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The first letters of a commit, as Git abbreviates it.
fn commit(night: &Value) -> String {
    text(&night["commit"]).chars().take(10).collect()
}

/// The day of a time.
fn day(time: &Value) -> String {
    text(time).chars().take(10).collect()
}
