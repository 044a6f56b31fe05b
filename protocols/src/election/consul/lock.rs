//! A candidate: its session, the lock, and the watch that tells it that the lock is lost.

use super::timing::{LOCK_INDEX, RENEWAL_NOT_RETRIED, UNVERIFIED_READS, key_of, lock_delay, retry, session_ttl};
use crate::{
    clock::Now,
    core::TimerId,
    election::{Setup, back_off::BackOff},
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::consul::{Api, Item, LOCK_FLAGS, Pair, Reads, Reply, Request, Watch},
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// Time to renew the session.
const RENEW: TimerId = 0;
/// Time to begin anew, or to try again.
const AGAIN: TimerId = 1;

/// How long a waiting candidate's request asks to wait (`api.DefaultLockWaitTime`), milliseconds.
const WAIT_MS: u64 = 15_000;
/// How long a request without an answer hangs until TCP gives up sending it again (Linux' `tcp_retries2`, 15 times). The
/// client has no timeout of its own.
const SILENCE: u64 = 924 * SECOND;
/// A renewal that failed is tried again after this (`RenewPeriodic`).
const RENEW_RETRY: u64 = SECOND;
/// After an error of `Lock` the program asks again; the client's own pause where it has one (`DefaultMonitorRetryTime`).
const START_RETRY: u64 = 2 * SECOND;

/// A belief that no clock ends.
const FOR_EVER: u64 = u64::MAX;

/// Where a candidate is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// Has no session, and waits until it tries again.
    Idle,
    /// Waits for its session.
    Creating,
    /// Watches the key until nobody has it.
    Waiting(StreamNumber),
    /// Has asked for the lock.
    Acquiring,
    /// Was refused, and looks why.
    Refused,
    /// Nobody has the key, and nobody may: tries again in a while.
    Delayed,
    /// Has the lock, and reads its token.
    Reading,
    /// Leads, and watches the key.
    Leading { watch: StreamNumber, token: u64 },
    /// Has given the lock back, or tries to.
    Releasing,
}

/// The elector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lock {
    setup: Setup,
    requests: RequestNumber,
    streams: StreamNumber,
    stage: Stage,
    /// The request of this stage that is under way.
    pending: Option<RequestNumber>,
    session: Option<String>,
    /// The renewal that is under way.
    renewal: Option<RequestNumber>,
    /// When the session was renewed last, as the client sees it.
    renewed_at: u64,
    /// [`Output::Campaign`] was sent and neither win nor end of a belief came after it.
    campaigning: bool,
    /// After a resignation or refusals: do not begin before.
    held_off: u64,
    /// What was last said to `Observed`.
    observed: Option<NodeId>,
    back_off: BackOff,
}

impl Lock {
    pub(super) fn new(setup: Setup) -> Self {
        Lock {
            setup,
            requests: 0,
            streams: 0,
            stage: Stage::Idle,
            pending: None,
            session: None,
            renewal: None,
            renewed_at: 0,
            campaigning: false,
            held_off: 0,
            observed: None,
            back_off: BackOff::default(),
        }
    }

    fn name(&self) -> String {
        self.setup.names.get(self.setup.node.index()).cloned().unwrap_or_default()
    }

    fn key(&self) -> String {
        key_of(self.setup.group)
    }

    fn session_ttl(&self) -> u64 {
        session_ttl(self.setup.timings.lease_ttl)
    }

