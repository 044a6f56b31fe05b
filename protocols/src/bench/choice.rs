//! Choosing what happens next: everything that can, one by one, as a model checker does.
//!
//! Messages overtake each other as the caller likes, come twice or never. Time goes to when the chosen thing is due, and
//! never back: what was due earlier is late. Of one node's timers the first fires first.

use super::{
    Bench,
    event::{Event, Number, Pending, Step},
};
use crate::{core::TimerId, elector::Elector, types::NodeId};

/// Something that can happen next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Choice {
    /// What is under way arrives: a message, an answer, the end of a write.
    Arrive(u64, Number),
    /// A message arrives, and the same will arrive again.
    ArriveTwice(u64, Number),
    /// A message is lost.
    Lose(u64, Number),
    /// A node's next timer fires.
    Fire(NodeId, TimerId),
    /// A process dies; with it what is not on disk.
    Crash(NodeId),
    /// A process that is down starts.
    Start(NodeId),
}

impl<E: Elector> Bench<E> {
    /// Everything that can happen next if nothing goes wrong: arrivals and timers.
    pub fn choices(&self) -> Vec<Choice> {
        let arrivals = self.pending.keys().map(|(at, number)| Choice::Arrive(*at, *number));
        let timers = self.nodes().filter_map(|node| self.seat(node).due().map(|(_, timer)| Choice::Fire(node, timer)));
        arrivals.chain(timers).collect()
    }

    /// Everything that can go wrong next: losses, duplicates, crashes and restarts.
    pub fn mishaps(&self) -> Vec<Choice> {
        let messages = self.pending.iter().filter(|(_, pending)| matches!(pending, Pending::Message { .. }));
        let astray =
            messages.flat_map(|((at, number), _)| [Choice::Lose(*at, *number), Choice::ArriveTwice(*at, *number)]);
        let turned = |node| if self.seat(node).is_up() { Choice::Crash(node) } else { Choice::Start(node) };
        astray.chain(self.nodes().map(turned)).collect()
    }

    /// Has it happen. What cannot happen does nothing.
    pub fn choose(&mut self, choice: Choice) -> Step<E> {
        match choice {
            Choice::Arrive(at, number) => {
                self.now = self.now.max(at);
                self.arrive((at, number))
            }
            Choice::ArriveTwice(at, number) => {
                self.now = self.now.max(at);
                let again = self.pending.get(&(at, number)).cloned();
                let step = self.arrive((at, number));
                if let Some(again @ Pending::Message { .. }) = again {
                    self.put(at, again);
                }
                step
            }
            Choice::Lose(at, number) => {
                self.pending.remove(&(at, number));
                self.nothing(Event::Nothing)
            }
            Choice::Fire(node, id) => match self.seat(node).due() {
                Some((at, next)) if next == id => {
                    self.now = self.now.max(at);
                    self.fire(node, id)
                }
                _ => self.nothing(Event::Nothing),
            },
            Choice::Crash(node) => {
                self.crash(node, 0);
                self.nothing(Event::Nothing)
            }
            Choice::Start(node) => self.start(node),
        }
    }
}
