//! A candidate: its session, the lock, and the watch that reports the lock's loss.

mod keeping;

use super::timing::{Counting, LOCK_INDEX, UNVERIFIED_READS, key_of, retry};
use crate::{
    clock::Now,
    core::TimerId,
    election::{Setup, back_off::BackOff},
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::consul::{Api, Item, LOCK_FLAGS, Pair, Reads, Reply, Request, Watch},
    types::{MILLISECOND, NodeId, SECOND},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// The session's next renewal.
const RENEW: TimerId = 0;
/// The next attempt.
const AGAIN: TimerId = 1;
/// The watch's query is overdue, or is to be repeated.
const WATCH: TimerId = 2;
/// The end of a belief that has one.
const EXPIRE: TimerId = 3;

/// The wait of a candidate's blocking query (`api.DefaultLockWaitTime`), milliseconds.
const WAIT_MS: u64 = 15_000;
/// How long an unanswered request hangs until TCP stops retransmitting it (Linux's `tcp_retries2`, 15 times). The
/// client has no timeout of its own.
const SILENCE: u64 = 924 * SECOND;
/// The program's pause after an error of `Lock`; the client's own value for such pauses (`DefaultMonitorRetryTime`).
const START_RETRY: u64 = 2 * SECOND;

/// A candidate's stage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// Has no session; waits for its next attempt.
    Idle,
    /// Waits for its session.
    Creating,
    /// Watches the key until it is free.
    Waiting(StreamNumber),
    /// Has requested the lock.
    Acquiring,
    /// Was refused, and reads the key for the reason.
    Refused,
    /// The key is free but delayed; waits for its next attempt.
    Delayed,
    /// Has the lock, and reads its token.
    Reading,
    /// Leads, and watches the key.
    Leading { watch: StreamNumber, token: u64 },
    /// Releases the lock.
    Releasing,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lock {
    setup: Setup,
    counting: Counting,
    requests: RequestNumber,
    streams: StreamNumber,
    stage: Stage,
    /// The stage's request under way.
    pending: Option<RequestNumber>,
    session: Option<String>,
    /// The renewal under way.
    renewal: Option<RequestNumber>,
    /// When the session was last renewed, according to the client.
    renewed_at: u64,
    /// Where a belief ends: the time of this step, when the stage's request and the renewal were sent, and when the last
    /// request was sent that has begun or renewed the session.
    now: u64,
    asked: u64,
    renewal_sent: u64,
    confirmed: u64,
    /// Whether [`Output::Campaign`] was sent, without a win or the end of a belief since.
    campaigning: bool,
    /// Not to start before this time, after a resignation or refusals.
    held_off: u64,
    /// The last [`Output::Observed`].
    observed: Option<NodeId>,
    back_off: BackOff,
    /// Whether it has left the election.
    withdrawn: bool,
}

impl Lock {
    pub(super) fn new(setup: Setup, counting: Counting) -> Self {
        Lock {
            setup,
            counting,
            requests: 0,
            streams: 0,
            stage: Stage::Idle,
            pending: None,
            session: None,
            renewal: None,
            renewed_at: 0,
            now: 0,
            asked: 0,
            renewal_sent: 0,
            confirmed: 0,
            campaigning: false,
            held_off: 0,
            observed: None,
            back_off: BackOff::default(),
            withdrawn: false,
        }
    }

    fn name(&self) -> String {
        self.setup.names.get(self.setup.node.index()).cloned().unwrap_or_default()
    }

    fn key(&self) -> String {
        match &self.setup.seat {
            Some(seat) => format!("fencepost/{seat}/.lock"),
            None => key_of(self.setup.group),
        }
    }

    /// The client uses goroutines, so requests do not wait for each other.
    fn send(&mut self, request: Request, out: &mut Vec<Output>) -> RequestNumber {
        self.requests += 1;
        let timeout = match self.counting {
            Counting::Nothing => SILENCE,
            Counting::FromSending => self.setup.timings.request_timeout,
        };
        let number = self.requests;
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: true }));
        number
    }

    /// Sends the stage's request.
    fn ask(&mut self, stage: Stage, request: Request, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeAsk));
        self.stage = stage;
        self.asked = self.now;
        self.pending = Some(self.send(request, out));
    }

    /// The read's consistency mode, which is as given unless the bug is on.
    fn reads(&self, reads: Reads) -> Reads {
        if self.setup.bugs.has(&UNVERIFIED_READS) { Reads::Default } else { reads }
    }

    fn get(&self, reads: Reads) -> Request {
        Request::Get { key: self.key(), reads: self.reads(reads) }
    }

    fn open(&mut self, reads: Reads, wait_ms: Option<u64>, out: &mut Vec<Output>) -> StreamNumber {
        self.streams += 1;
        let wait_ms = self.watched_for(wait_ms, out);
        let request = Watch { key: self.key(), reads: self.reads(reads), wait_ms };
        out.push(Output::Service(ServiceOutput::Open { number: self.streams, request }));
        self.streams
    }

    /// `Lock` begins with a session.
    fn start(&mut self, out: &mut Vec<Output>) {
        if !self.campaigning {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let request = Request::CreateSession {
            name: self.name(),
            ttl_ms: self.session_ttl() / MILLISECOND,
            lock_delay_ms: Some(self.counting.lock_delay(&self.setup.timings) / MILLISECOND),
        };
        self.ask(Stage::Creating, request, out);
    }

    fn created(&mut self, now: u64, session: String, out: &mut Vec<Output>) {
        self.session = Some(session);
        self.renewed_at = now;
        self.confirmed = self.asked;
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

    /// `Lock` has failed or `Unlock` is done: destroys the session, and with it the lock, and starts over after a
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

    /// `Unlock`: releases the key first, so that no lock-delay follows, and then the session.
    fn release(&mut self, out: &mut Vec<Output>) {
        let (key, value) = (self.key(), self.name());
        let session = self.session.clone().unwrap_or_default();
        self.ask(Stage::Releasing, Request::Release { key, value, session }, out);
    }

    /// Ends the belief. The lock may still be held, so it is released.
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

    /// Reports the leader according to the key. A win reports itself.
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
        if self.is_over() {
            // Won after the session may have ended.
            return self.release(out);
        }
        let watch = self.open(Reads::Consistent, None, out);
        self.stage = Stage::Leading { watch, token };
        self.campaigning = false;
        out.push(Output::Elected(self.leadership(token)));
        self.expire_in_time(out);
        self.observe(Some(self.setup.node), out);
    }

    /// Handles a watch's item.
    fn seen(&mut self, now: u64, number: StreamNumber, pair: Option<&Pair>, out: &mut Vec<Output>) {
        match self.stage {
            Stage::Waiting(watch) if watch == number => {
                // `ErrLockConflict`: the key exists, but is no lock.
                if pair.is_some_and(|pair| pair.flags != LOCK_FLAGS) && self.counting == Counting::Nothing {
                    crate::mark!("consul-session: a step of taking the lock fails");
                    return self.give_up(now, START_RETRY, out);
                }
                self.look_at(pair, out);
                if pair.is_none_or(|pair| pair.session.is_none()) {
                    out.push(Output::Service(ServiceOutput::Close(watch)));
                    self.acquire(out);
                }
            }
            Stage::Leading { watch, .. } if watch == number && !self.is_mine(pair) => {
                crate::mark!("consul-session: the watch says that the lock is another's, or nobody's");
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
                crate::mark!("consul-session: refused although nobody has the key: a lock-delay lasts");
                self.stage = Stage::Delayed;
                out.push(Output::SetTimer { id: AGAIN, at: now + retry(&self.setup.timings) });
            }
            (Stage::Reading, Ok(Reply::Found(Some(pair)))) if self.is_mine(Some(&pair)) => {
                self.win(&pair, out);
            }
            (Stage::Releasing, _) => self.give_up(now, 0, out),
            // It may have the lock. To destroy the session of a lock begins a lock-delay.
            (Stage::Acquiring | Stage::Reading, Err(Failure::Unknown(_))) if self.counting == Counting::FromSending => {
                self.release(out);
            }
            _ => {
                crate::mark!("consul-session: a step of taking the lock fails");
                self.give_up(now, START_RETRY, out);
            }
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
        if self.counting == Counting::FromSending {
            self.now = now;
            // First of all: after a pause, answers and timers come in any order.
            if matches!(self.stage, Stage::Leading { .. }) && self.is_over() {
                self.depose(Deposed::Expired, out);
            }
        }
        if self.withdrawn {
            return self.settle(input, out);
        }
        match input {
            Input::Start => self.start(out),
            Input::Withdraw => self.withdraw(out),
            Input::Timer(RENEW) => self.renew(out),
            Input::Timer(WATCH) => self.watch_again(out),
            Input::Timer(AGAIN) => match self.stage {
                Stage::Idle => self.start(out),
                // The old index has passed, so the query returns the current value at once.
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
                self.heard(number, out);
                self.seen(now, number, pair.as_ref(), out);
            }
            Input::Service(ServiceInput::Ended { number, .. }) if self.counting == Counting::FromSending => {
                self.watch_failed(number, out);
            }
            Input::Service(ServiceInput::Ended { number, .. }) => match self.stage {
                Stage::Leading { watch, .. } if watch == number => {
                    crate::mark!("consul-session: the leader's watch fails, so it lets go");
                    self.depose(Deposed::Lost, out);
                }
                Stage::Waiting(watch) if watch == number => {
                    crate::mark!("consul-session: a step of taking the lock fails");
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
