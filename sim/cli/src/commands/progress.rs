//! Progress bars: for a sweep's runs, and for one long run's virtual time.

use super::{exit::Stop, output::Show};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use reports::statistics::grouped;
use sim::outcome::Ended;
use std::{
    fmt::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError::Timeout},
    },
    thread,
    time::{Duration, Instant},
};

/// A run shorter than this shows no bar.
const SHORT: Duration = Duration::from_secs(1);
/// Polling interval of a run's progress.
const LOOK: Duration = Duration::from_millis(200);

/// Without a terminal, progress lines on standard error are this far apart.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Runs something that takes `duration_ms` of virtual time and reports its progress. If it takes long, standard error
/// shows the progress: a bar on a terminal that wants one, otherwise a line now and then.
pub fn follow<R>(show: Show, duration_ms: u64, run: impl FnOnce(Option<Arc<AtomicU64>>) -> R) -> R {
    if show.quiet {
        return run(None);
    }
    let now_us = Arc::new(AtomicU64::new(0));
    let (over, is_over) = mpsc::channel::<()>();
    let seen_us = Arc::clone(&now_us);
    thread::scope(|scope| {
        scope.spawn(move || {
            if !show.progress() {
                while is_over.recv_timeout(LINE_EVERY) == Err(Timeout) {
                    show.banner(&so_far(seen_us.load(Ordering::Relaxed) / 1_000, duration_ms));
                }
                return;
            }
            if is_over.recv_timeout(SHORT) != Err(Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(Some(duration_ms), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {msg}, {eta} left") {
                bar.set_style(style);
            }
            loop {
                let at_ms = seen_us.load(Ordering::Relaxed) / 1_000;
                bar.set_position(at_ms);
                bar.set_message(so_far(at_ms, duration_ms));
                if is_over.recv_timeout(LOOK) != Err(Timeout) {
                    return bar.finish_and_clear();
                }
            }
        });
        let ran = run(Some(now_us));
        drop(over);
        ran
    })
}

/// A run's progress in words.
fn so_far(at_ms: u64, duration_ms: u64) -> String {
    format!("{} of {} s of virtual time", grouped(at_ms / 1_000), grouped(duration_ms / 1_000))
}

/// Shows how many runs, or other items, are done: with a bar if standard error is a terminal that wants one, otherwise
/// with a line now and then.
pub struct Counter {
    bar: ProgressBar,
    show: Show,
    told: Mutex<Instant>,
}

impl Counter {
    pub fn new(runs: u64, show: Show) -> Counter {
        let bar = ProgressBar::new(runs);
        bar.set_draw_target(if show.progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        Counter { bar, show, told: Mutex::new(Instant::now()) }
    }

    /// Counts one finished run.
    pub fn done(&self) {
        self.bar.inc(1);
        if self.show.progress() {
            return;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.elapsed() >= LINE_EVERY {
            *told = Instant::now();
            let [done, all] = [self.bar.position(), self.bar.length().unwrap_or(0)].map(grouped);
            self.show.banner(&format!("{done} of {all} done"));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Counts finished runs by outcome.
pub struct Progress {
    runs: Counter,
    broken: AtomicU64,
    inconclusive: AtomicU64,
}

impl Progress {
    /// A progress bar for this many runs.
    ///
    /// # Errors
    /// The bar's template is wrong: a bug in the harness.
    pub fn new(runs: u64, show: Show) -> Result<Progress, Stop> {
        let runs = Counter::new(runs, show);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {rate}, {eta} left, {msg}");
        let style = style.map_err(|e| Stop::harness(e.to_string()))?;
        let rate = |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{:.1} runs/s", state.per_sec());
        };
        runs.bar.set_style(style.with_key("rate", rate));
        runs.bar.set_message("0 broken");
        Ok(Progress { runs, broken: AtomicU64::new(0), inconclusive: AtomicU64::new(0) })
    }

    /// Counts one finished run.
    pub fn done(&self, ended: Ended) {
        match ended {
            Ended::Kept => {}
            Ended::Inconclusive => drop(self.inconclusive.fetch_add(1, Ordering::Relaxed)),
            Ended::Broken | Ended::Invalid => drop(self.broken.fetch_add(1, Ordering::Relaxed)),
        }
        if ended != Ended::Kept {
            let [broken, inconclusive] = [&self.broken, &self.inconclusive].map(|n| n.load(Ordering::Relaxed));
            self.runs.bar.set_message(format!("{broken} broken, {inconclusive} inconclusive"));
        }
        self.runs.done();
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.runs.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::election;
    use scenarios::{Params, scenario};
    use sim::run::{self, Options};

    #[test]
    fn who_looks_on_sees_how_far_a_run_is_and_changes_nothing() {
        let steady = scenario::find("steady").expect("a scenario");
        let params = Params { rate: 20, duration_ms: Some(5_000), ..Params::default() };
        let plan = steady.compile(&params, &election::etcd::PROTOCOL, 1).expect("a plan");
        let now_us = Arc::new(AtomicU64::new(0));
        let run = |now_us| run::run(&plan, Options { now_us, ..Options::default() }).expect("it ends");
        let (seen, alone) = (run(Some(Arc::clone(&now_us))), run(None));
        assert_eq!(seen.trace_hash(), alone.trace_hash());
        let at_us = now_us.load(Ordering::Relaxed);
        assert!((4_500_000..=5_000_000).contains(&at_us), "{at_us} µs");
        assert_eq!(so_far(4_900, 16_807_000), "4 of 16,807 s of virtual time");
        assert!(follow(Show { quiet: true, ..Show::default() }, 1, |now_us| now_us.is_none()), "nobody looks on");
    }
}
