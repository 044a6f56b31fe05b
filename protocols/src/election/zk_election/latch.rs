//! A candidate.

use super::{
    REGAINS,
    queue::{Queue, candidate, guard, in_order},
};
use crate::{
    clock::Now,
    core::TimerId,
    election::{
        Setup,
        back_off::BackOff,
        zookeeper::{
            Kind,
            curator::{Curator, Event},
        },
    },
    elector::{self, Deposed, Elector},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::zookeeper::{Api, Asking, Change, Code, Op, Reply, Request, Stat},
    types::{Leadership, NodeId},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// Stand again.
const AGAIN: TimerId = 2;

/// What a request is for. What belongs to an attempt that was given up is of no interest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Asked {
    /// A folder above the queue.
    Folder,
    /// The own node.
    Enter,
    /// Is the own node there, whose creation was not answered?
    Find,
    /// The queue.
    List,
    /// The own node, which is in front.
    Own,
    /// The node in front of the own one.
    Ahead(String),
    /// The node in front of all, and before that the queue again.
    First(String),
    Firsts,
    /// A node of this candidate's that it has no use for.
    Delete,
}

/// The own node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Own {
    name: String,
    /// Its token has led once.
    used: bool,
}

/// A node that is being created.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entering {
    guard: String,
    session: i64,
    retries: u32,
}

/// The elector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Latch {
    setup: Setup,
    curator: Curator<Asked>,
    queue: Queue,
    own: Option<Own>,
    entering: Option<Entering>,
    /// Guards of nodes whose creation was given up; they may be there.
    leftovers: Vec<String>,
    /// The node that is watched because it is in front of the own one.
    ahead: Option<String>,
    /// The node that is watched because it is in front of all.
    first: Option<String>,
    leads: bool,
    campaigning: bool,
    observed: Option<NodeId>,
    back_off: BackOff,
    elected_at: u64,
    /// Keeps away, because the resource refuses whatever this candidate leads by.
    away: bool,
}

impl Latch {
    pub(super) fn new(setup: Setup) -> Self {
        let curator = Curator::new(setup.timings.lease_ttl, setup.nonce);
        let queue = Queue::new(Kind::Latch, setup.group);
        Latch {
            setup,
            curator,
            queue,
            own: None,
            entering: None,
            leftovers: Vec::new(),
            ahead: None,
            first: None,
            leads: false,
            campaigning: false,
            observed: None,
            back_off: BackOff::default(),
            elected_at: 0,
            away: false,
        }
    }

    fn name(&self) -> String {
        self.setup.names.get(self.setup.node.index()).cloned().unwrap_or_default()
    }

