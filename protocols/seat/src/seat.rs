pub mod inside;
mod serving;

use crate::{
    backend::Backend,
    counts::Counts,
    deference::Deference,
    driver::{self, Course, Report, nanoseconds},
    ended::Ended,
    lead::Lead,
    resigner::Resigner,
    state::{Phase, State, Successor},
    term::{Campaign, Leads, Own, Term},
    tracker::Tracker,
    watch::{Status, Watch},
};
use protocols::{
    election::{Setup, Timings, back_off::BackOff},
    types::NodeId,
};
use protocols_clients::env::Env;
use std::{
    convert::Infallible,
    fmt,
    future::pending,
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};
use tokio::sync::{Mutex as Turns, OwnedMutexGuard, mpsc, watch};

/// A place that one process of a fleet holds at a time.
pub struct Seat<B: Backend> {
    backend: B,
    setup: Setup,
    names: Arc<Vec<String>>,
    margin: Duration,
    ttl: Duration,
    drain: Duration,
    stop_within: Duration,
    hold_down: Duration,
    deference: Deference,
    /// One campaign at a time.
    turn: Arc<Turns<()>>,
    away: Mutex<Away>,
    resigning: watch::Sender<Option<Successor>>,
    report: Arc<watch::Sender<Report>>,
    leads: watch::Sender<bool>,
    counts: Arc<Counts>,
}

/// How long this member keeps away.
#[derive(Default)]
struct Away {
    /// Nanoseconds of the monotonic clock.
    until: u64,
    back_off: BackOff,
    /// What the last leadership has spawned.
    former: Option<Tracker>,
    /// Whether it has left the seat to those that are preferred.
    has_deferred: bool,
}

/// What a seat is made of.
pub(crate) struct Parts<B> {
    pub(crate) backend: B,
    pub(crate) seat: String,
    pub(crate) member: String,
    pub(crate) members: Vec<String>,
    pub(crate) timings: Timings,
    pub(crate) margin: Duration,
    pub(crate) drain: Duration,
    pub(crate) stop_within: Duration,
    pub(crate) hold_down: Duration,
    pub(crate) deference: Deference,
}

impl<B: Backend> Seat<B> {
    pub(crate) fn made(parts: Parts<B>) -> Self {
        let Parts { backend, seat, member, members, timings, margin, drain, stop_within, hold_down, deference } = parts;
        let ttl = Duration::from_nanos(timings.lease_ttl);
        let names = [member.clone()].into_iter().chain(members.into_iter().filter(|name| *name != member));
        let names: Vec<String> = names.collect();
        let setup = Setup {
            node: NodeId(0),
            group: 0,
            seat: Some(seat),
            names: names.clone(),
            timings,
            nonce: 0,
            stored: None,
            service: (0..backend.servers().map_or(0, |servers| servers.count)).map(NodeId).collect(),
            bugs: Default::default(),
        };
        Seat {
            backend,
            setup,
            names: Arc::new(names),
            margin,
            ttl,
            drain,
            stop_within,
            hold_down,
            deference,
            turn: Arc::new(Turns::new(())),
            away: Mutex::default(),
            resigning: watch::Sender::new(None),
            report: Arc::new(watch::Sender::new(Report::default())),
            leads: watch::Sender::new(false),
            counts: Arc::default(),
        }
    }

