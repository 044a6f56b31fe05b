//! A sweep's progress bar.

use super::{exit::Stop, output::Show};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use sim::outcome::Ended;
use std::{
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering},
};

/// How many runs are done, and what came of them.
pub struct Progress {
    bar: ProgressBar,
    broken: AtomicU64,
    inconclusive: AtomicU64,
}

impl Progress {
    /// The bar for so many runs, on standard error, if there is a terminal that wants one.
    ///
    /// # Errors
    /// The bar's template is wrong: the harness is at fault.
    pub fn new(runs: u64, show: Show) -> Result<Progress, Stop> {
        let bar = ProgressBar::new(runs);
        bar.set_draw_target(if show.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {rate}, {eta} left, {msg}");
        let style = style.map_err(|e| Stop::harness(e.to_string()))?;
        let rate = |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{:.1} runs/s", state.per_sec());
        };
        bar.set_style(style.with_key("rate", rate));
        bar.set_message("0 broken");
        Ok(Progress { bar, broken: AtomicU64::new(0), inconclusive: AtomicU64::new(0) })
    }

    /// A run is done.
    pub fn done(&self, ended: Ended) {
        match ended {
            Ended::Kept => {}
            Ended::Inconclusive => drop(self.inconclusive.fetch_add(1, Ordering::Relaxed)),
            Ended::Broken | Ended::Invalid => drop(self.broken.fetch_add(1, Ordering::Relaxed)),
        }
        if ended != Ended::Kept {
            let [broken, inconclusive] = [&self.broken, &self.inconclusive].map(|n| n.load(Ordering::Relaxed));
            self.bar.set_message(format!("{broken} broken, {inconclusive} inconclusive"));
        }
        self.bar.inc(1);
    }

    /// The bar goes away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
