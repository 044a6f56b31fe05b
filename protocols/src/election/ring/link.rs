//! The link to the successor on a ring: delivers everything, once and in order, to the next live node.
//!
//! The classics assume such a link. Here it is built from datagrams in the manner of TCP: numbered, acknowledged
//! cumulatively, and resent from the first missing one. The ratio of resends is that of corosync's ring token
//! (corosync/corosync, `exec/totemconfig.c: totem_volatile_config_read`): four within the time after which the token
//! counts as lost, here `renew_interval`. Then this node considers its successor dead, and everything unacknowledged
//! goes to the next node. The dead one is probed every `renew_interval`, and becomes the successor again once it is
//! heard from.
//!
//! A lap sent to two successors may arrive twice, and a lap that a process has acknowledged but not yet passed on dies
//! with it: laps must tolerate both.

use super::message::{Lap, Message, Output};
use crate::{clock::Now, core::TimerId, election::Setup, types::NodeId};
use std::collections::{BTreeMap, VecDeque};

/// The next resend of unacknowledged frames.
pub(super) const RESEND: TimerId = 2;
/// The next probe of skipped nodes.
pub(super) const PROBE: TimerId = 3;

/// `token_retransmits_before_loss_const`.
const RESENDS: u32 = 4;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Link {
    node: NodeId,
    /// How long a successor may be silent, nanoseconds.
    loss: u64,
    /// The other nodes, in ring order after this one.
    order: Vec<NodeId>,
    /// The successor's index in `order`; all before it are skipped. At the end of `order`, this node is alone.
    place: usize,
    /// Distinguishes this link's frames from those to an earlier successor or of an earlier process.
    session: u64,
    next: u64,
    /// Unacknowledged laps, in order; the last has number `next` - 1.
    waiting: VecDeque<Lap>,
    /// How often they have been resent.
    resent: u32,
    /// The senders of frames to this node: their sessions, and the next expected numbers.
    expected: BTreeMap<NodeId, (u64, u64)>,
}

impl Link {
    /// A link on the ring with the given order.
    pub(super) fn new(setup: &Setup, order: &[NodeId]) -> Self {
        let own = order.iter().position(|node| *node == setup.node).unwrap_or_default();
        let order: Vec<_> = order[own..].iter().skip(1).chain(&order[..own]).copied().collect();
        Link {
            node: setup.node,
            loss: setup.timings.renew_interval,
            order,
            place: 0,
            session: setup.nonce,
            next: 0,
            waiting: VecDeque::new(),
            resent: 0,
            expected: BTreeMap::new(),
        }
    }

    /// The number of nodes on the ring, dead ones included.
    pub(super) fn count(&self) -> usize {
        self.order.len() + 1
    }

    fn successor(&self) -> Option<NodeId> {
        self.order.get(self.place).copied()
    }

    /// Sends a lap to the successor. Returns it if this node is alone, since it has then arrived already.
    pub(super) fn send(&mut self, now: Now, lap: Lap, out: &mut Vec<Output>) -> Option<Lap> {
        let Some(to) = self.successor() else { return Some(lap) };
        self.waiting.push_back(lap);
        self.next += 1;
        self.emit(to, self.next - 1, lap, out);
        if self.waiting.len() == 1 {
            self.resent = 0;
            self.await_acknowledgement(now, out);
        }
        None
    }

    fn first(&self) -> u64 {
        self.next - self.waiting.len() as u64
    }

    fn emit(&self, to: NodeId, number: u64, lap: Lap, out: &mut Vec<Output>) {
        let message = Message::Frame { session: self.session, first: self.first(), number, lap };
        out.push(Output::Send { to, message });
    }

    fn emit_all(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(to) = self.successor() else { return };
        for (number, lap) in (self.first()..).zip(&self.waiting) {
            self.emit(to, number, *lap, out);
        }
        if self.waiting.is_empty() {
            out.push(Output::CancelTimer(RESEND));
        } else {
            self.await_acknowledgement(now, out);
        }
    }

    /// `token_retransmit` is a share of `token` that leaves some time after the last resend.
    fn await_acknowledgement(&self, now: Now, out: &mut Vec<Output>) {
        let share = if self.resent < RESENDS { 10 } else { 2 };
        let wait = self.loss * share / (u64::from(RESENDS) * 10 + 2);
        out.push(Output::SetTimer { id: RESEND, at: now.mono + wait });
    }

    /// Handles the acknowledgement of everything before `number`.
    pub(super) fn acknowledged(&mut self, now: Now, from: NodeId, session: u64, number: u64, out: &mut Vec<Output>) {
        if self.successor() != Some(from) || session != self.session || number <= self.first() {
            return;
        }
        let arrived = (number - self.first()).min(self.waiting.len() as u64);
        self.waiting.drain(..arrived as usize);
        self.resent = 0;
        if self.waiting.is_empty() {
            out.push(Output::CancelTimer(RESEND));
        } else {
            self.await_acknowledgement(now, out);
        }
    }

    /// Handles [`RESEND`]. Returns the laps that have arrived because no other node is left.
    pub(super) fn resend(&mut self, now: Now, out: &mut Vec<Output>) -> VecDeque<Lap> {
        if self.waiting.is_empty() {
            return VecDeque::new();
        }
        if self.resent < RESENDS {
            self.resent += 1;
            self.emit_all(now, out);
            return VecDeque::new();
        }
        crate::mark!("ring: a successor that does not acknowledge is skipped");
        self.relink(now, self.place + 1, out);
        out.push(Output::SetTimer { id: PROBE, at: now.mono + self.loss });
        match self.successor() {
            Some(_) => VecDeque::new(),
            None => std::mem::take(&mut self.waiting),
        }
    }

    /// Makes the node at `place` the successor, and sends it everything unacknowledged.
    fn relink(&mut self, now: Now, place: usize, out: &mut Vec<Output>) {
        self.place = place;
        self.session = self.session.wrapping_add(1);
        self.next = self.waiting.len() as u64;
        self.resent = 0;
        self.emit_all(now, out);
    }

    /// Handles [`PROBE`].
    pub(super) fn probe(&self, now: Now, out: &mut Vec<Output>) {
        for to in &self.order[..self.place] {
            out.push(Output::Send { to: *to, message: Message::Probe });
        }
        if self.place > 0 {
            out.push(Output::SetTimer { id: PROBE, at: now.mono + self.loss });
        }
    }

    /// A node that was heard from is alive.
    pub(super) fn alive(&mut self, now: Now, node: NodeId, out: &mut Vec<Output>) {
        if let Some(place) = self.order[..self.place].iter().position(|skipped| *skipped == node) {
            crate::mark!("ring: a skipped successor is heard again");
            self.relink(now, place, out);
        }
    }

    /// Handles a frame; returns whether it is the next one. Frames out of order will be resent.
    pub(super) fn accept(
        &mut self,
        from: NodeId,
        session: u64,
        first: u64,
        number: u64,
        out: &mut Vec<Output>,
    ) -> bool {
        let expected = self.expected.entry(from).or_insert((session, first));
        if expected.0 != session {
            // Another link of that node, or a restart at either end.
            *expected = (session, first);
        }
        let is_next = number == expected.1;
        expected.1 += u64::from(is_next);
        // Older frames are acknowledged again, since the acknowledgement may have been lost.
        let message = Message::Acknowledgement { session, number: expected.1 };
        out.push(Output::Send { to: from, message });
        is_next && from != self.node
    }
}
