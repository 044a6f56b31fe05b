//! The event queue, ordered by time, and within an instant by scheduling.
//!
//! Messages on one link never overtake each other, so the heap holds only the head of each link's lane; the rest waits
//! in the lane. The heap thus stays as small as the number of busy links.

use super::{keepalive::Keepalive, packet::Packet};
use protocols::{
    core::{Input, TimerId},
    types::NodeId,
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque, binary_heap::PeekMut},
};

/// An event. Small, since most are timers; large and rare variants are boxed.
pub enum Event {
    /// A cancelled event.
    Void,
    /// A datagram arrives out of its lane's order.
    Datagram(Box<(NodeId, NodeId, Packet)>),
    /// A message arrives on a connection that was given up.
    Late(Box<Late>),
    /// The connecting side learns that the connection with this number has ended.
    Reset { from: NodeId, to: NodeId, number: u32 },
    /// A core's timer is due.
    CoreTimer { node: NodeId, id: TimerId, generation: u32 },
    /// A local input for a core: from its own client, or an order.
    Input { node: NodeId, starts: u32, input: Box<Input> },
    /// A task's sleep is due.
    Sleep { slot: u32, generation: u32 },
    /// A disk has finished an operation.
    Disk { node: NodeId, number: u64 },
    /// Something on a byte stream.
    Stream(super::stream::segment::Segment),
    /// A connection is probed: its number, and its kernel's state.
    KeepAlive(Box<(u32, Keepalive)>),
    /// A planned fault strikes.
    Strike { fault: u32 },
    /// A planned fault ends.
    Heal { fault: u32 },
    /// A timed grant of the service ends.
    GrantEnds { group: u16, generation: u32 },
    /// A process starts.
    Boot { node: NodeId },
    /// The copy for a planned fault is made.
    Copy { fault: u32 },
    /// A branch of the plan's: everything is drawn from this seed from now on.
    Branch { seed: u64 },
    /// The run ends.
    End,
}

/// A message on a connection that was given up, in flight to the process that accepted it.
#[derive(Clone, Copy)]
pub struct Late {
    pub from: NodeId,
    /// The process that accepted the connection.
    pub to: NodeId,
    pub number: u32,
    /// The incarnation of the accepting process.
    pub starts: u32,
    pub message: Packet,
}

pub enum Due {
    /// The next message of a lane, which [`Queue::take`] returns: large, and copied once.
    Message { from: NodeId, to: NodeId },
    /// Any other event.
    Event(Event),
}

/// An event in the heap, in one number, since comparing them is most of its work: the time in the upper half, then the
/// count of events scheduled before, then what it is, in [`WHAT_BITS`].
type Key = u128;

/// What an event is: the number of its slot, or of its lane.
const WHAT_BITS: u32 = 28;
/// Marks a lane. Its ends follow, in [`NODE_BITS`] each.
const LANE: u32 = 1 << (WHAT_BITS - 1);
const NODE_BITS: u32 = 13;
/// No run comes near: it would take hours, or all memory.
const ORDER_MAX: u64 = 1 << (64 - WHAT_BITS);

#[inline]
fn key(at: u64, order: u64, what: u32) -> Key {
    u128::from(at) << 64 | u128::from(order << WHAT_BITS | u64::from(what))
}

/// The last part of a key.
#[inline]
fn what(key: Key) -> u32 {
    key as u32 & ((1 << WHAT_BITS) - 1)
}

fn lane(from: NodeId, to: NodeId) -> u32 {
    LANE | u32::from(from.0) << NODE_BITS | u32::from(to.0)
}

pub struct Queue {
    heap: BinaryHeap<Reverse<Key>>,
    order: u64,
    slots: Vec<Event>,
    free: Vec<u32>,
    lanes: Vec<VecDeque<(u64, u64, Packet)>>,
    nodes: usize,
    cancelled: usize,
}

impl Queue {
    pub fn new(nodes: usize) -> Self {
        assert!(nodes < 1 << NODE_BITS, "{nodes} processes are too many");
        let lanes = (0..nodes * nodes).map(|_| VecDeque::new()).collect();
        let heap = BinaryHeap::with_capacity(1024);
        Queue { heap, order: 0, slots: Vec::new(), free: Vec::new(), lanes, nodes, cancelled: 0 }
    }

