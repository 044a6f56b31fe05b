//! Several groups on one process: a core per group, sharing clock, disk and connections.
//!
//! A message between the cores of a group carries the group's number. Other inputs are assigned by what they concern
//! ([`Division`]), or by order (timers, completed writes). Group 0 sends and receives what it would alone.

use crate::{
    clock::Now,
    core::{Core, Input, Output, TimerId},
    division::Division,
    history::Kind,
    message::Message,
    payload::{Opaque, Payload},
    types::{NodeId, Resource},
};
use std::collections::VecDeque;

/// A message between the cores of a group other than the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Said {
    group: u16,
    message: Opaque,
}

impl Said {
    /// A message's group, and its content.
    pub(crate) fn open(said: Opaque) -> (u16, Opaque) {
        said.downcast().map_or_else(|message| (0, message), |Said { group, message }| (group, message))
    }

    /// Wraps a message for its group.
    pub(crate) fn wrap(group: u16, message: Opaque) -> Opaque {
        if group == 0 { message } else { Said { group, message }.erase() }
    }
}

impl Payload for Said {
    fn kind(&self) -> &'static str {
        self.message.kind()
    }
}

/// A core per group, stepped as one core.
pub struct Multiplexer {
    cores: Vec<Box<dyn Core>>,
    division: Division,
    /// The number of each core's timers.
    timers: TimerId,
    /// The last state that each core asked to persist.
    states: Vec<Option<Vec<u8>>>,
    /// The groups whose states are being written, oldest first.
    persisting: VecDeque<u16>,
    scratch: Vec<Output>,
}

impl Multiplexer {
    /// Cores by group, with `timers` timers each; `stored` is the process's durable state, split by [`parts`].
    pub fn new(
        cores: Vec<Box<dyn Core>>,
        division: Division,
        timers: TimerId,
        mut stored: Vec<Option<Vec<u8>>>,
    ) -> Self {
        stored.resize(cores.len(), None);
        let (persisting, scratch) = (VecDeque::new(), Vec::new());
        Multiplexer { cores, division, timers, states: stored, persisting, scratch }
    }

    fn all(&mut self, now: Now, input: impl Fn() -> Input, out: &mut Vec<Output>) {
        (0..self.cores.len() as u16).for_each(|group| self.step_one(now, group, input(), out));
    }

    fn step_one(&mut self, now: Now, group: u16, input: Input, out: &mut Vec<Output>) {
        let Some(core) = self.cores.get_mut(usize::from(group)) else { return };
        let mut scratch = std::mem::take(&mut self.scratch);
        core.step(now, input, &mut scratch);
        let mut given_up = Vec::new();
        for output in scratch.drain(..) {
            if let Output::Redial { to } = output {
                given_up.push(to);
            }
            out.push(self.outward(group, output));
        }
        self.scratch = scratch;
        given_up.into_iter().for_each(|to| self.hung_up(now, group, to, out));
    }

    /// A group has dropped the shared connection: for the others, it broke.
    fn hung_up(&mut self, now: Now, by: u16, peer: NodeId, out: &mut Vec<Output>) {
        for group in (0..self.cores.len() as u16).filter(|group| *group != by) {
            self.step_one(now, group, Input::Disconnected { peer }, out);
        }
    }

    /// Translates a group's output to the process's.
    fn outward(&mut self, group: u16, output: Output) -> Output {
        let first = self.division.first_resource(group).0;
        match output {
            Output::Persist(state) => {
                self.states[usize::from(group)] = Some(state);
                self.persisting.push_back(group);
                Output::Persist(whole(&self.states))
            }
            output if group == 0 => output,
            Output::Send { to, message } => Output::Send { to, message: shifted(message, |r| r.0 += first) },
            Output::Tell { to, message } => Output::Tell { to, message: Said { group, message }.erase() },
            Output::SetTimer { id, at } => Output::SetTimer { id: group * self.timers + id, at },
            Output::CancelTimer(id) => Output::CancelTimer(group * self.timers + id),
            // The resource already tells the group, and there are many of these.
            Output::Record(Kind::Issue { node, mut write }) => {
                write.resource.0 += first;
                Output::Record(Kind::Issue { node, write })
            }
            output @ (Output::Record(_) | Output::Point(_) | Output::Service(_)) => {
                Output::OfGroup(group, Box::new(output))
            }
            output @ (Output::Redial { .. } | Output::PowerOff { .. } | Output::OfGroup(..)) => output,
        }
    }
}

/// Changes the resource in a message.
fn shifted(mut message: Message, by: impl Fn(&mut Resource)) -> Message {
    match &mut message {
        Message::Write(write) => by(&mut write.resource),
        Message::Seal { resource, .. } | Message::ReadStore { resource, .. } => by(resource),
        Message::Written { resource, .. }
        | Message::Sealed { resource, .. }
        | Message::SealRefused { resource, .. } => by(resource),
        _ => {}
    }
    message
}

impl Core for Multiplexer {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => self.all(now, || Input::Start, out),
            Input::Disconnected { peer } => self.all(now, || Input::Disconnected { peer }, out),
            Input::Message { from, message } => {
                let group = self.division.of_message(&message);
                let first = self.division.first_resource(group).0;
                let message = shifted(message, |resource| resource.0 -= first);
                self.step_one(now, group, Input::Message { from, message }, out);
            }
            Input::Peer { from, message } => {
                let (group, message) = Said::open(message);
                self.step_one(now, group, Input::Peer { from, message }, out);
            }
            Input::Timer(id) => {
                let (group, id) = (id / self.timers, id % self.timers);
                self.step_one(now, group, Input::Timer(id), out);
            }
            Input::Persisted => {
                if let Some(group) = self.persisting.pop_front() {
                    self.step_one(now, group, Input::Persisted, out);
                }
            }
            Input::OfGroup(group, input) => self.step_one(now, group, *input, out),
            // Orders and answers without a group are for the first.
            input => self.step_one(now, 0, input, out),
        }
    }
}

/// Joins the groups' states: each with its length, or 0 for none.
fn whole(states: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for state in states {
        let length = state.as_ref().map_or(0, |state| state.len() as u64 + 1);
        bytes.extend(length.to_le_bytes());
        bytes.extend(state.iter().flatten());
    }
    bytes
}

/// Splits the joined states of `groups` groups. A truncated state counts as none.
pub fn parts(stored: Option<&[u8]>, groups: u16) -> Vec<Option<Vec<u8>>> {
    let mut rest = stored.unwrap_or_default();
    let mut next = || {
        let (length, after) = rest.split_first_chunk::<8>()?;
        rest = after;
        let length = u64::from_le_bytes(*length).checked_sub(1)?;
        let (state, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        Some(state.to_vec())
    };
    (0..groups).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back_by_their_groups() {
        let states = vec![Some(vec![1, 2]), None, Some(Vec::new()), Some(vec![3])];
        let bytes = whole(&states);
        assert_eq!(parts(Some(&bytes), 4), states);
        assert_eq!(parts(None, 2), [None, None]);
        assert_eq!(parts(Some(&bytes[..9]), 4), [None, None, None, None], "it was cut short");
    }
}
