//! The link to the successor on a ring: everything arrives, once and in order, at whoever is next and alive.
//!
//! The classics assume such a link. Here it is made of datagrams as TCP makes it: numbered, acknowledged up to a number,
//! and sent again from the first that is missing. How often is corosync's ratio for its ring's token (corosync/corosync,
//! `exec/totemconfig.c: totem_volatile_config_read`): four times within the time after which the token counts as lost, which
//! is `renew_interval` here. Then the successor is dead for this node, and all that it did not acknowledge goes to the next
//! one. The dead one is probed once per `renew_interval` and is the successor again as soon as it is heard of.
//!
//! What was sent to two successors may arrive twice, and what a process had acknowledged and not yet passed on dies with it:
//! what travels must bear both.

use super::message::{Lap, Message, Output};
use crate::{clock::Now, core::TimerId, election::Setup, types::NodeId};
use std::collections::{BTreeMap, VecDeque};

/// Time to send again what was not acknowledged.
pub(super) const RESEND: TimerId = 2;
/// Time to ask those that were skipped.
pub(super) const PROBE: TimerId = 3;

/// `token_retransmits_before_loss_const`.
const RESENDS: u32 = 4;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Link {
    node: NodeId,
    /// How long a successor may be silent, nanoseconds.
    loss: u64,
    /// The other nodes, in the order in which the ring passes them after this one.
    order: Vec<NodeId>,
    /// The successor's place in it; everybody before it is skipped. At the end of it this node is alone.
    place: usize,
    /// Tells this link's frames from those to an earlier successor or of an earlier process.
    session: u64,
    /// The number of the next frame.
    next: u64,
    /// Not acknowledged yet, in order; the last has number `next` - 1.
    waiting: VecDeque<Lap>,
    /// How often they have been sent again.
    resent: u32,
    /// From whom this node takes frames: the session, and the number of the next one.
    expected: BTreeMap<NodeId, (u64, u64)>,
}

impl Link {
    /// A link on the ring that passes all candidates in `order`.
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

    /// How many nodes are on the ring when all are alive.
    pub(super) fn count(&self) -> usize {
        self.order.len() + 1
    }

    fn successor(&self) -> Option<NodeId> {
        self.order.get(self.place).copied()
    }

    /// Sends it on its way. Gives it back when this node is alone: then it has arrived already.
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

    /// `token_retransmit` is a share of `token` that leaves a little after the last time.
    fn await_acknowledgement(&self, now: Now, out: &mut Vec<Output>) {
        let share = if self.resent < RESENDS { 10 } else { 2 };
        let wait = self.loss * share / (u64::from(RESENDS) * 10 + 2);
        out.push(Output::SetTimer { id: RESEND, at: now.mono + wait });
    }

    /// Everything before `number` has arrived.
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

    /// [`RESEND`] fired. Gives back what has arrived because nobody else is left.
    pub(super) fn resend(&mut self, now: Now, out: &mut Vec<Output>) -> VecDeque<Lap> {
        if self.waiting.is_empty() {
            return VecDeque::new();
        }
        if self.resent < RESENDS {
            self.resent += 1;
            self.emit_all(now, out);
            return VecDeque::new();
        }
        crate::mark!(RingSkips);
        self.relink(now, self.place + 1, out);
        out.push(Output::SetTimer { id: PROBE, at: now.mono + self.loss });
        match self.successor() {
            Some(_) => VecDeque::new(),
            None => std::mem::take(&mut self.waiting),
        }
    }

    /// Takes the node at `place` for the successor; what was not acknowledged is for it.
    fn relink(&mut self, now: Now, place: usize, out: &mut Vec<Output>) {
        self.place = place;
        self.session = self.session.wrapping_add(1);
        self.next = self.waiting.len() as u64;
        self.resent = 0;
        self.emit_all(now, out);
    }

    /// [`PROBE`] fired.
    pub(super) fn probe(&self, now: Now, out: &mut Vec<Output>) {
        for to in &self.order[..self.place] {
            out.push(Output::Send { to: *to, message: Message::Probe });
        }
        if self.place > 0 {
            out.push(Output::SetTimer { id: PROBE, at: now.mono + self.loss });
        }
    }

    /// A node that something was heard of is alive.
    pub(super) fn alive(&mut self, now: Now, node: NodeId, out: &mut Vec<Output>) {
        if let Some(place) = self.order[..self.place].iter().position(|skipped| *skipped == node) {
            crate::mark!(RingReturns);
            self.relink(now, place, out);
        }
    }

    /// A frame arrived; is it the next one? What is out of order comes again.
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
            // Another link of that node, or of its next life; or this is the next life, and there was one before.
            *expected = (session, first);
        }
        let is_next = number == expected.1;
        expected.1 += u64::from(is_next);
        // What had arrived before is acknowledged again: the acknowledgement may have been lost.
        let message = Message::Acknowledgement { session, number: expected.1 };
        out.push(Output::Send { to: from, message });
        is_next && from != self.node
    }
}
