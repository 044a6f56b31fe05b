use crate::{
    backend::{Backend, Service},
    deference::Deference,
    driver::nanoseconds,
    error::SettingsError,
    seat::{Parts, Seat},
};
use protocols::election::Timings;
use std::time::Duration;

/// A seat's settings; [`Settings::member`] makes the seat.
#[derive(Clone, Debug)]
pub struct Settings<B> {
    pub(crate) backend: B,
    pub(crate) seat: String,
    pub(crate) ttl: Duration,
    pub(crate) margin: Option<Duration>,
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) drain: Duration,
    pub(crate) stop_within: Duration,
    pub(crate) hold_down: Option<Duration>,
    pub(crate) members: Vec<String>,
    pub(crate) preferred: Vec<String>,
}

/// The shortest lease: below, requests and timers of a healthy machine take too much of it.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest one. What is longer is a mistake, or a lock.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The shortest timeout of a request: below, a healthy service does not answer in time.
const SHORTEST_REQUEST: Duration = Duration::from_millis(10);

impl<B: Backend> Seat<B> {
    /// The settings of a seat called `seat`, on this service.
    #[expect(clippy::new_ret_no_self, reason = "the settings end in the seat")]
    pub fn new(backend: B, seat: &str) -> Settings<B> {
        Settings::new(backend, seat)
    }
}

impl<B: Backend> Settings<B> {
    fn new(backend: B, seat: &str) -> Self {
        Settings {
            backend,
            seat: seat.to_owned(),
            ttl: Duration::from_secs(15),
            margin: None,
            request_timeout: None,
            drain: Duration::from_secs(10),
            stop_within: Duration::from_secs(5),
            hold_down: None,
            members: Vec::new(),
            preferred: Vec::new(),
        }
    }

    /// How long a leader that has vanished keeps others from leading; 15 s by default. A service may round it: etcd
    /// grants whole seconds, rounded up and at least two, and Kubernetes whole seconds, rounded down. Consul grants 10
    /// to 60 s, and keeps others from leading for up to three times as long; ZooKeeper grants 4 to 40 s,
    /// unless it is configured otherwise. A lock of PostgreSQL lasts for whole seconds, rounded up and at least two.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long before the end of the lease a belief ends; a tenth of [`Settings::ttl`] by default. It covers the difference
    /// between the rates of this machine's clock and the service's, and the time that the work needs to notice.
    #[must_use]
    pub fn margin(mut self, margin: Duration) -> Self {
        self.margin = Some(margin);
        self
    }

