//! Connections for messages: between clients and nodes, between nodes and the store, and between candidates that do not
//! elect by datagrams.
//!
//! Messages are values, so a connection is a lane that never reorders, loses or duplicates: a message lost by the
//! network arrives later, and those behind it wait; [`super::retransmit`] computes how long. Partitions and power
//! losses are silence; messages sent into it are resent as by TCP. A crash resets. Every message in a lane belongs to
//! the lane's current connection: when a connection is given up, its messages leave the lane, and arrive independently
//! of the next connection's.
//!
//! A connection holds up to [`MESSAGES_MAX`] messages that the other side has not read, like a socket's buffers.
//! Further ones are dropped, as by a sender that does not wait for room; cores resend what matters.

mod parked;

use super::{
    World,
    network::{Lane, MESSAGE_BYTES, MESSAGES_MAX},
    packet::Packet,
    queue::{Event, Late},
    retransmit::Sent,
    uplink::Traffic,
};
use protocols::{
    core::Input,
    message::Message,
    payload::{Opaque, Payload},
    types::NodeId,
};

/// The size of a reset, for bandwidth.
const RESET_BYTES: u64 = 40;

/// A message that met silence.
pub(super) struct Parked {
    since: u64,
    late: Late,
    /// Whether the connection it was sent on has been given up.
    given_up: bool,
}

/// What happens to the messages of a connection that ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// The sender's kernel keeps sending them.
    Lingers,
    /// The sender has no power: only what is on the wire still arrives.
    OnTheWire,
    /// The receiver is gone.
    Lost,
}

impl World {
    /// Sends a message on a connection, or as a datagram on a datagram lane.
    #[inline]
    pub fn send(&mut self, from: NodeId, to: NodeId, message: &Message) {
        self.send_packet(from, to, Packet::Message(*message));
    }

    /// Sends a message between candidates, or to or from a fencing device.
    #[inline(never)]
    pub fn tell(&mut self, from: NodeId, to: NodeId, message: Opaque) {
        if !message.is_data() {
            self.count(message.kind());
        }
        let packet = self.links.said.keep(message);
        self.send_packet(from, to, packet);
    }

    #[inline(always)]
    fn send_packet(&mut self, from: NodeId, to: NodeId, message: Packet) {
        let link = self.links.get(from, to);
        if link.lane == Lane::Datagram {
            return self.send_datagram(from, to, message);
        }
        if (!link.open || link.is_stuck(self.now)) && !self.make_connection(from, to) {
            return self.lose("unheard", from, to, message);
        }
        let link = self.links.get(from, to);
        if self.queue.lane_len(from, to) + link.unread >= MESSAGES_MAX {
            return self.lose("full", from, to, message);
        }
        let left = self.send_out(from, &message);
        let link = self.links.get(from, to);
        let sent = link.message(left);
        let at = if sent.lost == 0 && !link.gap.is_open() {
            link.queue_behind(sent.arrives)
        } else {
            self.send_at_gap(from, to, sent)
        };
        self.queue.push_lane(at, from, to, message);
    }

    /// When a message sent now has left its sender's machine.
    #[inline]
    pub(super) fn send_out(&mut self, from: NodeId, message: &Packet) -> u64 {
        let traffic = if self.links.said.elects(message) { Traffic::Control } else { Traffic::Data };
        self.links.send_out(from, self.now, MESSAGE_BYTES, traffic)
    }

    /// The arrival time of a message that is lost, or that follows a lost one. It may hasten the resend of earlier
    /// ones.
    #[cold]
    fn send_at_gap(&mut self, from: NodeId, to: NodeId, sent: Sent) -> u64 {
        let trip = self.acknowledged_trip(from, to);
        let now = self.now;
        let link = self.links.get(from, to);
        link.gap.expire(now);
        let Some((was, at)) = link.gap.note(sent, trip) else { return link.queue_behind(sent.arrives) };
        link.stall(now, at);
        if was == 0 {
            return link.queue_behind(at);
        }
        let last = self.queue.retime_lane(from, to, was, at);
        link.retime(last);
        link.queue_behind(sent.arrives)
    }

    /// The round-trip time in nanoseconds, if arrivals are acknowledged.
    pub(super) fn acknowledged_trip(&self, from: NodeId, to: NodeId) -> Option<u64> {
        let silent = self.is_silent(from, to) || self.links.see(to, from).is_blocked();
        (!silent).then(|| self.links.trip(from, to))
    }

    /// Makes sure that there is a connection to send on; returns false if this side cannot connect.
    #[cold]
    fn make_connection(&mut self, from: NodeId, to: NodeId) -> bool {
        let link = self.links.get(from, to);
        if link.lane == Lane::Backward {
            return false;
        }
        if link.open {
            // The connection is stuck: candidates' transports then reconnect by themselves.
            self.redial(from, to);
        }
        self.links.dial(from, to, self.now);
        self.note_connection("dial", from, to);
        true
    }

