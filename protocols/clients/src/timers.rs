//! The timers of a core.

use crate::env::Env;
use protocols::core::TimerId;
use std::{collections::BTreeMap, pin::Pin, task::Poll};

/// The core's timers, on a single sleep.
pub struct Timers<E: Env> {
    env: E,
    set: BTreeMap<TimerId, u64>,
    sleep: Option<(u64, E::Sleep)>,
}

impl<E: Env> Timers<E> {
    pub fn new(env: E) -> Self {
        Timers { env, set: BTreeMap::new(), sleep: None }
    }

    /// Sets timer `id` to `at`, nanoseconds of the process's monotonic clock, or moves it there.
    pub fn set(&mut self, id: TimerId, at: u64) {
        self.set.insert(id, at);
    }

    pub fn cancel(&mut self, id: TimerId) {
        self.set.remove(&id);
    }

    /// The next timer that is due, which this unsets.
    pub fn poll(&mut self, context: &mut std::task::Context<'_>) -> Poll<TimerId> {
        loop {
            let Some((at, id)) = self.set.iter().map(|(id, at)| (*at, *id)).min() else { return Poll::Pending };
            if self.sleep.as_ref().is_none_or(|(until, _)| *until != at) {
                self.sleep = Some((at, self.env.sleep_until(at)));
            }
            let Some((_, sleep)) = &mut self.sleep else { return Poll::Pending };
            if Pin::new(sleep).poll(context).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
            // A real timer may fire slightly early by the clock that the core sees.
            if self.env.now().mono >= at {
                self.set.remove(&id);
                return Poll::Ready(id);
            }
        }
    }
}
