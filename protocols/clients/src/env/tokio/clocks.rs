//! A process's own clocks: the machine's with an offset and a rate that can change while the process runs.

use protocols::clock::Now;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::watch;

const MILLION: i128 = 1_000_000;
const MILLISECOND: i128 = 1_000_000;
/// Deadlines further away than this are never reached.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The clocks of one process. Clones share them.
#[derive(Clone)]
pub struct Clocks {
    shared: Arc<Shared>,
}

struct Shared {
    /// When the clocks were created, on the machine's clock.
    start: Machine,
    course: Mutex<Course>,
    /// Wakes sleepers when the rate changes, since their deadlines on the machine's clock move.
    changed: watch::Sender<()>,
}

/// How the clocks have run since the last change. Nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Course {
    /// The machine's time since `start` at the beginning of this course.
    since: i128,
    /// The monotonic clock's reading at that moment.
    mono: i128,
    /// The wall clock's lead over the machine's at that moment.
    ahead: i128,
    /// How much faster than the machine's clock both have run since, parts per million.
    rate_ppm: i64,
}

impl Course {
    /// How far the rate has moved the clocks from the beginning of the course until `elapsed`.
    fn gained(&self, elapsed: i128) -> i128 {
        (elapsed - self.since) * i128::from(self.rate_ppm) / MILLION
    }

    /// The monotonic clock's reading when the machine's shows `elapsed`.
    fn mono(&self, elapsed: i128) -> i128 {
        self.mono + (elapsed - self.since) + self.gained(elapsed)
    }

    /// The machine's time when the monotonic clock shows `mono`, rounded up.
    fn machine(&self, mono: i128) -> i128 {
        let rate = (MILLION + i128::from(self.rate_ppm)).max(1);
        self.since + ((mono - self.mono).max(0) * MILLION + rate - 1) / rate
    }

    /// The course that follows this one from `elapsed` on.
    fn from(&self, elapsed: i128, rate_ppm: i64) -> Course {
        Course { since: elapsed, mono: self.mono(elapsed), ahead: self.ahead + self.gained(elapsed), rate_ppm }
    }
}

impl Clocks {
    /// Clocks that are `wall_offset_ms` ahead of the machine's and `rate_ppm` parts per million faster; above
    /// −1,000,000.
    pub fn new(wall_offset_ms: i64, rate_ppm: i64) -> Self {
        let course = Course { since: 0, mono: 0, ahead: i128::from(wall_offset_ms) * MILLISECOND, rate_ppm };
        let (changed, _) = watch::channel(());
        Clocks { shared: Arc::new(Shared { start: Machine::now(), course: Mutex::new(course), changed }) }
    }

    pub fn now(&self) -> Now {
        let (elapsed, course) = self.reading();
        // A step of the machine's wall clock is to show here too.
        let wall = (machine_wall() + course.ahead + course.gained(elapsed)).max(0);
        let nanoseconds = |time: i128| u64::try_from(time.max(0)).unwrap_or(u64::MAX);
        Now { mono: nanoseconds(course.mono(elapsed)), wall: nanoseconds(wall) }
    }

    /// Changes the rate: parts per million faster than the machine's, above −1,000,000. Neither clock jumps.
    pub fn set_rate(&self, rate_ppm: i64) {
        let mut course = self.shared.course.lock().unwrap_or_else(PoisonError::into_inner);
        *course = course.from(self.elapsed(), rate_ppm);
        drop(course);
        self.shared.changed.send_replace(());
    }

    /// Steps the wall clock; the monotonic clock never steps.
    pub fn step(&self, by_ms: i64) {
        self.shared.course.lock().unwrap_or_else(PoisonError::into_inner).ahead += i128::from(by_ms) * MILLISECOND;
    }

    /// Sleeps until the monotonic clock shows `mono`, across changes of rate.
    pub fn sleep_until(&self, mono: u64) -> Sleep {
        let (clocks, mut changed) = (self.clone(), self.shared.changed.subscribe());
        Sleep(Box::pin(async move {
            loop {
                let (elapsed, course) = clocks.reading();
                if course.mono(elapsed) >= i128::from(mono) {
                    return;
                }
                tokio::select! {
                    biased;
                    () = tokio::time::sleep_until(clocks.instant(course.machine(i128::from(mono))).into()) => {}
                    // `changed` cannot fail: `clocks` holds its sender.
                    _ = changed.changed() => {}
                }
            }
        }))
    }

