//! The index of single runs, made from the `report.json` that each left.

use super::{
    model::{Column, Index, Story, Table},
    read::{fencing, text, words},
};
use crate::words::count;
use serde_json::Value;

/// A run: the link to its page, if it has one, and its report.
pub type Found = (Option<String>, Value);

pub fn runs(found: &[Found]) -> Index {
    let columns = vec![
        Column::new("scenario", "text"),
        Column::new("protocol", "text"),
        Column::new("seed", "number"),
        Column::new("fencing", "text"),
        Column::new("verdict", "text"),
        Column::new("violated", "text"),
        Column::ms("dual effect"),
        Column::ms("dual belief"),
        Column::ms("dark"),
        Column::new("elections", "number"),
        Column::new("refused", "number"),
        Column::new("timeline", "link"),
    ];
    let row = |(link, report): &Found| {
        let (of, metrics) = (|name: &str| report[name].clone(), &report["metrics"]);
        vec![
            of("scenario"),
            of("protocol"),
            of("seed"),
            fencing(&report["fencing"]).into(),
            of("verdict"),
            violated(report).into(),
            metrics["dual_effect_ms"].clone(),
            metrics["dual_belief_ms"].clone(),
            metrics["dark_ms"].clone(),
            metrics["elections"].clone(),
            metrics["writes_fenced"].clone(),
            link.clone().map_or(Value::Null, Value::from),
        ]
    };
    let bad = |report: &Value| ["safety", "liveness"].iter().any(|verdict| report["verdict"] == *verdict);
    let story = |(link, report): &Found| Story {
        title: format!(
            "{} · {} · seed {} · fencing {}: {}",
            text(&report["scenario"]),
            text(&report["protocol"]),
            text(&report["seed"]),
            fencing(&report["fencing"]),
            text(&report["verdict"])
        ),
        cause: text(&report["cause"]),
        why: format!("violated: {}", violated(report)),
        command: String::new(),
        timeline: link.clone(),
    };
    let failed = found.iter().filter(|(_, report)| bad(report));
    let (all, wrong) = (count(found.len() as u64, "run"), failed.clone().count());
    Index {
        title: all.clone(),
        verdict: format!("{all}, of which {wrong} went wrong"),
        bad: wrong > 0,
        stories: failed.map(story).collect(),
        tables: vec![Table { title: "Runs".to_owned(), columns, rows: found.iter().map(row).collect() }],
        ..Index::default()
    }
}

fn violated(report: &Value) -> String {
    let broken = report["invariants"].as_array().into_iter().flatten().filter(|i| i["holds"] == Value::Bool(false));
    words(&broken.map(|i| i["name"].clone()).collect())
}
