//! Writes a run's page to its folder, and opens it with the platform's opener.

use super::{exit::Stop, output::Show};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// Writes the page to a file called `name` in `folder`, and prints where it is.
///
/// # Errors
/// It cannot be written.
pub fn write(folder: &Path, name: &str, html: &str, show: Show) -> Result<PathBuf, Stop> {
    let file = folder.join(name);
    fs::create_dir_all(folder).map_err(|e| Stop::usage(format!("cannot make {}: {e}", folder.display())))?;
    fs::write(&file, html).map_err(|e| Stop::usage(format!("cannot write {}: {e}", file.display())))?;
    show.banner(&format!("timeline: {}", file.display()));
    Ok(file)
}

/// The platform's opener, and its arguments before the file.
const fn opener() -> (&'static str, &'static [&'static str]) {
    if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        // `start` is built into the shell, and takes its first quoted argument as a title.
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    }
}

/// True if the opener succeeded, or is still running: it may become the browser itself, which runs until it is closed.
fn has_opened(mut opener: Child) -> bool {
    for _ in 0..100 {
        match opener.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    true
}

/// Opens `file`, or prints where it is if nothing here opens it. The run's verdict does not depend on it.
pub fn open(file: &Path, show: Show) {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    let (program, before) = opener();
    let opened = Command::new(program).args(before).arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if !opened.is_ok_and(has_opened) {
        show.banner(&format!("nothing here opens a browser; the page is {}", file.display()));
    }
}