    /// Goroutines of their own: no request waits for another.
    fn send(&mut self, request: Request, out: &mut Vec<Output>) -> RequestNumber {
        self.requests += 1;
        let (number, timeout) = (self.requests, SILENCE);
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: true }));
        number
    }

    /// Sends the request of a stage.
    fn ask(&mut self, stage: Stage, request: Request, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeAsk));
        self.stage = stage;
        self.pending = Some(self.send(request, out));
    }

    /// How the lock is read where the client says so.
    fn reads(&self, reads: Reads) -> Reads {
        if self.setup.bugs.has(&UNVERIFIED_READS) { Reads::Default } else { reads }
    }

    fn get(&self, reads: Reads) -> Request {
        Request::Get { key: self.key(), reads: self.reads(reads) }
    }

    fn open(&mut self, reads: Reads, wait_ms: Option<u64>, out: &mut Vec<Output>) -> StreamNumber {
        self.streams += 1;
        let request = Watch { key: self.key(), reads: self.reads(reads), wait_ms };
        out.push(Output::Service(ServiceOutput::Open { number: self.streams, request }));
        self.streams
    }

    /// `Lock`: a session first.
    fn start(&mut self, out: &mut Vec<Output>) {
        if !self.campaigning {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let request = Request::CreateSession {
            name: self.name(),
            ttl_ms: self.session_ttl() / MILLISECOND,
            lock_delay_ms: Some(lock_delay(&self.setup.timings) / MILLISECOND),
        };
        self.ask(Stage::Creating, request, out);
    }

    fn created(&mut self, now: u64, session: String, out: &mut Vec<Output>) {
        self.session = Some(session);
        self.renewed_at = now;
        out.push(Output::SetTimer { id: RENEW, at: now + self.setup.timings.renew_interval });
        self.wait(out);
    }

    fn wait(&mut self, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeWait));
        self.stage = Stage::Waiting(self.open(Reads::Default, Some(WAIT_MS), out));
    }

    fn acquire(&mut self, out: &mut Vec<Output>) {
        let (key, value) = (self.key(), self.name());
        let session = self.session.clone().unwrap_or_default();
        self.ask(Stage::Acquiring, Request::Acquire { key, value, session }, out);
    }

    /// `Lock` came back with an error, or `Unlock` is over: the session goes, and with it whatever it holds. Begins anew in a
    /// while.
    fn give_up(&mut self, now: u64, wait: u64, out: &mut Vec<Output>) {
        if let Some(number) = self.pending.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        if let Stage::Waiting(watch) | Stage::Leading { watch, .. } = self.stage {
            out.push(Output::Service(ServiceOutput::Close(watch)));
        }
        if let Some(number) = self.renewal.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        self.stage = Stage::Idle;
        out.push(Output::CancelTimer(RENEW));
        if let Some(session) = self.session.take() {
            self.send(Request::DestroySession { session }, out);
        }
        out.push(Output::SetTimer { id: AGAIN, at: (now + wait).max(self.held_off) });
    }

    /// `Unlock`: first the key, so that no lock-delay follows, then the session.
    fn release(&mut self, out: &mut Vec<Output>) {
        let (key, value) = (self.key(), self.name());
        let session = self.session.clone().unwrap_or_default();
        self.ask(Stage::Releasing, Request::Release { key, value, session }, out);
    }

    /// The belief ends. Who has lost the lock cannot know whether it still has it: it gives it back.
    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        let Stage::Leading { watch, .. } = self.stage else { return };
        out.push(Output::Deposed(why));
        out.push(Output::Service(ServiceOutput::Close(watch)));
        self.observe(None, out);
        self.release(out);
    }

    fn observe(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Who leads, by what the key holds. Winning says it of oneself.
    fn look_at(&mut self, pair: Option<&Pair>, out: &mut Vec<Output>) {
        let holder = pair.filter(|pair| pair.session.is_some());
        let named = holder.and_then(|pair| self.setup.names.iter().position(|name| *name == pair.value));
        let leader = named.and_then(|place| u16::try_from(place).ok()).map(NodeId);
        self.observe(leader.filter(|leader| *leader != self.setup.node), out);
    }

    fn is_mine(&self, pair: Option<&Pair>) -> bool {
        pair.is_some_and(|pair| pair.session.is_some() && pair.session == self.session)
    }

    fn win(&mut self, pair: &Pair, out: &mut Vec<Output>) {
        let token = match self.setup.bugs.has(&LOCK_INDEX) {
            true => pair.lock_index,
            false => pair.modify_index,
        };
        let watch = self.open(Reads::Consistent, None, out);
        self.stage = Stage::Leading { watch, token };
        self.campaigning = false;
        out.push(Output::Elected(Leadership { token, valid_until: FOR_EVER }));
        self.observe(Some(self.setup.node), out);
    }

    /// What a watch brings.
    fn seen(&mut self, now: u64, number: StreamNumber, pair: Option<&Pair>, out: &mut Vec<Output>) {
        match self.stage {
            Stage::Waiting(watch) if watch == number => {
                // `ErrLockConflict`: somebody's key, and no lock.
                if pair.is_some_and(|pair| pair.flags != LOCK_FLAGS) {
                    crate::mark!(ConsulLockFails);
                    return self.give_up(now, START_RETRY, out);
                }
                self.look_at(pair, out);
                if pair.is_none_or(|pair| pair.session.is_none()) {
                    out.push(Output::Service(ServiceOutput::Close(watch)));
                    self.acquire(out);
                }
            }
            Stage::Leading { watch, .. } if watch == number && !self.is_mine(pair) => {
                crate::mark!(ConsulLockLost);
                self.depose(Deposed::Lost, out);
                self.look_at(pair, out);
            }
            _ => {}
        }
    }

    fn replied(&mut self, now: u64, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (&self.stage, reply) {
            (Stage::Creating, Ok(Reply::Session { id })) => self.created(now, id, out),
            (Stage::Acquiring, Ok(Reply::Done(true))) => {
                self.ask(Stage::Reading, self.get(Reads::Consistent), out);
            }
            (Stage::Acquiring, Ok(Reply::Done(false))) => {
                self.ask(Stage::Refused, self.get(Reads::Default), out);
            }
            (Stage::Refused, Ok(Reply::Found(pair))) => {
                self.look_at(pair.as_ref(), out);
                if pair.is_some_and(|pair| pair.session.is_some()) {
                    return self.wait(out);
                }
                crate::mark!(ConsulDelayed);
                self.stage = Stage::Delayed;
                out.push(Output::SetTimer { id: AGAIN, at: now + retry(&self.setup.timings) });
            }
            (Stage::Reading, Ok(Reply::Found(Some(pair)))) if self.is_mine(Some(&pair)) => {
                self.win(&pair, out);
            }
            (Stage::Releasing, _) => self.give_up(now, 0, out),
            _ => {
                crate::mark!(ConsulLockFails);
                self.give_up(now, START_RETRY, out);
            }
        }
    }

    /// `RenewPeriodic`, which nobody listens to.
    fn renew(&mut self, out: &mut Vec<Output>) {
        let Some(session) = self.session.clone().filter(|_| self.renewal.is_none()) else { return };
        out.push(Output::Point(Point::BeforeRenew));
        self.renewal = Some(self.send(Request::RenewSession { session }, out));
    }

    fn renewed(&mut self, now: u64, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match reply {
            Ok(Reply::Renewed { alive: true }) => {
                self.renewed_at = now;
                out.push(Output::SetTimer { id: RENEW, at: now + self.setup.timings.renew_interval });
                if let Stage::Leading { token, .. } = self.stage {
                    self.back_off.confirmed();
                    out.push(Output::Point(Point::Renewed));
                    out.push(Output::Renewed(Leadership { token, valid_until: FOR_EVER }));
                }
            }
            Ok(_) => crate::mark!(ConsulSessionGone),
            Err(_)
                if now.saturating_sub(self.renewed_at) <= self.session_ttl()
                    && !self.setup.bugs.has(&RENEWAL_NOT_RETRIED) =>
            {
                out.push(Output::SetTimer { id: RENEW, at: now + RENEW_RETRY });
            }
            Err(_) => crate::mark!(ConsulRenewalGivenUp),
        }
    }

    fn fenced(&mut self, now: u64, out: &mut Vec<Output>) {
        self.held_off = now + self.back_off.refused();
        self.depose(Deposed::Fenced, out);
    }
}

