//! A candidate's place in a queue: its node, what is in front of it, and who leads. What follows from that is the recipe's to
//! say.
//!
//! Reference: apache/curator 5.8, `curator-recipes`, `leader/LeaderLatch.java` (`reset`, `getChildren`, `checkLeadership`,
//! `setNode`), `locks/LockInternals.java`; `curator-framework`, `imps/CreateBuilderImpl.java`, `imps/ProtectedMode.java` and
//! `imps/FindAndDeleteProtectedNodeInBackground.java` (a create whose answer is lost).

use super::{
    Kind, RESETS,
    curator::{Curator, Event},
    queue::{Queue, candidate, guard, in_order},
};
use crate::{
    clock::Now,
    core::TimerId,
    election::Setup,
    elector::{self, ServiceInput},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::zookeeper::{Api, Asking, Change, Code, Op, Reply, Request, Stat},
    types::NodeId,
};

type Output = elector::Output<Nothing, Api>;

/// What a request is for.
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
    /// The node in front of all.
    First(String),
    /// The queue, to see who is in front of all.
    Firsts,
    /// A node of this candidate's that it has no use for.
    Delete,
}

/// A node that is being created.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entering {
    guard: String,
    session: i64,
    retries: u32,
}

/// What a recipe has to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// The connection is there, for the first time or again.
    Connected {
        /// Was it the first time?
        first: bool,
    },
    /// The connection is lost.
    Suspended,
    /// The session is over, or was given up.
    Lost,
    /// The own node is in front of all; this is its state.
    InFront(Stat),
    /// Somebody else's is.
    Behind,
    /// The own node is not in the queue.
    Gone,
}

/// A place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    names: Vec<String>,
    node: NodeId,
    curator: Curator<Asked>,
    queue: Queue,
    /// The own node.
    own: Option<String>,
    entering: Option<Entering>,
    /// Guards of nodes whose creation was given up; they may be there.
    leftovers: Vec<String>,
    /// The node that is watched because it is in front of the own one.
    ahead: Option<String>,
    /// The node that is watched because it is in front of all.
    first: Option<String>,
    observed: Option<NodeId>,
    /// Of a node in front that is gone before it is watched, something is made anew, and no answer is too late: [`RESETS`].
    resets: bool,
}

impl Place {
    /// No place yet.
    pub fn new(setup: &Setup, kind: Kind) -> Self {
        Place {
            names: setup.names.clone(),
            node: setup.node,
            curator: Curator::new(setup.timings.lease_ttl, setup.nonce),
            queue: Queue::new(kind, setup.group),
            own: None,
            entering: None,
            leftovers: Vec::new(),
            ahead: None,
            first: None,
            observed: None,
            resets: kind == Kind::Latch && setup.bugs.has(&RESETS),
        }
    }

    /// Opens a session.
    pub fn open(&mut self, out: &mut Vec<Output>) {
        self.curator.open(out);
    }

    /// The session; 0 before the first.
    pub fn session(&self) -> i64 {
        self.curator.session()
    }

    /// Is the connection there?
    pub fn is_connected(&self) -> bool {
        self.curator.is_connected()
    }

    /// Is the own node being created?
    pub fn is_entering(&self) -> bool {
        self.entering.is_some()
    }