    fn elapsed(&self) -> i128 {
        Machine::now().0 - self.shared.start.0
    }

    /// The machine's time since `start` and the current course, read together so that no change falls between the two.
    fn reading(&self) -> (i128, Course) {
        let course = self.shared.course.lock().unwrap_or_else(PoisonError::into_inner);
        (self.elapsed(), *course)
    }

    /// When the machine's clock will show `elapsed`, if it is not suspended until then.
    fn instant(&self, elapsed: i128) -> Instant {
        let remaining = u64::try_from((elapsed - self.elapsed()).max(0)).unwrap_or(u64::MAX);
        let now = Instant::now();
        now.checked_add(Duration::from_nanos(remaining).min(FAR)).unwrap_or(now)
    }
}

/// Nanoseconds of the machine's monotonic clock. On Linux it goes on while the machine is suspended, unlike `Instant`:
/// leases run out meanwhile. Sleeps do not go on, so who sleeps may wake late by as much.
#[derive(Clone, Copy)]
struct Machine(i128);

impl Machine {
    #[cfg(target_os = "linux")]
    fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Machine(i128::from(now.tv_sec) * 1_000 * MILLISECOND + i128::from(now.tv_nsec))
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Self {
        static ORIGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        Machine(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as i128)
    }
}

impl fmt::Debug for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Clocks").field(&self.reading().1).finish()
    }
}

/// Nanoseconds since the Unix epoch on the machine's clock.
fn machine_wall() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as i128
}

/// A sleep on a process's own clock.
pub struct Sleep(Pin<Box<dyn Future<Output = ()> + Send + Sync>>);

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Sleep")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i128 = 1_000 * MILLISECOND;

    #[test]
    fn a_change_of_rate_counts_from_then_on_and_nothing_jumps() {
        let slow = Course { since: 0, mono: 0, ahead: 50 * MILLISECOND, rate_ppm: -200_000 };
        assert_eq!((slow.mono(10 * SECOND), slow.machine(8 * SECOND)), (8 * SECOND, 10 * SECOND));
        let fast = slow.from(10 * SECOND, 100_000);
        assert_eq!(fast.mono(10 * SECOND), 8 * SECOND);
        assert_eq!(fast.ahead + fast.gained(10 * SECOND), slow.ahead + slow.gained(10 * SECOND));
        assert_eq!((fast.mono(20 * SECOND), fast.machine(19 * SECOND)), (19 * SECOND, 20 * SECOND));
        // Two seconds were lost at first, and one has been gained since.
        assert_eq!(fast.ahead + fast.gained(20 * SECOND), 50 * MILLISECOND - SECOND);
        // A reading that has already passed must not be waited for.
        assert_eq!(fast.machine(0), 10 * SECOND);
    }

    #[test]
    fn a_step_moves_the_wall_clock_alone() {
        let clocks = Clocks::new(0, 0);
        let before = clocks.now();
        clocks.step(-3_600_000);
        let after = clocks.now();
        assert!(after.mono >= before.mono && after.mono - before.mono < 60_000_000_000, "{before:?} {after:?}");
        assert!(before.wall - after.wall > 3_540_000_000_000, "{before:?} {after:?}");
        // Clones share the clocks.
        clocks.clone().step(3_600_000);
        assert!(clocks.now().wall >= before.wall);
    }

    #[tokio::test]
    async fn who_sleeps_wakes_by_the_clock_as_it_runs_by_then() {
        let clocks = Clocks::new(0, 0);
        let hour = clocks.now().mono + 3_600_000_000_000;
        let sleep = clocks.sleep_until(hour);
        let started = Instant::now();
        // A hundred thousand times as fast: the hour takes 36 ms.
        let speed_up = async { clocks.set_rate(100_000_000_000) };
        tokio::join!(sleep, speed_up);
        assert!(clocks.now().mono >= hour && started.elapsed() < Duration::from_secs(60));
        // A sleep follows a clock that is slowed down.
        let clocks = Clocks::new(0, 0);
        let started = Instant::now();
        let sleep = clocks.sleep_until(clocks.now().mono + 50_000_000);
        let slow_down = async { clocks.set_rate(-500_000) };
        tokio::join!(sleep, slow_down);
        assert!(started.elapsed() >= Duration::from_millis(90), "{:?}", started.elapsed());
    }
}
