//! Measures how long the machine itself stood still while a plan was played. Real processes share the machine with
//! other load; its stalls must not be blamed on a protocol.

use protocols_real::log::true_time_us;
use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The watching thread's sleep; what it oversleeps is counted as a stall.
const NAP: Duration = Duration::from_millis(10);
/// The interval between syncs of the watching thread's file.
const SYNC_EVERY: Duration = Duration::from_millis(100);
/// Shorter stalls are normal scheduling and disk latency.
const NOTED: Duration = Duration::from_millis(5);

/// What stalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Processes that were ready to run did not run.
    Processors,
    /// One of the cluster's processes was ready to run and waited for a processor.
    Cluster,
    /// A sync of a file was slow.
    Disk,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    pub longest: Duration,
    /// When the longest began, in microseconds of the machine's clock.
    pub longest_at_us: u64,
    pub total: Duration,
}

/// The stalls seen while a plan was played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stalls {
    /// See [`What::Processors`].
    pub processors: Sum,
    /// See [`What::Cluster`]; of the process that waited most.
    pub cluster: Sum,
    /// See [`What::Disk`].
    pub disk: Sum,
}

/// Why a run says nothing about liveness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Excuse {
    pub what: What,
    pub stalls: Sum,
    /// The run's duration.
    pub of: Duration,
}

impl fmt::Display for Excuse {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Sum { longest, total, .. } = self.stalls;
        let what = match self.what {
            What::Processors => "the machine stood still",
            What::Cluster => "the cluster's processes waited for a processor",
            What::Disk => "the machine's disk stood still",
        };
        let (longest, total, of) = (longest.as_millis(), total.as_millis(), self.of.as_millis());
        write!(f, "{what} for up to {longest} ms at a time, {total} of {of} ms altogether")
    }
}

impl Sum {
    fn add(&mut self, at_us: u64, stall: Duration) {
        if stall < NOTED {
            return;
        }
        self.total += stall;
        if stall > self.longest {
            (self.longest, self.longest_at_us) = (stall, at_us);
        }
    }

    /// Whether the stalls are too much for timers of `lease`. A protocol renews every third of a lease and has another
    /// third to ask again; a stall of a tenth of a lease, or of a tenth of the time overall, may make it miss that
    /// through no fault of its own.
    fn too_much(&self, lease: Duration, of: Duration) -> bool {
        self.longest >= (lease / 10).max(2 * NAP) || self.total >= of / 10
    }
}

impl Stalls {
    /// Why a run of length `of` with leases of `lease` says nothing about liveness; `None` if the machine was fast
    /// enough.
    pub fn excuse(&self, lease: Duration, of: Duration) -> Option<Excuse> {
        let all = [(What::Processors, self.processors), (What::Cluster, self.cluster), (What::Disk, self.disk)];
        let (what, stalls) = all.into_iter().find(|(_, sum)| sum.too_much(lease, of))?;
        Some(Excuse { what, stalls, of })
    }
}

/// How long each child process has waited for a processor.
#[derive(Default)]
struct Waits {
    /// By process: the kernel's last count, and the total.
    known: BTreeMap<u32, (u64, Duration)>,
    /// Waits that continue with little break.
    running: BTreeMap<u32, Duration>,
}

impl Waits {
    /// Takes the kernel's counts (nanoseconds by process). Returns the longest wait in progress, and the largest total
    /// of one process.
    fn look(&mut self, now: &BTreeMap<u32, u64>, every: Duration) -> (Duration, Duration) {
        let mut longest = Duration::ZERO;
        for (process, waited) in now {
            // Waits before the first look are part of its start.
            let (before, total) = self.known.entry(*process).or_insert((*waited, Duration::ZERO));
            let fresh = Duration::from_nanos(waited.saturating_sub(*before));
            (*before, *total) = (*waited, *total + fresh);
            let running = self.running.entry(*process).or_default();
            *running = if fresh * 2 >= every { *running + fresh } else { fresh };
            longest = longest.max(*running);
        }
        (longest, self.known.values().map(|(_, total)| *total).max().unwrap_or_default())
    }
}

/// The nanoseconds that each child was ready but did not run (Linux, Documentation/scheduler/sched-stats.rst, the
/// second number of `schedstat`). Empty on systems that do not report them.
fn waits_of_children() -> BTreeMap<u32, u64> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> =
        children.flat_map(|c| c.split_whitespace().filter_map(|p| p.parse().ok()).collect::<Vec<_>>()).collect();
    let waited = |process: &u32| {
        let text = fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    children.into_iter().filter_map(|process| Some((process, waited(&process)?))).collect()
}

