//! Runs one campaign and the leadership that follows: steps the election's core, and lets go only of what has stopped.

use crate::{
    backend::Service,
    ended::Ended,
    state::{Order, Phase, State},
};
use protocols::{
    core::TimerId,
    elector::{AnyElector, Deposed, ELECTOR_TIMERS, Input, Output, RequestNumber, ServiceInput, ServiceOutput},
    news::Purpose,
    payload::Payload,
    types::{Leadership, NodeId},
};
use protocols_clients::{
    env::{Env, tokio::TokioEnv},
    timers::Timers,
};
use std::{
    collections::BTreeMap,
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    task::AbortHandle,
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
    /// How long spawned work may take to stop, nanoseconds.
    pub(crate) stop_within: u64,
    /// The same for the release.
    pub(crate) release_within: u64,
    /// Names of the members by number.
    pub(crate) names: Arc<Vec<String>>,
    pub(crate) report: Arc<watch::Sender<Report>>,
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
    /// All has stopped, and the lease is being released.
    Releasing,
}

struct Driver {
    course: Course,
    state: Arc<State>,
    timers: Timers<TokioEnv>,
    to_service: UnboundedSender<ServiceOutput>,
    outputs: Vec<Output>,
    /// Requests under way, and what they are for.
    asked: BTreeMap<RequestNumber, Purpose>,
    /// What the failing requests are for; its next success ends the failure.
    failing: Option<Purpose>,
    ending: Ending,
    /// Whether the core holds the lease, and the belief has not ended by the clock.
    holds: bool,
    /// Whether the core is left alone: the lease must not be released before the work has stopped, and the core would
    /// do it by itself.
    frozen: bool,
}

/// Aborts a task when dropped.
struct Aborts(AbortHandle);

impl Drop for Aborts {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts a campaign. It ends by [`Order::Finish`], or when nobody can give orders any more.
pub(crate) fn start(service: &impl Service, course: Course, state: Arc<State>, orders: UnboundedReceiver<Order>) {
    let (to_service, requests) = unbounded_channel();
    let (answer, answers) = unbounded_channel();
    // The driver may have ended when an answer arrives.
    let client = tokio::spawn(service.run(requests, Arc::new(move |input| drop(answer.send(input)))));
    let client = Aborts(client.abort_handle());
    let driver = Driver {
        timers: Timers::new(state.env.clone()),
        course,
        state,
        to_service,
        outputs: Vec::new(),
        asked: BTreeMap::new(),
        failing: None,
        ending: Ending::No,
        holds: false,
        frozen: false,
    };
    tokio::spawn(async move {
        let _client = client;
        driver.run(answers, orders).await;
    });
}

impl Driver {
    async fn run(mut self, mut answers: UnboundedReceiver<ServiceInput>, mut orders: UnboundedReceiver<Order>) {
        self.step(Input::Start);
        loop {
            self.settle();
            if self.is_done() {
                return;
            }
            let (tracker, stopping) = (self.state.tracker.clone(), matches!(self.ending, Ending::Stopping { .. }));
            let frozen = self.frozen;
            tokio::select! {
                biased;
                order = orders.recv() => self.obey(order.unwrap_or(Order::Finish { release: true })),
                () = tracker.idle(), if stopping => self.stopped(),
                Some(answer) = answers.recv(), if !frozen => {
                    self.note(&answer);
                    self.step(Input::Service(answer));
                }
                id = poll_fn(|context| self.timers.poll(context)) => self.timer(id),
            }
        }
    }

    /// Ends a belief that is over by the clock. First of all: after a pause, orders, answers and timers come in any order.
    fn look_at_the_clock(&mut self) {
        if self.holds && self.state.env.now().mono >= self.state.deadline.load(Ordering::Acquire) {
            self.over(Ended::Expired);
        }
    }

    fn step(&mut self, input: Input) {
        self.look_at_the_clock();
        if !self.frozen {
            self.course.elector.step(self.state.env.now(), input, &mut self.outputs);
        }
    }

    fn timer(&mut self, id: TimerId) {
        match id {
            OVER => self.over(Ended::Expired),
            STOPPED => self.finish(Ended::UncleanStop),
            RELEASED => {
                tracing::warn!("the service has not confirmed that the lease was released");
                self.finish(self.why());
            }
            id if self.ending == Ending::Releasing => tracing::trace!(id, "a timer after the withdrawal"),
            id => self.step(Input::Timer(id)),
        }
    }

