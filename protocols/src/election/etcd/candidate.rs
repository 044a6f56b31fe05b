//! A candidate: the stages of its campaign.

mod keeping;
mod observing;

use super::{
    observer::Observer,
    recipe::{AGAIN, DEADLINE, KEEPALIVE, OBSERVE, RELEASE_BY_NAME, REOPEN, WAITER_NOT_READ_AGAIN},
    session::{self, Counting, Numbers, RETRY, Recipe, Session, Stage},
};
use crate::{
    clock::Now,
    core::TimerId,
    election::{Setup, back_off::BackOff},
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::etcd::{self, Item, Reply, Request, StreamRequest},
    types::Leadership,
};

type Input = elector::Input<Nothing, etcd::Api>;
type Output = elector::Output<Nothing, etcd::Api>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::election) struct EtcdElection {
    setup: Setup,
    recipe: Recipe,
    numbers: Numbers,
    stage: Stage,
    /// The stage's request under way.
    pending: Option<RequestNumber>,
    session: Option<Session>,
    /// Whether [`Output::Campaign`] was sent, without a win or the end of a belief since.
    campaigning: bool,
    /// When the process sent its first keepalive: the origin of the deadline loop's ticks.
    scan_from: Option<u64>,
    observer: Observer,
    back_off: BackOff,
    /// Where deadlines count from sending: the time of this step, and when the lease was asked for.
    now: u64,
    asked_lease: u64,
    /// Whether it has left the election.
    withdrawn: bool,
    /// Leases of campaigns that were abandoned with their keys: [`CAMPAIGN_LEAVES_KEY`].
    left_behind: Vec<(i64, i64, Option<StreamNumber>)>,
}

fn open(number: StreamNumber, request: StreamRequest) -> Output {
    Output::Service(ServiceOutput::Open { number, request })
}

impl EtcdElection {
    pub(in crate::election) fn new(setup: Setup, recipe: Recipe) -> Self {
        EtcdElection {
            setup,
            recipe,
            numbers: Numbers::default(),
            stage: Stage::Granting,
            pending: None,
            session: None,
            campaigning: false,
            scan_from: None,
            observer: Observer::default(),
            back_off: BackOff::default(),
            now: 0,
            asked_lease: 0,
            withdrawn: false,
            left_behind: Vec::new(),
        }
    }

    fn name(&self) -> String {
        self.setup.names.get(self.setup.node.index()).cloned().unwrap_or_default()
    }

