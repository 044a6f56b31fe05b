use crate::{
    backend::Backend,
    driver::{self, Course, Report, nanoseconds},
    ended::Ended,
    lead::Lead,
    settings::Settings,
    state::{Phase, State},
    term::{Campaign, Term},
    tracker::Tracker,
};
use protocols::{
    election::{Protocol, Setup, Timings, back_off::BackOff},
    types::NodeId,
};
use protocols_clients::env::Env;
use std::{
    fmt,
    future::{Future, poll_fn},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    task::Poll,
    time::Duration,
};
use tokio::sync::{Mutex as Turns, mpsc, watch};

/// A place that one process of a fleet holds at a time.
pub struct Seat<B: Backend> {
    backend: B,
    setup: Setup,
    margin: Duration,
    ttl: Duration,
    drain: Duration,
    stop_within: Duration,
    hold_down: Duration,
    /// One campaign at a time.
    turn: Arc<Turns<()>>,
    away: Mutex<Away>,
    resigning: watch::Sender<bool>,
    report: Arc<watch::Sender<Report>>,
    leads: watch::Sender<bool>,
}

/// How long this member keeps away.
#[derive(Default)]
struct Away {
    /// Nanoseconds of the monotonic clock.
    until: u64,
    back_off: BackOff,
}

/// What is known of a seat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// Whether this member leads. For people and dashboards: it may be over when it is read.
    pub leads: bool,
    /// The leader, if it is another one of the [members](Settings::members).
    pub leader: Option<String>,
    /// Why the service fails, if its last answers were failures.
    pub failing: Option<String>,
}

/// Asks a seat's leader to finish.
#[derive(Clone, Debug)]
pub struct Resigner(watch::Sender<bool>);

impl Resigner {
    /// Asks the leader to finish: [`Lead::resigning`] resolves, and once the work has ended, or after
    /// [`Settings::drain`], the lease is released. Has no effect on a member that does not lead.
    pub fn resign(&self) {
        self.0.send_replace(true);
    }
}

impl<B: Backend> Seat<B> {
    /// The settings of a seat called `seat`, on this service.
    #[expect(clippy::new_ret_no_self, reason = "the settings end in the seat")]
    pub fn new(backend: B, seat: &str) -> Settings<B> {
        Settings::new(backend, seat)
    }

