//! A candidate: an endless cycle of `acquire`, `renew` and `release`.

use super::{
    client_go::{
        LEADS_BEFORE_UPDATE, NO_REQUEST_TIMEOUT, NO_TIMEOUT, ONE_IDENTITY_TWICE, RENEWS_FOR_EVER, SAME_HOST, granted,
        name_of, renew_deadline, request_timeout,
    },
    round::{Observed, Outcome},
};
use crate::{
    clock::Now,
    core::TimerId,
    election::{
        Setup,
        back_off::{BackOff, paced},
    },
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    point::Point,
    random::Random,
    service::kubernetes::{Api, Reply, Request},
    types::{Leadership, NodeId, SECOND},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// The next call.
const CALL: TimerId = 0;
/// The deadline of a round of renewals.
const DEADLINE: TimerId = 1;

/// A belief that does not expire.
const FOR_EVER: u64 = u64::MAX;

/// A candidate's stage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Acquiring,
    /// Leading, between two rounds of renewals.
    Resting,
    /// Leading, in a round of renewals. The ticks of its calls are counted from the end of the first call.
    Renewing {
        ticks_from: Option<u64>,
    },
    /// Reads the lease that it may have to release.
    Looking,
    /// Releases the lease.
    Releasing,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    setup: Setup,
    random: Random,
    observed: Observed,
    stage: Stage,
    requests: RequestNumber,
    under_way: Option<RequestNumber>,
    /// How often it has started over.
    runs: u64,
    /// Others go first until then.
    held_off: u64,
    campaigning: bool,
    /// Whether it leads before its update is accepted: [`LEADS_BEFORE_UPDATE`].
    early: bool,
    /// The token of the current or last leadership. Renewals do not change it, whatever they find.
    token: u64,
    /// The last [`Output::Observed`].
    told: Option<NodeId>,
    back_off: BackOff,
    /// Whether it has left the election.
    withdrawn: bool,
}

