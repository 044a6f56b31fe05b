//! Where output goes: the report to standard output, banners and progress to standard error, and a run's page to its
//! folder and to the browser.

use super::exit::Stop;
use reports::text::{WIDTH, WIDTH_MIN};
use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// Longer lines are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 140;

/// Which output the user asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Show {
    /// One JSON object on standard output and nothing else.
    pub json: bool,
    /// No banner, no progress, and only the verdict of the report.
    pub quiet: bool,
    /// The whole report.
    pub verbose: bool,
}

impl Show {
    /// True if standard output is a terminal that wants colour.
    pub fn colour(self) -> bool {
        !self.json && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && io::stdout().is_terminal()
    }

    /// Width of a report in characters: the terminal's, that of COLUMNS, or 100.
    pub fn width(self) -> usize {
        self.room().unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// Characters per line on a terminal, or as COLUMNS says; `None` in a pipe, where lines stay whole.
    pub fn room(self) -> Option<usize> {
        let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|n| *n > 0);
        let terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        asked.or_else(terminal)
    }

    /// True if standard error is a terminal that wants a progress bar.
    pub fn progress(self) -> bool {
        !self.quiet && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && io::stderr().is_terminal()
    }

    /// Prints a line on standard error, beside the report.
    pub fn banner(self, line: &str) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// Prints to standard output. A reader that has gone away (`fencepost … | head`) is not an error.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ =
        out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    let _ = out.flush();
}

// Writes a run's page to its folder, and opens it with the platform's opener.

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
