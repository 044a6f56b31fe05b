//! Tasks' sleeps, on their nodes' clocks.

use super::{World, queue::Event};
use protocols::types::NodeId;
use std::task::Waker;

pub(super) struct Sleep {
    node: NodeId,
    due: u64,
    pub(super) generation: u32,
    live: bool,
    fired: bool,
    waker: Option<Waker>,
}

impl World {
    /// Starts a sleep until the node's monotonic clock shows `due`; `None` if it already does.
    pub(super) fn start_sleep(&mut self, node: NodeId, due: u64, waker: &Waker) -> Option<u32> {
        if self.clocks(node).mono >= due {
            return None;
        }
        let sleep = Sleep { node, due, generation: 0, live: true, fired: false, waker: Some(waker.clone()) };
        let slot = match self.drivers.free_sleeps.pop() {
            Some(slot) => {
                let generation = self.drivers.sleeps[slot as usize].generation;
                self.drivers.sleeps[slot as usize] = Sleep { generation, ..sleep };
                slot
            }
            None => {
                self.drivers.sleeps.push(sleep);
                self.drivers.sleeps.len() as u32 - 1
            }
        };
        let generation = self.drivers.sleeps[slot as usize].generation;
        let at = self.processes[node.index()].clocks.true_time(due);
        self.queue.push(at, Event::Sleep { slot, generation });
        Some(slot)
    }

    /// Whether the sleep has ended; if not, `waker` will be called.
    pub(super) fn poll_sleep(&mut self, slot: u32, waker: &Waker) -> bool {
        let sleep = &mut self.drivers.sleeps[slot as usize];
        if !sleep.fired && !sleep.waker.as_ref().is_some_and(|w| w.will_wake(waker)) {
            sleep.waker = Some(waker.clone());
        }
        sleep.fired
    }

    pub(super) fn end_sleep(&mut self, slot: u32, generation: u32) {
        let sleep = &mut self.drivers.sleeps[slot as usize];
        if sleep.generation != generation || !sleep.live {
            return;
        }
        // The node's clock was slowed down meanwhile, and the sleep rescheduled.
        if self.processes[sleep.node.index()].clocks.mono(self.now) < sleep.due {
            return;
        }
        sleep.fired = true;
        let (node, waker) = (sleep.node, sleep.waker.take());
        self.trace.note(self.now, [0x20, u64::from(node.0), 0], || format!("sleep {node:?}"));
        self.wake(waker);
    }

    /// Ends a sleep. Returns its waker, to be dropped outside the world's borrow.
    pub(super) fn drop_sleep(&mut self, slot: u32) -> Option<Waker> {
        let sleep = &mut self.drivers.sleeps[slot as usize];
        let fired = sleep.fired;
        sleep.generation += 1;
        sleep.live = false;
        let waker = sleep.waker.take();
        self.drivers.free_sleeps.push(slot);
        if !fired {
            self.queue.note_cancelled();
        }
        waker
    }

    /// A node's clock rate has changed, so its sleeps are due at other true times.
    pub(super) fn reschedule_sleeps(&mut self, node: NodeId) {
        for slot in 0..self.drivers.sleeps.len() {
            let sleep = &mut self.drivers.sleeps[slot];
            if sleep.node == node && sleep.live && !sleep.fired {
                // The event scheduled before is void; only a holder of the slot checks `live`, so moving on is safe.
                let at = self.processes[node.index()].clocks.true_time(sleep.due).max(self.now);
                let generation = sleep.generation;
                self.queue.push(at, Event::Sleep { slot: slot as u32, generation });
            }
        }
    }
}