impl Candidate {
    pub(super) fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        let observed = Observed::new(identity(&setup, 0));
        Candidate {
            setup,
            random,
            observed,
            stage: Stage::Acquiring,
            requests: 0,
            under_way: None,
            runs: 0,
            held_off: 0,
            campaigning: false,
            early: false,
            token: 0,
            told: None,
            back_off: BackOff::default(),
            withdrawn: false,
        }
    }

    fn retry_period(&self) -> u64 {
        self.setup.timings.renew_interval
    }

    fn name(&self) -> String {
        self.setup.seat.clone().unwrap_or_else(|| name_of(self.setup.group))
    }

    fn leads(&self) -> bool {
        matches!(self.stage, Stage::Resting | Stage::Renewing { .. })
    }

    fn ask(&mut self, request: Request, out: &mut Vec<Output>) {
        self.requests += 1;
        out.push(Output::Point(Point::BeforeAsk));
        let patient = self.setup.bugs.has(&NO_REQUEST_TIMEOUT);
        out.push(Output::Service(ServiceOutput::Request {
            number: self.requests,
            request,
            timeout: if patient { NO_TIMEOUT } else { request_timeout(&self.setup.timings) },
            concurrent: false,
        }));
        self.under_way = Some(self.requests);
    }

    fn call(&mut self, now: Now, out: &mut Vec<Output>) {
        let request = self.observed.begin(now, &self.setup, self.name());
        self.ask(request, out);
    }

    /// `acquire`, as at a program's start.
    fn acquire(&mut self, now: Now, out: &mut Vec<Output>) {
        if !self.campaigning {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        self.stage = Stage::Acquiring;
        self.call(now, out);
    }

    /// `JitterUntil`, sliding, with `JitterFactor` 1.2: the next call comes one retryPeriod after the end of this one,
    /// plus up to 1.2 more.
    fn acquire_later(&mut self, now: u64, out: &mut Vec<Output>) {
        let period = self.retry_period();
        let drawn = (period, (period + period * 12 / 10).saturating_sub(1));
        let wait = paced(&self.setup.bugs, period, drawn, &mut self.random);
        out.push(Output::SetTimer { id: CALL, at: (now + wait).max(self.held_off) });
    }

    /// One round of `renew`.
    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        self.stage = Stage::Renewing { ticks_from: None };
        if !self.setup.bugs.has(&RENEWS_FOR_EVER) {
            out.push(Output::SetTimer { id: DEADLINE, at: now.mono + renew_deadline(&self.setup.timings) });
        }
        out.push(Output::Point(Point::BeforeRenew));
        self.call(now, out);
    }

    /// Handles the end of a call.
    fn called(&mut self, now: Now, held: bool, out: &mut Vec<Output>) {
        if self.withdrawn {
            // The call may have taken the lease, whatever it was told.
            return self.look(out);
        }
        match (self.stage, held) {
            (Stage::Acquiring, true) => {
                if !std::mem::take(&mut self.early) {
                    self.lead(self.observed.token(), out);
                }
                self.observe(out);
                // `wait.Until` calls at once.
                self.renew(now, out);
            }
            (Stage::Acquiring, false) => {
                self.see_that_it_does_not_lead(out);
                self.observe(out);
                self.acquire_later(now.mono, out);
            }
            (Stage::Renewing { .. }, true) => {
                self.stage = Stage::Resting;
                self.back_off.confirmed();
                out.push(Output::CancelTimer(DEADLINE));
                out.push(Output::SetTimer { id: CALL, at: now.mono + self.retry_period() });
                out.push(Output::Point(Point::Renewed));
                out.push(Output::Renewed(Leadership { token: self.token, valid_until: FOR_EVER }));
            }
            (Stage::Renewing { ticks_from }, false) => {
                let (from, period) = (ticks_from.unwrap_or(now.mono), self.retry_period().max(1));
                self.stage = Stage::Renewing { ticks_from: Some(from) };
                if !self.observed.is_leader() {
                    crate::mark!("k8s-lease: a leader sees another's record, and leads on until its deadline");
                }
                // A tick during a call is lost.
                let ticks = (now.mono - from) / period + 1;
                out.push(Output::SetTimer { id: CALL, at: from + ticks * period });
            }
            _ => {}
        }
    }

    fn lead(&mut self, token: u64, out: &mut Vec<Output>) {
        self.campaigning = false;
        self.token = token;
        out.push(Output::Elected(Leadership { token, valid_until: FOR_EVER }));
    }

    /// [`LEADS_BEFORE_UPDATE`]: it leads already, and now sees that the lease is another's.
    fn see_that_it_does_not_lead(&mut self, out: &mut Vec<Output>) {
        if self.early && !self.observed.record.holder.is_empty() && !self.observed.is_leader() {
            self.early = false;
            out.push(Output::Deposed(Deposed::Lost));
        }
    }

    /// Ends the belief, and with it the program: releases the lease if it still holds it, and starts over.
    fn stop(&mut self, why: Deposed, out: &mut Vec<Output>) {
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(CALL));
        out.push(Output::CancelTimer(DEADLINE));
        if let Some(number) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        self.observed.give_up();
        self.tell(None, out);
        self.look(out);
    }

    /// Reads the lease, to release it if it is its own.
    fn look(&mut self, out: &mut Vec<Output>) {
        self.stage = Stage::Looking;
        self.ask(Request::Get { name: self.name() }, out);
    }

    /// Leaves the election. A call under way ends first: a write that arrives after the release was read for would make
    /// the release fail.
    fn withdraw(&mut self, out: &mut Vec<Output>) {
        self.withdrawn = true;
        if self.leads() {
            out.push(Output::Deposed(Deposed::Resigned));
            self.tell(None, out);
            if self.under_way.is_none() {
                self.look(out);
            }
        }
    }

    /// Starts over under another identity.
    fn begin_anew(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.withdrawn {
            return;
        }
        self.runs += 1;
        self.observed = Observed::new(identity(&self.setup, self.runs));
        self.stage = Stage::Acquiring;
        if now.mono >= self.held_off {
            self.acquire(now, out);
        } else {
            out.push(Output::SetTimer { id: CALL, at: self.held_off });
        }
    }

    fn tell(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.told != leader {
            self.told = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// `maybeReportTransition`.
    fn observe(&mut self, out: &mut Vec<Output>) {
        let name = self.observed.record.name();
        let place = name.and_then(|name| self.setup.names.iter().position(|known| known == name));
        let leader = place.and_then(|place| u16::try_from(place).ok()).map(NodeId);
        self.tell(leader, out);
    }

    fn replied(&mut self, now: Now, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match self.stage {
            Stage::Looking => match self.observed.release(now, reply, self.name()) {
                Some(request) => {
                    crate::mark!("k8s-lease: who stops gives back what it still has");
                    self.stage = Stage::Releasing;
                    self.ask(request, out);
                }
                None => self.begin_anew(now, out),
            },
            Stage::Releasing => self.begin_anew(now, out),
            Stage::Acquiring | Stage::Resting | Stage::Renewing { .. } => {
                match self.observed.answered(now.mono, reply, &self.setup, self.name()) {
                    Outcome::Ask(_) if self.withdrawn => self.called(now, false, out),
                    Outcome::Ask(request) => {
                        let takes = matches!(request, Request::Create { .. } | Request::Update { .. });
                        let early =
                            takes && self.stage == Stage::Acquiring && self.setup.bugs.has(&LEADS_BEFORE_UPDATE);
                        if early && !std::mem::replace(&mut self.early, true) {
                            self.lead(self.observed.next_token(), out);
                        }
                        self.ask(request, out);
                    }
                    Outcome::Held => self.called(now, true, out),
                    Outcome::Failed => self.called(now, false, out),
                }
            }
        }
    }
}

/// A program's identity: host name and a unique part, as in Kubernetes' components.
fn identity(setup: &Setup, run: u64) -> String {
    let by_host = setup.bugs.has(&ONE_IDENTITY_TWICE);
    let host = if by_host && setup.node == SAME_HOST.0 { SAME_HOST.1 } else { setup.node };
    let name = setup.names.get(host.index()).map_or("", String::as_str);
    if by_host {
        // Readers of the record expect the separator, even without a unique part.
        return format!("{name}_");
    }
    format!("{name}_{:016x}-{run}", setup.nonce)
}

impl Elector for Candidate {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => self.acquire(now, out),
            Input::Timer(CALL) if self.under_way.is_none() => match self.stage {
                Stage::Acquiring => self.acquire(now, out),
                Stage::Resting => self.renew(now, out),
                Stage::Renewing { .. } => {
                    out.push(Output::Point(Point::BeforeRenew));
                    self.call(now, out);
                }
                Stage::Looking | Stage::Releasing => {}
            },
            Input::Timer(DEADLINE) if matches!(self.stage, Stage::Renewing { .. }) => {
                crate::mark!("k8s-lease: the renew deadline is over");
                self.stop(Deposed::Expired, out);
            }
            Input::Service(ServiceInput::Reply { number, reply }) if self.under_way == Some(number) => {
                self.under_way = None;
                self.replied(now, reply, out);
            }
            Input::Withdraw => self.withdraw(out),
            Input::Fenced if self.early => {
                self.early = false;
                out.push(Output::Deposed(Deposed::Fenced));
            }
            Input::Resign if self.leads() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.held_off = now.mono + granted(self.setup.timings.lease_ttl).max(SECOND);
                self.stop(Deposed::Resigned, out);
            }
            Input::Fenced if self.leads() => {
                self.held_off = now.mono + self.back_off.refused();
                self.stop(Deposed::Fenced, out);
            }
            _ => {}
        }
    }
}
