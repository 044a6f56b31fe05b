//! A sweep's progress bar.

use super::{exit::Stop, output::Show};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many runs are done, and how many of them failed.
pub struct Progress {
    bar: ProgressBar,
    failures: AtomicU64,
}

impl Progress {
    /// The bar for so many runs, on standard error, if there is a terminal that wants one.
    ///
    /// # Errors
    /// The bar's template is wrong: the harness is at fault.
    pub fn new(runs: u64, show: Show) -> Result<Progress, Stop> {
        let bar = ProgressBar::new(runs);
        bar.set_draw_target(if show.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {per_sec}, {eta} left, {msg}");
        bar.set_style(style.map_err(|e| Stop::harness(e.to_string()))?);
        bar.set_message("0 failures");
        Ok(Progress { bar, failures: AtomicU64::new(0) })
    }

    /// A run is done.
    pub fn done(&self, failed: bool) {
        if failed {
            let so_far = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            self.bar.set_message(format!("{so_far} failures"));
        }
        self.bar.inc(1);
    }

    /// The bar goes away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
