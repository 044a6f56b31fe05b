//! Consul: a key that a session holds, and the lock-delay after that. A session may end at any time: its agent may count
//! as dead.

use super::{Answer, End, Grant, Process, Serves, Told, refused, typed};
use protocols::{
    elector::ServiceInput,
    payload::{Opaque, Payload},
    service::consul::{Item, LOCK_FLAGS, Pair, Reply, Request, Watch},
    types::MILLISECOND,
};
use std::collections::BTreeMap;

/// The lock-delay as something that ends; sessions are counted from 1.
const DELAY: u64 = 0;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Delay {
    of: Process,
    until: u64,
    /// Whose lock it was: nobody else can have it yet.
    grant: Grant,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Consul {
    index: u64,
    created: u64,
    /// With the lock-delay of each, nanoseconds.
    sessions: BTreeMap<u64, (Process, u64)>,
    /// All ask for the same key.
    pair: Option<Pair>,
    delay: Option<Delay>,
    watches: Vec<(Process, u64)>,
    told: Vec<Told>,
}

fn number(session: &str) -> u64 {
    session.trim_start_matches('s').parse().unwrap_or_default()
}

impl Consul {
    fn tell(&mut self, to: Process, number: u64) {
        self.told.push(Told { to, input: ServiceInput::Item { number, item: Item(self.pair.clone()).erase() } });
    }

    fn changed(&mut self) {
        self.watches.clone().into_iter().for_each(|(to, number)| self.tell(to, number));
    }

    fn acquire(&mut self, value: String, session: String) -> Answer {
        if !self.sessions.contains_key(&number(&session)) {
            return refused("invalid session");
        }
        let before = self.pair.as_ref().and_then(|pair| pair.session.as_ref());
        if self.delay.is_some() || before.is_some_and(|before| *before != session) {
            return Ok(Reply::Done(false).erase());
        }
        self.index += 1;
        let acquired = u64::from(before.is_none());
        let lock_index = self.pair.as_ref().map_or(0, |pair| pair.lock_index) + acquired;
        let (flags, modify_index) = (LOCK_FLAGS, self.index);
        self.pair = Some(Pair { value, flags, session: Some(session), lock_index, modify_index });
        self.changed();
        Ok(Reply::Done(true).erase())
    }

    /// Whether the session had the key.
    fn release(&mut self, session: u64) -> bool {
        let held = |pair: &&mut Pair| pair.session.as_deref().map(number) == Some(session);
        let Some(pair) = self.pair.as_mut().filter(held) else { return false };
        self.index += 1;
        (pair.session, pair.modify_index) = (None, self.index);
        self.changed();
        true
    }

    fn destroy(&mut self, now: u64, session: u64) {
        let grant = self.grant(now);
        if let Some((of, delay)) = self.sessions.remove(&session)
            && self.release(session)
        {
            self.delay = grant.map(|grant| Delay { of, until: now + delay, grant });
        }
    }
}

impl Serves for Consul {
    fn grant(&self, _: u64) -> Option<Grant> {
        if let Some(delay) = &self.delay {
            return Some(delay.grant.clone());
        }
        let held = self.pair.as_ref().filter(|pair| pair.session.is_some());
        held.map(|pair| (pair.value.clone(), pair.modify_index))
    }

    fn take(&mut self, now: u64, by: Process, _: u64, request: &Opaque) -> Answer {
        match typed(request) {
            Request::CreateSession { lock_delay_ms, .. } => {
                self.created += 1;
                let delay = lock_delay_ms.expect("each says how long") * MILLISECOND;
                self.sessions.insert(self.created, (by, delay));
                Ok(Reply::Session { id: format!("s{}", self.created) }.erase())
            }
            Request::RenewSession { session } => {
                Ok(Reply::Renewed { alive: self.sessions.contains_key(&number(&session)) }.erase())
            }
            Request::DestroySession { session } => {
                self.destroy(now, number(&session));
                Ok(Reply::Done(true).erase())
            }
            Request::Acquire { value, session, .. } => self.acquire(value, session),
            Request::Release { session, .. } => Ok(Reply::Done(self.release(number(&session))).erase()),
            Request::Get { .. } => Ok(Reply::Found(self.pair.clone()).erase()),
        }
    }

    fn open(&mut self, _: u64, by: Process, number: u64, request: &Opaque) {
        let Watch { .. } = typed(request);
        self.watches.push((by, number));
        self.tell(by, number);
    }

    fn close(&mut self, by: Process, number: u64) {
        self.watches.retain(|watch| *watch != (by, number));
    }

    fn ends(&self) -> Vec<End> {
        let sessions = self.sessions.iter().map(|(which, (of, _))| End { at: 0, of: *of, which: *which });
        let delay = self.delay.iter().map(|delay| End { at: delay.until, of: delay.of, which: DELAY });
        sessions.chain(delay).collect()
    }

    fn end(&mut self, now: u64, which: u64) {
        match which {
            DELAY => self.delay = None,
            session => self.destroy(now, session),
        }
    }

    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    fn fails(&mut self) {
        if self.pair.take().is_some() {
            self.index += 1;
            self.changed();
        }
    }
}
