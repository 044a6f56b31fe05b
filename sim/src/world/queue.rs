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
    /// The next message of a lane.
    Message { from: NodeId, to: NodeId, message: Packet },
    /// Any other event.
    Event(Event),
}

const LANE: u32 = 1 << 31;

type Key = (u64, u64, u32);

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
        let lanes = (0..nodes * nodes).map(|_| VecDeque::new()).collect();
        let heap = BinaryHeap::with_capacity(1024);
        Queue { heap, order: 0, slots: Vec::new(), free: Vec::new(), lanes, nodes, cancelled: 0 }
    }

    /// Schedules an event at `at`, in nanoseconds; the handle is valid until it happens.
    #[inline(always)]
    pub fn push(&mut self, at: u64, event: Event) -> u32 {
        self.order += 1;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = event;
                slot
            }
            None => {
                self.slots.push(event);
                self.slots.len() as u32 - 1
            }
        };
        self.heap.push(Reverse((at, self.order, slot)));
        slot
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
            let what = lane as u32 | LANE;
            self.heap.retain(|Reverse((_, _, other))| *other != what);
        }
        waiting.into_iter().map(|(at, _, message)| (at, message)).collect()
    }

    /// Schedules a message on its lane; `at` must not precede its predecessor's.
    #[inline]
    pub fn push_lane(&mut self, at: u64, from: NodeId, to: NodeId, message: Packet) {
        self.order += 1;
        let lane = from.index() * self.nodes + to.index();
        let waiting = &mut self.lanes[lane];
        if waiting.is_empty() {
            self.heap.push(Reverse((at, self.order, lane as u32 | LANE)));
        }
        waiting.push_back((at, self.order, message));
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
            let (what, key) = (lane as u32 | LANE, (*at, *order));
            self.heap.retain(|Reverse((_, _, other))| *other != what);
            self.heap.push(Reverse((key.0, key.1, what)));
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
        self.heap.retain(|Reverse((_, _, what))| {
            let keep = what & LANE != 0 || !is_void(&slots[*what as usize]);
            if !keep {
                slots[*what as usize] = Event::Void;
                free.push(*what);
            }
            keep
        });
        self.cancelled = 0;
    }

    /// Removes and returns the next event with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Due)> {
        let mut top = self.heap.peek_mut()?;
        let Reverse((at, _, what)) = *top;
        if what & LANE == 0 {
            PeekMut::pop(top);
            self.free.push(what);
            return Some((at, Due::Event(std::mem::replace(&mut self.slots[what as usize], Event::Void))));
        }
        let lane = (what & !LANE) as usize;
        let waiting = &mut self.lanes[lane];
        let (_, _, message) = waiting.pop_front()?;
        match waiting.front() {
            Some((at, order, _)) => *top = Reverse((*at, *order, what)),
            None => {
                PeekMut::pop(top);
            }
        }
        let (from, to) = (NodeId((lane / self.nodes) as u16), NodeId((lane % self.nodes) as u16));
        Some((at, Due::Message { from, to, message }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{message::Message, types::RequestId};

    fn message(number: u64) -> Packet {
        Packet::Message(Message::Next { request: RequestId { client: NodeId(0), number } })
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
                Due::Message { message: Packet::Message(Message::Next { request }), .. } => (at, request.number),
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
            let all = std::iter::from_fn(|| queue.pop()).map(|(at, due)| match due {
                Due::Message { message: Packet::Message(Message::Next { request }), .. } => (at, request.number),
                _ => unreachable!("nothing else was pushed"),
            });
            (last, all.collect::<Vec<_>>())
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
