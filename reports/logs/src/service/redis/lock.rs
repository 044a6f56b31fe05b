//! Who holds one lock in Redis, by the commands about it.

use super::super::{super::seen::Seen, history::Line};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// A script that was called, with what it was given.
#[derive(Debug)]
pub struct Script {
    pub client: Rc<str>,
    pub args: Vec<String>,
    /// The keys that it asked for.
    pub asked: RefCell<BTreeSet<String>>,
}

/// Whether a key is set only in one case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum If {
    Always,
    Free,
    Held,
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Set, until then if that was said.
    Set {
        value: String,
        only: If,
        until_ns: Option<u64>,
    },
    /// A field of the key counted up: by Redisson, the holder's name.
    Counted(String),
    /// To be kept until then.
    Renewed(u64),
    Deleted,
    /// A script was called with it.
    Called,
}

#[derive(Clone, Debug)]
pub struct Op {
    pub line: u64,
    pub ns: u64,
    /// Who sent it, or called the script that did.
    pub client: Rc<str>,
    pub script: Option<Rc<Script>>,
    pub kind: Kind,
}

impl Op {
    /// The client's address without its port, which changes with every connection.
    fn host(&self) -> &str {
        self.client.rsplit_once(':').map_or(&*self.client, |(host, _)| host)
    }
}

/// A value whose holder has not given it back.
struct Live {
    who: String,
    client: Rc<str>,
    host: String,
    until_ns: Option<u64>,
    /// Who took the lock after it had run out.
    followed: Option<String>,
}

struct Lock<'a> {
    key: &'a str,
    /// Values do not tell clients apart, so their hosts do.
    by_host: bool,
    /// Who holds it, and until when.
    held: Option<(String, Option<u64>)>,
    /// The line of the grant that is only assumed: nobody knows what was there before the first line.
    assumed: Option<usize>,
    live: Vec<Live>,
    seen: &'a mut Seen,
    lines: &'a mut Vec<Line>,
}

/// How close to its end nothing tells whether a lock could be taken, nanoseconds.
const CLOSE_NS: u64 = 1_000_000;

/// Adds the grants of one lock. What the commands leave open is a doubt.
pub fn judged(key: &str, ops: &[Op], scripts_are_told: bool, seen: &mut Seen, lines: &mut Vec<Line>) {
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut clients = BTreeSet::new();
    for op in ops {
        if let Kind::Set { value, only: If::Free, .. } = &op.kind {
            hosts.entry(value).or_default().insert(op.host());
            clients.insert(&*op.client);
        }
    }
    let by_host = hosts.values().any(|hosts| hosts.len() > 1);
    let constant = hosts.len() == 1 && hosts.values().all(|hosts| hosts.len() == 1);
    if constant && clients.len() > 1 {
        seen.doubt(format!(
            "all connections that take {key} are of one host and give it the same value, so nothing tells who holds it; let each \
             process set a value of its own"
        ));
    }
    if !scripts_are_told && ops.iter().any(|op| op.kind == Kind::Called) {
        seen.doubt(format!(
            "scripts were called with {key}, but the lines of their own commands, `[0 lua]`, are missing; judge all that MONITOR printed"
        ));
    }
    let mut lock = Lock { key, by_host, held: None, assumed: None, live: Vec::new(), seen, lines };
    ops.iter().for_each(|op| lock.takes(op));
}

