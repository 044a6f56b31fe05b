//! The page with failures and when they became inevitable shows what the commands print. `FENCEPOST_UPDATE=1` writes it
//! anew.

use std::{fs, path::Path, process::Command};

fn page() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explained.md")
}

/// The standard output and the exit code of a command, as a page shows it.
fn run(line: &str, folder: &Path) -> (String, Option<i32>) {
    let words = line.strip_prefix("cargo run -- ").unwrap_or_else(|| panic!("not a command: {line}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(folder);
    let output = command.args(words.split_whitespace()).output().expect("the binary runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

#[test]
fn failures_are_explained_as_printed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explained");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let text = fs::read_to_string(page()).expect("the page");
    let (mut printed, mut shown) = (String::new(), 0);
    for (place, part) in text.split("```").enumerate() {
        let block = part.trim_start_matches('\n');
        if place % 2 == 0 || !block.starts_with("cargo run") {
            printed += if place == 0 { "" } else { "```" };
            printed += part;
            continue;
        }
        let commands: Vec<&str> = block.lines().take_while(|line| !line.is_empty()).collect();
        let [scenario, explain] = commands[..] else { panic!("two commands, not {commands:?}") };
        assert_eq!(run(scenario, &folder).1, Some(1), "{scenario} fails");
        let (told, code) = run(explain, &folder);
        assert_eq!(code, Some(0), "{explain}: {told}");
        let (told, _) = told.split_once("\nthe smallest plan:").expect("what to run next");
        printed += &format!("```\n{scenario}\n{explain}\n\n{told}");
        shown += 1;
    }
    assert_eq!(shown, 5);
    if std::env::var_os("FENCEPOST_UPDATE").is_some_and(|v| v == "1") {
        fs::write(page(), &printed).expect("the page is written");
    }
    let now = fs::read_to_string(page()).expect("the page");
    let differs = printed.lines().zip(now.lines()).find(|(printed, now)| printed != now);
    assert_eq!(differs, None, "what is printed and what the page shows; FENCEPOST_UPDATE=1 writes it anew");
    assert_eq!(printed.len(), now.len());
}
