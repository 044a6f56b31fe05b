//! The index of a matrix, made from what `matrix --json` prints.

use super::{
    model::{Column, Grid, Index, Links, Story, Table},
    read::{Foreign, of_schema, text, words},
};
use crate::words::count;
use serde_json::Value;

/// The possible results of a cell, the worst first: word, sign, and meaning.
const CAME: [(&str, &str, &str); 5] = [
    ("broken", "X", "broken, although the store fences"),
    ("by-fencing", "F", "holds only with fencing"),
    ("unavailable", "-", "safe, but no leader in time"),
    ("holds", "+", "holds with and without fencing"),
    ("untried", "?", "the situation under test never arose"),
];

fn sign(outcome: &Value) -> &'static str {
    CAME.iter().find(|(word, ..)| outcome == word).map_or("?", |(_, sign, _)| sign)
}

/// The index of a matrix; `links` finds the pages of kept runs.
///
/// # Errors
/// The matrix is not understood: one sentence.
pub fn matrix(matrix: &Value, links: Links) -> Result<Index, Foreign> {
    of_schema(matrix, 1)?;
    let cells = matrix["cells"].as_array().ok_or(Foreign::NoCells)?;
    let columns = vec![
        Column::new("scenario", "text"),
        Column::new("protocol", "text"),
        Column::new("came to", "sign"),
        Column::new("seed", "number"),
        Column::new("violated", "text"),
        Column::new("why", "text"),
        Column::new("at", "number"),
        Column::new("with fencing", "text"),
        Column::new("without", "text"),
        Column::new("timeline", "link"),
        Column::new("run it", "code"),
        Column::new("the cell again", "code"),
    ];
    let row = |cell: &Value| {
        let parts = &cell["parts"];
        let at = parts["t_us"].as_f64().map_or(Value::Null, |t_us| (t_us / 1e6).into());
        vec![
            cell["scenario"].clone(),
            cell["protocol"].clone(),
            sign(&cell["outcome"]).into(),
            cell["seed"].clone(),
            words(&cell["violated"]).into(),
            cell["why"].clone(),
            at,
            parts["fenced"].clone(),
            parts["unfenced"].clone(),
            link(cell, links).map_or(Value::Null, Value::from),
            cell["show"].clone(),
            cell["command"].clone(),
        ]
    };
    let of = |word: &str| cells.iter().filter(|cell| cell["outcome"] == word).count() as u64;
    let counts: Vec<String> = CAME.iter().map(|(word, _, means)| format!("{} {means}", of(word))).collect();
    let seeds = format!("Seeds {}..{}", text(&matrix["seeds"][0]), text(&matrix["seeds"][1]));
    let options = text(&matrix["options"]);
    let mut notes =
        vec![format!("{seeds} per cell, with and without fencing; a cell shows its worst run."), counts.join(", ")];
    if !options.is_empty() {
        notes.push(format!("Options: {options}"));
    }
    if matrix["interrupted"] == Value::Bool(true) {
        notes.push("Interrupted: cells are missing.".to_owned());
    }
    let mut columns = columns;
    columns[6].unit = "s";
    Ok(Index {
        title: format!("A matrix of {}", count(cells.len() as u64, "cell")),
        verdict: format!(
            "{} of {} are broken although the store fences",
            of("broken"),
            count(cells.len() as u64, "cell")
        ),
        bad: of("broken") > 0,
        notes,
        stories: stories(cells, "broken", links),
        expected: stories(&looked_at(cells), "by-fencing", links),
        grid: Some(grid(cells)),
        tables: vec![Table { title: "Every cell".to_owned(), columns, rows: cells.iter().map(row).collect() }],
        ..Index::default()
    })
}

/// The link to the page of a cell's run.
fn link(cell: &Value, links: Links) -> Option<String> {
    cell["artifacts"].as_str().and_then(links)
}

/// The cells with a kept run.
fn looked_at(cells: &[Value]) -> Vec<Value> {
    cells.iter().filter(|cell| cell["artifacts"].is_string()).cloned().collect()
}

/// A story for each cell with this result.
fn stories(cells: &[Value], came: &str, links: Links) -> Vec<Story> {
    let story = |cell: &Value| {
        let fencing = if came == "broken" { "on" } else { "off" };
        // An older matrix has only the command of the cell.
        let command = if cell["show"].is_string() { &cell["show"] } else { &cell["command"] };
        let (scenario, protocol, seed) = (text(&cell["scenario"]), text(&cell["protocol"]), text(&cell["seed"]));
        Story {
            title: format!("{scenario} · {protocol}: seed {seed}, fencing {fencing}"),
            cause: text(&cell["cause"]),
            why: match words(&cell["violated"]) {
                violated if violated.is_empty() => text(&cell["why"]),
                violated if cell["cause"].is_string() => format!("violated: {violated}"),
                violated => format!("violated: {violated}; {}", text(&cell["why"])),
            },
            command: text(command),
            timeline: link(cell, links),
        }
    };
    cells.iter().filter(|cell| cell["outcome"] == came).map(story).collect()
}

fn grid(cells: &[Value]) -> Grid {
    let each = |name: &str| {
        let mut seen: Vec<String> = Vec::new();
        for cell in cells {
            let name = text(&cell[name]);
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        seen
    };
    let (columns, protocols) = (each("scenario"), each("protocol"));
    let of = |scenario: &String, protocol: &String| {
        let cell = cells.iter().find(|c| c["scenario"] == **scenario && c["protocol"] == **protocol)?;
        Some(sign(&cell["outcome"]).to_owned())
    };
    let rows = protocols.iter().map(|p| (p.clone(), columns.iter().map(|s| of(s, p)).collect())).collect();
    let key = CAME.iter().map(|(_, sign, means)| ((*sign).to_owned(), (*means).to_owned())).collect();
    Grid { columns, rows, key }
}