    /// Schedules an event at `at`, in nanoseconds; the handle is valid until it happens.
    #[inline(always)]
    pub fn push(&mut self, at: u64, event: Event) -> u32 {
        let order = self.next_order();
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = event;
                slot
            }
            None => self.new_slot(event),
        };
        self.heap.push(Reverse(key(at, order, slot)));
        slot
    }

    fn new_slot(&mut self, event: Event) -> u32 {
        assert!(self.slots.len() < LANE as usize, "too many events are scheduled");
        self.slots.push(event);
        self.slots.len() as u32 - 1
    }

    #[inline]
    fn next_order(&mut self) -> u64 {
        self.order += 1;
        assert!(self.order < ORDER_MAX, "the run has too many events");
        self.order
    }

    /// The number of messages in a lane.
    #[inline]
    pub fn lane_len(&self, from: NodeId, to: NodeId) -> usize {
        self.lanes[from.index() * self.nodes + to.index()].len()
    }

    /// Empties a lane; returns its messages with their arrival times.
    pub fn take_lane(&mut self, from: NodeId, to: NodeId) -> Vec<(u64, Packet)> {
        let lane = from.index() * self.nodes + to.index();
        let waiting = std::mem::take(&mut self.lanes[lane]);
        if !waiting.is_empty() {
            let lane = self::lane(from, to);
            self.heap.retain(|Reverse(key)| what(*key) != lane);
        }
        waiting.into_iter().map(|(at, _, message)| (at, message)).collect()
    }

    /// Schedules a message on its lane; `at` must not precede its predecessor's.
    #[inline]
    pub fn push_lane(&mut self, at: u64, from: NodeId, to: NodeId, message: Packet) {
        let order = self.next_order();
        let waiting = &mut self.lanes[from.index() * self.nodes + to.index()];
        if waiting.is_empty() {
            self.heap.push(Reverse(key(at, order, lane(from, to))));
        }
        waiting.push_back((at, order, message));
    }

    /// Moves arrivals on a lane from `was` or later to `is`, or to the predecessor's arrival. Returns the last arrival.
    #[cold]
    pub fn retime_lane(&mut self, from: NodeId, to: NodeId, was: u64, is: u64) -> u64 {
        let lane = from.index() * self.nodes + to.index();
        let waiting = &mut self.lanes[lane];
        let Some(head) = waiting.front().map(|(at, ..)| *at) else { return is };
        let mut before = 0;
        for (at, ..) in waiting.iter_mut() {
            *at = if *at < was { *at } else { is.max(before) };
            before = *at;
        }
        if let Some((at, order, _)) = waiting.front().filter(|(at, ..)| *at != head) {
            let lane = self::lane(from, to);
            self.heap.retain(|Reverse(key)| what(*key) != lane);
            self.heap.push(Reverse(key(*at, *order, lane)));
        }
        before
    }

    /// The event of a handle.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Event {
        &mut self.slots[slot as usize]
    }

    /// A scheduled event was cancelled; the queue is compacted when most are.
    pub fn note_cancelled(&mut self) {
        self.cancelled += 1;
    }

    /// Drops events that `is_void` matches, if there are many.
    pub fn compact(&mut self, is_void: impl Fn(&Event) -> bool) {
        if self.cancelled < 1024 || self.cancelled * 2 < self.heap.len() {
            return;
        }
        let (slots, free) = (&mut self.slots, &mut self.free);
        self.heap.retain(|Reverse(key)| {
            let what = what(*key);
            let keep = what & LANE != 0 || !is_void(&slots[what as usize]);
            if !keep {
                slots[what as usize] = Event::Void;
                free.push(what);
            }
            keep
        });
        self.cancelled = 0;
    }

    /// Removes and returns the next event with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Due)> {
        let mut top = self.heap.peek_mut()?;
        let (at, what) = ((top.0 >> 64) as u64, what(top.0));
        if what & LANE == 0 {
            PeekMut::pop(top);
            self.free.push(what);
            return Some((at, Due::Event(std::mem::replace(&mut self.slots[what as usize], Event::Void))));
        }
        let (from, to) = ((what & !LANE) >> NODE_BITS, what & ((1 << NODE_BITS) - 1));
        let waiting = &self.lanes[from as usize * self.nodes + to as usize];
        match waiting.get(1) {
            Some((at, order, _)) => *top = Reverse(key(*at, *order, what)),
            None => {
                PeekMut::pop(top);
            }
        }
        Some((at, Due::Message { from: NodeId(from as u16), to: NodeId(to as u16) }))
    }

    /// The message of a lane that [`Queue::pop`] has announced. It must be taken before anything else is scheduled.
    #[inline]
    pub fn take(&mut self, from: NodeId, to: NodeId) -> Option<Packet> {
        self.lanes[from.index() * self.nodes + to.index()].pop_front().map(|(_, _, message)| message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{message::Message, types::RequestId};

    fn message(number: u64) -> Packet {
        Packet::Message(Message::Next { request: RequestId { client: NodeId(0), number } })
    }

    fn number(message: Option<Packet>) -> u64 {
        let Some(Packet::Message(Message::Next { request })) = message else { unreachable!("nothing else was pushed") };
        request.number
    }

    #[test]
    fn lanes_and_slots_come_out_in_order_of_time_then_of_scheduling() {
        let mut queue = Queue::new(2);
        queue.push_lane(10, NodeId(0), NodeId(1), message(1));
        queue.push(10, Event::End);
        queue.push_lane(10, NodeId(0), NodeId(1), message(2));
        queue.push(5, Event::Boot { node: NodeId(1) });
        let mut seen = Vec::new();
        while let Some((at, due)) = queue.pop() {
            seen.push(match due {
                Due::Message { from, to } => (at, number(queue.take(from, to))),
                Due::Event(Event::End) => (at, 100),
                Due::Event(Event::Boot { .. }) => (at, 200),
                _ => unreachable!("nothing else was pushed"),
            });
        }
        assert_eq!(seen, [(5, 200), (10, 1), (10, 100), (10, 2)]);
    }

    #[test]
    fn a_lane_whose_times_change_keeps_its_order() {
        let (from, to) = (NodeId(0), NodeId(1));
        let left = |was, is| {
            let mut queue = Queue::new(2);
            [10, 20, 20, 30].iter().enumerate().for_each(|(n, at)| queue.push_lane(*at, from, to, message(n as u64)));
            queue.push_lane(5, to, from, message(9));
            let last = queue.retime_lane(from, to, was, is);
            let mut all = Vec::new();
            while let Some((at, due)) = queue.pop() {
                let Due::Message { from, to } = due else { unreachable!("nothing else was pushed") };
                all.push((at, number(queue.take(from, to))));
            }
            (last, all)
        };
        assert_eq!(left(20, 12), (12, vec![(5, 9), (10, 0), (12, 1), (12, 2), (12, 3)]));
        assert_eq!(left(20, 8), (10, vec![(5, 9), (10, 0), (10, 1), (10, 2), (10, 3)]));
        assert_eq!(left(10, 4), (4, vec![(4, 0), (4, 1), (4, 2), (4, 3), (5, 9)]));
        assert_eq!(left(10, 40), (40, vec![(5, 9), (40, 0), (40, 1), (40, 2), (40, 3)]));
        assert_eq!(Queue::new(2).retime_lane(from, to, 1, 7), 7);
    }

    #[test]
    fn compaction_drops_only_what_is_pointless() {
        let mut queue = Queue::new(1);
        for n in 0..3000 {
            queue.push(n, Event::Sleep { slot: n as u32, generation: 0 });
            queue.note_cancelled();
        }
        queue.compact(|e| matches!(e, Event::Sleep { slot, .. } if slot % 2 == 0));
        let mut left = 0;
        while let Some((at, _)) = queue.pop() {
            assert_eq!(at % 2, 1);
            left += 1;
        }
        assert_eq!(left, 1500);
    }
}