    fn request(&mut self, request: Request, concurrent: bool, out: &mut Vec<Output>) -> RequestNumber {
        let number = self.numbers.request();
        let timeout = self.setup.timings.request_timeout;
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent }));
        number
    }

    /// Sends the stage's request.
    fn ask(&mut self, out: &mut Vec<Output>) {
        let ttl = self.setup.timings.lease_ttl;
        let Some(request) = session::request(&self.stage, self.session.as_ref(), self.name(), ttl) else { return };
        let request = match request {
            Request::DeleteKey { key, .. } if self.setup.bugs.has(&RELEASE_BY_NAME) => Request::DeleteAnyKey { key },
            request => request,
        };
        if self.stage == Stage::Granting {
            self.asked_lease = self.now;
        }
        out.push(Output::Point(Point::BeforeAsk));
        self.pending = Some(self.request(request, false, out));
    }

    /// Leaves the election. A lease that is being granted is revoked once its number is known.
    fn withdraw(&mut self, out: &mut Vec<Output>) {
        self.withdrawn = true;
        if let Some(stream) = self.observer.stream() {
            out.push(Output::Service(ServiceOutput::Close(stream)));
        }
        if let Some(number) = self.observer.request() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        self.observer.lost();
        if self.stage != Stage::Granting || self.pending.is_none() {
            self.abandon(Deposed::Resigned, out);
        }
    }

    /// After the withdrawal: the lease that was being granted then.
    fn settle(&mut self, input: Input, out: &mut Vec<Output>) {
        let Input::Service(ServiceInput::Reply { number, reply }) = input else { return };
        if self.pending.take_if(|pending| *pending == number).is_some()
            && let Ok(Reply::Granted { lease, .. }) = reply
        {
            self.request(Request::Revoke { lease }, true, out);
        }
    }

    fn go(&mut self, stage: Stage, out: &mut Vec<Output>) {
        self.stage = stage;
        self.ask(out);
    }

    /// Retries after a while.
    fn again(&mut self, now: u64, out: &mut Vec<Output>) {
        crate::mark!("etcd: a step of the campaign is tried again");
        out.push(Output::SetTimer { id: AGAIN, at: now + RETRY });
    }

    fn campaign(&mut self, out: &mut Vec<Output>) {
        if !self.campaigning {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
    }

    fn start(&mut self, out: &mut Vec<Output>) {
        self.campaign(out);
        self.go(Stage::Granting, out);
    }

    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if self.stage == Stage::Leading {
            out.push(Output::Deposed(why));
            self.observer.see(None, out);
        }
    }

    /// Gives the session up at any stage. Revoking deletes the key in the same revision, so no failure during the
    /// campaign leaves it in the queue; if the revocation is lost, the lease expires.
    fn abandon(&mut self, why: Deposed, out: &mut Vec<Output>) {
        self.depose(why, out);
        if let Some(number) = self.pending.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        if let Stage::Waiting(watch) = self.stage {
            out.push(Output::Service(ServiceOutput::Close(watch)));
        }
        self.stage = Stage::Granting;
        out.extend([KEEPALIVE, DEADLINE, AGAIN, REOPEN].map(Output::CancelTimer));
        if let Some(session) = self.session.take() {
            if let Some(stream) = session.stream {
                out.push(Output::Service(ServiceOutput::Close(stream)));
            }
            self.request(Request::Revoke { lease: session.lease }, true, out);
        }
    }

    fn fresh_session(&mut self, why: Deposed, out: &mut Vec<Output>) {
        self.abandon(why, out);
        self.start(out);
    }

    /// The resource refuses this leadership: gets a new session, after a back-off if refusals repeat.
    fn fenced(&mut self, now: u64, out: &mut Vec<Output>) {
        match self.back_off.refused() {
            0 => self.fresh_session(Deposed::Fenced, out),
            wait => {
                self.abandon(Deposed::Fenced, out);
                out.push(Output::SetTimer { id: AGAIN, at: now + wait });
            }
        }
    }

    fn leadership(&self) -> Leadership {
        let token = self.session.as_ref().map_or(0, |s| s.create_revision.max(0) as u64);
        Leadership { token, valid_until: self.valid_until() }
    }

    fn win(&mut self, now: u64, out: &mut Vec<Output>) {
        if now >= self.valid_until() {
            crate::mark!("etcd: won after the lease was over");
            return self.fresh_session(Deposed::Expired, out);
        }
        self.stage = Stage::Leading;
        self.campaigning = false;
        out.push(Output::Elected(self.leadership()));
        self.observer.see(Some(self.setup.node), out);
    }

    fn timer(&mut self, now: u64, id: TimerId, out: &mut Vec<Output>) {
        match (id, &self.session) {
            (OBSERVE, _) => self.observe(out),
            (AGAIN, _) if self.pending.is_none() => match self.stage {
                Stage::Granting => self.start(out),
                _ => self.ask(out),
            },
            (REOPEN, Some(Session { stream: None, .. })) => self.open_keepalive(now, out),
            (DEADLINE, Some(session)) if session.is_over(self.recipe, now) => {
                self.fresh_session(Deposed::Expired, out);
            }
            (DEADLINE, Some(_)) => self.set_deadline(out),
            (KEEPALIVE, Some(_)) => self.keepalive_tick(now, out),
            _ => {}
        }
    }

    fn replied(&mut self, now: u64, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let reply = match reply {
            Ok(reply) => reply,
            Err(Failure::Rejected(_)) if self.stage != Stage::Granting => {
                crate::mark!("etcd: a request of the campaign is refused");
                // Most likely the lease is gone. It waits, since the next attempt may fail in the same way.
                self.abandon(Deposed::Lost, out);
                return self.again(now, out);
            }
            Err(_) => return self.failed(now, out),
        };
        match (self.stage.clone(), reply, &mut self.session) {
            (Stage::Granting, Reply::Granted { lease, ttl_s }, _) => self.granted(now, lease, ttl_s, out),
            // An empty store is at revision 1, so no key is older than revision 2.
            (
                Stage::Creating,
                Reply::Created { lease, create_revision: create_revision @ 2.., value, revision, .. },
                Some(session),
            ) => {
                if self.recipe == Recipe::OneKey && lease != session.lease {
                    return self.taken(create_revision, revision, out);
                }
                session.create_revision = create_revision;
                match self.recipe {
                    Recipe::OneKey => self.win(now, out),
                    _ if value == self.name() => self.go(Stage::Looking, out),
                    _ => self.go(Stage::Proclaiming, out),
                }
            }
            (Stage::Proclaiming, Reply::Proclaimed { done: true }, _) => self.go(Stage::Looking, out),
            // Any change since the key was created may have been its deletion.
            (Stage::Looking, Reply::Found { key: None, revision }, Some(session)) => {
                if revision > session.create_revision && !self.setup.bugs.has(&WAITER_NOT_READ_AGAIN) {
                    self.go(Stage::Rechecking, out);
                } else {
                    self.win(now, out);
                }
            }
            (Stage::Looking, Reply::Found { key: Some(front), revision }, Some(_)) => {
                crate::mark!("etcd-election: queues behind another");
                let watch = self.numbers.stream();
                self.stage = Stage::Waiting(watch);
                out.push(Output::Point(Point::BeforeWait));
                out.push(open(watch, StreamRequest::WatchDelete { key: front.key, start_revision: revision }));
            }
            (Stage::Choosing(heir), Reply::Queue { keys }, Some(_)) => self.choose(heir, &keys, out),
            (Stage::HandingOver { .. }, Reply::HandedOver { done: true }, Some(session)) => {
                session.create_revision = 0;
                self.queue_again(out);
            }
            (Stage::HandingOver { .. }, Reply::HandedOver { done: false }, _) => self.heir_is_gone(out),
            (Stage::Rechecking, Reply::Found { key: Some(own), .. }, Some(session))
                if own.create_revision == session.create_revision =>
            {
                self.win(now, out);
            }
            (Stage::Proclaiming, Reply::Proclaimed { done: false }, _)
            | (Stage::Rechecking, Reply::Found { .. }, _) => {
                crate::mark!("etcd-election: the own key is gone before the win");
                self.fresh_session(Deposed::Lost, out);
            }
            (Stage::Resigning, Reply::Deleted { .. }, Some(session)) => {
                crate::mark!("etcd: a resignation deletes the key and queues again");
                session.create_revision = 0;
                self.stand_again(now, out);
            }
            // An answer of the wrong kind is useless.
            _ => self.again(now, out),
        }
    }

    fn item(&mut self, now: u64, number: StreamNumber, item: Item, out: &mut Vec<Output>) {
        if self.observer.stream() == Some(number) {
            return self.seen(number, &item, out);
        }
        match item {
            Item::KeptAlive { ttl_s } if self.session.as_ref().is_some_and(|s| s.stream == Some(number)) => {
                self.kept_alive(now, ttl_s, out);
            }
            Item::Deleted if self.stage == Stage::Waiting(number) => {
                out.push(Output::Service(ServiceOutput::Close(number)));
                self.go(self.recipe.after_waiting(), out);
            }
            _ => {}
        }
    }

    fn ended(&mut self, now: u64, number: StreamNumber, out: &mut Vec<Output>) {
        if self.observer.stream() == Some(number) {
            self.observer.lost();
            out.push(Output::SetTimer { id: OBSERVE, at: now + RETRY });
        } else if self.stage == Stage::Waiting(number) {
            crate::mark!("etcd: the watch on the one in front ends");
            self.stage = self.recipe.after_waiting();
            self.failed(now, out);
        } else if let Some(session) = self.session.as_mut().filter(|s| s.stream == Some(number)) {
            crate::mark!("etcd: the stream of keepalives ends");
            session.stream = None;
            out.push(Output::CancelTimer(KEEPALIVE));
            out.push(Output::SetTimer { id: REOPEN, at: now + RETRY });
        } else if let Some((_, _, stream)) = self.left_behind.iter_mut().find(|(_, _, s)| *s == Some(number)) {
            *stream = None;
        }
    }
}

