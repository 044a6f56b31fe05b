//! The index of a sweep, of its `summary.json` and `failures.ndjson`.

use super::{
    model::{Column, Index, Links, Story, Table},
    read::{number, of_schema, text},
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
    Column::ms("two believed, most"),
    Column::ms("dark, median"),
    Column::new("elections", "number"),
    Column::new("not needed", "number"),
];

/// The index of a sweep.
///
/// # Errors
/// It is no summary of a sweep that is understood here: one sentence.
pub fn sweep(summary: &Value, failures: &[Value], links: Links) -> Result<Index, String> {
    of_schema(summary, 1)?;
    let cells = summary["cells"].as_array().ok_or("it has no cells")?;
    let (runs, failed) = (number(&summary["runs"]), number(&summary["failures"]));
    let seeds = format!("seeds {}..{}", text(&summary["seeds"][0]), text(&summary["seeds"][1]));
    let interrupted = if summary["interrupted"] == Value::Bool(true) { "interrupted after " } else { "" };
    let version = format!("Fencepost {}, commit {}.", text(&summary["version"]), text(&summary["commit"]));
    let mut notes = vec![format!("{seeds}; {}.", count(cells.len() as u64, "cell")), version];
    let moved = summary["moved"].as_array().map_or(0, Vec::len) as u64;
    if moved > 0 {
        notes.push(format!("{} far outside the baseline: see below.", count(moved, "figure")));
    }
    let mut tables = vec![Table {
        title: "Scenarios and protocols".to_owned(),
        columns: COLUMNS.to_vec(),
        rows: cells.iter().map(cell).collect(),
    }];
    if moved > 0 {
        tables.push(moved_figures(&summary["moved"]));
    }
    if !failures.is_empty() {
        tables.push(failed_runs(failures, links));
    }
    Ok(Index {
        title: format!("A sweep of {}", count(runs, "run")),
        verdict: match (failed, number(&summary["inconclusive"])) {
            (0, 0) => format!("{interrupted}{}: every promise was kept", count(runs, "run")),
            (0, none) if none == runs => {
                format!("{interrupted}{}: none came to the situation under test", count(runs, "run"))
            }
            (0, some) => {
                format!("{interrupted}{}: no promise was broken, {} inconclusive", count(runs, "run"), grouped(some))
            }
            (failed, _) => format!("{interrupted}{}: {} broke a promise", count(runs, "run"), grouped(failed)),
        },
        bad: failed > 0 || moved > 0 || summary["exit"].as_u64().is_some_and(|exit| exit > 0),
        notes,
        stories: stories(&summary["causes"], failures, links),
        tables,
        ..Index::default()
    })
}

fn cell(cell: &Value) -> Vec<Value> {
    let of = |name: &str| cell[name].clone();
    vec![
        of("scenario"),
        of("protocol"),
        of("nodes"),
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

/// A story for each cause; of an older summary without causes, for each failure that somebody looked at.
fn stories(causes: &Value, failures: &[Value], links: Links) -> Vec<Story> {
    let story = |of: &Value, title: String| Story {
        title,
        cause: text(&of["cause"]),
        // What the judge saw follows after a colon; where the cause is told, that says it better.
        why: match (of["why"].as_str().and_then(|why| why.split_once(": ")), of["cause"].is_null()) {
            (Some((why, _)), false) => why.to_owned(),
            _ => text(&of["why"]),
        },
        command: text(&of["repro"]),
        timeline: of["artifacts"].as_str().and_then(links),
    };
    let nodes = |of: &Value| count(number(&of["nodes"]), "node");
    let named = |of: &Value| format!("{} · {} · {}", text(&of["scenario"]), text(&of["protocol"]), nodes(of));
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
