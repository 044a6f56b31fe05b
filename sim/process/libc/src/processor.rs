//! One processor for a world and its processes: only one of them runs at a time, and to wake the next one on another processor
//! takes longer than to go on with it on the same.

use crate::system;
use std::{
    collections::BTreeMap,
    mem::size_of,
    sync::{Mutex, PoisonError},
};

/// How many worlds of this process are on each processor.
static TAKEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// The calling thread's processor, until it is dropped.
pub struct Pinned {
    processor: usize,
    /// Where the thread could run before.
    before: libc::cpu_set_t,
}

impl Pinned {
    /// Takes the processor with the fewest worlds on it; of several, the one that the thread is on. `None` if the system does not
    /// permit it.
    pub fn new() -> Option<Pinned> {
        let before = of_thread(0)?;
        // SAFETY: it takes nothing.
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).ok();
        // SAFETY: numbers below the size of the set.
        let permitted = (0..libc::CPU_SETSIZE as usize).filter(|one| unsafe { libc::CPU_ISSET(*one, &before) });
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let worlds = |one: &usize| (taken.get(one).copied().unwrap_or(0), Some(*one) != here, *one);
        let processor = permitted.min_by_key(worlds)?;
        // SAFETY: zeros are an empty set, and the number is below its size.
        let only = unsafe {
            let mut only: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(processor, &mut only);
            only
        };
        move_to(&only).then(|| *taken.entry(processor).or_default() += 1)?;
        Some(Pinned { processor, before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        move_to(&self.before);
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worlds) = taken.get_mut(&self.processor) {
            *worlds -= 1;
        }
    }
}

/// Moves the calling thread to where this one may run.
pub fn follow(thread: u32) {
    if let Some(set) = of_thread(thread) {
        move_to(&set);
    }
}

fn of_thread(number: u32) -> Option<libc::cpu_set_t> {
    // SAFETY: zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let (size, at) = (size_of::<libc::cpu_set_t>(), &raw mut set as usize);
    // SAFETY: so much room.
    let filled = unsafe { system::raw(libc::SYS_sched_getaffinity, [number as usize, size, at, 0, 0, 0]) };
    (filled > 0).then_some(set)
}

fn move_to(set: &libc::cpu_set_t) -> bool {
    let (size, at) = (size_of::<libc::cpu_set_t>(), &raw const *set as usize);
    // SAFETY: a set of that size.
    unsafe { system::raw(libc::SYS_sched_setaffinity, [0, size, at, 0, 0, 0]) == 0 }
}
