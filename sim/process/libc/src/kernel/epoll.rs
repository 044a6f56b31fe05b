//! Readiness: epoll as the kernel has it, with levels and edges, one-shots, and one entry per descriptor and object.

use super::{Kernel, Kind};
use std::collections::{BTreeMap, VecDeque};

pub const IN: u32 = libc::EPOLLIN as u32;
pub const OUT: u32 = libc::EPOLLOUT as u32;
pub const ERR: u32 = libc::EPOLLERR as u32;
pub const HUP: u32 = libc::EPOLLHUP as u32;
pub const RDHUP: u32 = libc::EPOLLRDHUP as u32;
/// What is reported whether or not it was asked for.
const ALWAYS: u32 = ERR | HUP;

struct Entry {
    events: u32,
    data: u64,
    queued: bool,
    /// A one-shot that has struck says nothing until it is set again.
    struck: bool,
}

impl Entry {
    fn wanted(&self) -> u32 {
        if self.struck { 0 } else { self.events | ALWAYS }
    }
}

/// A descriptor and the object that it stood for when it was added.
type Key = (i32, usize);

#[derive(Default)]
pub struct Epoll {
    entries: BTreeMap<Key, Entry>,
    ready: VecDeque<Key>,
}

impl Epoll {
    /// Something that `mask` says has happened to it; true if a waiting thread may want to know.
    pub(super) fn queue(&mut self, key: Key, mask: u32) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else { return false };
        if entry.wanted() & mask == 0 {
            return false;
        }
        if !std::mem::replace(&mut entry.queued, true) {
            self.ready.push_back(key);
        }
        true
    }

    pub(super) fn remove(&mut self, key: Key) -> bool {
        self.ready.retain(|ready| *ready != key);
        self.entries.remove(&key).is_some()
    }

    pub(super) fn watched(&self) -> Vec<Key> {
        self.entries.keys().copied().collect()
    }
}

impl Kernel {
    /// # Errors
    /// `EINVAL`, `EBADF`, `EEXIST`, `ENOENT`, as in `epoll_ctl(2)`.
    pub fn watch(&mut self, epoll: usize, op: i32, descriptor: i32, events: u32, data: u64) -> Result<(), i32> {
        let object = self.find(descriptor)?;
        let (key, mask) = ((descriptor, object), self.mask(object));
        let is_epoll = matches!(self.object(object).kind, Kind::Epoll(_));
        let Kind::Epoll(found) = &mut self.object_mut(epoll).kind else { return Err(libc::EINVAL) };
        if is_epoll {
            return Err(libc::EINVAL);
        }
        match (op, found.entries.contains_key(&key)) {
            (libc::EPOLL_CTL_ADD, true) => return Err(libc::EEXIST),
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, false) => return Err(libc::ENOENT),
            (libc::EPOLL_CTL_DEL, true) => {
                found.remove(key);
                self.object_mut(object).watchers.retain(|watcher| *watcher != (epoll, descriptor));
                return Ok(());
            }
            (libc::EPOLL_CTL_ADD, false) => {
                found.entries.insert(key, Entry { events, data, queued: false, struck: false });
                self.object_mut(object).watchers.push((epoll, descriptor));
            }
            (libc::EPOLL_CTL_MOD, true) => {
                let queued = found.entries[&key].queued;
                found.entries.insert(key, Entry { events, data, queued, struck: false });
            }
            _ => return Err(libc::EINVAL),
        }
        let Kind::Epoll(found) = &mut self.object_mut(epoll).kind else { return Err(libc::EINVAL) };
        if found.queue(key, mask) {
            self.wake(|on| on.waits_for(epoll), usize::MAX);
        }
        Ok(())
    }

    /// At most `most` of what is ready, as (events, data).
    ///
    /// # Errors
    /// `EINVAL`: it is no epoll.
    pub fn collect(&mut self, epoll: usize, most: usize) -> Result<Vec<(u32, u64)>, i32> {
        let mut found = Vec::new();
        let Kind::Epoll(it) = &mut self.object_mut(epoll).kind else { return Err(libc::EINVAL) };
        for _ in 0..it.ready.len() {
            if found.len() == most {
                break;
            }
            let Kind::Epoll(it) = &mut self.object_mut(epoll).kind else { return Err(libc::EINVAL) };
            let Some(key) = it.ready.pop_front() else { break };
            let mask = self.mask(key.1);
            let Kind::Epoll(it) = &mut self.object_mut(epoll).kind else { return Err(libc::EINVAL) };
            let Some(entry) = it.entries.get_mut(&key) else { continue };
            entry.queued = false;
            let hit = mask & entry.wanted();
            if hit == 0 {
                continue;
            }
            found.push((hit, entry.data));
            if entry.events & libc::EPOLLONESHOT as u32 != 0 {
                entry.struck = true;
            } else if entry.events & libc::EPOLLET as u32 == 0 {
                // A level is reported until it is gone.
                entry.queued = true;
                it.ready.push_back(key);
            }
        }
        Ok(found)
    }
}
