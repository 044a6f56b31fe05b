//! True time for histories of processes on one machine.

use protocols::types::MICROSECOND;
use rustix::time::{ClockId, clock_gettime};

/// Microseconds of the machine's monotonic clock: the same for every process, never stepped. Not comparable between
/// machines; a history across several machines needs their clocks' offsets (clock_gettime(2), `CLOCK_MONOTONIC`).
pub fn true_time_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    nanoseconds / MICROSECOND
}
