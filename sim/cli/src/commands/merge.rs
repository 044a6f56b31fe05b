//! `merge`: the shards of a sweep as one result.

use super::{
    exit::Stop,
    findings_args::MergeArgs,
    one_run::default_out,
    output::Show,
    sweep::{ARTIFACTS_MAX, Told, conclude},
};
use sim::{
    known,
    merge::{self, Shard},
    registry::Registry,
};
use std::{fs, path::Path};

/// Merges the shards, prints the result, and returns the exit code of the whole sweep.
///
/// # Errors
/// They are not the shards of one sweep, each once, or a file could not be written.
pub fn run(registry: &Registry, args: &MergeArgs) -> Result<u8, Stop> {
    let out = args.out.clone().unwrap_or_else(default_out);
    let shards = args.dirs.iter().map(|folder| Shard::read(folder).map(|shard| (folder.clone(), shard)));
    let shards: Vec<_> = shards.collect::<Result<_, _>>()?;
    let mut merged = merge::merge(shards, registry)?;
    known::keep(&mut merged.outcome.failures, &out)?;
    for (from, to) in merged.settle(ARTIFACTS_MAX, &out) {
        copy(&from, &to).map_err(|e| Stop::usage(format!("cannot copy {}: {e}", from.display())))?;
    }
    conclude(
        &merged.outcome,
        &Told { asked: &merged.asked, took: merged.took, shard: (1, 1) },
        Show::from(&args.show),
        &out,
    )
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
