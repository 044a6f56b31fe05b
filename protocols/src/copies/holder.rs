//! A candidate and its copy, as one core. The candidate's store is its own node, so its messages to the store go to the
//! copy over loopback; copies exchange messages alongside the candidates'.

use super::{guard::Guard, log::Disk, message::Message, mode::Copies, replica::Replica};
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

/// A primary's heartbeat interval, nanoseconds.
const BEAT: u64 = 100 * MILLISECOND;

/// A copy's configuration.
#[derive(Clone, Debug)]
pub struct Seat {
    pub node: NodeId,
    /// The number of copies: one per candidate's node.
    pub copies: u16,
    /// When a leader's copy acknowledges.
    pub mode: Copies,
    pub disk: Disk,
    /// In majority mode: how far the history has recorded the log. The copies share it, but it does not influence them.
    pub told: Arc<AtomicU64>,
    /// Its settings for LeaseGuard, if that is on.
    pub guard: Option<Guard>,
}

/// A candidate and its copy.
pub struct Holder {
    node: Node,
    me: NodeId,
    copy: Replica,
    /// The first timer id after the elector's and the works'.
    beat: TimerId,
    /// When that fires, by the monotonic clock; `None` if it is not set.
    beats_at: Option<u64>,
}

impl Holder {
    /// A candidate with these works, whose store is its own node; and its copy.
    pub fn new(node: Node, seat: Seat, works: &Works) -> Self {
        let Seat { node: me, copies, mode, disk, told, guard } = seat;
        let copy = Replica::new(me, copies, mode, disk, told, guard);
        Holder { node, me, copy, beat: Node::timers(works), beats_at: None }
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
                self.beats_at = None;
                return self.copy.beat(out);
            }
            input => input,
        };
        let first = out.len();
        self.node.step(now, input, out);
        // A node has no connection to itself.
        let mut place = 0;
        out.retain(|output| {
            place += 1;
            place <= first || !matches!(output, Output::Redial { to } if *to == self.me)
        });
    }
}

/// Whether the message is for a store.
fn is_asked(message: &ToLeader) -> bool {
    matches!(message, ToLeader::Write(_) | ToLeader::Seal { .. } | ToLeader::ReadStore { .. })
}

impl Core for Holder {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        self.copy.at(now);
        self.take(now, input, out);
        self.copy.settle(&self.node.standing());
        if !self.copy.beats() {
            return;
        }
        let every = self.copy.looks_every().map_or(BEAT, |every| every.min(BEAT));
        let next = self.beats_at.unwrap_or(now.mono + every);
        // What waits for the end of an earlier lease is committed at once then.
        let next = self.copy.commits_from().map_or(next, |at| at.min(next));
        if self.beats_at != Some(next) {
            self.beats_at = Some(next);
            out.push(Output::SetTimer { id: self.beat, at: next });
        }
    }
}