    /// Says who leads, if that is news.
    pub fn see(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Looks who is in the queue: [`News::InFront`], [`News::Behind`] or [`News::Gone`] follows.
    pub fn list(&mut self, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeAsk));
        self.curator.ask(Asked::List, self.queue.children(), out);
    }

    /// Leaves the queue, if this candidate is in it.
    pub fn leave(&mut self, out: &mut Vec<Output>) {
        let goes_on = |asked: &Asked| matches!(asked, Asked::Enter | Asked::List | Asked::Ahead(_));
        self.curator.forget(|asked| self.resets && goes_on(asked));
        (self.ahead, self.first) = (None, None);
        // It may be on its way.
        let entering = self.entering.take().filter(|_| !self.resets);
        self.leftovers.extend(entering.map(|entering| entering.guard));
        if let Some(own) = self.own.take() {
            self.delete(&own, out);
        }
    }

    /// Leaves the queue, and enters it anew at its end.
    pub fn enter_anew(&mut self, out: &mut Vec<Output>) {
        self.leave(out);
        let guard = guard(self.curator.random());
        self.entering = Some(Entering { guard, session: 0, retries: 0 });
        out.push(Output::Point(Point::BeforeCampaign));
        self.enter(out);
    }

    fn delete(&mut self, name: &str, out: &mut Vec<Output>) {
        let delete = Op::Delete { path: self.queue.path(name), version: -1 };
        self.curator.guarantee(Asked::Delete, Request::Write(delete), out);
    }

    fn enter(&mut self, out: &mut Vec<Output>) {
        let session = self.session();
        let Some(entering) = &mut self.entering else { return };
        entering.session = session;
        let name = self.names.get(self.node.index()).map_or("", String::as_str);
        let request = self.queue.enter(&entering.guard, name);
        out.push(Output::Point(Point::BeforeAsk));
        self.curator.ask_once(Asked::Enter, request, out);
    }

    /// The creation was not answered: looks whether it was done, after a while, or gives it up.
    fn find_later(&mut self, now: u64, out: &mut Vec<Output>) {
        let Some(entering) = &mut self.entering else { return };
        let retry = entering.retries;
        entering.retries += 1;
        if !self.curator.ask_later(now, Asked::Find, self.queue.children(), retry, out) {
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
            Some(name) if entering.session == self.session() => {
                crate::mark!(ZkFoundAgain);
                self.entered(name, out);
            }
            Some(_) => {
                // Another session's: it goes with that, or before.
                self.own = found;
                self.entering = None;
                self.enter_anew(out);
            }
            None => self.enter(out),
        }
    }

    fn entered(&mut self, name: String, out: &mut Vec<Output>) {
        self.entering = None;
        // `LeaderLatch.setNode`.
        if let Some(before) = self.own.replace(name) {
            self.delete(&before, out);
        }
        self.list(out);
    }

    /// The queue is here.
    fn check(&mut self, names: Vec<String>, out: &mut Vec<Output>) -> Option<News> {
        let is_left = |name: &&String| self.leftovers.iter().any(|guard| name.starts_with(guard));
        let left: Vec<String> = names.iter().filter(is_left).cloned().collect();
        left.iter().for_each(|name| self.delete(name, out));
        let names = in_order(names);
        let Some(place) = names.iter().position(|name| self.own.as_ref() == Some(name)) else {
            crate::mark!(ZkNodeGone);
            return Some(News::Gone);
        };
        if place == 0 {
            let (path, purpose) = (self.queue.path(&names[0]), Asking::Anything);
            out.push(Output::Point(Point::BeforeAsk));
            self.curator.ask(Asked::Own, Request::Get { path, watch: false, purpose }, out);
            return None;
        }
        let ahead = self.queue.path(&names[place - 1]);
        let purpose = if place == 1 { Asking::WhoLeads } else { Asking::Anything };
        out.push(Output::Point(Point::BeforeWait));
        self.ahead = Some(ahead.clone());
        self.curator.ask(Asked::Ahead(ahead.clone()), Request::Get { path: ahead, watch: true, purpose }, out);
        match place {
            1 => self.first = None,
            _ => self.look_at(&names[0], out),
        }
        Some(News::Behind)
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

    fn look_who_is_first(&mut self, out: &mut Vec<Output>) {
        self.first = None;
        self.curator.ask(Asked::Firsts, self.queue.children(), out);
    }

    fn gone(&mut self, path: &str, out: &mut Vec<Output>) {
        let [ahead, first] = [&self.ahead, &self.first].map(|watched| watched.as_deref() == Some(path));
        if ahead {
            self.ahead = None;
            self.see(None, out);
            self.list(out);
        } else if first {
            self.see(None, out);
            self.look_who_is_first(out);
        }
    }

    /// The number of the own node's place in the queue.
    pub fn sequence(&self) -> Option<u64> {
        self.own.as_deref().and_then(super::sequence_of)
    }

    /// A timer fired; what it means.
    pub fn timer(&mut self, now: Now, id: TimerId, out: &mut Vec<Output>) -> Option<News> {
        let event = self.curator.timer(now, id, out)?;
        self.event(now.mono, event, out)
    }

    /// Something came from the service; what it means.
    pub fn input(&mut self, now: Now, input: ServiceInput<Api>, out: &mut Vec<Output>) -> Option<News> {
        let event = self.curator.input(now, input, out)?;
        self.event(now.mono, event, out)
    }

    fn event(&mut self, now: u64, event: Event<Asked>, out: &mut Vec<Output>) -> Option<News> {
        match event {
            Event::Connected { first } => Some(News::Connected { first }),
            Event::Suspended => Some(News::Suspended),
            Event::Lost => Some(News::Lost),
            Event::Watched(_, Change::Deleted) if self.resets => {
                self.list(out);
                None
            }
            Event::Watched(path, Change::Deleted) => {
                self.gone(&path, out);
                None
            }
            Event::Watched(..) => None,
            Event::Done(asked, reply) => self.done(now, asked, reply, out),
        }
    }

    fn done(&mut self, now: u64, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) -> Option<News> {
        match (asked, reply) {
            (Asked::Enter, Ok(Reply::Created { path })) => {
                self.entered(path.rsplit('/').next().unwrap_or_default().to_owned(), out);
            }
            (Asked::Enter, Ok(Reply::Refused(Code::NoNode))) => {
                self.queue.folders().for_each(|request| self.curator.ask(Asked::Folder, request, out));
                self.enter(out);
            }
            (Asked::Find, Ok(Reply::Children { names, .. })) => self.found(names, out),
            (Asked::Find, Ok(Reply::Refused(Code::NoNode))) => self.enter(out),
            (Asked::Enter | Asked::Find, _) => self.find_later(now, out),
            (Asked::List, Ok(Reply::Children { names, .. })) => return self.check(names, out),
            (Asked::Own, Ok(Reply::Data { stat, .. })) => return Some(News::InFront(stat)),
            (Asked::List | Asked::Own, Ok(Reply::Refused(Code::NoNode))) => return Some(News::Gone),
            (Asked::Ahead(_), Ok(Reply::Refused(Code::NoNode))) if self.resets => return Some(News::Gone),
            (Asked::Ahead(path) | Asked::First(path), Ok(Reply::Refused(Code::NoNode))) => self.gone(&path, out),
            (Asked::Ahead(path) | Asked::First(path), Ok(Reply::Data { data, purpose: Asking::WhoLeads, .. })) => {
                let watched = Some(path);
                if watched == self.ahead || watched == self.first {
                    self.see(candidate(&self.names, &data), out);
                }
            }
            (Asked::Firsts, Ok(Reply::Children { names, .. })) => {
                let names = in_order(names);
                let first = names.first().filter(|first| self.own.as_ref() != Some(first));
                // Whoever is alone in front of the own node is asked already.
                if let Some(first) = first.filter(|first| self.ahead != Some(self.queue.path(first))) {
                    self.look_at(first, out);
                }
            }
            // What fails for good is left until the connection comes back.
            _ => {}
        }
        None
    }
}
