//! The results as a table in Markdown, beside the list.

use crate::{
    list::{AREAS, Defect, FoundBy},
    measure::Found,
};
use std::{collections::BTreeMap, fmt::Write};

/// Results by defect.
pub type Results = BTreeMap<String, Found>;

/// One line that counts how many of `defects` were detected.
pub fn count(defects: &[&Defect], results: &Results) -> String {
    let known: Vec<_> = defects.iter().filter_map(|d| Some((d, results.get(&d.id)?))).collect();
    let noticed = known.iter().filter(|(_, found)| found.by.is_some()).count();
    let for_sweeps: Vec<_> = known.iter().filter(|(d, _)| d.found_by == FoundBy::Sweep).collect();
    let noticed_of_those = for_sweeps.iter().filter(|(_, found)| found.by.is_some()).count();
    format!(
        "{noticed} of {} defects noticed by sweeps; {noticed_of_those} of the {} that sweeps should notice",
        known.len(),
        for_sweeps.len()
    )
}

pub fn render(defects: &[Defect], results: &Results, how: &str) -> String {
    let all: Vec<&Defect> = defects.iter().collect();
    let mut text = format!(
        "# Defects of our own making\n\n\
         Each of these was planted in the code, one at a time; the files beside this one describe them. What sweeps\n\
         detect of them, by `cargo run -p fencepost-sim --example defects -- measure --write`\n({how}):\n\n\
         {}. \"Seeds\" is the number of seeds that it took; \"of runs\" is the share of the named cell's runs that fail.\n",
        count(&all, results)
    );
    for (area, name) in AREAS {
        let defects: Vec<&Defect> = defects.iter().filter(|d| d.area == area).collect();
        let count = match defects.iter().any(|d| d.is_swept()) {
            true => count(&defects, results),
            false => format!("{} defects in code that no sweep runs", defects.len()),
        };
        let _ =
            write!(text, "\n## {name}\n{count}.\n\n| defect | noticed by | seeds | of runs |\n|---|---|---:|---:|\n");
        for defect in defects {
            let row = match results.get(&defect.id) {
                None if defect.is_swept() => "not measured | – | –".to_owned(),
                None => row(defect, &Found::default()),
                Some(found) => row(defect, found),
            };
            let _ = writeln!(text, "| {} | {row} |", defect.id);
        }
    }
    text
}

fn row(defect: &Defect, found: &Found) -> String {
    let Some(by) = &found.by else {
        return match (&defect.found_by, found.met) {
            (FoundBy::Unit { test, folder: None, because }, _) => {
                format!("`cargo test {test}` only: {because} | – | –")
            }
            (FoundBy::Unit { test, folder: Some(folder), because }, _) => {
                format!("`cargo test {test}` in `{folder}`: {because} | – | –")
            }
            (FoundBy::Sweep, true) => "**nothing** | – | –".to_owned(),
            (FoundBy::Sweep, false) => "**nothing**: its code never ran | – | –".to_owned(),
        };
    };
    let why = shortened(&found.why).replace('|', "\\|");
    let whom = match found.scenario.is_empty() {
        true => format!("{by}: {why}"),
        false => format!("{by}: {}, {}: {why}", found.scenario, found.protocol),
    };
    let more = match found.cells {
        0 | 1 => String::new(),
        cells => format!(" ({cells} cells)"),
    };
    format!("{whom}{more} | {} | {:.0} %", found.seeds, found.share * 100.0)
}

/// The beginning of a failure's message.
fn shortened(why: &str) -> String {
    let words: String = why.chars().take(140).collect();
    if words.len() < why.len() { words + " …" } else { words }
}
