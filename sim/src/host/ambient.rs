//! What a run's code finds in libc: a clock and entropy. Here they are madsim's.

use madsim::{Config, runtime::Runtime, time::TimeHandle};
use std::time::Duration;

/// The clock and entropy of the calling thread, until it is dropped.
pub struct Ambient(Runtime);

impl Ambient {
    pub fn new(seed: u64) -> Ambient {
        Ambient(Runtime::with_seed_and_config(seed, Config::default()))
    }

    /// Runs `body`, which sets the clock.
    pub fn run(&self, body: impl FnOnce(Clock)) {
        self.0.block_on(async { body(Clock(TimeHandle::current())) });
    }
}

pub struct Clock(TimeHandle);

impl Clock {
    /// Moves the clock on to this time, in nanoseconds since the run began.
    pub fn set(&self, now: u64) {
        let is = self.0.elapsed().as_nanos() as u64;
        if now > is {
            self.0.advance(Duration::from_nanos(now - is));
        }
    }
}
