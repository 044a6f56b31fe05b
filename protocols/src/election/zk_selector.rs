//! `zk-selector`: Apache Curator's LeaderSelector on ZooKeeper.
//!
//! **Where it comes from.** apache/curator 5.8, `curator-recipes`, `leader/LeaderSelector.java` (`doWork`, `requeue`,
//! `takeLeadership`, `autoRequeue`), `leader/LeaderSelectorListenerAdapter.java` (the end of a leadership when the
//! connection is lost), `locks/InterProcessMutex.java`, `locks/LockInternals.java` (`attemptLock`, `internalLockLoop`).
//! The holder of a mutex leads until it returns from `takeLeadership`; then the mutex is released and, with the usual
//! settings, requested again at the end of the queue. Nodes are `/fencepost/selector/_c_<id>-lock-<number>`, and the
//! token is the node's `czxid`.
//!
//! **What it assumes about time, what breaks it.** The same as `zk-election`, whose queue this is. The difference: when
//! a leadership ends, for whatever reason, its node goes with it. So no node leads twice, and no token comes twice; but
//! a leader that loses its connection only for a moment goes to the end of the queue.
//!
//! **What shows it.** `gc-pause`; `flapping`, where leadership rotates.

use super::{
    OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    back_off::BackOff,
    hazard,
    promise::{self, UNCHECKED},
    zk_election::{overlap, takeover_max},
    zookeeper::{
        Kind,
        place::{News, Place},
    },
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, boxed},
    payload::Nothing,
    point::Point,
    service::zookeeper::{self, Api, Stat, granted},
    types::{Leadership, SECOND},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "zk-selector",
    about: "Curator's LeaderSelector: a mutex of ephemeral sequential nodes, asked for anew after every leadership",
    service: &zookeeper::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 60 * SECOND,
    election_timeout: None,
    granted_ttl: granted,
    renew_interval: zookeeper::ping_interval,
    takeover_max,
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Selector::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS => promise::granted_again(fencing),
        // Sessions start over, and their numbers are tokens: they may have caught up by the first election.
        hazard::SERVICE_RESTORED => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// The next request for the mutex.
const AGAIN: TimerId = 2;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Selector {
    setup: Setup,
    place: Place,
    leads: bool,
    elected_at: u64,
    campaigning: bool,
    /// Whether to request the mutex anew on reconnection, since the earlier node is given up.
    requeues: bool,
    back_off: BackOff,
    /// Whether it stays away because the resource refuses its leaderships.
    away: bool,
}

impl Selector {
    fn new(setup: Setup) -> Self {
        Selector {
            place: Place::new(&setup, Kind::Selector),
            setup,
            leads: false,
            elected_at: 0,
            campaigning: false,
            requeues: true,
            back_off: BackOff::default(),
            away: false,
        }
    }

    /// Returns from `takeLeadership`, which releases the mutex.
    fn returns(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.leads) {
            out.push(Output::Deposed(why));
            self.place.see(None, out);
            self.place.leave(out);
            self.requeues = true;
            self.campaign(out);
        }
    }

    fn campaign(&mut self, out: &mut Vec<Output>) {
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
    }

    fn requeue(&mut self, out: &mut Vec<Output>) {
        self.requeues = false;
        self.campaign(out);
        self.place.enter_anew(out);
    }

    fn in_front(&mut self, now: u64, stat: Stat, out: &mut Vec<Output>) {
        if self.leads || !self.place.is_connected() {
            return;
        }
        if stat.owner != self.place.session() {
            return self.requeue(out);
        }
        (self.leads, self.elected_at, self.campaigning) = (true, now, false);
        let token = u64::try_from(stat.czxid).unwrap_or(0);
        out.push(Output::Elected(Leadership { token, valid_until: u64::MAX }));
        self.place.see(Some(self.setup.node), out);
    }

    fn news(&mut self, now: u64, news: News, out: &mut Vec<Output>) {
        match news {
            News::Connected { .. } if self.away => {}
            News::Connected { .. } if self.requeues => self.requeue(out),
            News::Connected { .. } if self.place.is_entering() => {}
            News::Connected { .. } => self.place.list(out),
            News::Suspended => self.returns(Deposed::Expired, out),
            News::Lost => {
                self.returns(Deposed::Lost, out);
                self.requeues = true;
            }
            News::Gone => {
                self.returns(Deposed::Lost, out);
                self.requeue(out);
            }
            News::Behind | News::Confirmed(_) | News::Unconfirmed => {}
            News::InFront(stat) => self.in_front(now, stat, out),
        }
    }

    /// The resource refuses this leadership: requests the mutex anew, after a back-off if refusals repeat.
    fn fenced(&mut self, now: u64, out: &mut Vec<Output>) {
        // Only its duration shows whether a leadership was sound.
        if now.saturating_sub(self.elected_at) >= self.setup.timings.renew_interval {
            self.back_off.confirmed();
        }
        self.returns(Deposed::Fenced, out);
        match self.back_off.refused() {
            0 => self.requeue(out),
            wait => {
                self.away = true;
                out.push(Output::SetTimer { id: AGAIN, at: now + wait });
            }
        }
    }
}

impl Elector for Selector {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let news = match input {
            Input::Start => {
                self.campaign(out);
                self.place.open(out);
                None
            }
            Input::Timer(AGAIN) if std::mem::take(&mut self.away) => {
                self.requeue(out);
                None
            }
            Input::Timer(id) => self.place.timer(now, id, out),
            Input::Service(input) => self.place.input(now, input, out),
            Input::Resign if self.leads => {
                out.push(Output::Point(Point::BeforeRelease));
                self.returns(Deposed::Resigned, out);
                self.requeue(out);
                None
            }
            Input::Fenced if self.leads => {
                self.fenced(now.mono, out);
                None
            }
            _ => None,
        };
        if let Some(news) = news {
            self.news(now.mono, news, out);
        }
    }
}
