//! `report`: a page to look things up in, made of what a sweep, a matrix, the experiments or single runs left in a folder.

use super::{
    exit::Stop,
    one_run::default_out,
    output::{Show, print},
    report_args::ReportArgs,
};
use crate::terminal::browser;
use reports::{
    index::{self, FILE, Index},
    timeline::page::FILE as TIMELINE,
};
use serde_json::Value;
use sim::artifacts;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// More runs than these are not listed one by one.
const RUNS_MAX: usize = 2_000;
/// How deep below a folder the artifacts of runs lie: scenario, protocol, seed.
const DEPTH: usize = 3;

/// What a folder has of this.
struct Found {
    /// What it is of, for people.
    of: &'static str,
    index: Index,
}

/// Makes the index of a folder, and says where it is.
///
/// # Errors
/// There is nothing to report there, or it cannot be read, or the page cannot be written.
pub fn run(args: &ReportArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let dir = args.dir.clone().unwrap_or_else(default_out);
    let out = args.out.clone().unwrap_or_else(|| dir.clone());
    if !dir.is_dir() {
        let what = if dir.exists() { "is a file, and what is reported is a folder" } else { "does not exist" };
        return Err(Stop::usage(format!("{} {what}; run a sweep, or give --out to `scenario`, first", dir.display())));
    }
    let Found { of, index } = find(&dir, &out)?;
    fs::create_dir_all(&out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", out.display())))?;
    let file = out.join(FILE);
    artifacts::save(&file, &index.page()).map_err(Stop::usage)?;
    if show.json {
        let said = serde_json::json!({ "schema": 1, "of": of, "title": index.title, "verdict": index.verdict, "bad": index.bad, "file": file });
        print(&reports::json::pretty(&said));
    } else {
        print(&said(&index, &file, show));
    }
    if args.open {
        browser::open(&file, show);
    }
    Ok(0)
}

/// The same in the terminal: the verdict, the stories, and where the page is.
fn said(index: &Index, file: &Path, show: Show) -> String {
    const STORIES: usize = 10;
    let sign = if index.bad { "✗" } else { "✓" };
    let mut text = format!("{sign} {}\n", index.verdict);
    if show.quiet {
        return text;
    }
    for story in index.stories.iter().take(STORIES) {
        let what = if story.cause.is_empty() { &story.why } else { &story.cause };
        text += &format!("\n{}\n{}", story.title, reports::text::paragraph(what, show.width()));
    }
    if index.stories.len() > STORIES {
        text += &format!("\n… and {} more, in the page\n", index.stories.len() - STORIES);
    }
    text + &format!("\nthe page: {}\n", file.display())
}

/// What there is in the folder, the most telling first.
fn find(dir: &Path, out: &Path) -> Result<Found, Stop> {
    let wrong = |file: &Path| {
        let file = file.display().to_string();
        move |why: String| Stop::usage(format!("{file}: {why}"))
    };
    let links = |folder: &str| link(out, &Path::new(folder).join(TIMELINE));
    let summary = dir.join("summary.json");
    if summary.is_file() {
        let failures = lines(&dir.join("failures.ndjson"))?;
        let index = index::sweep(&json(&summary)?, &failures, &links).map_err(wrong(&summary))?;
        return Ok(Found { of: "sweep", index });
    }
    let matrix = dir.join("matrix.json");
    if matrix.is_file() {
        return Ok(Found { of: "matrix", index: index::matrix(&json(&matrix)?).map_err(wrong(&matrix))? });
    }
    let numbers = [dir.join("experiments/numbers.json"), dir.join("numbers.json")];
    if let Some(numbers) = numbers.iter().find(|file| file.is_file()) {
        let pictures = pictures(&[dir.join("plots"), dir.join("../plots")])?;
        let index = index::experiments(&json(numbers)?, &pictures).map_err(wrong(numbers))?;
        return Ok(Found { of: "experiments", index });
    }
    let mut found = Vec::new();
    runs(dir, DEPTH, &mut found)?;
    if found.is_empty() {
        return Err(Stop::usage(format!(
            "{} has nothing to report: no summary.json of a sweep, matrix.json, experiments/numbers.json, and no report.json of a run",
            dir.display()
        )));
    }
    let linked = |(folder, report): (PathBuf, Value)| (link(out, &folder.join(TIMELINE)), report);
    Ok(Found { of: "runs", index: index::runs(&found.into_iter().map(linked).collect::<Vec<_>>()) })
}

/// The reports of runs in a folder and below it, in the order of their names.
fn runs(dir: &Path, depth: usize, found: &mut Vec<(PathBuf, Value)>) -> Result<(), Stop> {
    let report = dir.join("report.json");
    if report.is_file() {
        found.push((dir.to_owned(), json(&report)?));
    }
    let mut below: Vec<PathBuf> = match fs::read_dir(dir) {
        Ok(entries) if depth > 0 => entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect(),
        _ => Vec::new(),
    };
    below.sort();
    for folder in below {
        if found.len() < RUNS_MAX {
            runs(&folder, depth - 1, found)?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, Stop> {
    fs::read_to_string(file).map_err(|e| Stop::usage(format!("cannot read {}: {e}", file.display())))
}

fn json(file: &Path) -> Result<Value, Stop> {
    serde_json::from_str(&read(file)?).map_err(|e| Stop::usage(format!("{} is no JSON: {e}", file.display())))
}

/// A JSON value a line; nothing where there is no such file.
fn lines(file: &Path) -> Result<Vec<Value>, Stop> {
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let parse = |(number, line): (usize, &str)| {
        let wrong = |e| Stop::usage(format!("{}, line {}: {e}", file.display(), number + 1));
        serde_json::from_str(line).map_err(wrong)
    };
    read(file)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

/// The plots in the first of these folders that has any.
fn pictures(folders: &[PathBuf]) -> Result<Vec<(String, Vec<u8>)>, Stop> {
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ext| ext == "svg"));
        files.sort();
        let read = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let content = fs::read(file).map_err(|e| Stop::usage(format!("cannot read {}: {e}", file.display())))?;
            Ok((name, content))
        };
        if !files.is_empty() {
            return files.iter().map(read).collect();
        }
    }
    Ok(Vec::new())
}

/// A link from a page in `from` to `file`, if that exists; relative, so that both can be moved together.
fn link(from: &Path, file: &Path) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    // Both exist or are about to; what is not there yet has no links to follow.
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let (from, file) = (whole(from)?, whole(file)?);
    let (from, to): (Vec<Component>, Vec<Component>) = (from.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let down = to[shared..].iter().map(|part| escaped(&part.as_os_str().to_string_lossy()));
    Some(up.chain(down).collect::<Vec<_>>().join("/"))
}

/// A part of a path as it stands in an address.
fn escaped(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    part.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_and_name_only_what_exists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = folder.join("src/main.rs");
        assert_eq!(link(folder, &file).as_deref(), Some("src/main.rs"));
        assert_eq!(link(&folder.join("tests"), &file).as_deref(), Some("../src/main.rs"));
        assert_eq!(link(folder, &folder.join("src/nothing.rs")), None);
        assert_eq!(escaped("a b#?"), "a%20b%23%3F");
    }
}
