//! Runs one campaign and the leadership that follows: steps the election's core, and lets go only of what has stopped.

mod belief;
mod service;
pub(crate) mod start;

use crate::{
    backend::{Counted, Servers, Session},
    counts::Counts,
    ended::Ended,
    observer::{News, Observer},
    state::{Order, Phase, State, Successor},
};
use protocols::{
    clock::Now,
    core::TimerId,
    elector::{AnyElector, ELECTOR_TIMERS, Input, Output, RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    news::Purpose,
    payload::Opaque,
    types::{Leadership, NodeId},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    timers::Timers,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender},
    watch,
};

/// The end of the belief.
const OVER: TimerId = ELECTOR_TIMERS;
/// The end of the time that spawned work has to stop.
const STOPPED: TimerId = ELECTOR_TIMERS + 1;
/// The end of the time that a release has.
const RELEASED: TimerId = ELECTOR_TIMERS + 2;

/// What a campaign is run with.
pub(crate) struct Course {
    pub(crate) elector: Box<AnyElector>,
    /// How long before the end of the lease the belief ends, nanoseconds.
    pub(crate) margin: u64,
    /// The length of the lease, nanoseconds.
    pub(crate) lease: u64,
    /// From when this member gives back what it wins, so that others go first; nanoseconds of the monotonic clock.
    pub(crate) defers_from: u64,
    /// How the lease is counted, where the core's own belief has no end.
    pub(crate) counted: Option<Counted>,
    pub(crate) session: Option<Session>,
    /// How long spawned work may take to stop, nanoseconds.
    pub(crate) stop_within: u64,
    /// The same for the release.
    pub(crate) release_within: u64,
    /// Whether a leader can choose its successor.
    pub(crate) transfers: bool,
    /// Names of the members by number.
    pub(crate) names: Arc<Vec<String>>,
    pub(crate) report: Arc<watch::Sender<Report>>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

/// What a campaign learns about the service and its leader.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Report {
    pub(crate) leader: Option<String>,
    /// The service's last answer, if it was a failure.
    pub(crate) failing: Option<String>,
}

/// How far the end has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// Not begun: the closure runs.
    No,
    /// The closure has ended; what it spawned is stopping.
    Stopping { release: bool },
    /// All has stopped, and the lease is being handed to a named successor.
    HandingOver,
    /// The same, and the lease is being released.
    Releasing,
}

/// A request under way.
struct Asked {
    request: Opaque,
    /// Nanoseconds.
    sent: u64,
    /// From when the lease counts if this is confirmed.
    counts_from: u64,
}

struct Driver {
    course: Course,
    state: Arc<State>,
    timers: Timers<TokioEnv>,
    to_service: UnboundedSender<ServiceOutput>,
    outputs: Vec<Output>,
    /// Requests under way.
    asked: BTreeMap<RequestNumber, Asked>,
    /// When what others compare of the last confirmed request was first sent: from then on they may count the lease.
    confirmed: u64,
    /// When what others compare was first sent, for a few leases.
    first_sent: BTreeMap<u64, u64>,
    /// How long before the end of the lease the belief ends: less than was asked for if the lease is.
    margin: u64,
    /// The leadership as the core sees it.
    leadership: Leadership,
    /// Whether it has led, and that has not been counted as ended.
    led: bool,
    /// Whether the resource has refused the token.
    refused: bool,
    servers: Option<Servers>,
    /// Those that have not answered last.
    down: BTreeSet<usize>,
    /// What the open streams are for.
    streams: BTreeMap<StreamNumber, Purpose>,
    /// What the failing requests are for; its next success ends the failure.
    failing: Option<Purpose>,
    ending: Ending,
    /// Whether it has won, and others are to go first.
    defers: bool,
    /// Whether the core holds the lease, and the belief has not ended by the clock.
    holds: bool,
    /// Whether the core is left alone: the lease must not be released before the work has stopped, and the core would
    /// do it by itself.
    frozen: bool,
}

