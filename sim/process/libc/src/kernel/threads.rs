//! The threads of a process: what each waits for, until when, and which one is next.

use super::Kernel;
use fencepost_process::Then;
use std::{io, sync::atomic::AtomicU32};

/// What a thread waits for. Addresses are those of the process's own memory.
#[derive(Clone, PartialEq, Debug)]
pub enum On {
    /// Its turn.
    Turn,
    /// A time, and nothing else.
    Time,
    Futex {
        address: usize,
        bits: u32,
    },
    Objects(Vec<usize>),
    /// A lock of glibc's.
    Lock(usize),
    Condition(usize),
    /// The end of a thread.
    Join(usize),
    Name(u32),
    /// The end of an `fsync`.
    Sync(u32),
    /// It has ended; somebody may ask for its result.
    Ended,
    /// There is no such thread any more.
    Nobody,
}

impl On {
    pub fn waits_for(&self, object: usize) -> bool {
        matches!(self, On::Objects(objects) if objects.contains(&object))
    }
}

/// A time on one of the process's clocks, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Until {
    Mono(u64),
    Wall(u64),
}

pub struct Thread {
    /// Where it is told that it is its turn; threads' places are used again, so nothing is lost.
    pub go: &'static AtomicU32,
    pub on: On,
    until: Option<Until>,
    /// Whether it was woken by what it waited for, and not by the clock.
    woken: bool,
    /// When it began to wait, among all waits.
    since: u64,
    /// `pthread_t`, and the system's number.
    pub id: usize,
    pub system: u32,
    /// What it is told that its number is.
    pub number: u32,
    pub detached: bool,
}

impl Kernel {
    /// A new thread, which will have its turn.
    pub fn add_thread(&mut self) -> usize {
        self.started += 1;
        let number = self.pid + self.started - 1;
        let thread = |go| Thread {
            go,
            on: On::Turn,
            until: None,
            woken: false,
            since: 0,
            id: 0,
            system: 0,
            number,
            detached: false,
        };
        let place = match self.threads.iter().position(|thread| thread.on == On::Nobody) {
            Some(free) => {
                let go = self.threads[free].go;
                self.threads[free] = thread(go);
                free
            }
            None => {
                self.threads.push(thread(Box::leak(Box::default())));
                self.threads.len() - 1
            }
        };
        self.ready.push(place);
        place
    }

    /// The thread `me` waits; [`Kernel::next_thread`] says who runs instead.
    pub fn wait(&mut self, me: usize, on: On, until: Option<Until>) {
        self.waits += 1;
        if on != On::Turn {
            (self.spins, self.yields) = (0, 0);
        }
        let since = self.waits;
        let thread = &mut self.threads[me];
        (thread.until, thread.woken, thread.since) = (until, false, since);
        if on == On::Turn {
            self.ready.push(me);
        }
        self.threads[me].on = on;
        self.wake_the_late();
    }

    pub fn was_woken(&self, me: usize) -> bool {
        self.threads[me].woken
    }

    /// Wakes at most `most` threads that wait for this, those first that have waited longest; returns how many.
    pub fn wake(&mut self, of: impl Fn(&On) -> bool, most: usize) -> usize {
        let mut found: Vec<usize> = (0..self.threads.len()).filter(|at| of(&self.threads[*at].on)).collect();
        if found.len() > 1 {
            found.sort_by_key(|at| self.threads[*at].since);
        }
        found.truncate(most);
        for at in &found {
            self.make_ready(*at, true);
        }
        found.len()
    }

    /// Threads that wait on a futex go on to wait on another one.
    pub fn requeue(&mut self, from: usize, to: usize, most: usize) -> usize {
        let mut moved = 0;
        for thread in &mut self.threads {
            if let On::Futex { address, .. } = &mut thread.on
                && *address == from
                && moved < most
            {
                *address = to;
                moved += 1;
            }
        }
        moved
    }

    fn make_ready(&mut self, at: usize, woken: bool) {
        let thread = &mut self.threads[at];
        (thread.on, thread.woken, thread.until) = (On::Turn, woken, None);
        self.ready.push(at);
    }

    fn on_mono(&self, until: Until) -> u64 {
        match until {
            Until::Mono(at) => at,
            Until::Wall(at) => self.mono.saturating_add(at.saturating_sub(self.wall)),
        }
    }

    /// Wakes threads whose time has come, in the order of their times.
    pub fn wake_the_late(&mut self) {
        let due = |kernel: &Kernel, at: usize| kernel.threads[at].until.map(|until| kernel.on_mono(until));
        let mut late: Vec<(u64, u64, usize)> = (0..self.threads.len())
            .filter_map(|at| Some((due(self, at)?, self.threads[at].since, at)))
            .filter(|(due, ..)| *due <= self.mono)
            .collect();
        late.sort_unstable();
        for (.., at) in late {
            self.make_ready(at, false);
        }
    }

    /// The thread whose turn it is, drawn among those that can run; waits in the world until one can.
    ///
    /// # Errors
    /// The world is gone.
    pub fn next_thread(&mut self) -> io::Result<usize> {
        while self.ready.is_empty() {
            let first = self.threads.iter().filter_map(|thread| thread.until);
            let until = first.map(|until| self.on_mono(until)).min();
            if !until.is_some_and(|until| self.passes(until)) {
                self.exchange(Then::Wait { until })?;
            }
        }
        let at = match self.ready.len() {
            1 => 0,
            many => (self.order.next() % many as u64) as usize,
        };
        Ok(self.ready.remove(at))
    }

    /// The thread has ended: whoever waits for that is woken.
    pub fn end_thread(&mut self, me: usize) {
        self.threads[me].on = On::Ended;
        self.leaving = Some(me);
        self.wake(|on| *on == On::Join(me), usize::MAX);
    }

    /// The thread was not created after all.
    pub fn give_up_thread(&mut self, at: usize) {
        self.ready.retain(|ready| *ready != at);
        self.forget_thread(at);
    }

    pub fn forget_thread(&mut self, at: usize) {
        (self.threads[at].on, self.threads[at].id) = (On::Nobody, 0);
    }

    /// Does nobody wait for a turn?
    pub fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// Does any thread still live?
    pub fn is_alive(&self) -> bool {
        self.threads.iter().any(|thread| !matches!(thread.on, On::Ended | On::Nobody))
    }

    /// The thread of this `pthread_t`.
    pub fn thread_of(&self, id: usize) -> Option<usize> {
        self.threads.iter().position(|thread| thread.id == id && thread.on != On::Nobody)
    }
}
