//! `report`: builds an index page from the results of a sweep, a matrix, the experiments or single runs in a folder.

use super::{
    exit::Stop,
    one_run::default_out,
    output::{Show, print},
    output_args::ReportArgs,
};
use crate::terminal::output;
use reports::{
    index::{self, FILE, Foreign, Index, Plot},
    timeline::page::FILE as TIMELINE,
};
use serde_json::{Value, json};
use sim::artifacts;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Most runs that are listed one by one.
const RUNS_MAX: usize = 2_000;
/// Depth of runs' artifacts below a folder: scenario, protocol, seed.
const DEPTH: usize = 3;

/// Depth of several sweeps' or matrices' results below a folder, such as one sweep's shards.
const SHARDS_DEPTH: usize = 2;

/// Results of one kind in a folder.
struct Found {
    /// The kind, in words.
    of: &'static str,
    folder: PathBuf,
    index: Index,
}

/// Builds the index of a folder, and prints where it is.
///
/// # Errors
/// The folder has no results, or they cannot be read, or the page cannot be written.
pub fn run(args: &ReportArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let dir = args.dir.clone().unwrap_or_else(default_out);
    let out = args.out.clone().unwrap_or_else(|| dir.clone());
    if !dir.is_dir() {
        let what = if dir.exists() { "is a file, but `report` needs a folder" } else { "does not exist" };
        return Err(Stop::usage(format!("{} {what}; run a sweep, or give --out to `scenario`, first", dir.display())));
    }
    let found = find(&dir, &out)?;
    let section = |Found { of, folder, index }: &Found| {
        let (title, verdict, bad) = (&index.title, &index.verdict, index.bad);
        json!({ "of": of, "folder": folder, "title": title, "verdict": verdict, "bad": bad })
    };
    let (of, sections) = (of_all(&found), found.iter().map(section).collect::<Vec<_>>());
    let index = together(found, &dir);
    fs::create_dir_all(&out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", out.display())))?;
    let file = out.join(FILE);
    artifacts::save(&file, &index.page())?;
    if show.json {
        let (title, verdict, bad) = (&index.title, &index.verdict, index.bad);
        let said = json!({ "schema": 1, "of": of, "title": title, "verdict": verdict, "bad": bad, "file": file, "sections": sections });
        print(&reports::json::pretty(&said));
    } else {
        print(&said(&index, &file, show));
    }
    if args.open {
        output::open(&file, show);
    }
    Ok(0)
}

/// The index for the terminal: the verdict, the stories, and where the page is.
fn said(index: &Index, file: &Path, show: Show) -> String {
    const STORIES: usize = 10;
    let sign = |index: &Index| match (index.bad, index.harmful) {
        (true, _) => "✗",
        (false, true) => "!",
        (false, false) => "✓",
    };
    let mut text = format!("{} {}\n", sign(index), index.verdict);
    if show.quiet {
        return text;
    }
    for section in &index.sections {
        text += &format!("\n{} {}\n  {}\n", sign(section), section.title, section.verdict);
    }
    let stories: Vec<_> = index.stories.iter().chain(index.sections.iter().flat_map(|s| &s.stories)).collect();
    for story in stories.iter().take(STORIES) {
        let what = if story.cause.is_empty() { &story.why } else { &story.cause };
        text += &format!("\n{}\n{}", story.title, reports::text::paragraph(what, show.width()));
    }
    if stories.len() > STORIES {
        text += &format!("\n… and {} more, in the page\n", stories.len() - STORIES);
    }
    text + &format!("\nthe page: {}\n", file.display())
}

/// The kind of all results, in one word.
fn of_all(found: &[Found]) -> &'static str {
    match found {
        [first, others @ ..] if others.iter().all(|other| other.of == first.of) => first.of,
        _ => "several",
    }
}

/// One page for all results in `dir`; several get a section each.
fn together(mut found: Vec<Found>, dir: &Path) -> Index {
    if found.len() == 1 {
        return found.remove(0).index;
    }
    let bad = found.iter().filter(|found| found.index.bad).count();
    let section = |Found { folder, index, .. }: Found| {
        let place = folder.strip_prefix(dir).unwrap_or(&folder).display().to_string();
        let place = if place.is_empty() { "Folder: this one".to_owned() } else { format!("Folder: {place}") };
        Index { notes: [vec![place], index.notes].concat(), ..index }
    };
    let what = match of_all(&found) {
        "sweep" => "sweeps",
        "matrix" => "matrices",
        _ => "reports",
    };
    Index {
        title: format!("{} {what}", found.len()),
        verdict: match bad {
            0 => "Nothing went wrong in any of them".to_owned(),
            bad => format!("Something went wrong in {bad} of {}", found.len()),
        },
        bad: bad > 0,
        harmful: found.iter().any(|found| found.index.harmful),
        sections: found.into_iter().map(section).collect(),
        ..Index::default()
    }
}

/// The sweeps, matrices and experiments in the folder and a few levels below; single runs only if there is nothing
/// else, since those leave runs as well.
fn find(dir: &Path, out: &Path) -> Result<Vec<Found>, Stop> {
    let mut found = Vec::new();
    wholes(dir, out, SHARDS_DEPTH, &mut found)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let mut single = Vec::new();
    runs(dir, DEPTH, &mut single)?;
    if single.is_empty() {
        return Err(Stop::usage(format!(
            "{} has nothing to report: no summary.json of a sweep, matrix.json, experiments/numbers.json, and no report.json of a run",
            dir.display()
        )));
    }
    let linked = |(folder, report): (PathBuf, Value)| (link(out, &folder.join(TIMELINE)), report);
    let index = index::runs(&single.into_iter().map(linked).collect::<Vec<_>>());
    Ok(vec![Found { of: "runs", folder: dir.to_owned(), index }])
}

