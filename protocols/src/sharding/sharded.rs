//! A node's groups as one core, which hands over leadership that another node should have.

use super::{
    placement::Places,
    view::{BEAT, View},
};
use crate::{
    clock::Now,
    core::{Core, Input, Output, TimerId},
    history::Kind,
    payload::Payload,
    types::{NodeId, SECOND},
};

/// An order to hand over is repeated if the shard is still led here after this time, nanoseconds.
const PATIENCE: u64 = SECOND;

/// A member announces that it is alive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Alive;

impl Payload for Alive {
    fn kind(&self) -> &'static str {
        "alive"
    }
}

pub struct Sharded {
    /// The candidates of all groups.
    groups: Box<dyn Core>,
    places: Places,
    view: View,
    /// By shard: if it is led here, when the last order to hand it over was given.
    led: Vec<Option<Led>>,
    beat: TimerId,
}

#[derive(Clone, Copy, Default)]
struct Led {
    ordered_at: Option<u64>,
}

impl Sharded {
    /// The groups of `node`, one per shard, whose timer ids are below `timers`.
    pub fn new(
        groups: Box<dyn Core>,
        shards: u16,
        timers: TimerId,
        places: Places,
        node: NodeId,
        members: u16,
    ) -> Self {
        let (view, led) = (View::new(node, members), vec![None; usize::from(shards)]);
        Sharded { groups, places, view, led, beat: timers }
    }

    /// Steps the groups, and records which they lead.
    fn forward(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let from = out.len();
        self.groups.step(now, input, out);
        for output in &out[from..] {
            let (group, output) = match output {
                Output::OfGroup(group, output) => (*group, &**output),
                output => (0, output),
            };
            let Some(led) = self.led.get_mut(usize::from(group)) else { continue };
            match output {
                Output::Record(Kind::Elected(_)) => *led = Some(Led::default()),
                Output::Record(Kind::Deposed { .. }) => *led = None,
                _ => {}
            }
        }
    }

    fn beat(&mut self, now: Now, out: &mut Vec<Output>) {
        out.extend(self.view.others().map(|to| Output::Tell { to, message: Alive.erase() }));
        out.push(Output::SetTimer { id: self.beat, at: now.mono + BEAT });
        for shard in 0..self.led.len() as u16 {
            self.hand_over(now, shard, out);
        }
    }

    /// Hands over a shard that another node should lead.
    fn hand_over(&mut self, now: Now, shard: u16, out: &mut Vec<Output>) {
        let owner = self.places.owner(shard, |member| self.view.lives(member, now.mono));
        let Some(owner) = owner.filter(|owner| self.view.others().any(|other| other == *owner)) else { return };
        let Some(led) = &mut self.led[usize::from(shard)] else { return };
        if led.ordered_at.is_none_or(|at| now.mono - at >= PATIENCE) {
            led.ordered_at = Some(now.mono);
            self.forward(now, Input::Transfer(owner).of_group(shard), out);
        }
    }
}

impl Core for Sharded {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => {
                self.forward(now, Input::Start, out);
                self.beat(now, out);
            }
            Input::Timer(id) if id == self.beat => self.beat(now, out),
            Input::Peer { from, message } if message.get::<Alive>().is_some() => self.view.heard(from, now.mono),
            input => self.forward(now, input, out),
        }
    }
}