    /// Campaigns until this member leads. One campaign or leadership of a seat follows the other: this waits until the
    /// [`Term`] before has let go, and until what that spawned has stopped, also after an
    /// [unclean stop](Ended::UncleanStop).
    ///
    /// May be dropped at any time; while the runtime lives, it withdraws.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn campaign(&self) -> Term<B::Fencing> {
        self.campaign_as(&Own::default()).await
    }

    async fn campaign_as(&self, own: &Own) -> Term<B::Fencing> {
        loop {
            own.set(None);
            let turn = Arc::new(self.turn.clone().lock_owned().await);
            self.former_has_stopped().await;
            let until = self.away().until;
            self.backend.env().sleep_until(until).await;
            let campaign = self.start(turn);
            own.set(Some(campaign.state.clone()));
            if let Some(token) = campaign.won().await {
                let leads = Leads::new(&self.leads, &self.resigning);
                let (state, holder) = (campaign.state.clone(), self.holder(&campaign));
                let span = tracing::info_span!("leadership", seat = self.name(), member = self.member(), token);
                let lead = Lead { state, token, ttl: self.ttl, holder, span, fencing: PhantomData };
                return Term::new(lead, campaign, leads);
            }
            // It has won, and leaves the seat to others first.
            if campaign.finish(true).await == Ended::Resigned {
                self.away().has_deferred = true;
                self.keep_away(self.deference.own);
            }
        }
    }

    pub fn name(&self) -> &str {
        self.setup.seat.as_deref().unwrap_or_default()
    }

    /// This member's name.
    pub fn member(&self) -> &str {
        self.setup.names.first().map_or("", String::as_str)
    }

    /// Asks the leader to finish, from anywhere.
    pub fn resigner(&self) -> Resigner {
        Resigner { names: self.names.clone(), resigning: self.resigning.clone(), leads: self.leads.clone() }
    }

    /// What is known of the seat, for people and dashboards.
    pub fn status(&self) -> Status {
        self.watch().status()
    }

    /// Follows [`Seat::status`].
    pub fn watch(&self) -> Watch {
        Watch {
            seat: self.name().into(),
            member: self.member().into(),
            env: self.backend.env().clone(),
            counts: self.counts.clone(),
            report: self.report.subscribe(),
            leads: self.leads.subscribe(),
        }
    }

    /// Runs `work` while this member does not lead, with the leader's name if that is one of the
    /// [members](crate::Settings::members): a warm standby, beside [`Seat::serve_until`]. `work` is dropped, and
    /// begun anew, when another one leads, and dropped when this one does. It must do nothing that only a leader may.
    ///
    /// Never returns: `select!` between both.
    pub async fn follow(&self, mut work: impl AsyncFnMut(Option<&str>)) -> Infallible {
        let mut watch = self.watch();
        loop {
            let Status { leads, leader, .. } = watch.status();
            let differs = |status: &Status| status.leads != leads || status.leader != leader;
            let changed = async { while !differs(&watch.changed().await) {} };
            let works = async {
                if !leads {
                    work(leader.as_deref()).await;
                }
                pending::<()>().await;
            };
            tokio::select! {
                () = works => {}
                () = changed => {}
            }
        }
    }

    /// This member's name, and those of the others.
    pub(crate) fn names(&self) -> Arc<Vec<String>> {
        self.names.clone()
    }

    /// A name that no other leadership has.
    fn holder(&self, campaign: &Campaign) -> Arc<str> {
        let member = self.member();
        format!("{member}/{:016x}", campaign.state.nonce).into()
    }

    /// After an unclean stop a part of the former work may still run, and must not do so beside the next leadership's.
    async fn former_has_stopped(&self) {
        let Some(former) = self.away().former.clone() else { return };
        if !former.is_idle() {
            let seat = self.name();
            tracing::warn!(
                seat,
                "waits to campaign until the work of its last leadership has stopped: the process should end"
            );
        }
        former.idle().await;
    }

    fn start(&self, turn: Arc<OwnedMutexGuard<()>>) -> Campaign {
        let env = self.backend.env();
        let nonce = env.random();
        let place = self.backend.place(self.name());
        let elector = (self.backend.protocol().elector)(Setup { nonce, seat: place, ..self.setup.clone() });
        // What failed for an earlier campaign may work for this one.
        self.report.send_modify(|report| report.failing = None);
        let (orders, to_obey) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            env: env.clone(),
            nonce,
            phase: watch::Sender::new(Phase::Campaigning),
            deadline: AtomicU64::new(0),
            tracker: Tracker::new(),
            orders,
            resigning: self.resigning.subscribe(),
        });
        self.away().former = Some(state.tracker.clone());
        let course = Course {
            elector,
            margin: nanoseconds(self.margin),
            lease: self.setup.timings.lease_ttl,
            defers_from: self.defers_from(),
            counted: self.backend.counted(),
            session: self.backend.session(),
            stop_within: nanoseconds(self.stop_within),
            release_within: 2 * self.setup.timings.request_timeout,
            names: self.names.clone(),
            transfers: self.backend.protocol().transfers,
            report: self.report.clone(),
            counts: self.counts.clone(),
            observer: self.backend.observer(),
        };
        let span = tracing::info_span!("campaign", seat = self.name(), member = self.member());
        span.in_scope(|| driver::start::start(&self.backend, course, state.clone(), to_obey, turn.clone()));
        Campaign { state, _turn: turn }
    }

    /// From when a campaign that begins now gives back what it wins, nanoseconds of the monotonic clock.
    fn defers_from(&self) -> u64 {
        match (self.deference.own, self.away().has_deferred) {
            (0, _) => u64::MAX,
            (_, false) => 0,
            (_, true) => {
                let steady = Deference::STEADY.saturating_mul(self.setup.timings.lease_ttl);
                self.backend.env().now().mono.saturating_add(steady)
            }
        }
    }

    fn keep_away(&self, length: u64) {
        self.away().until = self.backend.env().now().mono.saturating_add(length);
    }

    fn away(&self) -> std::sync::MutexGuard<'_, Away> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Backend> fmt::Debug for Seat<B> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Seat").field("name", &self.name()).field("status", &self.status()).finish()
    }
}