impl Elector for EtcdElection {
    type Peer = Nothing;
    type Service = etcd::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let now = now.mono;
        if self.recipe.counts() == Counting::FromSending {
            self.now = now;
            // First of all: after a pause, answers and timers come in any order.
            if self.stage == Stage::Leading && now >= self.valid_until() {
                self.fresh_session(Deposed::Expired, out);
            }
        }
        if self.withdrawn {
            return self.settle(input, out);
        }
        match input {
            Input::Withdraw => self.withdraw(out),
            Input::Start => {
                self.start(out);
                self.observe(out);
            }
            Input::Timer(id) => self.timer(now, id, out),
            Input::Service(ServiceInput::Reply { number, reply }) if self.observer.request() == Some(number) => {
                self.observed(now, reply, out);
            }
            Input::Service(ServiceInput::Reply { number, reply }) if self.pending == Some(number) => {
                self.pending = None;
                self.replied(now, reply, out);
            }
            Input::Service(ServiceInput::Reply { .. }) => {}
            Input::Service(ServiceInput::Item { number, item }) => {
                self.item(now, number, item, out);
            }
            Input::Service(ServiceInput::Ended { number, .. }) => self.ended(now, number, out),
            Input::Resign if self.stage == Stage::Leading => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(Deposed::Resigned, out);
                self.go(Stage::Resigning, out);
            }
            Input::Transfer(to) if self.stage == Stage::Leading => self.hand_over(to, out),
            Input::Fenced if self.stage == Stage::Leading => self.fenced(now, out),
            _ => {}
        }
    }
}
