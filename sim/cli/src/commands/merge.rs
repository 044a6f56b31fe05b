//! `merge`: the shards of a sweep as one result.

use super::{
    exit::Stop,
    findings_args::MergeArgs,
    one_run::default_out,
    output::Show,
    shard::Place,
    swarm,
    sweep::{ARTIFACTS_MAX, Told, conclude},
};
use sim::{
    known,
    merge::{self, FILE, Shard},
    registry::Registry,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Merges the shards, prints the result, and returns the exit code of the whole sweep.
///
/// # Errors
/// They are not the shards of one sweep, each once, or a file could not be written.
pub fn run(registry: &Registry, args: &MergeArgs) -> Result<u8, Stop> {
    let out = args.out.clone().unwrap_or_else(default_out);
    let folders = args.dirs.iter().flat_map(|dir| folders(dir));
    let shards = folders.map(|folder| Shard::read(&folder).map(|shard| (folder, shard)));
    let shards: Vec<_> = shards.collect::<Result<_, _>>()?;
    let mut merged = merge::merge(shards, registry)?;
    known::keep(&mut merged.outcome.failures, &out)?;
    for (from, to) in merged.settle(ARTIFACTS_MAX, &out) {
        copy(&from, &to).map_err(|e| Stop::usage(format!("cannot copy {}: {e}", from.display())))?;
    }
    let place = Place::merged(out);
    let (told, show) = (Told { asked: &merged.asked, took: merged.took, shard: (1, 1) }, Show::from(&args.show));
    let to = place.beside();
    match merged.swarm {
        None => conclude(&merged.outcome, &told, show, &to),
        Some(mut swept) => {
            swept.outcome = merged.outcome;
            swarm::conclude(&swept, &told, false, show, &to)
        }
    }
}

/// The folders of shards: this one, or those in it, sorted by name.
fn folders(dir: &Path) -> Vec<PathBuf> {
    let has_one = |folder: &PathBuf| folder.join(FILE).is_file();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(has_one).collect();
    below.sort();
    // A folder without any is named in the error.
    if below.is_empty() || has_one(&dir.to_owned()) { vec![dir.to_owned()] } else { below }
}

/// Copies a file, or a folder with its content; existing files stay.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if std::path::absolute(from)? == std::path::absolute(to)? {
        return Ok(());
    }
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
