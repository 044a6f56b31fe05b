//! Three ways to run a cron job once in a fleet. The host chosen for a night leads for as long as its job takes.
//!
//! - `cron-lock`: at its own midnight every host tries once to take a lock; the first runs the job and releases the
//!   lock when it is done (*Leader election: mechanisms, failure modes, fencing*, "Cron job that runs once", as
//!   printed).
//! - `cron-hash`: the host that the job's name hashes to runs it (the text's "naive").
//! - `cron-key`: at its own midnight every host tries to create a key that has the night's date in its name and is
//!   kept; the host that created it runs the job.
//!
//! **Where it comes from.** The same article. The lock is `SET NX PX` and a compare-and-delete on Redis; an etcd lock
//! differs in nothing that matters here.
//!
//! **What it assumes about time.** The lock: that all hosts' clocks differ by less than the job's duration; a host that
//! reaches its midnight after the lock was released runs the job again. The hash and the key: only that no clock is off
//! by half a night.
//!
//! **What breaks it.** The lock: a short job. The hash: if its host is down, nobody runs the job. The key: if a host
//! dies during the job, that night is missed; a job that must not be missed has to be repeatable.
//!
//! **What shows it.** `weak-crons`.

use super::{
    Bounds, OwnTimers, Promise, Protocol, Setup,
    asking::{Asking, EXPIRE, POLL},
    promise,
    redis_common::{self, Input, Output},
    redis_lease,
};
use crate::{
    clock::Now,
    elector::{Deposed, Elector, RequestNumber, ServiceInput, boxed},
    payload::Nothing,
    point::Point,
    service::{
        Service,
        redis::{self, Reply, Request},
    },
    types::{Leadership, MILLISECOND, NodeId},
    work::nightly_job::{PERIOD, night, until_midnight},
};

macro_rules! ways {
    ($($name:ident = $way:ident, $called:literal on $service:expr, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $name: Protocol = Protocol {
                name: $called,
                about: $about,
                service: $service,
                read_lease: None,
                parameters: &[],
                timers: OwnTimers::NONE,
                elector: |setup| boxed(Cron::new(setup, Way::$way)),
                promise: |_, _| Promise::May,
                bounds: |_| Bounds::default(),
                notices: promise::Notices::NOTHING,
                belief_overlap: promise::without_bound,
                ..redis_lease::PROTOCOL
            };
        )*

        /// All of them. They can be selected by name; lists of all protocols contain only those that keep a leader.
        pub const WAYS: &[&Protocol] = &[$(&$name),*];
    };
}

ways! {
    LOCK = Lock, "cron-lock" on &redis::SERVICE, "A cron job by a lock that is released when the job is done";
    HASH = Hash, "cron-hash" on &Service::NONE, "A cron job by the host that its name hashes to";
    KEY = Key, "cron-key" on &redis::SERVICE, "A cron job by a key for each night, which is kept";
}

/// The one called `name`.
pub fn find(name: &str) -> Option<&'static Protocol> {
    WAYS.iter().copied().find(|protocol| protocol.name == name)
}

const JOB: &str = "nightly-export";
/// How many nights a night's key is kept.
const KEPT_NIGHTS: u64 = 7;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    Lock,
    Hash,
    Key,
}

/// The host that the job's name hashes to (FNV-1a), among `hosts`.
pub fn host(hosts: u16) -> NodeId {
    let hash = JOB.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    NodeId((hash % u32::from(hosts.max(1))) as u16)
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Cron {
    asking: Asking,
    way: Way,
    /// The request under way, its value and its time.
    asked: Option<(RequestNumber, String, u64)>,
    /// The lock's value while this host holds it, and until when the job may run.
    held: Option<(String, u64)>,
}

impl Cron {
    fn new(setup: Setup, way: Way) -> Self {
        Cron { asking: Asking::new(setup), way, asked: None, held: None }
    }

    fn wait(&self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + until_midnight(now.wall) });
    }

    fn midnight(&mut self, now: Now, out: &mut Vec<Output>) {
        self.wait(now, out);
        let setup = &self.asking.setup;
        if self.way == Way::Hash && host(setup.names.len() as u16) != setup.node {
            return;
        }
        out.push(Output::Campaign);
        out.push(Output::Point(Point::BeforeCampaign));
        let value = redis_common::attempt_value(&mut self.asking);
        let (key, ttl_ms) = match self.way {
            Way::Hash => return self.lead(now, value, now.mono, out),
            Way::Lock => (redis_common::key(&self.asking.setup), self.asking.ttl_ms()),
            Way::Key => (format!("cron:{JOB}:{}", night(now.wall)), KEPT_NIGHTS * PERIOD / MILLISECOND),
        };
        let number = self.asking.ask(Request::SetNxPx { key, value: value.clone(), ttl_ms }, out);
        self.asked = Some((number, value, now.mono));
    }

    fn lead(&mut self, now: Now, value: String, sent: u64, out: &mut Vec<Output>) {
        let valid_until = sent + self.asking.ttl();
        if valid_until > now.mono && self.held.is_none() {
            self.held = Some((value, valid_until));
            out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
            out.push(Output::Elected(Leadership { token: 0, valid_until }));
        }
    }

    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        let Some((value, _)) = self.held.take() else { return };
        out.push(Output::CancelTimer(EXPIRE));
        out.push(Output::Deposed(why));
        if self.way == Way::Lock {
            self.asking.ask(Request::CompareAndDelete { key: redis_common::key(&self.asking.setup), value }, out);
        }
    }
}

impl Elector for Cron {
    type Peer = Nothing;
    type Service = redis::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        if self.held.as_ref().is_some_and(|(_, valid_until)| *valid_until <= now.mono) {
            self.depose(Deposed::Expired, out);
        }
        match input {
            Input::Start => self.wait(now, out),
            Input::Timer(POLL) => self.midnight(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                let asked = self.asked.take_if(|(under_way, ..)| *under_way == number);
                // A host that is not sure to have the lock does not run the job; its next attempt is tomorrow.
                if let (Some((_, value, sent)), Ok(Reply::Done(true))) = (asked, reply) {
                    self.lead(now, value, sent, out);
                }
            }
            Input::Resign if self.held.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(Deposed::Resigned, out);
            }
            Input::Fenced => self.depose(Deposed::Fenced, out),
            _ => {}
        }
    }
}
