//! The index of the experiments, made from their `numbers.json` and plots.

use super::{
    model::{Column, Index, Picture, Table},
    read::{Foreign, number, of_schema, text, words},
};
use crate::words::count;
use data_encoding::BASE64;
use serde_json::Value;
use std::collections::BTreeSet;

const COLUMNS: [Column; 16] = [
    Column::new("experiment", "number"),
    Column::new("scenario", "text"),
    Column::new("protocol", "text"),
    Column::new("variant", "text"),
    Column::new("fencing", "text"),
    Column::new("runs", "number"),
    Column::new("unsafe", "number"),
    Column::new("violated", "text"),
    Column::ms_to("failover, median", 9),
    Column::ms("failover, p95"),
    Column::ms_to("election, median", 11),
    Column::ms("election, p99"),
    Column::ms("dark, median"),
    Column::new("refused", "number"),
    Column::new("numbers reused", "number"),
    Column::new("command", "code"),
];

/// A plot: the link to its SVG file, and the file's content.
pub type Plot = (Option<String>, Vec<u8>);

/// The index of the experiments and their plots.
///
/// # Errors
/// The numbers are not understood: one sentence.
pub fn experiments(numbers: &Value, plots: &[Plot]) -> Result<Index, Foreign> {
    of_schema(numbers, 1)?;
    let cells = numbers["cells"].as_array().ok_or(Foreign::NoCells)?;
    let row = |cell: &Value| {
        let of = |name: &str| cell[name].clone();
        let (spreads, counts) = (&cell["spreads"], &cell["counts"]);
        let violated = cell["violated"].as_object().into_iter().flatten().map(|(name, _)| Value::from(name.as_str()));
        vec![
            of("experiment"),
            of("scenario"),
            of("protocol"),
            of("variant"),
            if cell["fencing"] == Value::Bool(true) { "on" } else { "off" }.into(),
            of("runs"),
            number(&cell["verdicts"]["safety"]).into(),
            words(&violated.collect()).into(),
            spreads["failover_ms"]["p50"].clone(),
            spreads["failover_ms"]["p95"].clone(),
            spreads["election_latency_ms"]["p50"].clone(),
            spreads["election_latency_ms"]["p99"].clone(),
            spreads["dark_ms"]["p50"].clone(),
            counts["writes_fenced"].clone(),
            counts["seq_reused"].clone(),
            command(&cell["command"]),
        ]
    };
    let asked: BTreeSet<String> = cells.iter().map(|cell| text(&cell["experiment"])).collect();
    let runs: u64 = cells.iter().map(|cell| number(&cell["runs"])).sum();
    Ok(Index {
        title: "The experiments".to_owned(),
        verdict: format!("{}, {}", count(asked.len() as u64, "experiment"), count(runs, "run")),
        notes: vec![
            "FINDINGS.md, beside the numbers, explains what they mean.".to_owned(),
            "Each command runs its cell's first seed, 0; --seed takes any other.".to_owned(),
        ],
        tables: vec![Table {
            title: "Results".to_owned(),
            columns: COLUMNS.to_vec(),
            rows: cells.iter().map(row).collect(),
        }],
        pictures: plots.iter().map(picture).collect(),
        ..Index::default()
    })
}

/// The command of a cell's first run, ready to be typed; empty if no command line expresses it.
fn command(words: &Value) -> Value {
    match words.as_str() {
        Some(words) if !words.is_empty() => format!("fencepost {}", words.replace("{seed}", "0")).into(),
        _ => "".into(),
    }
}

/// A plot names itself: its first text is its title, and the text below it at the same margin says what it is about.
fn picture((file, svg): &Plot) -> Picture {
    let data = format!("data:image/svg+xml;base64,{}", BASE64.encode(svg));
    let svg = String::from_utf8_lossy(svg);
    let mut texts = svg.split("<text").skip(1).filter_map(|element| {
        let (attributes, rest) = element.split_once('>')?;
        let (content, _) = rest.split_once("</text>")?;
        Some((attributes.contains("text-anchor=\"start\""), unescaped(content.trim())))
    });
    let title = texts.next().map_or_else(|| "A plot".to_owned(), |(_, title)| title);
    let about = texts.next().filter(|(at_margin, _)| *at_margin).map(|(_, about)| about).unwrap_or_default();
    Picture { title, about, file: file.clone(), data }
}

fn unescaped(text: &str) -> String {
    let marks = [("&apos;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (mark, is)| text.replace(mark, is))
}