    /// A process starts: if it may have to write, it connects to the store at once, like the real link.
    pub(super) fn connect_early(&mut self, node: NodeId) {
        let store = self.links.store();
        let link = self.links.get(node, store);
        if link.lane == Lane::Forward && !link.open {
            self.links.dial(node, store, self.now);
        }
    }

    fn note_connection(&mut self, what: &'static str, from: NodeId, to: NodeId) {
        let number = self.links.see(from, to).connection.number;
        let code = what.bytes().fold(0x200, |h: u64, b| h.rotate_left(5) ^ u64::from(b));
        let words = [code | u64::from(from.0) << 40 | u64::from(to.0) << 52, u64::from(number), 0];
        let processes = &self.processes;
        self.trace.note(self.now, words, || {
            format!(
                "{} > {} message connection {number}: {what}",
                processes[from.index()].name,
                processes[to.index()].name
            )
        });
    }

    /// A message is lost for good.
    #[cold]
    pub(super) fn lose(&mut self, why: &'static str, from: NodeId, to: NodeId, message: Packet) {
        self.note_lost(why, from, to, &message);
        self.links.said.forget(message);
    }

    #[cold]
    fn note_lost(&mut self, why: &'static str, from: NodeId, to: NodeId, message: &Packet) {
        protocols::mark!("world: a message is lost");
        let code = why.bytes().fold(0, |h: u64, b| h.rotate_left(5) ^ u64::from(b));
        let [kind, b, c] = self.links.said.words(message);
        let words = [0x30 | u64::from(from.0) << 8 | u64::from(to.0) << 24, code << 32 ^ kind, b ^ c.rotate_left(17)];
        let said = &self.links.said;
        self.trace.note(self.now, words, || format!("{why} {from:?} > {to:?} {}", said.text(message)));
    }

    fn is_silent(&self, from: NodeId, to: NodeId) -> bool {
        self.links.see(from, to).is_blocked() || !self.processes[to.index()].powered
    }

    /// Handles an arrival during a partition, or on a connection that the receiver does not know.
    #[cold]
    pub(super) fn second_look(&mut self, from: NodeId, to: NodeId, message: Packet) {
        let link = self.links.get(from, to);
        let (lane, connection) = (link.lane, link.connection);
        if lane == Lane::Datagram {
            // A datagram is lost in a partition, and at a dead process.
            self.links.said.forget(message);
            return;
        }
        if self.is_silent(from, to) {
            let number = self.connection_number(from, to);
            let late = Late { from, to, number, starts: connection.starts, message };
            return self.park(late, false);
        }
        let process = &self.processes[to.index()];
        if lane == Lane::Backward {
            if process.up {
                self.arrives(from, to, message);
            }
            return;
        }
        if !process.up || connection.dead {
            return self.reset(from, to);
        }
        let starts = process.starts;
        let link = self.links.get(from, to);
        link.connection.established = true;
        link.connection.starts = starts;
        link.refresh();
        let back = self.links.get(to, from);
        if back.lane == Lane::Backward {
            back.open = true;
        }
        self.arrives(from, to, message);
    }

    #[inline(never)]
    pub(super) fn arrives(&mut self, from: NodeId, to: NodeId, message: Packet) {
        self.counts.delivered += 1;
        if let Some(input) = self.links.said.input(from, message) {
            self.deliver(to, input);
        }
    }

    /// The number of the connection that carries messages in this direction.
    fn connection_number(&self, from: NodeId, to: NodeId) -> u32 {
        let (from, to) = if self.links.see(from, to).lane == Lane::Backward { (to, from) } else { (from, to) };
        self.links.see(from, to).connection.number
    }

    fn park(&mut self, late: Late, given_up: bool) {
        self.note_lost("silence", late.from, late.to, &late.message);
        if !given_up {
            let now = self.now;
            let link = self.links.get(late.from, late.to);
            link.unread += 1;
            if link.parked_since == 0 {
                link.parked_since = now;
            }
        }
        self.links.parked.push(Parked { since: self.now, late, given_up });
    }

    /// A message arrives on a connection that was given up.
    pub(super) fn late_arrives(&mut self, late: Late) {
        let Late { from, to, number, starts, .. } = late;
        self.note_lost("late", from, to, &late.message);
        let behind = |p: &Parked| p.given_up && (p.late.from, p.late.to, p.late.number) == (from, to, number);
        if self.is_silent(from, to) || self.links.parked.iter().any(behind) {
            return self.park(late, true);
        }
        let process = &self.processes[to.index()];
        if !process.up || process.starts != starts {
            return;
        }
        if to != self.links.store() {
            return self.arrives(from, to, late.message);
        }
        // The store's immediate answer goes to the old connection, where nobody listens any more. (A later answer goes
        // to the connection known by then.)
        let open = std::mem::replace(&mut self.links.get(to, from).open, false);
        self.arrives(from, to, late.message);
        self.links.get(to, from).open = open;
    }

