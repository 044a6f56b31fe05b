//! The same without madsim.

use fencepost_libc::Solo;
use std::rc::Rc;

/// The clock and entropy of the calling thread, until it is dropped.
pub struct Ambient(Rc<Solo>);

impl Ambient {
    pub fn new(seed: u64) -> Ambient {
        Ambient(Rc::new(Solo::enter(seed)))
    }

    /// Runs `body`, which sets the clock.
    pub fn run(&self, body: impl FnOnce(Clock)) {
        body(Clock(self.0.clone()));
    }
}

pub struct Clock(Rc<Solo>);

impl Clock {
    /// Moves the clock on to this time, in nanoseconds since the run began.
    pub fn set(&self, now: u64) {
        self.0.set_now(now);
    }
}
