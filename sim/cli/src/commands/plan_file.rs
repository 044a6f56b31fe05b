//! Reads plan and capsule files for `replay`, `explain` and `shrink`.

use super::exit::Stop;
use scenarios::Artifact;
use sim::registry::Registry;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// No plan is larger than this.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// The plan or capsule in `file` (`-` for standard input), with names of the registry.
///
/// # Errors
/// The file cannot be read, or is no plan: one sentence.
pub fn read(registry: &Registry, file: &Path) -> Result<Artifact, Stop> {
    let text = text(file)?;
    Artifact::read(&text, &registry.plans).map_err(|e| Stop::usage(format!("{}: {e}", file.display())))
}

/// The absolute path, which works from any folder; standard input stays `-`.
pub fn whole_path(file: &Path) -> String {
    let known = std::path::absolute(file).ok().filter(|_| file != Path::new("-"));
    known.unwrap_or_else(|| file.to_path_buf()).display().to_string()
}

fn text(file: &Path) -> Result<String, Stop> {
    let unreadable = |e: io::Error| {
        let why = match e.kind() {
            io::ErrorKind::InvalidData => "it is not text".to_owned(),
            _ => e.to_string(),
        };
        Stop::usage(format!("cannot read {}: {why}", file.display()))
    };
    let mut text = String::new();
    if file == Path::new("-") {
        io::stdin().lock().take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let file = File::open(file).map_err(unreadable)?;
        file.take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    }
    Ok(text)
}
