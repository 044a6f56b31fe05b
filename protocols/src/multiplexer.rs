//! Several groups on one process: a core for each, which share its clock, its disk and its connections.
//!
//! What one says to its like on other processes carries the group's number. Whatever else comes tells its group by what it
//! is about ([`Division`]), or by its order (timers, what was made durable). Group 0 says and hears what it would alone.

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

/// What a core says to another process's core of its group, when that is not the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Said {
    group: u16,
    message: Opaque,
}

impl Said {
    /// The group that something was said in, and what.
    pub(crate) fn open(said: Opaque) -> (u16, Opaque) {
        said.downcast().map_or_else(|message| (0, message), |Said { group, message }| (group, message))
    }

    /// The same as it travels.
    pub(crate) fn wrap(group: u16, message: Opaque) -> Opaque {
        if group == 0 { message } else { Said { group, message }.erase() }
    }
}

impl Payload for Said {
    fn kind(&self) -> &'static str {
        self.message.kind()
    }
}

/// A core for each group, stepped as one.
pub struct Multiplexer {
    cores: Vec<Box<dyn Core>>,
    division: Division,
    /// Timers of each core.
    timers: TimerId,
    /// The last state of each that was to be made durable.
    states: Vec<Option<Vec<u8>>>,
    /// Whose states are being made durable, oldest first.
    persisting: VecDeque<u16>,
    scratch: Vec<Output>,
}

impl Multiplexer {
    /// Cores by group, each with so many timers; `stored` is what [`parts`] has made of the process's state on disk.
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

    /// One group has given up the connection that all share: for the others it broke.
    fn hung_up(&mut self, now: Now, by: u16, peer: NodeId, out: &mut Vec<Output>) {
        for group in (0..self.cores.len() as u16).filter(|group| *group != by) {
            self.step_one(now, group, Input::Disconnected { peer }, out);
        }
    }

    /// What a group's core wants, as the process wants it.
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
            // Its resource tells the group, and there are many.
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

/// The message with the resource that it is about changed.
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
            // Orders and answers that name no group are for the first.
            input => self.step_one(now, 0, input, out),
        }
    }
}

/// The states of all groups as one: each with its length before it, or 0 for none.
fn whole(states: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for state in states {
        let length = state.as_ref().map_or(0, |state| state.len() as u64 + 1);
        bytes.extend(length.to_le_bytes());
        bytes.extend(state.iter().flatten());
    }
    bytes
}

/// The states of so many groups, of what was made durable as one. What is cut short is none.
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