impl Lock<'_> {
    fn takes(&mut self, op: &Op) {
        let tries = matches!(op.kind, Kind::Set { only: If::Free, .. });
        if let Some((_, Some(until))) = &self.held
            && tries
            && until.abs_diff(op.ns) < CLOSE_NS
        {
            self.seen.doubt(format!(
                "line {} takes {} within a millisecond of its end, and MONITOR does not say whether that worked",
                op.line, self.key
            ));
        }
        if self.held.as_ref().is_some_and(|(_, until)| until.is_some_and(|until| until <= op.ns)) {
            self.held = None;
        }
        match &op.kind {
            Kind::Set { value, only, until_ns } => {
                let who = if self.by_host { op.host().to_owned() } else { value.clone() };
                if *only == If::Always || self.held.is_some() == (*only == If::Held) {
                    self.granted(op, who, *until_ns);
                }
            }
            Kind::Counted(field) => {
                let until = self.held.as_ref().filter(|(who, _)| who == field).and_then(|(_, until)| *until);
                self.granted(op, field.clone(), until);
            }
            Kind::Renewed(until_ns) => self.renewed(op, *until_ns),
            Kind::Deleted => self.deleted(op),
            Kind::Called => self.called(op),
        }
    }

    fn granted(&mut self, op: &Op, who: String, until_ns: Option<u64>) {
        let first = self.live.is_empty() && self.lines.iter().all(|line| line.resource != self.key);
        for other in self.live.iter_mut().filter(|live| live.who != who) {
            other.followed.get_or_insert_with(|| who.clone());
        }
        self.live.retain(|live| live.who != who);
        self.live.push(Live {
            who: who.clone(),
            client: op.client.clone(),
            host: op.host().to_owned(),
            until_ns,
            followed: None,
        });
        self.assumed = first.then_some(self.lines.len());
        self.held = Some((who.clone(), until_ns));
        self.tell(op, "grant", who, until_ns);
    }

    fn tell(&mut self, op: &Op, event: &'static str, node: String, until_ns: Option<u64>) {
        let resource = self.key.to_owned();
        self.lines.push(Line { line: op.line, ns: op.ns, event, node, resource, token: None, until_ns });
    }

    /// Whose command it is: by what a script was given, by its connection, or by its host. `None` if that is open.
    fn whose(&self, op: &Op) -> Option<String> {
        let given = |live: &&Live| op.script.as_ref().is_some_and(|script| script.args.contains(&live.who));
        if let Some(live) = self.live.iter().rev().find(given) {
            return Some(live.who.clone());
        }
        if let Some(live) = self.live.iter().rev().find(|live| live.client == op.client) {
            return Some(live.who.clone());
        }
        let mut of_host = self.live.iter().filter(|live| live.host == op.host());
        match (of_host.next(), of_host.next()) {
            (Some(live), None) => Some(live.who.clone()),
            // A stranger.
            (None, _) => Some(op.host().to_owned()),
            _ => None,
        }
    }

    /// Who sends this, if the lock is held. Where it is open, the holder, with a doubt.
    fn sender(&mut self, op: &Op) -> Option<String> {
        let holder = self.held.as_ref()?.0.clone();
        let Some(who) = self.whose(op) else {
            self.seen.doubt(format!(
                "line {} may be of any of several holders of {} on one host; the value in a script would tell them apart",
                op.line, self.key
            ));
            return Some(holder);
        };
        if who == holder {
            self.assumed = None;
        } else if let Some(place) = self.assumed.take()
            && !self.live.iter().any(|live| live.who == who)
        {
            // Somebody held it before the first line, so that the first SET … NX had failed. A script that compared the
            // value proves it.
            if op.script.is_none() {
                self.seen.doubt(format!(
                    "line {} is of {who}, which has not taken {} in this log: it may have held it before, or interfere; begin the log \
                     earlier",
                    op.line, self.key
                ));
            }
            self.lines.remove(place);
            self.live.clear();
            self.held = Some((who.clone(), None));
            self.live.push(Live {
                who: who.clone(),
                client: op.client.clone(),
                host: op.host().to_owned(),
                until_ns: None,
                followed: None,
            });
        }
        Some(who)
    }

    fn renewed(&mut self, op: &Op, until_ns: u64) {
        let Some(who) = self.sender(op) else { return };
        // Whoever sends it, it is the key that lasts longer.
        if let Some((holder, until)) = &mut self.held {
            *until = Some(until_ns);
            let holder = holder.clone();
            self.live.iter_mut().filter(|live| live.who == holder).for_each(|live| live.until_ns = Some(until_ns));
        }
        self.tell(op, "grant", who, Some(until_ns));
    }

    fn deleted(&mut self, op: &Op) {
        let Some(who) = self.sender(op) else {
            self.late(op);
            return;
        };
        let holder = self.held.take().map(|(holder, _)| holder);
        // Its holder does not hear that somebody else has deleted it.
        if holder.as_ref() == Some(&who) {
            self.live.retain(|live| live.who != who);
            self.tell(op, "grant-end", who, None);
        }
    }

    /// A script was called. If its caller has lost the lock to another, it may have worked until now.
    fn called(&mut self, op: &Op) {
        self.late(op);
    }

    fn late(&mut self, op: &Op) {
        let holder = self.held.as_ref().map(|(who, _)| who.clone());
        let Some(who) = self.whose(op).filter(|who| Some(who) != holder.as_ref()) else { return };
        let Some(place) = self.live.iter().position(|live| live.who == who) else { return };
        let live = self.live.remove(place);
        if let Some(other) = live.followed {
            self.seen.doubt(format!(
                "{who} still renews or releases {} on line {}, after it had run out and {other} had taken it; whether {who} worked until \
                 then, a log of the work has to say",
                self.key, op.line
            ));
        }
    }
}
