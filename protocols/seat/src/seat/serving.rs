//! Leading while a closure runs.

use super::Seat;
use crate::{backend::Backend, driver::nanoseconds, ended::Ended, lead::Lead, term::Own};
use protocols_clients::env::Env;
use std::{
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    task::Poll,
};
use tracing::Instrument;

type Panic = Box<dyn std::any::Any + Send>;

impl<B: Backend> Seat<B> {
    /// Campaigns, runs `work` while this member leads, stops what it spawned, and releases the lease. Returns why the
    /// leadership ended, also if `work` has returned `Ok`. A member that has resigned waits for one retry period before
    /// it campaigns again, so that others go first.
    ///
    /// When leadership is over, `work` is dropped where it waits. When it is asked to finish
    /// ([`Seat::resigner`]), it is dropped after [`Settings::drain`](crate::Settings::drain).
    ///
    /// **After [`Ended::UncleanStop`] the process should end**, since a part of the former work may still be running. If
    /// it campaigns again instead, this waits until what that leadership spawned has stopped.
    ///
    /// May be dropped at any time. While the runtime lives, a campaign that is dropped withdraws, and a leader's lease
    /// is released once what it spawned has stopped.
    ///
    /// # Errors
    /// The work's own, if it failed while it led and has stopped in time. Otherwise the end of the leadership is
    /// returned, of which the error often is a consequence, and the error is logged. After an error and a stop in time,
    /// the lease is released; this member stays away for [`Settings::hold_down`](crate::Settings::hold_down), also if the
    /// stop was unclean.
    ///
    /// # Panics
    /// If `work` panics, or anything that it spawned: after the rest has stopped. The lease is not released then. And
    /// outside a tokio runtime.
    pub async fn serve<E: fmt::Display>(
        &self,
        work: impl AsyncFnOnce(&Lead<B::Fencing>) -> Result<(), E>,
    ) -> Result<Ended, E> {
        self.serve_as(&Own::default(), work).await
    }

    async fn serve_as<E: fmt::Display>(
        &self,
        own: &Own,
        work: impl AsyncFnOnce(&Lead<B::Fencing>) -> Result<(), E>,
    ) -> Result<Ended, E> {
        // Kept until this member's absence is noted: another campaign of this seat takes its turn once it is dropped.
        let term = self.campaign_as(own).await;
        let lead = term.lead().clone();
        // Called within the block, so that a panic of the call is one of the work.
        let outcome = self.attend(&lead, async { work(&lead).await }.instrument(lead.span.clone())).await;
        if let Some(Err(panic)) = outcome {
            term.end(false).await;
            resume_unwind(panic)
        }
        let why = term.end(true).await;
        assert!(!lead.state.tracker.has_panicked(), "what the leader of `{}` has spawned panicked", self.name());
        let failed = match outcome {
            Some(Ok(Err(error))) => Some(error),
            _ => None,
        };
        self.keep_away_after(why, failed.is_some());
        match failed {
            Some(error) if why == Ended::Resigned => return Err(error),
            Some(error) => {
                tracing::warn!(%error, %why, seat = self.name(), "the work has failed, and its leadership has ended");
            }
            None => {}
        }
        Ok(why)
    }

    /// How long this member does not campaign after a leadership.
    pub(super) fn keep_away_after(&self, why: Ended, has_failed: bool) {
        match why {
            Ended::Resigned | Ended::UncleanStop if has_failed => self.keep_away(nanoseconds(self.hold_down)),
            Ended::Resigned if self.resigning.borrow().is_some() => {
                self.keep_away(self.deference.longest.max(self.setup.timings.retry_period()));
            }
            Ended::Resigned => self.keep_away(self.setup.timings.retry_period()),
            Ended::Refused => {
                let wait = self.away().back_off.refused();
                self.keep_away(wait);
            }
            Ended::Expired | Ended::Lost | Ended::UncleanStop => {}
        }
        if why != Ended::Refused && !(has_failed && why == Ended::Resigned) {
            self.away().back_off.confirmed();
        }
    }

    /// Serves again and again until `shutdown` resolves; then asks a leader to finish, and returns once it has let go.
    /// Errors of the work are logged. Another [`Term`](crate::Term) of this seat, which somebody else in this process
    /// holds, is neither asked nor waited for.
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
        let (mut shutdown, own) = (pin!(shutdown), Own::default());
        let mut asked = false;
        loop {
            let mut serving = pin!(self.serve_as(&own, &mut work));
            let ended = loop {
                tokio::select! {
                    biased;
                    ended = &mut serving => break Some(ended),
                    () = &mut shutdown, if !asked => {
                        asked = true;
                        // Who leads may be another caller of this seat: this one has its own campaign, or waits for its turn.
                        if own.state().is_none() || !*self.leads.borrow() {
                            break None;
                        }
                        self.resigner().resign();
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
        // Its campaign was dropped just now, and withdraws.
        if let Some(state) = own.state() {
            state.until_done().await;
        }
        Ended::Resigned
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
}