    /// Asks what the campaign waits for.
    fn ask(&mut self, asked: Asked, request: Request, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeAsk));
        self.curator.ask(asked, request, out);
    }

    fn list(&mut self, out: &mut Vec<Output>) {
        let children = self.queue.children();
        self.ask(Asked::List, children, out);
    }

    fn see(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.leads) {
            out.push(Output::Deposed(why));
            self.see(None, out);
        }
    }

    fn campaign(&mut self, out: &mut Vec<Output>) {
        if !self.campaigning {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
    }

    /// Gives the own node up, if there is one.
    fn leave(&mut self, out: &mut Vec<Output>) {
        self.curator.forget();
        (self.ahead, self.first) = (None, None);
        // It may be on its way.
        self.leftovers.extend(self.entering.take().map(|entering| entering.guard));
        if let Some(own) = self.own.take() {
            self.delete(&own.name, out);
        }
    }

    fn delete(&mut self, name: &str, out: &mut Vec<Output>) {
        let delete = Op::Delete { path: self.queue.path(name), version: -1 };
        self.curator.guarantee(Asked::Delete, Request::Write(delete), out);
    }

    /// `LeaderLatch.reset`: leaves the queue, and enters it anew at its end.
    fn reset(&mut self, why: Deposed, out: &mut Vec<Output>) {
        self.depose(why, out);
        self.leave(out);
        self.campaign(out);
        let guard = guard(self.curator.random());
        self.entering = Some(Entering { guard, session: 0, retries: 0 });
        out.push(Output::Point(Point::BeforeCampaign));
        self.enter(out);
    }

    fn enter(&mut self, out: &mut Vec<Output>) {
        let (name, session) = (self.name(), self.curator.session());
        let Some(entering) = &mut self.entering else { return };
        entering.session = session;
        let request = self.queue.enter(&entering.guard, &name);
        out.push(Output::Point(Point::BeforeAsk));
        self.curator.ask_once(Asked::Enter, request, out);
    }

    /// The creation was not answered: looks whether it was done, after a while, or gives it up.
    fn find_later(&mut self, now: u64, out: &mut Vec<Output>) {
        let Some(entering) = &mut self.entering else { return };
        let retry = entering.retries;
        entering.retries += 1;
        let children = self.queue.children();
        if !self.curator.ask_later(now, Asked::Find, children, retry, out) {
            crate::mark!(ZkEntryGivenUp);
            // Until the connection comes back.
            self.leftovers.extend(self.entering.take().map(|entering| entering.guard));
        }
    }

    /// The queue is here, while it is not known whether the own node is in it.
    fn found(&mut self, names: Vec<String>, out: &mut Vec<Output>) {
        let Some(entering) = &self.entering else { return };
        let found = names.into_iter().find(|name| name.starts_with(&entering.guard));
        match found {
            Some(name) if entering.session == self.curator.session() => {
                crate::mark!(ZkFoundAgain);
                self.entered(name, out);
            }
            // Another session's: it goes with that.
            Some(name) => {
                self.delete(&name, out);
                self.entering = None;
                self.reset(Deposed::Lost, out);
            }
            None => self.enter(out),
        }
    }

    fn entered(&mut self, name: String, out: &mut Vec<Output>) {
        self.entering = None;
        self.own = Some(Own { name, used: false });
        self.list(out);
    }

    /// `LeaderLatch.checkLeadership`.
    fn check(&mut self, names: Vec<String>, out: &mut Vec<Output>) {
        for name in names.iter().filter(|name| self.leftovers.iter().any(|guard| name.starts_with(guard))) {
            let delete = Op::Delete { path: self.queue.path(name), version: -1 };
            self.curator.guarantee(Asked::Delete, Request::Write(delete), out);
        }
        let names = in_order(names);
        let place = self.own.as_ref().and_then(|own| names.iter().position(|name| *name == own.name));
        match place {
            None => {
                crate::mark!(ZkNodeGone);
                self.reset(Deposed::Lost, out);
            }
            Some(0) => {
                let path = self.queue.path(&names[0]);
                let purpose = Asking::Anything;
                self.ask(Asked::Own, Request::Get { path, watch: false, purpose }, out);
            }
            Some(place) => {
                self.depose(Deposed::Lost, out);
                let ahead = self.queue.path(&names[place - 1]);
                let purpose = if place == 1 { Asking::WhoLeads } else { Asking::Anything };
                out.push(Output::Point(Point::BeforeWait));
                self.ahead = Some(ahead.clone());
                let request = Request::Get { path: ahead.clone(), watch: true, purpose };
                self.curator.ask(Asked::Ahead(ahead), request, out);
                if place > 1 {
                    self.look_at(&names[0], out);
                } else {
                    self.first = None;
                }
            }
        }
    }

    /// Reads who is in front of all.
    fn look_at(&mut self, name: &str, out: &mut Vec<Output>) {
        let path = self.queue.path(name);
        if self.first.as_ref() != Some(&path) {
            self.first = Some(path.clone());
            out.push(Output::Point(Point::BeforeWatch));
            let request = Request::Get { path: path.clone(), watch: true, purpose: Asking::WhoLeads };
            self.curator.ask(Asked::First(path), request, out);
        }
    }

    /// The own node is in front.
    fn in_front(&mut self, now: u64, stat: Stat, out: &mut Vec<Output>) {
        // What was answered on a connection that is gone is looked at again on the next.
        if self.leads || !self.curator.is_connected() {
            return;
        }
        let regains = self.setup.bugs.has(&REGAINS);
        match &mut self.own {
            Some(own) if stat.owner == self.curator.session() && (regains || !own.used) => {
                own.used = true;
                (self.leads, self.elected_at) = (true, now);
                self.campaigning = false;
                let token = u64::try_from(stat.czxid).unwrap_or(0);
                out.push(Output::Elected(Leadership { token, valid_until: u64::MAX }));
                self.see(Some(self.setup.node), out);
            }
            Some(_) => {
                crate::mark!(ZkNodeOfBefore);
                self.reset(Deposed::Lost, out);
            }
            None => {}
        }
    }

    fn watched(&mut self, path: String, change: Change, out: &mut Vec<Output>) {
        if change != Change::Deleted {
            return;
        }
        if self.first.as_ref() == Some(&path) {
            self.first = None;
            self.see(None, out);
            if self.ahead.as_ref() != Some(&path) {
                self.curator.ask(Asked::Firsts, self.queue.children(), out);
            }
        }
        if self.ahead.as_ref() == Some(&path) {
            self.ahead = None;
            self.see(None, out);
            self.list(out);
        }
    }

    fn event(&mut self, now: u64, event: Event<Asked>, out: &mut Vec<Output>) {
        match event {
            Event::Connected { first: true } => self.reset(Deposed::Lost, out),
            Event::Connected { first: false } if self.away => {}
            Event::Connected { first: false } => {
                // A node that has led once does not lead again.
                let used = self.own.as_ref().is_some_and(|own| own.used);
                if used && !self.setup.bugs.has(&REGAINS) {
                    crate::mark!(ZkComesBack);
                    self.reset(Deposed::Lost, out);
                } else if self.entering.is_none() {
                    self.list(out);
                }
            }
            Event::Suspended => {
                self.depose(Deposed::Expired, out);
                self.campaign(out);
            }
            Event::Lost => self.depose(Deposed::Lost, out),
            Event::Watched(path, change) => self.watched(path, change, out),
            Event::Done(asked, reply) => self.done(now, asked, reply, out),
        }
    }

    fn done(&mut self, now: u64, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Enter, Ok(Reply::Created { path })) => {
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                self.entered(name, out);
            }
            (Asked::Enter, Ok(Reply::Refused(Code::NoNode))) => {
                for request in self.queue.folders() {
                    self.curator.ask(Asked::Folder, request, out);
                }
                self.enter(out);
            }
            (Asked::Enter, _) => self.find_later(now, out),
            (Asked::Find, Ok(Reply::Children { names, .. })) => self.found(names, out),
            (Asked::Find, Ok(Reply::Refused(Code::NoNode))) => self.enter(out),
            (Asked::Find, _) => self.find_later(now, out),
            (Asked::List, Ok(Reply::Children { names, .. })) => self.check(names, out),
            (Asked::List, Ok(Reply::Refused(Code::NoNode))) => self.reset(Deposed::Lost, out),
            (Asked::Own, Ok(Reply::Data { stat, .. })) => self.in_front(now, stat, out),
            (Asked::Own, Ok(Reply::Refused(Code::NoNode))) => self.reset(Deposed::Lost, out),
            (Asked::Ahead(path), Ok(Reply::Refused(Code::NoNode))) if self.ahead.as_ref() == Some(&path) => {
                self.ahead = None;
                self.list(out);
            }
            (Asked::First(path) | Asked::Ahead(path), Ok(Reply::Data { data, purpose: Asking::WhoLeads, .. })) => {
                if [&self.first, &self.ahead].contains(&&Some(path)) {
                    self.see(candidate(&self.setup.names, &data), out);
                }
            }
            (Asked::First(path), Ok(Reply::Refused(Code::NoNode))) if self.first.as_ref() == Some(&path) => {
                self.first = None;
                self.curator.ask(Asked::Firsts, self.queue.children(), out);
            }
            (Asked::Firsts, Ok(Reply::Children { names, .. })) => {
                let names = in_order(names);
                let own = self.own.as_ref().map(|own| &own.name);
                let ahead = self.ahead.as_deref();
                // Whoever is in front of it alone, or leads, knows without asking.
                let first = names.first().filter(|first| Some(*first) != own);
                if let Some(first) = first.filter(|first| ahead != Some(&*self.queue.path(first))) {
                    self.look_at(first, out);
                }
            }
            // What fails for good is left until the connection comes back.
            _ => {}
        }
    }

    /// The resource refuses this leadership: a new node, but not at once where that never helps.
    fn fenced(&mut self, now: u64, out: &mut Vec<Output>) {
        // Nothing else tells whether a leadership was any good than that it lasted.
        if now.saturating_sub(self.elected_at) >= self.setup.timings.renew_interval {
            self.back_off.confirmed();
        }
        match self.back_off.refused() {
            0 => self.reset(Deposed::Fenced, out),
            wait => {
                self.depose(Deposed::Fenced, out);
                self.leave(out);
                self.away = true;
                out.push(Output::SetTimer { id: AGAIN, at: now + wait });
            }
        }
    }
}

impl Elector for Latch {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => {
                self.campaign(out);
                self.curator.open(out);
            }
            Input::Timer(AGAIN) => {
                if std::mem::take(&mut self.away) {
                    self.reset(Deposed::Lost, out);
                }
            }
            Input::Timer(id) => {
                if let Some(event) = self.curator.timer(now, id, out) {
                    self.event(now.mono, event, out);
                }
            }
            Input::Service(input) => {
                if let Some(event) = self.curator.input(now, input, out) {
                    self.event(now.mono, event, out);
                }
            }
            // A latch that is closed, and another that is started.
            Input::Resign if self.leads => {
                out.push(Output::Point(Point::BeforeRelease));
                self.reset(Deposed::Resigned, out);
            }
            Input::Fenced if self.leads => self.fenced(now.mono, out),
            _ => {}
        }
    }
}
