//! What a leader's work is given.

use crate::{
    ended::Ended,
    state::{Order, Phase, State},
};
use protocols_clients::env::Env;
use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

mod sealed {
    pub trait Sealed {}
}

/// Whether a service's leaderships have tokens: [`Fenced`] or [`Unfenced`].
pub trait Fencing: sealed::Sealed + Send + Sync + 'static {}

/// Each leadership has a token above those of all leaderships before it.
#[derive(Debug)]
pub enum Fenced {}

/// Leaderships have no tokens, so no resource can tell an old leader from the new one. Good for work that may be done
/// twice, or that writes nothing: to warm a cache, to send what the receiver takes once.
///
/// What would need a token does not compile:
///
/// ```compile_fail,E0599
/// # use fencepost_seat::{Lead, Unfenced};
/// fn token(lead: &Lead<Unfenced>) -> u64 {
///     lead.token()
/// }
/// ```
///
/// ```compile_fail,E0308
/// # #[cfg(feature = "postgres")]
/// # use fencepost_seat::{FencedSql, Lead, Unfenced};
/// async fn charge(lead: &Lead<Unfenced>, database: &mut tokio_postgres::Client) {
///     let charge = "UPDATE invoices SET charged = true WHERE id = 7";
///     let _ = database.fenced(lead, "charges", async |charges| charges.execute(charge, &[]).await).await;
/// }
/// ```
///
/// With tokens, the same does:
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # mod fenced {
/// # use fencepost_seat::{FencedSql, Lead};
/// async fn charge(lead: &Lead, database: &mut tokio_postgres::Client) -> u64 {
///     let charge = "UPDATE invoices SET charged = true WHERE id = 7";
///     let _ = database.fenced(lead, "charges", async |charges| charges.execute(charge, &[]).await).await;
///     lead.token()
/// }
/// # }
/// ```
#[derive(Debug)]
pub enum Unfenced {}

impl sealed::Sealed for Fenced {}
impl sealed::Sealed for Unfenced {}
impl Fencing for Fenced {}
impl Fencing for Unfenced {}

/// One leadership, as its work sees it. Clones are the same leadership, and may outlive it.
pub struct Lead<F: Fencing = Fenced> {
    pub(crate) state: Arc<State>,
    pub(crate) token: u64,
    pub(crate) ttl: Duration,
    /// Distinguishes leaders even if the service has given one token twice.
    pub(crate) holder: Arc<str>,
    /// Of what the leader does.
    pub(crate) span: Span,
    pub(crate) fencing: PhantomData<F>,
}

impl<F: Fencing> Clone for Lead<F> {
    fn clone(&self) -> Self {
        let (state, holder, span) = (self.state.clone(), self.holder.clone(), self.span.clone());
        Lead { state, token: self.token, ttl: self.ttl, holder, span, fencing: PhantomData }
    }
}

impl Lead<Fenced> {
    /// The fencing token: higher than those of all leaders of this seat before. A resource that remembers the highest
    /// one that has written, and refuses lower ones, accepts nothing from a former leader after a newer one's first
    /// write. Tokens of two seats, or of two services, are not comparable.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Ends the leadership because a resource has refused its token. The fence helpers call it.
    pub fn refused(&self) {
        self.state.order(Order::Refused);
    }
}

impl<F: Fencing> Lead<F> {
    /// Spawns a part of the work. When leadership ends, it is dropped as soon as it would go on, and the lease is not
    /// released before that. The handle yields `None` if it was dropped, or if leadership was over already.
    ///
    /// If it panics, leadership ends, and so does [`Seat::serve`](crate::Seat::serve), by a panic.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<Option<T>> {
        let (state, mark) = (self.state.clone(), self.state.tracker.enter());
        let work = async move {
            let _told = TellsOfPanics(state.clone());
            let _mark = mark;
            state.while_leading(work).await
        };
        tokio::spawn(work.instrument(self.span.clone()))
    }

    /// Runs `work`, which cannot be cancelled, on a thread where it may block, unless leadership is over by then. The
    /// lease is renewed until it has returned; if that takes longer than
    /// [`Settings::stop_within`](crate::Settings::stop_within), the stop is unclean.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let (state, mark) = (self.state.clone(), self.state.tracker.enter());
        let span = self.span.clone();
        tokio::task::spawn_blocking(move || {
            let _entered = span.enter();
            let _told = TellsOfPanics(state.clone());
            let _mark = mark;
            state.over().is_none().then(work)
        })
    }

    /// Whether the leadership still holds by this process's clock. It may end right afterwards: only a resource that
    /// checks the token makes a write safe.
    ///
    /// # Errors
    /// Why it has ended.
    pub fn check(&self) -> Result<(), Ended> {
        self.state.over().map_or(Ok(()), Err)
    }

    /// How long the belief lasts from now if it is not renewed; zero once it is over. A timeout for a step of the work.
    pub fn remaining(&self) -> Duration {
        if self.check().is_err() {
            return Duration::ZERO;
        }
        let deadline = self.state.deadline.load(Ordering::Acquire);
        Duration::from_nanos(deadline.saturating_sub(self.state.env.now().mono))
    }

    /// Waits until the leadership is over. It is ready as soon as the clock says so, whoever is polled first: in a `select!`
    /// let it be the first branch, with `biased`, and no later branch begins another step after a pause.
    pub async fn ended(&self) -> Ended {
        self.state.until_over().await
    }

    /// Waits until the leader is asked to finish. It still leads then; [`Seat::serve`](crate::Seat::serve) gives it
    /// [`Settings::drain`](crate::Settings::drain).
    pub async fn resigning(&self) {
        let mut resigning = self.state.resigning.clone();
        if resigning.wait_for(Option::is_some).await.is_err() {
            std::future::pending().await
        }
    }
}

impl<F: Fencing> fmt::Debug for Lead<F> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let phase: Phase = *self.state.phase.borrow();
        f.debug_struct("Lead").field("token", &self.token).field("phase", &phase).finish()
    }
}

/// Ends the leadership if it is dropped by a panic.
struct TellsOfPanics(Arc<State>);

impl Drop for TellsOfPanics {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.order(Order::Panicked);
        }
    }
}
