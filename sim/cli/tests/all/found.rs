//! The record of what was found: its commands end as it says.

use std::{path::Path, process::Command};

/// A command of `docs/found.md`, and the exit code of its row.
struct Row {
    command: String,
    ends_with: i32,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let command = cells.iter().find_map(|cell| cell.strip_prefix('`')?.strip_suffix('`'))?.to_owned();
        let place = cells.iter().position(|cell| cell.trim_matches('`') == command)?;
        let ends_with = cells.get(place + 1).and_then(|code| code.parse().ok());
        Some(Row { ends_with: ends_with.unwrap_or_else(|| panic!("`{command}` ends with nothing")), command })
    };
    text.lines().filter(|line| line.starts_with('|')).filter_map(row).collect()
}

#[test]
fn every_command_of_the_record_ends_as_it_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/found.md");
    let rows = rows(&std::fs::read_to_string(file).expect("docs/found.md"));
    assert!(rows.len() >= 12, "{} commands", rows.len());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("found");
    let wrong: Vec<String> = rows
        .into_iter()
        .filter_map(|Row { command, ends_with }| {
            let mut run = Command::new(env!("CARGO_BIN_EXE_fencepost"));
            run.args(command.split_whitespace()).args(["--quiet", "--out"]).arg(&out);
            let ended = run.output().expect("the command starts");
            (ended.status.code() != Some(ends_with)).then(|| {
                let said = String::from_utf8_lossy(&ended.stderr).into_owned();
                format!("`{command}` ended with {:?}, not {ends_with}: {said}", ended.status.code())
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