/// Watches the machine until ended or dropped.
pub struct Watch {
    seen: Arc<Mutex<Stalls>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Watch {
    /// Starts watching the processors, and the disk that holds `folder`.
    ///
    /// # Errors
    /// No file can be created there.
    pub fn start(folder: &Path) -> io::Result<Watch> {
        let (seen, over) = (Arc::<Mutex<Stalls>>::default(), Arc::<AtomicBool>::default());
        let mut file = File::create(folder.join("stalls.watch"))?;
        let nap = |note: fn(&mut Stalls) -> &mut Sum, mut stall: Box<dyn FnMut() -> Duration + Send>| {
            let (seen, over) = (seen.clone(), over.clone());
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let at_us = true_time_us();
                    let stall = stall();
                    note(&mut seen.lock().unwrap_or_else(PoisonError::into_inner)).add(at_us, stall);
                }
            })
        };
        let oversleep = || {
            let start = Instant::now();
            thread::sleep(NAP);
            start.elapsed().saturating_sub(NAP)
        };
        let sync = move || {
            thread::sleep(SYNC_EVERY);
            let start = Instant::now();
            // The file grows, as logs do: a sync then waits for the file system's journal, and so for other writers. A
            // full disk is for the store to report.
            let _ = file.write_all(b"x").and_then(|()| file.sync_data());
            start.elapsed()
        };
        let cluster = {
            let (seen, over, mut waits) = (seen.clone(), over.clone(), Waits::default());
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let at_us = true_time_us();
                    thread::sleep(SYNC_EVERY);
                    let (longest, total) = waits.look(&waits_of_children(), SYNC_EVERY);
                    let sum = &mut seen.lock().unwrap_or_else(PoisonError::into_inner).cluster;
                    sum.total = total;
                    if longest > sum.longest {
                        (sum.longest, sum.longest_at_us) = (longest, at_us);
                    }
                }
            })
        };
        let threads =
            vec![cluster, nap(|s| &mut s.processors, Box::new(oversleep)), nap(|s| &mut s.disk, Box::new(sync))];
        Ok(Watch { seen, over, threads })
    }

    /// Stops watching, and returns what was seen.
    pub fn end(mut self) -> Stalls {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The thread has no reason to panic.
            let _ = thread.join();
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);
    const RUN: Duration = Duration::from_secs(20);

    fn sum(stalls_ms: &[u64]) -> Sum {
        let mut sum = Sum::default();
        (0u64..).zip(stalls_ms).for_each(|(at_us, ms)| sum.add(at_us, Duration::from_millis(*ms)));
        sum
    }

    #[test]
    fn a_machine_that_is_well_excuses_nothing() {
        let well = Stalls { processors: sum(&[1, 4, 30, 150, 4]), disk: sum(&[20; 40]), ..Stalls::default() };
        assert_eq!(well.excuse(LEASE, RUN), None);
        assert_eq!(well.processors.total, Duration::from_millis(180), "what is shorter than 5 ms is no stall");
    }

    #[test]
    fn one_long_stall_or_many_short_ones_excuse_a_run() {
        let long = Stalls { processors: sum(&[10, 400, 10]), ..Stalls::default() };
        let said = long.excuse(LEASE, RUN).map(|e| e.to_string());
        let expected = "the machine stood still for up to 400 ms at a time, 420 of 20000 ms altogether";
        assert_eq!(said.as_deref(), Some(expected));
        assert_eq!(long.processors.longest_at_us, 1);
        let often = Stalls { disk: sum(&[50; 40]), ..Stalls::default() };
        let said = often.excuse(LEASE, RUN).map(|e| e.to_string());
        let expected = "the machine's disk stood still for up to 50 ms at a time, 2000 of 20000 ms altogether";
        assert_eq!(said.as_deref(), Some(expected));
        // A lease of 2 s tolerates this, one of 150 ms does not.
        let short = Stalls { processors: sum(&[30]), ..Stalls::default() };
        assert_eq!(short.excuse(LEASE, RUN), None);
        assert!(short.excuse(Duration::from_millis(150), RUN).is_some());
    }

    #[test]
    fn processes_that_wait_for_a_processor_excuse_a_run() {
        let (mut waits, every) = (Waits::default(), Duration::from_millis(100));
        let ms = |ms: u64| Duration::from_millis(ms);
        let mut look = |a: u64, b: u64| waits.look(&BTreeMap::from([(1, a * 1_000_000), (2, b * 1_000_000)]), every);
        assert_eq!(look(500, 7), (ms(0), ms(0)), "what was before does not count");
        assert_eq!(look(520, 10), (ms(20), ms(20)));
        assert_eq!(look(610, 10), (ms(110), ms(110)), "90 of 100 ms: it goes on");
        assert_eq!(look(710, 11), (ms(210), ms(210)));
        assert_eq!(look(711, 11), (ms(1), ms(211)));
        let waited =
            Stalls { cluster: Sum { longest: ms(210), total: ms(211), ..Sum::default() }, ..Stalls::default() };
        let said = waited.excuse(LEASE, RUN).map(|e| e.to_string()).unwrap_or_default();
        assert!(
            said.starts_with("the cluster's processes waited for a processor for up to 210 ms at a time"),
            "{said}"
        );
        let mut child = std::process::Command::new("sleep").arg("5").spawn().expect("sleep is everywhere");
        assert!(waits_of_children().contains_key(&child.id()), "Linux tells");
        child.kill().and_then(|()| child.wait()).expect("it was running");
    }

    #[test]
    fn a_watch_sees_time_pass() {
        let watch = Watch::start(&std::env::temp_dir()).expect("temporary files can be made");
        thread::sleep(Duration::from_millis(150));
        let Stalls { processors, cluster, disk } = watch.end();
        assert!([processors, cluster, disk].iter().all(|sum| sum.longest < Duration::from_secs(60)));
    }
}
