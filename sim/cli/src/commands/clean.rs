//! `clean`: removes the artifacts of earlier runs.

use super::{
    exit::Stop,
    one_run::{default_out, is_folder, size},
    output::print,
};
use reports::statistics::count;
use sim::{artifacts, merge};
use std::{fs, path::Path};

/// Files that sweeps, a matrix and `report` write beside the artifacts of runs.
const OF_MANY: [&str; 7] =
    ["summary.json", "failures.ndjson", "inconclusive.ndjson", "junit.xml", "matrix.json", "index.html", merge::FILE];
/// Depth of scenario, protocol and seed below the shards of a sweep.
const DEPTH: usize = 6;

/// Removes the artifacts in a folder.
///
/// # Errors
/// The folder is a file, or a file cannot be removed.
pub fn run(dir: Option<&Path>, dry: bool) -> Result<u8, Stop> {
    let dir = dir.map_or_else(default_out, Path::to_path_buf);
    is_folder(&dir)?;
    let mut gone = (0, 0);
    sweep_out(&dir, dry, DEPTH, &mut gone)?;
    let (files, bytes) = gone;
    let done = if dry { "would remove" } else { "removed" };
    print(&format!("{done} {} ({}) below {}", count(files, "file"), size(bytes), dir.display()));
    Ok(0)
}

fn sweep_out(dir: &Path, dry: bool, depth: usize, (files, bytes): &mut (u64, u64)) -> Result<(), Stop> {
    let mut gone = (*files, *bytes);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // The target of a link belongs to somebody else.
        let Ok(kind) = entry.file_type() else { continue };
        let ours = || name.to_str().is_some_and(|name| artifacts::FILES.contains(&name) || OF_MANY.contains(&name));
        if kind.is_dir() && depth > 0 {
            sweep_out(&path, dry, depth - 1, &mut gone)?;
        } else if kind.is_file() && ours() {
            gone.0 += 1;
            gone.1 += entry.metadata().map_or(0, |file| file.len());
            if !dry {
                fs::remove_file(&path).map_err(|e| Stop::usage(format!("cannot remove {}: {e}", path.display())))?;
            }
        }
    }
    if !dry && gone.0 > *files {
        // A folder with other files in it stays.
        let _ = fs::remove_dir(dir);
    }
    (*files, *bytes) = gone;
    Ok(())
}
