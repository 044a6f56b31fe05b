//! Where reports, banners and progress go: the report to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

/// What the user asked to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Show {
    /// One JSON object on standard output and nothing else.
    pub json: bool,
    /// No banner, no progress, and only the verdict of the report.
    pub quiet: bool,
}

impl Show {
    /// Is standard output a terminal that wants colour?
    pub fn colour(self) -> bool {
        !self.json && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && io::stdout().is_terminal()
    }

    /// Is there a terminal that wants a progress bar?
    pub fn progress(self) -> bool {
        !self.quiet && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && io::stderr().is_terminal()
    }

    /// A line for the reader, not for the report.
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