    fn obey(&mut self, order: Order) {
        self.look_at_the_clock();
        match order {
            Order::Refused => self.over(Ended::Refused),
            Order::Panicked => self.over(Ended::UncleanStop),
            Order::Finish { release } => {
                if self.ending == Ending::No {
                    // The lease is renewed until all has stopped.
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
            Ending::Stopping { release: true } if !panicked => {
                self.ending = Ending::Releasing;
                (self.holds, self.frozen) = (false, false);
                self.set(RELEASED, self.course.release_within);
                self.step(Input::Withdraw);
            }
            _ => self.finish(Ended::UncleanStop),
        }
    }

    /// Ends the belief: the lease may be over, or another's.
    fn over(&mut self, why: Ended) {
        // An order may come late.
        if self.ending == Ending::Releasing {
            return;
        }
        self.timers.cancel(OVER);
        (self.holds, self.frozen) = (false, true);
        self.end(why);
    }

    /// Says that the belief has ended, once.
    fn end(&self, why: Ended) {
        self.state.phase.send_if_modified(|phase| {
            let holds = matches!(phase, Phase::Leading { .. });
            if holds {
                tracing::info!(%why, "leads no more");
                *phase = Phase::Over(why);
            }
            holds
        });
    }

    fn why(&self) -> Ended {
        match *self.state.phase.borrow() {
            Phase::Over(why) | Phase::Done(why) => why,
            Phase::Campaigning | Phase::Leading { .. } => Ended::Resigned,
        }
    }

    fn finish(&mut self, why: Ended) {
        self.state.phase.send_replace(Phase::Done(why));
    }

    fn is_done(&mut self) -> bool {
        if self.ending == Ending::Releasing && self.asked.is_empty() {
            self.finish(self.why());
        }
        matches!(*self.state.phase.borrow(), Phase::Done(_))
    }

    /// Carries out what the core has asked for.
    fn settle(&mut self) {
        for output in std::mem::take(&mut self.outputs) {
            match output {
                Output::Service(output) => self.ask(output),
                Output::SetTimer { id, at } => self.timers.set(id, at),
                Output::CancelTimer(id) => self.timers.cancel(id),
                Output::Elected(leadership) => self.elected(leadership),
                Output::Renewed(leadership) => self.believe(leadership),
                Output::Deposed(why) => self.deposed(why),
                Output::Observed(leader) => self.observed(leader),
                // No candidate of these protocols talks to others, has a disk, or votes.
                Output::Point(_) | Output::Campaign | Output::Send { .. } | Output::Persist(_) => {}
                Output::PowerOff { .. } | Output::Membership(..) | Output::Voted { .. } => {}
            }
        }
    }

    fn ask(&mut self, output: ServiceOutput) {
        match &output {
            ServiceOutput::Request { number, request, .. } => drop(self.asked.insert(*number, request.purpose())),
            ServiceOutput::Cancel(number) => drop(self.asked.remove(number)),
            ServiceOutput::Open { .. } | ServiceOutput::Push(_) | ServiceOutput::Close(_) => {}
        }
        // The client runs as long as this driver.
        let _ = self.to_service.send(output);
    }

    fn elected(&mut self, leadership: Leadership) {
        if self.ending != Ending::No {
            return;
        }
        self.holds = true;
        self.believe(leadership);
        tracing::info!(token = leadership.token, "leads");
        self.state.phase.send_replace(Phase::Leading { token: leadership.token });
    }

    fn believe(&mut self, leadership: Leadership) {
        let until = leadership.valid_until.saturating_sub(self.course.margin);
        self.state.deadline.store(until, Ordering::Release);
        if self.holds {
            self.timers.set(OVER, until);
        }
    }

    fn deposed(&mut self, why: Deposed) {
        match why {
            Deposed::Expired => self.over(Ended::Expired),
            Deposed::Lost => self.over(Ended::Lost),
            Deposed::Fenced => self.over(Ended::Refused),
            Deposed::Resigned | Deposed::Stuck => self.over(Ended::Resigned),
        }
    }

    fn observed(&self, leader: Option<NodeId>) {
        // The first one is this member. Some cores observe it, too.
        let leader = leader.filter(|leader| leader.index() > 0);
        let leader = leader.and_then(|leader| self.course.names.get(leader.index()).cloned());
        self.report(|report| report.leader = leader);
    }

    /// Notes whether the service does what it is asked. A service may refuse one kind of request and answer another.
    fn note(&mut self, answer: &ServiceInput) {
        let (purpose, failure) = match answer {
            ServiceInput::Reply { number, reply } => (self.asked.remove(number), reply.as_ref().err()),
            ServiceInput::Ended { failure, .. } => (Some(Purpose::Other), Some(failure)),
            ServiceInput::Item { .. } => return,
        };
        match failure {
            Some(failure) if self.failing.is_none() => {
                self.failing = purpose;
                let why = failure.to_string();
                tracing::warn!(why, "the service fails");
                self.report(|report| report.failing = Some(why));
            }
            None if self.failing.is_some() && self.failing == purpose => {
                self.failing = None;
                tracing::info!("the service answers again");
                self.report(|report| report.failing = None);
            }
            _ => {}
        }
    }

    fn report(&self, change: impl FnOnce(&mut Report)) {
        self.course.report.send_if_modified(|report| {
            let before = report.clone();
            change(report);
            *report != before
        });
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