impl Driver {
    /// Returns what keeps the client, if nothing was released.
    async fn run(
        mut self,
        mut answers: UnboundedReceiver<ServiceInput>,
        mut orders: UnboundedReceiver<Order>,
    ) -> Option<UnboundedSender<ServiceOutput>> {
        self.step(Input::Start);
        loop {
            self.settle();
            if self.is_done() {
                return (self.ending != Ending::Releasing).then_some(self.to_service);
            }
            let (tracker, stopping) = (self.state.tracker.clone(), matches!(self.ending, Ending::Stopping { .. }));
            let frozen = self.frozen;
            tokio::select! {
                biased;
                order = orders.recv() => self.obey(order.unwrap_or(Order::Finish { release: true })),
                () = tracker.idle(), if stopping => self.stopped(),
                Some(answer) = answers.recv(), if !frozen => {
                    // A renewal that is confirmed late does not bring back a belief that is over.
                    self.expire(self.state.env.now());
                    self.tell(|| News::Hears(answer.clone()));
                    self.note(&answer);
                    self.step(Input::Service(answer));
                }
                id = poll_fn(|context| self.timers.poll(context)) => self.timer(id),
            }
        }
    }

    fn step(&mut self, input: Input) {
        // One reading: the core must not find the lease over where this does not.
        let now = self.state.env.now();
        self.expire(now);
        if !self.frozen {
            self.course.elector.step(now, input, &mut self.outputs);
        }
    }

    /// First of all: after a pause, answers, orders and timers come in any order.
    fn expire(&mut self, now: Now) {
        if self.holds && now.mono >= self.state.deadline.load(Ordering::Acquire) {
            self.over(Ended::Expired);
        }
    }

    fn timer(&mut self, id: TimerId) {
        match id {
            OVER => self.over(Ended::Expired),
            STOPPED => self.finish(Ended::UncleanStop),
            RELEASED => {
                tracing::warn!(
                    "the service has not confirmed the release of the lease; if it was not released, it runs out"
                );
                self.finish(self.why());
            }
            id if self.ending == Ending::Releasing => tracing::trace!(id, "a timer after the withdrawal"),
            id => self.step(Input::Timer(id)),
        }
    }

    fn obey(&mut self, order: Order) {
        self.expire(self.state.env.now());
        // Whatever the order, the lease is renewed until all has stopped.
        match order {
            Order::Refused => {
                // Often late: a leader is refused when it goes on after a pause, and its belief is over by then.
                if !std::mem::replace(&mut self.refused, true) {
                    Counts::add(&self.course.counts.rejections);
                }
                self.end(Ended::Refused);
            }
            Order::Panicked => self.end(Ended::UncleanStop),
            Order::Finish { release } => {
                if self.ending == Ending::No {
                    self.end(Ended::Resigned);
                    self.ending = Ending::Stopping { release };
                    self.set(STOPPED, self.course.stop_within);
                }
            }
        }
    }

    /// What the closure spawned has stopped, too.
    fn stopped(&mut self) {
        self.timers.cancel(STOPPED);
        let panicked = self.state.tracker.has_panicked();
        match self.ending {
            Ending::Stopping { release: true } if !panicked => match self.successor() {
                Some(to) => self.let_go(Ending::HandingOver, Input::Transfer(to)),
                None => self.let_go(Ending::Releasing, Input::Withdraw),
            },
            _ => self.finish(Ended::UncleanStop),
        }
    }

    /// Whom the core hands the lease to; `None` if whoever comes first takes it.
    fn successor(&self) -> Option<NodeId> {
        match *self.state.resigning.borrow() {
            Some(Successor::Named(to)) if self.course.transfers && self.holds => Some(to),
            _ => None,
        }
    }

    fn let_go(&mut self, ending: Ending, how: Input) {
        self.ending = ending;
        (self.holds, self.frozen) = (false, false);
        self.set(RELEASED, self.course.release_within);
        self.step(how);
    }