impl Elector for Lock {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let now = now.mono;
        match input {
            Input::Start => self.start(out),
            Input::Timer(RENEW) => self.renew(out),
            Input::Timer(AGAIN) => match self.stage {
                Stage::Idle => self.start(out),
                // The index of before has passed: what is there now comes at once.
                Stage::Delayed => self.wait(out),
                _ => {}
            },
            Input::Service(ServiceInput::Reply { number, reply }) if self.renewal == Some(number) => {
                self.renewal = None;
                self.renewed(now, reply, out);
            }
            Input::Service(ServiceInput::Reply { number, reply }) if self.pending == Some(number) => {
                self.pending = None;
                self.replied(now, reply, out);
            }
            Input::Service(ServiceInput::Item { number, item: Item(pair) }) => {
                self.seen(now, number, pair.as_ref(), out);
            }
            Input::Service(ServiceInput::Ended { number, .. }) => match self.stage {
                Stage::Leading { watch, .. } if watch == number => {
                    crate::mark!(ConsulMonitorFails);
                    self.depose(Deposed::Lost, out);
                }
                Stage::Waiting(watch) if watch == number => {
                    crate::mark!(ConsulLockFails);
                    self.give_up(now, START_RETRY, out);
                }
                _ => {}
            },
            Input::Resign if matches!(self.stage, Stage::Leading { .. }) => {
                out.push(Output::Point(Point::BeforeRelease));
                // Others go first.
                self.held_off = now + retry(&self.setup.timings);
                self.depose(Deposed::Resigned, out);
            }
            Input::Fenced if matches!(self.stage, Stage::Leading { .. }) => self.fenced(now, out),
            _ => {}
        }
    }
}
