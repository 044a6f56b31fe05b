//! The index of a sweep, made from its `summary.json` and `failures.ndjson`.

use super::{
    model::{Column, Index, Links, Story, Table},
    read::{Foreign, fencing, number, of_schema, text, words},
};
use crate::words::{count, grouped};
use serde_json::Value;

const COLUMNS: [Column; 15] = [
    Column::new("scenario", "text"),
    Column::new("protocol", "text"),
    Column::new("nodes", "number"),
    Column::new("promise", "text"),
    Column::new("runs", "number"),
    Column::new("broken", "number"),
    Column::new("inconclusive", "number"),
    Column::new("unsafe", "number"),
    Column::new("refused", "number"),
    Column::ms_to("failover, median", 10),
    Column::ms("failover, p95"),
    Column::ms("dual belief, most"),
    Column::ms("dark, median"),
    Column::new("elections", "number"),
    Column::new("not needed", "number"),
];

/// The index of a sweep.
///
/// # Errors
/// The summary is not understood: one sentence.
pub fn sweep(summary: &Value, failures: &[Value], links: Links) -> Result<Index, Foreign> {
    of_schema(summary, 1)?;
    let cells = summary["cells"].as_array().ok_or(Foreign::NoCells)?;
    let (runs, failed) = (number(&summary["runs"]), number(&summary["failures"]));
    let swarm = summary["marks"].is_array();
    let mut notes = swept(summary, cells.len() as u64);
    notes.push(format!("Fencepost {}, commit {}.", text(&summary["version"]), text(&summary["commit"])));
    let moved = summary["moved"].as_array().map_or(0, Vec::len) as u64;
    if moved > 0 {
        notes.push(format!("{} far outside the baseline: see below.", count(moved, "figure")));
    }
    let mut tables = vec![Table {
        title: "Scenarios and protocols".to_owned(),
        columns: COLUMNS.to_vec(),
        rows: cells.iter().map(|of| cell(of, swarm)).collect(),
    }];
    if moved > 0 {
        tables.push(moved_figures(&summary["moved"]));
    }
    if !failures.is_empty() {
        tables.push(failed_runs(failures, links));
    }
    Ok(Index {
        title: format!("A {} of {}{}", if swarm { "swarm" } else { "sweep" }, count(runs, "run"), conditions(summary)),
        verdict: verdict(summary, cells),
        bad: failed > 0 || moved > 0 || summary["exit"].as_u64().is_some_and(|exit| exit > 0),
        harmful: unpromised(cells) > 0,
        notes,
        stories: stories(&summary["causes"], failures, links),
        expected: expected(&summary["unsafe_runs"], links),
        tables,
        ..Index::default()
    })
}

/// The conditions that differ from the defaults, for the title.
fn conditions(summary: &Value) -> String {
    let mut parts = Vec::new();
    if !matches!(&summary["fencing"], Value::Null | Value::Bool(true)) {
        parts.push(format!(", fencing {}", fencing(&summary["fencing"])));
    }
    if let Some(bug) = summary["bug"].as_str() {
        parts.push(format!(", bug {bug}"));
    }
    if number(&summary["shard"][1]) > 1 {
        parts.push(format!(", shard {} of {}", text(&summary["shard"][0]), text(&summary["shard"][1])));
    }
    parts.concat()
}

/// What was swept, in sentences.
fn swept(summary: &Value, cells: u64) -> Vec<String> {
    let drawn = if summary["marks"].is_array() { "Plans drawn from seeds" } else { "Seeds" };
    let seeds = format!("{drawn} {}..{}", text(&summary["seeds"][0]), text(&summary["seeds"][1]));
    let nodes = match words(&summary["nodes"]) {
        nodes if nodes.is_empty() => String::new(),
        nodes => format!(", nodes: {nodes}"),
    };
    let mut notes = vec![format!("{seeds}, {}{nodes}.", count(cells, "cell"))];
    if !summary["fencing"].is_null() {
        let rate = match summary["rate"].as_u64() {
            Some(rate) => format!(", {} requests a second", grouped(rate)),
            None => String::new(),
        };
        notes.push(format!("Fencing {}{rate}.", fencing(&summary["fencing"])));
    }
    if let Some(options) = summary["options"].as_str().filter(|options| !options.is_empty()) {
        notes.push(format!("Options: {options}"));
    }
    if number(&summary["shard"][1]) > 1 {
        let (part, of) = (text(&summary["shard"][0]), text(&summary["shard"][1]));
        notes.push(format!("This is shard {part} of {of}: only its part of the runs."));
    }
    notes
}

/// The number of unsafe runs, whether safety was promised or not.
fn unpromised(cells: &[Value]) -> u64 {
    cells.iter().map(|cell| number(&cell["verdicts"]["safety"])).sum()
}

