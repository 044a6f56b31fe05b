use crate::{
    backend::Backend,
    counts::Counts,
    deference::Deference,
    driver::{self, Course, Report, nanoseconds},
    ended::Ended,
    lead::Lead,
    resigner::Resigner,
    state::{Phase, State, Successor},
    term::{Campaign, Leads, Term},
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
    future::{Future, pending, poll_fn},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    task::Poll,
    time::Duration,
};
use tokio::sync::{Mutex as Turns, OwnedMutexGuard, mpsc, watch};
use tracing::Instrument;

type Panic = Box<dyn std::any::Any + Send>;

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

    /// Campaigns, runs `work` while this member leads, stops what it spawned, and releases the lease. Returns why the
    /// leadership ended, also if `work` has returned `Ok`. A member that has resigned waits for one retry period before
    /// it campaigns again, so that others go first.
    ///
    /// When leadership is over, `work` is dropped where it waits. When it is asked to finish
    /// ([`Seat::resigner`]), it is dropped after [`Settings::drain`](crate::Settings::drain).
    ///
    /// May be dropped at any time. While the runtime lives, a campaign that is dropped withdraws, and a leader's lease
    /// is released once what it spawned has stopped.
    ///
    /// # Errors
    /// The work's own, if it failed while it led and has stopped in time; otherwise an error is a consequence, and the
    /// end of the leadership is returned. The lease is released, and this member stays away for
    /// [`Settings::hold_down`](crate::Settings::hold_down).
    ///
    /// # Panics
    /// If `work` panics, or anything that it spawned: after the rest has stopped. The lease is not released then.
    pub async fn serve<E>(&self, work: impl AsyncFnOnce(&Lead<B::Fencing>) -> Result<(), E>) -> Result<Ended, E> {
        // Kept until this member's absence is noted: another campaign of this seat takes its turn once it is dropped.
        let term = self.campaign().await;
        let lead = term.lead().clone();
        // Called within the block, so that a panic of the call is one of the work.
        let outcome = self.attend(&lead, async { work(&lead).await }.instrument(lead.span.clone())).await;
        if let Some(Err(panic)) = outcome {
            term.end(false).await;
            resume_unwind(panic)
        }
        let why = term.end(true).await;
        assert!(!lead.state.tracker.has_panicked(), "what the leader of `{}` has spawned panicked", self.name());
        match (why, outcome) {
            (Ended::Resigned, Some(Ok(Err(error)))) => {
                self.keep_away(nanoseconds(self.hold_down));
                return Err(error);
            }
            (Ended::Resigned, _) if self.resigning.borrow().is_some() => {
                self.keep_away(self.deference.longest.max(self.setup.timings.retry_period()));
            }
            (Ended::Resigned, _) => self.keep_away(self.setup.timings.retry_period()),
            (Ended::Refused, _) => {
                let wait = self.away().back_off.refused();
                self.keep_away(wait);
            }
            (Ended::Expired | Ended::Lost | Ended::UncleanStop, _) => {}
        }
        if why != Ended::Refused {
            self.away().back_off.confirmed();
        }
        Ok(why)
    }

    /// Serves again and again until `shutdown` resolves; then asks a leader to finish, and returns once it has let go.
    /// Errors of the work are logged.
    ///
    /// Returns [`Ended::UncleanStop`] at once after an unclean stop: the process should end, since a part of its former
    /// work may still be running.
    ///
    /// # Panics
    /// As for [`Seat::serve`].
    pub async fn serve_until<E: fmt::Display>(
        &self,
        shutdown: impl Future<Output = ()>,
        mut work: impl AsyncFnMut(&Lead<B::Fencing>) -> Result<(), E>,
    ) -> Ended {
        let mut shutdown = pin!(shutdown);
        let mut asked = false;
        loop {
            let mut serving = pin!(self.serve(&mut work));
            let ended = loop {
                tokio::select! {
                    biased;
                    ended = &mut serving => break Some(ended),
                    () = &mut shutdown, if !asked => {
                        asked = true;
                        self.resigner().resign();
                        if !*self.leads.borrow() {
                            break None;
                        }
                    }
                }
            };
            let why = match ended {
                Some(Ok(why)) => why,
                Some(Err(error)) => {
                    tracing::warn!(%error, seat = self.name(), "the work has failed");
                    Ended::Resigned
                }
                None => break,
            };
            tracing::info!(%why, seat = self.name(), "leadership has ended");
            if asked || why == Ended::UncleanStop {
                return why;
            }
        }
        // The campaign was dropped just now; it withdraws.
        drop(self.turn.lock().await);
        Ended::Resigned
    }

    /// Campaigns until this member leads. One campaign or leadership of a seat follows the other: this waits until the
    /// [`Term`] before has let go.
    ///
    /// May be dropped at any time; while the runtime lives, it withdraws.
    pub async fn campaign(&self) -> Term<B::Fencing> {
        loop {
            let turn = Arc::new(self.turn.clone().lock_owned().await);
            let until = self.away().until;
            self.backend.env().sleep_until(until).await;
            let campaign = self.start(turn);
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

    fn start(&self, turn: Arc<OwnedMutexGuard<()>>) -> Campaign {
        let env = self.backend.env();
        let nonce = env.random();
        let place = Some(self.backend.place(self.name()));
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
        };
        let span = tracing::info_span!("campaign", seat = self.name(), member = self.member());
        span.in_scope(|| driver::start::start(&self.backend, course, state.clone(), to_obey, turn.clone()));
        Campaign { state, _turn: turn }
    }

    /// Runs `work` until it ends, panics, or must not go on, and drops it.
    async fn attend<T>(&self, lead: &Lead<B::Fencing>, work: impl Future<Output = T>) -> Option<Result<T, Panic>> {
        let drained = async {
            lead.resigning().await;
            self.backend.env().sleep(nanoseconds(self.drain)).await;
        };
        let (mut work, mut drained) = (pin!(Some(work)), pin!(drained));
        let attended = poll_fn(|context| {
            if drained.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            let Some(work) = work.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            match catch_unwind(AssertUnwindSafe(|| work.poll(context))) {
                Ok(polled) => polled.map(|done| Some(Ok(done))),
                Err(panic) => Poll::Ready(Some(Err(panic))),
            }
        });
        let outcome = lead.state.while_leading(attended).await.flatten();
        match catch_unwind(AssertUnwindSafe(|| work.set(None))) {
            Ok(()) => outcome,
            Err(panic) => Some(Err(panic)),
        }
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