    /// How long a request to the service may take, after which it counts as failed; by default a third of
    /// [`Settings::ttl`], and one second at most. A service that answers later than that is never led on, so give it more:
    /// up to the time that a belief lasts, less the interval of renewals. A request may take several exchanges, as when it
    /// has to connect first, or Redis does not know its script yet. One that is lost holds up the next for as long.
    ///
    /// On Kubernetes it is client-go's, half of the renew deadline, and on ZooKeeper and with Raft it follows from the
    /// lease: there it cannot be set.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = Some(timeout);
        self
    }

    /// How long [`Seat::serve`] lets the work go on after it was asked to finish, 10 s by default.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// How long spawned work may take to stop once leadership is over, 5 s by default. After that the stop is
    /// [unclean](crate::Ended::UncleanStop).
    #[must_use]
    pub fn stop_within(mut self, limit: Duration) -> Self {
        self.stop_within = limit;
        self
    }

    /// How long this member stays away after its work has failed, so that another one can try; one lease by default.
    #[must_use]
    pub fn hold_down(mut self, length: Duration) -> Self {
        self.hold_down = Some(length);
        self
    }

    /// The names of the members, for [`Status::leader`](crate::Status::leader). Others can lead too; they are not told
    /// by name.
    #[must_use]
    pub fn members<S: Into<String>>(mut self, members: impl IntoIterator<Item = S>) -> Self {
        self.members = members.into_iter().map(Into::into).collect();
        self
    }

    /// The members that are to lead if they can, the first one first; none by default. All members need the same.
    ///
    /// A member that wins a vacant seat although others are preferred gives it back at once, before its work begins, and
    /// keeps away for one [`Settings::ttl`] for each place that it is behind the first; a member that is not named is
    /// behind all that are. Whoever stands leads meanwhile. If nobody has, it leads when it wins again. It does so
    /// once: again only if it has stood for five leases since without winning.
    ///
    /// So a member that is not the first leads later by that time than it would otherwise, and by two hand-overs, also after
    /// a shutdown. It is not asked to let go when one that is preferred comes back: that one leads when this one
    /// ends, or once it is asked to [resign](crate::Resigner::resign). A member whose work has failed, or that was asked
    /// to resign, keeps away for long enough that each other one can lead.
    #[must_use]
    pub fn prefer<S: Into<String>>(mut self, members: impl IntoIterator<Item = S>) -> Self {
        self.preferred = members.into_iter().map(Into::into).collect();
        self
    }

    /// The seat, for this member of the fleet. The name is for people and logs: each campaign has an identity of its
    /// own, so two processes of one name do not take each other's lease for theirs.
    ///
    /// # Errors
    /// Settings that cannot work.
    pub fn member(self, member: impl Into<String>) -> Result<Seat<B>, SettingsError> {
        let member = member.into();
        if !is_name(&self.seat) {
            return Err(SettingsError::Seat(self.seat));
        }
        if let Some(rule) = self.backend.refuses(&self.seat) {
            return Err(SettingsError::SeatThere { seat: self.seat, rule });
        }
        if let Some(wrong) = self.members.iter().chain(&self.preferred).chain([&member]).find(|name| !is_name(name)) {
            return Err(SettingsError::Member(wrong.clone()));
        }
        if !(SHORTEST..=LONGEST).contains(&self.ttl) {
            return Err(SettingsError::Ttl(self.ttl));
        }
        let (margin, ttl) = (self.margin.unwrap_or(self.ttl / 10), self.ttl);
        if margin > ttl / 2 {
            return Err(SettingsError::Margin { margin, ttl });
        }
        let mut timings = timings(&self.backend, ttl);
        let unseen = self.backend.counted().map_or(0, |counted| counted.unseen);
        let believed = self.backend.protocol().read_lease.filter(|_| self.backend.counted().is_none());
        let believed = believed.map_or(timings.lease_ttl, |of| of(&timings).0);
        let belief = believed.saturating_sub(unseen).saturating_sub(nanoseconds(margin));
        if 2 * belief < 3 * timings.renew_interval {
            return Err(SettingsError::Short { ttl, margin, belief: Duration::from_nanos(belief) });
        }
        if let Some(timeout) = self.request_timeout {
            let longest = Duration::from_nanos(belief - timings.renew_interval);
            if !self.backend.has_request_timeout() {
                return Err(SettingsError::NoRequestTimeout);
            }
            if !(SHORTEST_REQUEST..=longest).contains(&timeout) {
                return Err(SettingsError::RequestTimeout { timeout, longest, ttl, margin });
            }
            timings.request_timeout = nanoseconds(timeout);
        }
        let deference = Deference::new(&self.preferred, &member, timings.lease_ttl);
        let hold_down = self.hold_down.unwrap_or(Duration::from_nanos(timings.lease_ttl));
        let hold_down = hold_down.max(Duration::from_nanos(deference.longest));
        let Settings { backend, seat, members, drain, stop_within, .. } = self;
        let members = backend.claimed(&seat, &member, &timings)?.unwrap_or(members);
        let backend = backend.lasting(timings.lease_ttl);
        Ok(Seat::made(Parts {
            backend,
            seat,
            member,
            members,
            timings,
            margin,
            drain,
            stop_within,
            hold_down,
            deference,
        }))
    }
}

/// The protocol's usual timings for a lease of this length.
fn timings(service: &impl Service, ttl: Duration) -> Timings {
    let (protocol, lease_ttl) = (service.protocol(), service.granted(nanoseconds(ttl)));
    let shortest = protocol.election_timeout.map_or(lease_ttl, |_| lease_ttl / 2);
    Timings {
        lease_ttl,
        // A renewal that fails is made once more before the belief ends.
        renew_interval: (protocol.renew_interval)(shortest).min(lease_ttl / 3),
        request_timeout: (lease_ttl / 3).min(protocols::types::SECOND),
        own: protocol.timers.defaults(lease_ttl),
        // The longest one is the lease.
        election_timeout: protocol.election_timeout.map(|_| (lease_ttl / 2, lease_ttl)),
        ..protocol.default_timings()
    }
}

/// In paths of HTTP and of ZooKeeper, `.` and `..` are no names.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
        && !matches!(name, "." | "..")
}
