//! Chooses what happens next among everything that can, as a model checker does.
//!
//! Messages may overtake each other, arrive twice or never. Time advances to the chosen event's due time, and never
//! goes back, so events that were due earlier are late. A node's timers fire in order.

use super::{
    Bench,
    event::{Event, Number, Pending, Step},
};
use crate::{core::TimerId, elector::Elector, types::NodeId};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Choice {
    /// Something under way arrives: a message, an answer, the end of a write.
    Arrive(u64, Number),
    /// A message arrives, and will arrive again.
    ArriveTwice(u64, Number),
    /// A message is lost.
    Lose(u64, Number),
    /// A node's next timer fires.
    Fire(NodeId, TimerId),
    /// A process dies, losing what is not on disk.
    Crash(NodeId),
    Start(NodeId),
}

impl<E: Elector> Bench<E> {
    /// Everything that can happen next without a failure: arrivals and timers.
    pub fn choices(&self) -> Vec<Choice> {
        let arrivals = self.pending.keys().map(|(at, number)| Choice::Arrive(*at, *number));
        let timers = self.nodes().filter_map(|node| self.seat(node).due().map(|(_, timer)| Choice::Fire(node, timer)));
        arrivals.chain(timers).collect()
    }

    /// When it is due, nanoseconds of true time; what is not due at any time can happen now.
    pub fn due(&self, choice: Choice) -> u64 {
        match choice {
            Choice::Arrive(at, _) | Choice::ArriveTwice(at, _) => at,
            Choice::Fire(node, _) => self.seat(node).due().map_or(u64::MAX, |(at, _)| at),
            Choice::Lose(..) | Choice::Crash(_) | Choice::Start(_) => self.now,
        }
    }

    /// Every failure that can happen next: losses, duplicates, crashes; and restarts.
    pub fn mishaps(&self) -> Vec<Choice> {
        let messages = self.pending.iter().filter(|(_, pending)| matches!(pending, Pending::Message { .. }));
        let astray =
            messages.flat_map(|((at, number), _)| [Choice::Lose(*at, *number), Choice::ArriveTwice(*at, *number)]);
        let turned = |node| if self.seat(node).is_up() { Choice::Crash(node) } else { Choice::Start(node) };
        astray.chain(self.nodes().map(turned)).collect()
    }

    /// Makes the choice happen. An impossible choice does nothing.
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
