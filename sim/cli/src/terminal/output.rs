//! Where reports, banners and progress go: the report to standard output, everything else to standard error.

use reports::text::{WIDTH, WIDTH_MIN};
use std::io::{self, IsTerminal, Write};

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
