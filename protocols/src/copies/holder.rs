//! A candidate and its copy, as one core: what the candidate sends to the store that is its own node goes to the copy, over the
//! machine's loopback, and what copies say to each other travels beside what candidates do.

use super::{log::Disk, message::Message, mode::Copies, replica::Replica};
use crate::{
    clock::Now,
    core::{Core, Input, Output, TimerId},
    message::Message as ToLeader,
    node::Node,
    payload::Payload,
    types::{MILLISECOND, NodeId},
    work::Works,
};
use std::sync::{Arc, atomic::AtomicU64};

/// From one heartbeat of a primary to the next, nanoseconds.
const BEAT: u64 = 100 * MILLISECOND;

/// Where a copy stands.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Its node.
    pub node: NodeId,
    /// How many copies there are: one on the node of every candidate.
    pub copies: u16,
    /// When a leader's copy acknowledges.
    pub mode: Copies,
    /// Its disk.
    pub disk: Disk,
    /// Where a majority decides: up to which place of the log the history has been told. All copies share it; nothing that
    /// they do depends on it.
    pub told: Arc<AtomicU64>,
}

/// A candidate and its copy.
pub struct Holder {
    node: Node,
    me: NodeId,
    copy: Replica,
    /// The first timer that is neither the elector's nor the works'.
    beat: TimerId,
    beating: bool,
}

impl Holder {
    /// A candidate whose store is its own node, and which does these works; and its copy.
    pub fn new(node: Node, seat: Seat, works: &Works) -> Self {
        let Seat { node: me, copies, mode, disk, told } = seat;
        let copy = Replica::new(me, copies, mode, disk, told);
        Holder { node, me, copy, beat: Node::timers(works), beating: false }
    }

    fn take(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let input = match input {
            Input::Message { from, message } if from == self.me && is_asked(&message) => {
                return self.copy.asked(message, out);
            }
            Input::Peer { from, message } => match Message::restore(message) {
                Ok(message) => return self.copy.told(from, message, &self.node.standing(), out),
                Err(message) => Input::Peer { from, message },
            },
            Input::Timer(id) if id == self.beat => {
                self.beating = false;
                return self.copy.beat(out);
            }
            input => input,
        };
        let first = out.len();
        self.node.step(now, input, out);
        // There is no connection to oneself.
        let mut place = 0;
        out.retain(|output| {
            place += 1;
            place <= first || !matches!(output, Output::Redial { to } if *to == self.me)
        });
    }
}

/// Is this for a store?
fn is_asked(message: &ToLeader) -> bool {
    matches!(message, ToLeader::Write(_) | ToLeader::Seal { .. } | ToLeader::ReadStore { .. })
}

impl Core for Holder {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.take(now, input, out);
        self.copy.settle(&self.node.standing());
        if self.copy.beats() && !self.beating {
            self.beating = true;
            out.push(Output::SetTimer { id: self.beat, at: now.mono + BEAT });
        }
    }
}
