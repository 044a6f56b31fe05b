//! The record of what was found: its commands show what it says, and where a bug is switched on, not without it.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A command of `docs/found.md`, and what it shows.
struct Row {
    command: String,
    shows: Shows,
}

enum Shows {
    /// It ends with this exit code.
    Exit(i32),
    /// A figure of the run, or of a sweep's cell, is at least this.
    Figure(String, f64),
}

impl Row {
    /// The row of a table that has a command, with what it shows in the column behind it.
    fn read(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let place = cells.iter().position(|cell| cell.starts_with('`') && cell.ends_with('`'))?;
        let command = cells[place].trim_matches('`').to_owned();
        let shows = match cells.get(place + 1).map(|cell| cell.split(' ').collect::<Vec<_>>()).as_deref() {
            Some([code]) => Shows::Exit(code.parse().unwrap_or_else(|_| panic!("`{command}` shows {code:?}"))),
            Some([figure, least]) => {
                Shows::Figure((*figure).to_owned(), least.parse().expect("a figure's least value"))
            }
            _ => panic!("`{command}` shows nothing"),
        };
        Some(Row { command, shows })
    }

    /// Does that command show it? Otherwise what it showed instead.
    fn shown_by(&self, command: &str, out: &Path) -> Result<(), String> {
        let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        run.args(command.split_whitespace()).args(["--json", "--quiet", "--out"]).arg(out);
        let ended = run.output().expect("the command starts");
        let code = ended.status.code();
        let report: Value = serde_json::from_slice(&ended.stdout)
            .map_err(|_| format!("`{command}` ended with {code:?}: {}", String::from_utf8_lossy(&ended.stderr)))?;
        match &self.shows {
            Shows::Exit(expected) if code == Some(*expected) => Ok(()),
            Shows::Exit(_) => Err(format!("`{command}` ended with {code:?}")),
            Shows::Figure(name, least) => {
                let figures = [&report["metrics"][name], &report["cells"][0][name]];
                let figure = figures.into_iter().find_map(Value::as_f64);
                let figure = figure.unwrap_or_else(|| panic!("`{command}` has no figure `{name}`"));
                if figure >= *least { Ok(()) } else { Err(format!("`{command}`: {name} {figure}")) }
            }
        }
    }
}

/// The command without the bug that it switches on; `None` where it switches none on.
fn mended(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "--bug")?;
    Some([&words[..place], &words[place + 2..]].concat().join(" "))
}

#[test]
fn every_command_of_the_record_shows_what_it_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/found.md");
    let text = std::fs::read_to_string(file).expect("docs/found.md");
    let rows: Vec<Row> = text.lines().filter(|line| line.starts_with('|')).filter_map(Row::read).collect();
    assert!(rows.len() >= 15, "{} commands", rows.len());
    let out: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("found");
    let mut wrong = Vec::new();
    for row in &rows {
        wrong.extend(row.shown_by(&row.command, &out).err());
        let without = mended(&row.command).filter(|command| row.shown_by(command, &out).is_ok());
        wrong.extend(without.map(|command| format!("`{command}` shows the same without the bug")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