/// The result, in a few words.
fn verdict(summary: &Value, cells: &[Value]) -> String {
    let (all, failed) = (number(&summary["runs"]), number(&summary["failures"]));
    let interrupted = if summary["interrupted"] == Value::Bool(true) { "interrupted after " } else { "" };
    let runs = format!("{interrupted}{}", count(all, "run"));
    let but = match unpromised(cells) {
        0 => String::new(),
        1 => "; 1 was unsafe without breaking a promise".to_owned(),
        more => format!("; {} were unsafe without breaking a promise", grouped(more)),
    };
    match (failed, number(&summary["inconclusive"])) {
        (0, 0) => format!("{runs}: every promise was kept{but}"),
        (0, none) if none == all => format!("{runs}: the situation under test never arose"),
        (0, some) => format!("{runs}: no promise was broken, {} inconclusive{but}", grouped(some)),
        (failed, _) => format!("{runs}: {} broke a promise", grouped(failed)),
    }
}

fn cell(cell: &Value, swarm: bool) -> Vec<Value> {
    let of = |name: &str| cell[name].clone();
    let nodes = match (number(&cell["nodes"]), swarm) {
        (0, true) => "drawn".into(),
        (0, false) => Value::Null,
        (nodes, _) => nodes.into(),
    };
    vec![
        of("scenario"),
        of("protocol"),
        nodes,
        of("promise"),
        of("runs"),
        of("failures"),
        of("inconclusive"),
        number(&cell["verdicts"]["safety"]).into(),
        of("writes_fenced"),
        of("failover_ms_p50"),
        of("failover_ms_p95"),
        of("dual_belief_ms_max"),
        of("dark_ms_p50"),
        of("elections"),
        of("false_failovers"),
    ]
}

fn moved_figures(moved: &Value) -> Table {
    let columns = vec![
        Column::new("cell", "text"),
        Column::new("figure", "text"),
        Column::new("median was", "number"),
        Column::new("is", "number"),
        Column::new("runs", "number"),
    ];
    let row = |moved: &Value| {
        let was = moved["was"].as_array().and_then(|was| was.get(was.len() / 2)).cloned();
        vec![
            moved["cell"].clone(),
            moved["figure"].clone(),
            was.unwrap_or(moved["was"]["median"].clone()),
            moved["is"].clone(),
            moved["runs"].clone(),
        ]
    };
    let rows = moved.as_array().into_iter().flatten().map(row).collect();
    Table { title: "Figures that moved".to_owned(), columns, rows }
}

fn failed_runs(failures: &[Value], links: Links) -> Table {
    let columns = vec![
        Column::new("scenario", "text"),
        Column::new("protocol", "text"),
        Column::new("nodes", "number"),
        Column::new("seed", "number"),
        Column::new("verdict", "text"),
        Column::new("why", "text"),
        Column::new("timeline", "link"),
        Column::new("command", "code"),
    ];
    let row = |failure: &Value| {
        let link = failure["artifacts"].as_str().and_then(links);
        let of = |name: &str| failure[name].clone();
        let (what, link) = ([of("scenario"), of("protocol"), of("nodes"), of("seed"), of("verdict"), of("why")], link);
        what.into_iter().chain([link.map_or(Value::Null, Value::from), of("repro")]).collect()
    };
    Table { title: "Every failure".to_owned(), columns, rows: failures.iter().map(row).collect() }
}

/// A story for each examined run that was unsafe without breaking a promise.
fn expected(runs: &Value, links: Links) -> Vec<Story> {
    let story = |run: &Value| Story {
        title: format!("{}: seed {}, fencing {}", named(run), text(&run["seed"]), fencing(&run["fencing"])),
        cause: text(&run["cause"]),
        why: format!("violated: {}", words(&run["violated"])),
        command: text(&run["repro"]),
        timeline: run["artifacts"].as_str().and_then(links),
    };
    runs.as_array().into_iter().flatten().map(story).collect()
}

/// The scenario, protocol and number of nodes, as a title.
fn named(of: &Value) -> String {
    let nodes = match number(&of["nodes"]) {
        0 => String::new(),
        nodes => format!(" · {}", count(nodes, "node")),
    };
    format!("{} · {}{nodes}", text(&of["scenario"]), text(&of["protocol"]))
}

/// A story for each cause; for an older summary without causes, for each examined failure.
fn stories(causes: &Value, failures: &[Value], links: Links) -> Vec<Story> {
    let story = |of: &Value, title: String| Story {
        title,
        cause: text(&of["cause"]),
        // The judge's finding follows a colon; the cause, if there is one, says it better.
        why: match (of["why"].as_str().and_then(|why| why.split_once(": ")), of["cause"].is_null()) {
            (Some((why, _)), false) => why.to_owned(),
            _ => text(&of["why"]),
        },
        command: text(&of["repro"]),
        timeline: of["artifacts"].as_str().and_then(links),
    };
    if let Some(causes) = causes.as_array() {
        let title = |cause: &Value| {
            let seeds = cause["seeds"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ");
            let (word, runs) = (text(&cause["outcome"]), number(&cause["runs"]));
            let more =
                if cause["seeds"].as_array().is_some_and(|all| (all.len() as u64) < runs) { ", …" } else { "" };
            format!("{}: {word} in {}, seeds {seeds}{more}", named(cause), count(runs, "run"))
        };
        return causes.iter().map(|cause| story(cause, title(cause))).collect();
    }
    let looked_at = failures.iter().filter(|failure| !failure["artifacts"].is_null());
    looked_at.map(|failure| story(failure, format!("{}: seed {}", named(failure), text(&failure["seed"])))).collect()
}