    /// The receiver's machine answers with a reset, since no process there knows the connection.
    fn reset(&mut self, from: NodeId, to: NodeId) {
        let link = self.links.get(from, to);
        let number = link.connection.number;
        if !std::mem::replace(&mut link.connection.reset_sent, true) {
            let left = self.links.send_out(to, self.now, RESET_BYTES, Traffic::Data);
            let back = self.links.get(to, from);
            let at = back.segment(left);
            // The reset does not overtake earlier answers.
            let at = if back.lane == Lane::Backward { back.queue_behind(at) } else { at };
            self.queue.push(at, Event::Reset { from: to, to: from, number });
        }
    }

    /// A reset arrives at the side that made the connection.
    pub(super) fn connection_reset(&mut self, acceptor: NodeId, initiator: NodeId, number: u32) {
        let blocked = self.links.get(acceptor, initiator).is_blocked();
        let link = self.links.get(initiator, acceptor);
        if link.connection.number != number || !link.open {
            return;
        }
        if blocked || !self.processes[initiator.index()].up {
            // A reset is not resent, but the next arrival there triggers another.
            link.connection.reset_sent = false;
            return;
        }
        self.note_connection("reset", initiator, acceptor);
        self.hang_up(initiator, acceptor, Rest::Lost);
        self.deliver(initiator, Input::Disconnected { peer: acceptor });
    }

    /// A process gives up a connection that it made.
    pub fn redial(&mut self, from: NodeId, to: NodeId) {
        let link = self.links.get(from, to);
        if link.lane == Lane::Forward && link.open {
            self.note_connection("given up", from, to);
            self.hang_up(from, to, Rest::Lingers);
        }
    }

    /// A connection ends at the side that made it.
    fn hang_up(&mut self, from: NodeId, to: NodeId, rest: Rest) {
        let link = self.links.get(from, to);
        let (connection, wire) = (link.connection, self.now + link.wire_max());
        link.hang_up();
        let (number, starts) = (connection.number, connection.starts);
        // Until the connection is established, only the request for it has left the sender.
        let rest = if connection.established { rest } else { Rest::Lost };
        let mut behind_silence = false;
        self.links.parked.retain_mut(|p| {
            let of_it = (p.late.from, p.late.to, p.late.number) == (from, to, number);
            p.given_up |= of_it;
            behind_silence |= of_it;
            // Answers on the connection are lost.
            let answer = (p.late.from, p.late.to, p.late.number) == (to, from, number) && !p.given_up;
            !answer && (!of_it || rest == Rest::Lingers)
        });
        for (at, message) in self.queue.take_lane(from, to) {
            let late = Late { from, to, number, starts, message };
            match rest {
                Rest::Lost => {}
                Rest::OnTheWire if at > wire => {}
                Rest::Lingers if behind_silence => {
                    self.links.parked.push(Parked { since: self.now, late, given_up: true })
                }
                _ => drop(self.queue.push(at, Event::Late(Box::new(late)))),
            }
        }
        let back = self.links.get(to, from);
        if back.lane == Lane::Backward {
            back.hang_up();
            self.queue.take_lane(to, from);
        }
    }

    /// A process's connections end with it. After a crash its machine sends resets; after a power loss it does not.
    pub(super) fn drop_connections(&mut self, node: NodeId, crash: bool) {
        for peer in (0..self.processes.len() as u16).map(NodeId) {
            let link = self.links.get(node, peer);
            if link.lane == Lane::Forward && link.open {
                self.hang_up(node, peer, if crash { Rest::Lingers } else { Rest::OnTheWire });
            }
            let link = self.links.get(peer, node);
            if link.lane != Lane::Forward || !link.open {
                continue;
            }
            if link.connection.established {
                link.connection.dead = true;
                link.refresh();
                if crash {
                    self.reset(peer, node);
                }
            }
            self.stop_answering(node, peer, crash);
        }
    }

    fn stop_answering(&mut self, node: NodeId, peer: NodeId, crash: bool) {
        let back = self.links.get(node, peer);
        if back.lane != Lane::Backward {
            return;
        }
        back.open = false;
        let wire = self.now + back.wire_max();
        if !crash {
            // A machine without power does not resend lost messages.
            for (at, message) in self.queue.take_lane(node, peer).into_iter().take_while(|(at, _)| *at <= wire) {
                self.queue.push_lane(at, node, peer, message);
            }
            self.links.parked.retain(|p| p.given_up || (p.late.from, p.late.to) != (node, peer));
        }
    }
}

#[cfg(test)]
mod tests;
