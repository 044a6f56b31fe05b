//! Limits the lengths of files and functions.

use super::sources;

/// The most lines of a source file, tests included.
const FILE_LINES_MAX: usize = 400;
/// The most lines of a function.
const FUNCTION_LINES_MAX: usize = 70;

/// Exceptions with their reasons: a file, or a function as `file fn name`.
const LONGER: [(&str, &str); 3] = [
    ("sim/cli/tests/all/commands.rs fn mistakes_get_one_sentence_and_64", "a table: one line a mistake"),
    ("protocols/src/history/json/tests.rs fn every_kind", "a table: one value a kind of event"),
    ("protocols/src/history/json/writer.rs fn write_event", "one arm a kind of event, a line or two each"),
];

/// The name of the function that begins on this line, if any.
fn function(line: &str) -> Option<&str> {
    let mut head = line.trim_start();
    loop {
        let word = head.split([' ', '(']).next().unwrap_or_default();
        head = match word {
            "fn" => return head[2..].trim_start().split(['(', '<']).next(),
            "pub" if head.starts_with("pub(") => head.split_once(") ")?.1,
            "pub" | "const" | "async" | "extern" => head.split_once(' ')?.1,
            _ => return None,
        };
    }
}

/// Everything in this file that is too long, with its length.
fn too_long(name: &str, text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut long = Vec::new();
    if lines.len() > FILE_LINES_MAX {
        long.push((name.to_owned(), lines.len()));
    }
    for (number, line) in lines.iter().enumerate() {
        let Some(function) = function(line).filter(|_| !line.ends_with([';', '}'])) else { continue };
        // Formatted code closes a function at the indentation of its head.
        let end = format!("{}}}", " ".repeat(line.len() - line.trim_start().len()));
        let length = lines[number..].iter().position(|line| *line == end).map_or(0, |last| last + 1);
        if length > FUNCTION_LINES_MAX {
            long.push((format!("{name} fn {function}"), length));
        }
    }
    long
}

#[test]
fn files_and_functions_stay_readable() {
    let mut reasons: Vec<&str> = LONGER.iter().map(|(what, _)| *what).collect();
    let mut wrong = Vec::new();
    for (name, text) in sources(&["protocols", "scenarios", "reports", "sim", "tools"]) {
        for (what, length) in too_long(&name, &text) {
            match reasons.iter().position(|reason| *reason == what) {
                Some(place) => drop(reasons.swap_remove(place)),
                None => wrong.push(format!("{what} has {length} lines: is it still one thing?")),
            }
        }
    }
    wrong.extend(reasons.iter().map(|what| format!("{what} needs no reason any more")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_too_long_is_found() {
    let function = |lines: usize| format!("    pub(super) async fn f(\n{}    }}\n", "        x;\n".repeat(lines - 2));
    assert_eq!(too_long("a.rs", &function(70)), []);
    assert_eq!(too_long("a.rs", &function(71)), [("a.rs fn f".to_owned(), 71)]);
    assert_eq!(too_long("a.rs", &"\n".repeat(401)), [("a.rs".to_owned(), 401)]);
}
