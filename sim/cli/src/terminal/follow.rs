//! `check --follow`: judges a log while it is written.
//!
//! Whole lines are copied as they are added, and the copies are judged again, so that the verdict is always that of `check`
//! on what has been written so far.

mod metrics;
mod source;

use super::{
    OUTPUT,
    exit::Stop,
    output::{Show, print},
};
use clap::Args as ClapArgs;
use logs::Judged;
use metrics::Metrics;
use reports::invariant::Class;
use source::{Folder, Source};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How often the files are looked at.
const LOOKS: Duration = Duration::from_millis(100);
/// What is seen for so long is told: of several files, one may be written a moment after the other.
const SEEN_FOR: Duration = Duration::from_millis(400);
/// Judging takes at most this part of the time.
const SHARE: u32 = 4;

/// Options of following.
#[derive(ClapArgs, Clone, Debug, Default)]
pub struct FollowArgs {
    /// Go on as the files grow, and say it when something is violated; Ctrl-C ends it, with the report
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["beside", "open", "json"])]
    pub follow: bool,
    /// Meanwhile serve what was judged to Prometheus
    #[arg(long, requires = "follow", value_name = "HOST:PORT", help_heading = OUTPUT)]
    metrics: Option<SocketAddr>,
}

/// Something that is violated.
struct Seen {
    since: Instant,
    told: bool,
}

/// Follows `files` until it is asked to end, and then returns the judgement of all that was written. `judge` judges copies of them.
///
/// # Errors
/// A file cannot be read, or what was written in the end cannot be judged.
pub fn follow(
    files: &[PathBuf],
    args: &FollowArgs,
    show: Show,
    judge: impl Fn(&[PathBuf]) -> Result<Judged, Stop>,
) -> Result<Judged, Stop> {
    let metrics = args.metrics.map(Metrics::serve).transpose()?;
    let (folder, ends) = (Folder::new()?, on_request()?);
    let mut sources = Vec::new();
    for (place, file) in files.iter().enumerate() {
        await_file(file, &ends, show);
        sources.push(Source::open(file, &folder, place)?);
    }
    let copies: Vec<PathBuf> = sources.iter().map(|source| source.copy().to_owned()).collect();
    let named = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    show.banner(&format!("following {named}; Ctrl-C ends it"));
    let (mut seen, mut refused) = (BTreeMap::new(), String::new());
    let (mut rests_until, mut waits) = (Instant::now(), false);
    while !ends.load(Ordering::Relaxed) && !sources.iter().all(Source::has_ended) {
        for source in &mut sources {
            waits |= source.read()?;
        }
        let suspects = seen.values().any(|seen: &Seen| !seen.told);
        if (waits || suspects) && Instant::now() >= rests_until {
            let since = Instant::now();
            match judge(&copies) {
                Ok(judged) => {
                    refused.clear();
                    tell(&judged, &mut seen, show);
                    metrics.iter().for_each(|metrics| metrics.judged(&judged.judgement));
                }
                Err(why) => {
                    metrics.iter().for_each(Metrics::refused);
                    // The first lines may not have been written yet.
                    if refused != why.why && sources.iter().any(Source::has_lines) {
                        show.banner(&format!("not judged: {}", source::with_names(&why.why, &sources)));
                        refused = why.why;
                    }
                }
            }
            waits = false;
            rests_until = Instant::now() + since.elapsed() * (SHARE - 1);
        }
        thread::sleep(LOOKS);
    }
    for source in &mut sources {
        source.read()?;
        // As `check` reads a last line without its end.
        source.end_line()?;
    }
    let mut judged = judge(&copies).map_err(|why| Stop { why: source::with_names(&why.why, &sources), ..why })?;
    judged.notes.iter_mut().for_each(|note| *note = source::with_names(note, &sources));
    Ok(judged)
}

/// Waits for a file that is not there yet, if its folder is.
fn await_file(file: &Path, ends: &AtomicBool, show: Show) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let waits = || file != Path::new("-") && !file.exists() && folder.exists() && !ends.load(Ordering::Relaxed);
    if waits() {
        show.banner(&format!("waiting for {}", file.display()));
    }
    while waits() {
        thread::sleep(LOOKS);
    }
}

/// Says what is violated now and was not before, and what is not violated any more.
fn tell(judged: &Judged, seen: &mut BTreeMap<&'static str, Seen>, show: Show) {
    let violated = judged.judgement.invariants.iter().filter(|seen| !seen.holds && seen.class == Class::Safety);
    let violated: Vec<_> = violated.collect();
    seen.retain(|name, seen| {
        let still = violated.iter().any(|violated| violated.name == *name);
        if !still && seen.told {
            say(&format!("{name} is not violated, by what was written since"), show);
        }
        still
    });
    for violated in violated {
        let seen = seen.entry(violated.name).or_insert_with(|| Seen { since: Instant::now(), told: false });
        if !seen.told && seen.since.elapsed() >= SEEN_FOR {
            seen.told = true;
            say(&format!("VIOLATED {}: {}", violated.name, violated.detail), show);
        }
    }
}

fn say(line: &str, show: Show) {
    if !show.quiet {
        print(line);
    }
}

/// Is true once the process has been asked to end.
fn on_request() -> Result<Arc<AtomicBool>, Stop> {
    let (ends, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let flag = ends.clone();
    let set = move || {
        // The second time at once.
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        flag.store(true, Ordering::Relaxed);
    };
    ctrlc::set_handler(set).map_err(|error| Stop::harness(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(ends)
}
