//! PostgreSQL's session locks: a lock ends with its session, which the server gives up when it has been silent for long.

use super::{Answer, End, Grant, Process, Serves, Told, refused, typed};
use protocols::{
    elector::ServiceInput,
    error::Failure,
    payload::{Opaque, Payload},
    service::postgres::{Reply, Request, Watch},
};
use std::collections::BTreeMap;

/// A session that holds the lock, or has held it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Session {
    of: Process,
    who: String,
    heard: u64,
    watch: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sessions {
    ttl: u64,
    /// Whether a pool shares one session of the server among all.
    pooled: bool,
    begun: u64,
    holders: BTreeMap<u64, Session>,
    told: Vec<Told>,
}

impl Sessions {
    pub fn new(ttl: u64, pooled: bool) -> Sessions {
        Sessions { ttl, pooled, begun: 0, holders: BTreeMap::new(), told: Vec::new() }
    }
}

impl Serves for Sessions {
    fn grant(&self, _: u64) -> Option<Grant> {
        self.holders.values().next().map(|session| (session.who.clone(), 0))
    }

    fn take(&mut self, now: u64, of: Process, _: u64, request: &Opaque) -> Answer {
        match typed(request) {
            Request::TryLock { .. } if !self.holders.is_empty() && !self.pooled => Ok(Reply::Session(None).erase()),
            Request::TryLock { who, .. } => {
                self.begun += 1;
                self.holders.insert(self.begun, Session { of, who, heard: now, watch: None });
                Ok(Reply::Session(Some(self.begun)).erase())
            }
            Request::Ping { session } => match self.holders.get_mut(&session) {
                Some(session) => {
                    session.heard = now;
                    Ok(Reply::Done(true).erase())
                }
                None => refused("the session has ended"),
            },
            Request::Unlock { session, .. } => match self.holders.remove(&session) {
                Some(_) => Ok(Reply::Done(true).erase()),
                None => refused("the session has ended"),
            },
            _ => unreachable!("nobody here asks for it"),
        }
    }

    fn open(&mut self, _: u64, to: Process, number: u64, request: &Opaque) {
        let Watch { session } = typed(request);
        match self.holders.get_mut(&session) {
            Some(session) => session.watch = Some(number),
            None => self.told.push(ended(to, number)),
        }
    }

    fn ends(&self) -> Vec<End> {
        let end =
            |(which, session): (&u64, &Session)| End { at: session.heard + self.ttl, of: session.of, which: *which };
        self.holders.iter().map(end).collect()
    }

    fn end(&mut self, _: u64, which: u64) {
        let session = self.holders.remove(&which);
        self.told.extend(session.and_then(|session| Some(ended(session.of, session.watch?))));
    }

    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }
}

fn ended(to: Process, number: u64) -> Told {
    let failure = Failure::Unknown("the session has ended".to_owned());
    Told { to, input: ServiceInput::Ended { number, failure } }
}
