//! The record of findings: its commands show what it claims, and without the bug they do not.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A command of `docs/found.md`, and its claimed result.
struct Row {
    command: String,
    shows: Shows,
}

enum Shows {
    /// The command ends with this exit code.
    Exit(i32),
    /// A figure of the run, or of a sweep's cell, is at least this.
    Figure(String, f64),
}

impl Row {
    /// Parses a table row that has a command, and the result in the column after it.
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

    /// Checks that the command has the result; otherwise returns the actual one.
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

/// The command without its bug; `None` if it switches none on.
fn mended(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "--bug")?;
    Some([&words[..place], &words[place + 2..]].concat().join(" "))
}

/// The rows of a page that have a command.
fn rows(page: &str) -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.lines().filter(|line| line.starts_with('|') && !line.contains("…` |")).filter_map(Row::read).collect()
}

/// The commands of all rows: this test runs them and checks more than their exit code.
pub fn commands() -> impl Iterator<Item = String> {
    ["found.md", "your-service.md"].into_iter().flat_map(rows).map(|row| row.command)
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn every_command_of_the_record_shows_what_it_says() {
    let rows = rows("found.md");
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

#[test]
fn every_command_for_your_service_ends_as_it_says() {
    let rows = rows("your-service.md");
    assert_eq!(rows.len(), 18, "three commands for each of six services");
    for row in rows {
        let Shows::Exit(expected) = row.shows else { panic!("`{}` shows a figure", row.command) };
        let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        run.args(row.command.split(' ')).current_dir(env!("CARGO_TARGET_TMPDIR"));
        let code = run.output().expect("the command starts").status.code();
        assert_eq!(code, Some(expected), "`{}`", row.command);
    }
}

#[test]
fn what_is_said_about_a_protocol_is_what_its_commands_show() {
    let list = run(&["list", "protocols", "--json"]);
    let all = list["protocols"].as_array().expect("protocols");
    let mut shown = 0;
    for (place, protocol) in all.iter().enumerate() {
        let name = protocol["name"].as_str().expect("a name");
        let about = run(&["about", name, "--json"]);
        let count = |word: &str| {
            let rows = about["scenarios"].as_array().expect("scenarios").iter();
            rows.filter(|row| row["comes"] == word).count()
        };
        assert!(count("holds") + count("broken") > 0, "{name}");
        assert!(!about["advice"].as_array().expect("advice").is_empty(), "{name}");
        if about["token"] == false {
            assert_eq!(count("by-fencing"), 0, "{name}: no store can compare tokens that there are not");
        }
        // Each command takes about a second; sweeps hold all of them to the same promises.
        if place % 5 != 0 {
            continue;
        }
        let commands = about["commands"].as_array().expect("commands").iter().filter_map(Value::as_str);
        for command in commands.filter(|command| command.contains(" scenario ")) {
            let words: Vec<&str> =
                command.trim_end_matches(')').split(' ').skip_while(|word| *word != "scenario").collect();
            let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
            run.args(&words).current_dir(env!("CARGO_TARGET_TMPDIR"));
            let code = run.output().expect("the command starts").status.code();
            // Safety or liveness.
            assert!(matches!(code, Some(1 | 3)), "{command}: {code:?}");
            shown += 1;
        }
    }
    assert!(shown >= 5, "{shown} commands were run");
}

fn run(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost")).args(arguments).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {said}"))
}