    pub(crate) fn made(settings: Settings<B>, member: String, margin: Duration) -> Self {
        let Settings { backend, seat, ttl, drain, stop_within, hold_down, members, .. } = settings;
        let timings = timings(backend.protocol(), ttl);
        let ttl = Duration::from_nanos(timings.lease_ttl);
        let names = [member.clone()].into_iter().chain(members.into_iter().filter(|name| *name != member)).collect();
        let setup = Setup {
            node: NodeId(0),
            group: 0,
            seat: Some(seat),
            names,
            timings,
            nonce: 0,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        Seat {
            backend,
            setup,
            margin,
            ttl,
            drain,
            stop_within,
            hold_down: hold_down.unwrap_or(ttl),
            turn: Arc::new(Turns::new(())),
            away: Mutex::default(),
            resigning: watch::Sender::new(false),
            report: Arc::new(watch::Sender::new(Report::default())),
            leads: watch::Sender::new(false),
        }
    }

    /// Campaigns, runs `work` while this member leads, stops what it spawned, and releases the lease. Returns why the
    /// leadership ended: also if `work` has returned `Ok` meanwhile. After a resignation, a next campaign waits until
    /// others could lead.
    ///
    /// When leadership is over, `work` is dropped where it waits. When it is asked to finish
    /// ([`Seat::resigner`]), it is dropped after [`Settings::drain`].
    ///
    /// May be dropped at any time: a campaign leaves nothing behind, and a leader's lease is released once what it
    /// spawned has stopped.
    ///
    /// # Errors
    /// The work's own. The lease is released, and this member stays away for [`Settings::hold_down`].
    ///
    /// # Panics
    /// If `work` panics, or anything that it spawned: after the rest has stopped. The lease is not released then.
    pub async fn serve<E>(&self, work: impl AsyncFnOnce(&Lead<B::Fencing>) -> Result<(), E>) -> Result<Ended, E> {
        // Kept until this member's absence is noted: another campaign of this seat takes its turn once it is dropped.
        let mut term = self.campaign().await;
        let lead = term.lead().clone();
        let outcome = self.attend(&lead, work(&lead)).await;
        match outcome {
            Some(Err(panic)) => {
                term.end(false).await;
                resume_unwind(panic)
            }
            Some(Ok(Err(error))) => {
                term.end(true).await;
                self.keep_away(nanoseconds(self.hold_down));
                self.pass_on(&lead);
                Err(error)
            }
            Some(Ok(Ok(()))) | None => {
                let why = term.end(true).await;
                self.pass_on(&lead);
                match why {
                    Ended::Refused => {
                        let wait = self.away().back_off.refused();
                        self.keep_away(wait);
                    }
                    // Others go first: a waiting member may ask no sooner than this.
                    Ended::Resigned => self.keep_away(self.setup.timings.retry_period()),
                    Ended::Expired | Ended::Lost | Ended::UncleanStop => {}
                }
                if why != Ended::Refused {
                    self.away().back_off.confirmed();
                }
                Ok(why)
            }
        }
    }

    /// Serves again and again until `shutdown` resolves; then asks a leader to finish, and returns. Errors of the work
    /// are logged.
    ///
    /// # Panics
    /// As for [`Seat::serve`].
    pub async fn serve_until<E: fmt::Display>(
        &self,
        shutdown: impl Future<Output = ()>,
        mut work: impl AsyncFnMut(&Lead<B::Fencing>) -> Result<(), E>,
    ) {
        let mut shutdown = pin!(shutdown);
        let mut leads = self.leads.subscribe();
        loop {
            let mut serving = pin!(self.serve(&mut work));
            let mut asked = false;
            loop {
                tokio::select! {
                    biased;
                    ended = &mut serving => {
                        match ended {
                            Ok(why) => tracing::info!(%why, seat = self.name(), "leadership has ended"),
                            Err(error) => tracing::warn!(%error, seat = self.name(), "the work has failed"),
                        }
                        if asked {
                            return;
                        }
                        break;
                    }
                    () = &mut shutdown, if !asked => {
                        asked = true;
                        self.resigning.send_replace(true);
                        // Whoever does not lead has nothing to finish.
                        if !*leads.borrow_and_update() {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// Campaigns until this member leads. May be dropped at any time: nothing is left behind.
    pub async fn campaign(&self) -> Term<B::Fencing> {
        let turn = self.turn.clone().lock_owned().await;
        loop {
            let until = self.away().until;
            self.backend.env().sleep_until(until).await;
            let campaign = self.start();
            if let Some(token) = campaign.won().await {
                // Whoever asked this member to resign before that meant nobody, or an earlier leadership.
                self.resigning.send_replace(false);
                let lead = Lead { state: campaign.0.clone(), token, ttl: self.ttl, fencing: PhantomData };
                return Term::new(lead, campaign, turn);
            }
            campaign.finish(true).await;
        }
    }

    pub fn name(&self) -> &str {
        self.setup.seat.as_deref().unwrap_or_default()
    }

    /// Asks the leader to finish, from anywhere.
    pub fn resigner(&self) -> Resigner {
        Resigner(self.resigning.clone())
    }

    /// What is known of the seat, for people and dashboards.
    pub fn status(&self) -> Status {
        let Report { leader, failing } = self.report.borrow().clone();
        Status { leads: *self.leads.borrow(), leader, failing }
    }

    fn start(&self) -> Campaign {
        let env = self.backend.env();
        let elector = (self.backend.protocol().elector)(Setup { nonce: env.random(), ..self.setup.clone() });
        let (orders, to_obey) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            env: env.clone(),
            phase: watch::Sender::new(Phase::Campaigning),
            deadline: AtomicU64::new(0),
            tracker: Tracker::new(),
            orders,
            resigning: self.resigning.subscribe(),
        });
        let course = Course {
            elector,
            margin: nanoseconds(self.margin),
            stop_within: nanoseconds(self.stop_within),
            release_within: 2 * self.setup.timings.request_timeout,
            names: Arc::new(self.setup.names.clone()),
            report: self.report.clone(),
        };
        driver::start(&self.backend, course, state.clone(), to_obey);
        Campaign(state)
    }

    /// Runs `work` until it ends, panics, or must not go on, and drops it.
    async fn attend<T>(
        &self,
        lead: &Lead<B::Fencing>,
        work: impl Future<Output = T>,
    ) -> Option<Result<T, Box<dyn std::any::Any + Send>>> {
        let _leads = Leads::new(&self.leads);
        let drained = async {
            lead.resigning().await;
            self.backend.env().sleep(nanoseconds(self.drain)).await;
        };
        let (mut work, mut over, mut drained) = (pin!(work), pin!(lead.ended()), pin!(drained));
        poll_fn(|context| {
            // A belief that is over comes first: the work must not begin another step.
            if lead.check().is_err()
                || over.as_mut().poll(context).is_ready()
                || drained.as_mut().poll(context).is_ready()
            {
                return Poll::Ready(None);
            }
            match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(done)) => Poll::Ready(Some(Ok(done))),
                Err(panic) => Poll::Ready(Some(Err(panic))),
            }
        })
        .await
    }

    /// Passes a panic of what was spawned on, also if the work has made an error of it.
    fn pass_on(&self, lead: &Lead<B::Fencing>) {
        assert!(!lead.state.tracker.has_panicked(), "a task of the leader of `{}` panicked", self.name());
    }

    fn keep_away(&self, length: u64) {
        self.away().until = self.backend.env().now().mono.saturating_add(length);
    }

    fn away(&self) -> std::sync::MutexGuard<'_, Away> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that this member leads, until dropped.
struct Leads<'a>(&'a watch::Sender<bool>);

impl<'a> Leads<'a> {
    fn new(leads: &'a watch::Sender<bool>) -> Self {
        leads.send_replace(true);
        Leads(leads)
    }
}

impl Drop for Leads<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// The protocol's usual timings for a lease of this length.
fn timings(protocol: &Protocol, ttl: Duration) -> Timings {
    let lease_ttl = (protocol.granted_ttl)(nanoseconds(ttl));
    Timings {
        lease_ttl,
        // A renewal that fails is made once more before the belief ends.
        renew_interval: (protocol.renew_interval)(lease_ttl).min(lease_ttl / 3),
        request_timeout: (lease_ttl / 3).min(protocols::types::SECOND),
        own: protocol.timers.defaults(lease_ttl),
        ..protocol.default_timings()
    }
}

impl<B: Backend> fmt::Debug for Seat<B> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Seat").field("name", &self.name()).field("status", &self.status()).finish()
    }
}