    /// Ends the belief: the lease may be over, or another's.
    fn over(&mut self, why: Ended) {
        // An order may come late.
        if matches!(self.ending, Ending::HandingOver | Ending::Releasing) {
            return;
        }
        self.timers.cancel(OVER);
        (self.holds, self.frozen) = (false, true);
        // A lease that is over runs out, however long the work takes to stop.
        if self.course.session.is_some() {
            for session in std::mem::take(&mut self.streams).into_keys() {
                self.ask(ServiceOutput::Close(session));
            }
        }
        self.end(why);
    }

    /// Says that the belief has ended, once.
    fn end(&self, why: Ended) {
        self.state.phase.send_if_modified(|phase| {
            let leads = matches!(phase, Phase::Leading { .. });
            // A campaign that won too late has lost.
            let ends = leads || (*phase == Phase::Campaigning && why == Ended::Expired);
            if ends {
                *phase = Phase::Over(why);
            }
            if leads {
                self.course.counts.believes_no_more();
                self.tell(|| News::Over(why));
                tracing::info!(%why, "leads no more");
            }
            ends
        });
    }

    fn why(&self) -> Ended {
        match *self.state.phase.borrow() {
            Phase::Over(why) | Phase::Done(why) => why,
            Phase::Campaigning | Phase::Leading { .. } => Ended::Resigned,
        }
    }

    fn finish(&mut self, why: Ended) {
        if std::mem::replace(&mut self.led, false) {
            self.course.counts.ended(why);
        }
        self.state.phase.send_replace(Phase::Done(why));
    }

    fn is_done(&mut self) -> bool {
        // Handed over, or in vain.
        if self.ending == Ending::HandingOver && self.asked.is_empty() {
            self.let_go(Ending::Releasing, Input::Withdraw);
            self.settle();
        }
        if self.ending == Ending::Releasing && self.asked.is_empty() {
            self.finish(self.why());
        }
        matches!(*self.state.phase.borrow(), Phase::Done(_))
    }

    /// Carries out what the core has asked for.
    fn settle(&mut self) {
        for output in std::mem::take(&mut self.outputs) {
            match output {
                // The lease is another's by now, and this member is not to stand for the next.
                Output::Campaign if self.ending == Ending::HandingOver => {
                    self.let_go(Ending::Releasing, Input::Withdraw);
                    return self.settle();
                }
                Output::Service(output) => self.ask(output),
                Output::SetTimer { id, at } => self.timers.set(id, at),
                Output::CancelTimer(id) => self.timers.cancel(id),
                Output::Elected(leadership) => self.elected(leadership),
                Output::Renewed(leadership) => {
                    Counts::add(&self.course.counts.renewals);
                    self.leadership = leadership;
                    self.believe();
                }
                Output::Deposed(why) => self.deposed(why),
                Output::Observed(leader) => self.observed(leader),
                Output::Point(point) => self.state.env.pass(point),
                Output::Campaign => self.tell(|| News::Campaigns),
                // No candidate of these protocols talks to others, has a disk, or votes.
                Output::Send { .. } | Output::Persist(_) => {}
                Output::PowerOff { .. } | Output::Membership(..) | Output::Voted { .. } => {}
            }
        }
        if std::mem::take(&mut self.defers) {
            tracing::info!("has won, and leaves the seat to the members that are preferred");
            self.let_go(Ending::Releasing, Input::Withdraw);
            self.settle();
        }
    }

    fn tell(&self, news: impl FnOnce() -> News) {
        if let Some(observer) = &self.course.observer {
            observer.told(news());
        }
    }

    fn set(&mut self, id: TimerId, after: u64) {
        let at = self.state.env.now().mono.saturating_add(after);
        self.timers.set(id, at);
    }
}

/// Nanoseconds, for the core.
pub(crate) fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
