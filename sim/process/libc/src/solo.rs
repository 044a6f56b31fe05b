//! A thread that is a world by itself: its clock shows what it is told, and its entropy is drawn from a seed. It is what
//! a simulator with an executor of its own runs in where madsim is not at hand.

use crate::{kernel::draws::Draws, limits, processor::Pinned, system};
use std::{cell::Cell, marker::PhantomData, sync::Once};

thread_local! {
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
    static DRAWS: Cell<Option<Draws>> = const { Cell::new(None) };
}

/// What the clocks show at 0, in nanoseconds: the monotonic one is not near its beginning, and the wall clock shows the
/// beginning of 2026.
const MONO: u64 = 1_000_000_000_000;
const WALL: u64 = 1_767_225_600_000_000_000;

/// While it lives, the calling thread's clock and entropy are simulated, it stays on one processor, and it may start no other
/// thread.
pub struct Solo {
    _processor: Option<Pinned>,
    of_thread: PhantomData<*const ()>,
}

impl Solo {
    pub fn enter(seed: u64) -> Solo {
        static LIMIT: Once = Once::new();
        LIMIT.call_once(limits::raise);
        NOW.set(Some(0));
        DRAWS.set(Some(Draws::new(seed, "solo")));
        Solo { _processor: Pinned::new(), of_thread: PhantomData }
    }

    /// Sets the clock to so many nanoseconds after [`Solo::enter`].
    pub fn set_now(&self, nanoseconds: u64) {
        NOW.set(Some(nanoseconds));
    }
}

impl Drop for Solo {
    fn drop(&mut self) {
        NOW.set(None);
        DRAWS.set(None);
    }
}

/// What the clock shows, in nanoseconds; `None` if it is libc's.
#[inline]
pub(crate) fn reading(clock: libc::clockid_t) -> Option<u64> {
    let base = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => WALL,
        _ => MONO,
    };
    NOW.get().map(|now| base + now)
}

/// Draws bytes; false if entropy is libc's.
pub(crate) fn fill(bytes: &mut [u8]) -> bool {
    let Some(mut draws) = DRAWS.get() else { return false };
    draws.fill(bytes);
    DRAWS.set(Some(draws));
    true
}

/// A thread would run beside the simulation, in real time.
pub(crate) fn refuse_threads() {
    if NOW.get().is_some() {
        system::die(
            b"pthread_create",
            b": code in a simulated run starts a thread, which would run in real time; use a task\n",
        );
    }
}