/// The sweeps, matrices and experiments in a folder and below it, sorted by name.
fn wholes(dir: &Path, out: &Path, depth: usize, found: &mut Vec<Found>) -> Result<(), Stop> {
    let wrong = |file: &Path| {
        let file = file.display().to_string();
        move |why: Foreign| Stop::usage(format!("{file}: {why}"))
    };
    let links = |folder: &str| link(out, &page_of(dir, Path::new(folder))?);
    let mut add = |of, index| found.push(Found { of, folder: dir.to_owned(), index });
    let [summary, matrix] = ["summary.json", "matrix.json"].map(|name| dir.join(name));
    if summary.is_file() {
        let failures = lines(&dir.join("failures.ndjson"))?;
        add("sweep", index::sweep(&read_json(&summary)?, &failures, &links).map_err(wrong(&summary))?);
    }
    if matrix.is_file() {
        add("matrix", index::matrix(&read_json(&matrix)?, &links).map_err(wrong(&matrix))?);
    }
    let numbers = [dir.join("experiments/numbers.json"), dir.join("numbers.json")];
    if let Some(numbers) = numbers.iter().find(|file| file.is_file()) {
        let plots = plots(&[dir.join("plots"), dir.join("../plots")], out)?;
        add("experiments", index::experiments(&read_json(numbers)?, &plots).map_err(wrong(numbers))?);
        // The numbers below belong to it.
        return Ok(());
    }
    for folder in if depth > 0 { folders(dir) } else { Vec::new() } {
        wholes(&folder, out, depth - 1, found)?;
    }
    Ok(())
}

/// The page of a run that a sweep or a matrix in `dir` kept in `folder`. That path held where and when it was written;
/// if everything was moved since, its end still holds.
fn page_of(dir: &Path, folder: &Path) -> Option<PathBuf> {
    let parts: Vec<Component> = folder.components().collect();
    let here = (0..parts.len()).map(|skipped| dir.join(parts[skipped..].iter().collect::<PathBuf>()));
    here.chain([folder.to_owned()]).map(|folder| folder.join(TIMELINE)).find(|page| page.is_file())
}

/// The folders in a folder, sorted by name.
fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    // A hidden one belongs to a shard that is not complete.
    let shown = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut below: Vec<PathBuf> = shown.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    below.sort();
    below
}

/// The reports of runs in a folder and below it, sorted by name.
fn runs(dir: &Path, depth: usize, found: &mut Vec<(PathBuf, Value)>) -> Result<(), Stop> {
    let report = dir.join("report.json");
    if report.is_file() {
        found.push((dir.to_owned(), read_json(&report)?));
    }
    for folder in if depth > 0 { folders(dir) } else { Vec::new() } {
        if found.len() < RUNS_MAX {
            runs(&folder, depth - 1, found)?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, Stop> {
    fs::read_to_string(file).map_err(|e| Stop::usage(format!("cannot read {}: {e}", file.display())))
}

fn read_json(file: &Path) -> Result<Value, Stop> {
    serde_json::from_str(&read(file)?).map_err(|e| Stop::usage(format!("{} is no JSON: {e}", file.display())))
}

/// The JSON values of a file, one per line; empty if the file does not exist.
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

/// The plots in the first of these folders that has any, sorted by number, with links from a page in `out`.
fn plots(folders: &[PathBuf], out: &Path) -> Result<Vec<Plot>, Stop> {
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ext| ext == "svg"));
        files.sort_by_key(|file| numbered(&file.file_name().unwrap_or_default().to_string_lossy()));
        let read = |file: &PathBuf| {
            let content = fs::read(file).map_err(|e| Stop::usage(format!("cannot read {}: {e}", file.display())))?;
            Ok((link(out, file), content))
        };
        if !files.is_empty() {
            return files.iter().map(read).collect();
        }
    }
    Ok(Vec::new())
}

/// The sort key of a name that begins with a number.
fn numbered(name: &str) -> (u64, String) {
    let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    (name[..digits].parse().unwrap_or(u64::MAX), name.to_owned())
}

/// A link from a page in `from` to `file`, if that exists; relative, so that both can be moved together.
fn link(from: &Path, file: &Path) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    // A path that does not exist yet has no symbolic links to resolve.
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let (from, file) = (whole(from)?, whole(file)?);
    let (from, to): (Vec<Component>, Vec<Component>) = (from.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let down = to[shared..].iter().map(|part| escaped(&part.as_os_str().to_string_lossy()));
    Some(up.chain(down).collect::<Vec<_>>().join("/"))
}

/// Escapes a path component for a URL.
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

    #[test]
    fn plots_are_in_the_order_of_their_numbers() {
        let mut names = ["10-a.svg", "2-b.svg", "other.svg", "1-z.svg", "1-a.svg"];
        names.sort_by_key(|name| numbered(name));
        assert_eq!(names, ["1-a.svg", "1-z.svg", "2-b.svg", "10-a.svg", "other.svg"]);
    }
}
