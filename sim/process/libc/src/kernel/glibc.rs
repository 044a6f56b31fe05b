//! What has to be known of glibc's own synchronisation, by the addresses of its objects.

use super::{Kernel, threads::On};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub struct Glibc {
    /// The clocks of condition variables that have not the usual one.
    clocks: BTreeMap<usize, i32>,
    /// How many threads a barrier wants, and how many have come.
    barriers: BTreeMap<usize, (u32, u32)>,
    initialising: BTreeSet<usize>,
}

impl Kernel {
    pub fn set_clock_of(&mut self, condition: usize, clock: i32) {
        match clock {
            libc::CLOCK_REALTIME => self.glibc.clocks.remove(&condition),
            clock => self.glibc.clocks.insert(condition, clock),
        };
    }

    pub fn clock_of(&self, condition: usize) -> i32 {
        self.glibc.clocks.get(&condition).copied().unwrap_or(libc::CLOCK_REALTIME)
    }

    pub fn set_barrier(&mut self, barrier: usize, count: u32) {
        self.glibc.barriers.insert(barrier, (count, 0));
    }

    /// A thread comes to a barrier; true if it was the last one, and all go on.
    pub fn arrive(&mut self, barrier: usize) -> bool {
        let (wanted, come) = self.glibc.barriers.entry(barrier).or_insert((1, 0));
        *come += 1;
        if come < wanted {
            return false;
        }
        *come = 0;
        self.wake(|on| *on == On::Condition(barrier), usize::MAX);
        true
    }

    /// False if another thread is at it.
    pub fn enter_once(&mut self, once: usize) -> bool {
        self.glibc.initialising.insert(once)
    }

    pub fn leave_once(&mut self, once: usize) {
        self.glibc.initialising.remove(&once);
        self.wake(|on| *on == On::Lock(once), usize::MAX);
    }
}
