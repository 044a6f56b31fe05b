use crate::{
    ended::Ended,
    lead::{Fencing, Lead},
    state::{Order, Phase, State, Successor},
};
use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{OwnedMutexGuard, watch};

/// One leadership, as a value: the primitive under [`Seat::serve`](crate::Seat::serve).
///
/// Finish it once [`Lead::ended`] has resolved: after a refusal or a panic the lease is renewed until then, so that nobody
/// leads beside work that has not stopped.
///
/// If it is dropped, what was [spawned](Lead::spawn) is cancelled, and the lease is released in the background once it
/// has stopped; but not if it is dropped by a panic. Work that was not spawned has to have ended before that.
pub struct Term<F: Fencing> {
    lead: Lead<F>,
    campaign: Campaign,
    _leads: Leads,
}

impl<F: Fencing> Term<F> {
    pub(crate) fn new(lead: Lead<F>, campaign: Campaign, leads: Leads) -> Self {
        Term { lead, campaign, _leads: leads }
    }

    pub fn lead(&self) -> &Lead<F> {
        &self.lead
    }

    /// Ends the leadership: cancels what was spawned, waits for it, and releases the lease if all has stopped. Returns
    /// why it ended, which may have been before.
    pub async fn finish(self) -> Ended {
        self.campaign.finish(true).await
    }

    pub(crate) async fn end(&self, release: bool) -> Ended {
        self.campaign.finish(release).await
    }

    /// The same without releasing the lease: the state of the work is not known, and nobody may lead before the lease
    /// has run out.
    pub fn abandon(self) -> impl Future<Output = Ended> {
        self.campaign.end(false);
        async move { self.campaign.finish(false).await }
    }
}

impl<F: Fencing> fmt::Debug for Term<F> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Term").field(&self.lead).finish()
    }
}

/// A campaign under way, or its leadership. If it is dropped, it ends in the background.
pub(crate) struct Campaign {
    pub(crate) state: Arc<State>,
    /// The next campaign waits until this and the driver are gone.
    pub(crate) _turn: Arc<OwnedMutexGuard<()>>,
}

impl Campaign {
    /// Waits until it has won; `None` if it has ended instead.
    pub(crate) async fn won(&self) -> Option<u64> {
        let mut phase = self.state.phase.subscribe();
        // The state, and so the sender, lives as long as this.
        let won = phase.wait_for(|phase| *phase != Phase::Campaigning).await.ok()?;
        match *won {
            Phase::Leading { token } => Some(token),
            _ => None,
        }
    }

    pub(crate) async fn finish(&self, release: bool) -> Ended {
        self.end(release);
        self.state.until_done().await
    }

    /// Orders the end; only the first such order counts.
    fn end(&self, release: bool) {
        self.state.order(Order::Finish { release });
    }
}

impl Drop for Campaign {
    fn drop(&mut self) {
        self.end(!std::thread::panicking());
    }
}

/// The campaign of one caller. Others may campaign for the same seat, each in its turn.
#[derive(Default)]
pub(crate) struct Own(Mutex<Option<Arc<State>>>);

impl Own {
    /// `None` while it waits for its turn.
    pub(crate) fn state(&self) -> Option<Arc<State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, state: Option<Arc<State>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Says that this member leads, until dropped.
pub(crate) struct Leads(watch::Sender<bool>);

impl Leads {
    pub(crate) fn new(leads: &watch::Sender<bool>, resigning: &watch::Sender<Option<Successor>>) -> Self {
        // An order to an earlier leader is not for this one.
        resigning.send_replace(None);
        leads.send_replace(true);
        Leads(leads.clone())
    }
}

impl Drop for Leads {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}
