//! A candidate's place in a queue: its node, the node before it, and the leader. The recipe draws the conclusions.
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

mod rounds;

type Output = elector::Output<Nothing, Api>;

/// A request's purpose.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Asked {
    /// To create a parent folder.
    Folder,
    /// To create its own node.
    Enter,
    /// To find its own node after an unanswered creation.
    Find,
    /// To read the queue.
    List,
    /// To read its own node, which is first.
    Own,
    /// To read the node before its own.
    Ahead(String),
    /// To read the first node.
    First(String),
    /// To read the queue for its first node.
    Firsts,
    /// To delete a node of its own that it no longer needs.
    Delete,
    /// To make the connected member catch up with the ensemble's leader.
    Sync,
    /// To read its own node after that.
    Mine,
    /// To end the session.
    Close,
}

/// The retry with the longest pause.
const LONGEST: u32 = 2;

/// A node being created.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entering {
    guard: String,
    session: i64,
    retries: u32,
    /// Whether it has created the folders since the last pause: [`Place::is_patient`].
    folders: bool,
}

/// News for the recipe.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum News {
    /// Connected, for the first time or again.
    Connected {
        /// Whether it is the first time.
        first: bool,
    },
    Suspended,
    /// The session has expired, or was given up.
    Lost,
    /// Its own node is first; with that node's state.
    InFront(Stat),
    /// Another node is first.
    Behind,
    /// Its own node is not in the queue.
    Gone,
    /// A round was answered: the session lives, and this is its own node. Only for whoever asks ([`Place::confirm`]).
    Confirmed(Stat),
    /// A round has failed.
    Unconfirmed,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    names: Vec<String>,
    node: NodeId,
    curator: Curator<Asked>,
    queue: Queue,
    /// Its own node.
    own: Option<String>,
    entering: Option<Entering>,
    /// Guards of nodes whose creation was given up; the nodes may exist.
    leftovers: Vec<String>,
    /// The watched node before its own.
    ahead: Option<String>,
    /// The watched first node.
    first: Option<String>,
    observed: Option<NodeId>,
    /// Whether it enters anew if the node before its own is gone before it could be watched, and accepts late answers:
    /// [`RESETS`].
    resets: bool,
    /// Whether it never gives up the creation of its node, and pauses if a folder cannot be created either.
    is_patient: bool,
    /// What has been answered of the round under way: whether the member has caught up with the leader, and what it then
    /// has read.
    synced: Option<bool>,
    read: Option<News>,
}

impl Place {
    /// Not in the queue yet.
    pub fn new(setup: &Setup, kind: Kind) -> Self {
        Place {
            names: setup.names.clone(),
            node: setup.node,
            curator: Curator::new(setup.timings.lease_ttl, setup.nonce),
            queue: Queue::new(kind, setup),
            own: None,
            entering: None,
            leftovers: Vec::new(),
            ahead: None,
            first: None,
            observed: None,
            resets: kind == Kind::Latch && setup.bugs.has(&RESETS),
            is_patient: false,
            synced: None,
            read: None,
        }
    }

    pub fn open(&mut self, out: &mut Vec<Output>) {
        self.curator.open(out);
    }

    /// The session's id; 0 before the first.
    pub fn session(&self) -> i64 {
        self.curator.session()
    }

    pub fn is_connected(&self) -> bool {
        self.curator.is_connected()
    }

    pub fn is_entering(&self) -> bool {
        self.entering.is_some()
    }

    /// Reports the leader, if it is new.
    pub fn see(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Reads the queue; [`News::InFront`], [`News::Behind`] or [`News::Gone`] follows.
    pub fn list(&mut self, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeAsk));
        self.curator.ask(Asked::List, self.queue.children(), out);
    }

    /// Leaves the queue, if this candidate is in it.
    pub fn leave(&mut self, out: &mut Vec<Output>) {
        let goes_on = |asked: &Asked| matches!(asked, Asked::Enter | Asked::List | Asked::Ahead(_));
        self.curator.forget(|asked| self.resets && goes_on(asked));
        (self.ahead, self.first) = (None, None);
        // A node may be in the process of being created.
        let entering = self.entering.take().filter(|_| !self.resets);
        self.leftovers.extend(entering.map(|entering| entering.guard));
        if let Some(own) = self.own.take() {
            self.delete(&own, out);
        }
    }

    /// Leaves the queue, and enters it again at its end.
    pub fn enter_anew(&mut self, out: &mut Vec<Output>) {
        self.leave(out);
        let guard = guard(self.curator.random());
        self.entering = Some(Entering { guard, session: 0, retries: 0, folders: false });
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

    /// The creation was not answered: looks for its outcome after a while, or gives up.
    fn find_later(&mut self, now: u64, out: &mut Vec<Output>) {
        let Some(entering) = &mut self.entering else { return };
        let retry = if self.is_patient { entering.retries.min(LONGEST) } else { entering.retries };
        entering.retries += 1;
        entering.folders = false;
        if !self.curator.ask_later(now, Asked::Find, self.queue.children(), retry, out) {
            crate::mark!("zk-election: the creation of a node is given up");
            // Given up until the connection returns.
            self.leftovers.extend(self.entering.take().map(|entering| entering.guard));
        }
    }

    /// Handles the queue while the outcome of a creation is unknown.
    fn found(&mut self, names: Vec<String>, out: &mut Vec<Output>) {
        let Some(entering) = &self.entering else { return };
        let found = names.into_iter().find(|name| name.starts_with(&entering.guard));
        match found {
            Some(name) if entering.session == self.session() => {
                crate::mark!("zk-election: a node whose creation was not answered is found");
                self.entered(name, out);
            }
            Some(_) => {
                // A node of another session: it ends with that session at the latest.
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

    /// Handles the queue.
    fn check(&mut self, names: Vec<String>, out: &mut Vec<Output>) -> Option<News> {
        let is_left = |name: &&String| self.leftovers.iter().any(|guard| name.starts_with(guard));
        let left: Vec<String> = names.iter().filter(is_left).cloned().collect();
        left.iter().for_each(|name| self.delete(name, out));
        let names = in_order(names);
        let Some(place) = names.iter().position(|name| self.own.as_ref() == Some(name)) else {
            crate::mark!("zk-election: the own node is not in the queue any more");
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

    /// Reads the first node.
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

    /// The number of its own node in the queue.
    pub fn sequence(&self) -> Option<u64> {
        self.own.as_deref().and_then(super::sequence_of)
    }

    /// Handles a timer; returns the resulting news.
    pub fn timer(&mut self, now: Now, id: TimerId, out: &mut Vec<Output>) -> Option<News> {
        let event = self.curator.timer(now, id, out)?;
        self.event(now.mono, event, out)
    }

    /// Handles the service's input; returns the resulting news.
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
            (Asked::Enter, Ok(Reply::Refused(Code::NoNode))) if self.makes_folders() => {
                self.queue.folders().for_each(|request| self.curator.ask(Asked::Folder, request, out));
                self.enter(out);
            }
            (Asked::Find, Ok(Reply::Children { names, .. })) => self.found(names, out),
            (Asked::Find, Ok(Reply::Refused(Code::NoNode))) => self.enter(out),
            (Asked::Enter | Asked::Find, _) => self.find_later(now, out),
            (asked @ (Asked::Sync | Asked::Mine), reply) => return self.round(&asked, &reply),
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
                // If only one node precedes its own, it has been read already.
                if let Some(first) = first.filter(|first| self.ahead != Some(self.queue.path(first))) {
                    self.look_at(first, out);
                }
            }
            // A request that fails for good is dropped until the connection returns.
            _ => {}
        }
        None
    }
}
