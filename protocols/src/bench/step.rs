//! Steps: an elector takes an input, and its outputs are carried out.

use super::{
    Bench,
    event::{Event, Number, Pending, Step},
    network::draw,
};
use crate::{
    core::TimerId,
    elector::{ELECTOR_TIMERS, Elector, Input, Output, RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    types::{Leadership, NodeId},
};

/// Whether an output has been carried out.
enum Done {
    Yes,
    /// A write that is durable now.
    Durable,
    /// A write that ended the process.
    PowerLost,
}

impl<E: Elector> Bench<E> {
    pub(super) fn nothing(&self, event: Event<E::Peer>) -> Step<E> {
        let sent = self.numbers + 1..self.numbers + 1;
        Step { at: self.now, event, outputs: Vec::new(), sent, crashed: false }
    }

    pub(super) fn look_into_inbox(&mut self, node: NodeId) -> Step<E> {
        match self.seats[node.index()].inbox.pop_front() {
            Some(input) => self.step(node, Event::Stepped(node), input),
            None => self.nothing(Event::Nothing),
        }
    }

    pub(super) fn fire(&mut self, node: NodeId, id: TimerId) -> Step<E> {
        self.seats[node.index()].timers.remove(&id);
        self.step(node, Event::Stepped(node), Input::Timer(id))
    }

    /// Delivers something under way.
    pub(super) fn arrive(&mut self, key: (u64, Number)) -> Step<E> {
        let arrived = |node| Event::Arrived { node, number: key.1 };
        match self.pending.remove(&key) {
            None => self.nothing(Event::Nothing),
            Some(Pending::Alarm(number)) => self.nothing(Event::Alarm(number)),
            Some(Pending::Start(node)) => self.start(node),
            Some(Pending::Message { from, to, message }) if to.index() >= self.seats.len() => {
                self.nothing(Event::Outside { from, to, message })
            }
            Some(Pending::Message { from, to, message }) => {
                let (now, clock) = (self.now, &mut self.seats[to.index()].clock);
                if clock.stands {
                    clock.start(now, 0);
                }
                self.take(to, arrived(to), Input::Peer { from, message })
            }
            Some(Pending::Input { to, life, input }) if self.seat(to).starts == life => {
                self.take(to, arrived(to), input)
            }
            Some(Pending::Persisted { node, life }) if self.seat(node).starts == life => {
                let seat = &mut self.seats[node.index()];
                let Some(state) = seat.writing.pop_front() else { return self.nothing(Event::Nothing) };
                seat.disk = Some(state);
                self.take(node, arrived(node), Input::Persisted)
            }
            Some(Pending::Input { .. } | Pending::Persisted { .. }) => self.nothing(Event::Nothing),
        }
    }

    pub(super) fn take(&mut self, node: NodeId, event: Event<E::Peer>, input: Input<E::Peer, E::Service>) -> Step<E> {
        let now = self.now;
        let seat = &mut self.seats[node.index()];
        if seat.elector.is_some() && (seat.paused_until > now || !seat.inbox.is_empty()) {
            seat.inbox.push_back(input);
            return self.nothing(Event::Nothing);
        }
        self.step(node, event, input)
    }

    pub(super) fn step(&mut self, node: NodeId, event: Event<E::Peer>, input: Input<E::Peer, E::Service>) -> Step<E> {
        if !self.seat(node).is_up() {
            return self.nothing(Event::Nothing);
        }
        let mut step = self.nothing(event);
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            // A cancelled request gets no answer, and no request gets two.
            if let Input::Service(ServiceInput::Reply { number, .. }) = &input
                && !self.forget(node, *number)
            {
                continue;
            }
            let now = self.now;
            let seat = &mut self.seats[node.index()];
            let clocks = seat.now(now);
            let Some(elector) = &mut seat.elector else { break };
            let mut outputs = Vec::new();
            elector.step(clocks, input, &mut outputs);
            for output in outputs {
                let done = self.carry_out(node, &output);
                step.outputs.push(output);
                match done {
                    Done::Yes => {}
                    Done::Durable => inputs.push(Input::Persisted),
                    Done::PowerLost => {
                        step.crashed = true;
                        inputs.clear();
                        break;
                    }
                }
            }
        }
        step.sent.end = self.numbers + 1;
        step
    }

    fn carry_out(&mut self, node: NodeId, output: &Output<E::Peer, E::Service>) -> Done {
        let seat = &mut self.seats[node.index()];
        match output {
            Output::Send { to, message } => self.send(node, *to, message.clone()),
            Output::Persist(state) => return self.write(node, state.clone()),
            Output::SetTimer { id, at } => {
                seat.timers.insert(*id, *at);
                self.check(*id < ELECTOR_TIMERS, || format!("{node:?} sets timer {id}, which is the works'"));
            }
            Output::CancelTimer(id) => drop(seat.timers.remove(id)),
            Output::Elected(leadership) => {
                let before = seat.belief.replace(*leadership);
                self.check(before.is_none(), || format!("{node:?} is elected twice: {before:?}, {leadership:?}"));
            }
            Output::Renewed(leadership) => {
                let before = seat.belief.replace(*leadership);
                let goes_on = before.is_some_and(|before: Leadership| before.token == leadership.token);
                self.check(goes_on, || format!("{node:?} renews {leadership:?}, and believed {before:?}"));
            }
            Output::Deposed(why) => {
                let before = seat.belief.take();
                self.check(before.is_some(), || format!("{node:?} is deposed ({why:?}) and did not lead"));
            }
            Output::Observed(leader) => seat.observed = *leader,
            Output::Service(ServiceOutput::Request { number, timeout, .. }) => {
                seat.requests.insert(*number);
                let shown = seat.clock.shows(self.now).saturating_add(*timeout);
                if let Some(at) = seat.clock.time(shown) {
                    let reply = Err(Failure::Unknown("timed out".to_owned()));
                    self.give_at(at, node, Input::Service(ServiceInput::Reply { number: *number, reply }));
                }
            }
            Output::Service(ServiceOutput::Cancel(number)) => drop(self.forget(node, *number)),
            _ => {}
        }
        Done::Yes
    }

    /// Waits for no answer to a request any more; those under way are dropped, and so is the time at which it would be
    /// given up. Returns whether it was waited for.
    fn forget(&mut self, node: NodeId, request: RequestNumber) -> bool {
        self.pending.retain(|_, pending| {
            !matches!(
                pending,
                Pending::Input { to, input: Input::Service(ServiceInput::Reply { number, .. }), .. }
                    if *to == node && *number == request
            )
        });
        self.seats[node.index()].requests.remove(&request)
    }

    fn write(&mut self, node: NodeId, state: Vec<u8>) -> Done {
        self.writes += 1;
        let fails = self.disks.power_fails_at.filter(|(write, _)| *write == self.writes).map(|(_, done)| done);
        let seat = &mut self.seats[node.index()];
        seat.writing.push_back(state);
        if let Some(done) = fails {
            self.crash(node, if done { usize::MAX } else { 0 });
            return Done::PowerLost;
        }
        let Some(delay) = &self.disks.delay else {
            seat.disk = seat.writing.pop_front();
            return Done::Durable;
        };
        let (after, life) = (draw(&mut self.random, delay), seat.starts);
        self.put(self.now + after, Pending::Persisted { node, life });
        Done::Yes
    }

    fn check(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds && self.broken.is_none() {
            self.broken = Some(rule());
        }
    }
}
