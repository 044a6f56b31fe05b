use crate::{
    ended::Ended,
    lead::{Fencing, Lead},
    state::{Order, Phase, State},
};
use std::{fmt, sync::Arc};
use tokio::sync::{OwnedMutexGuard, watch};

/// One leadership, as a value: the primitive under [`Seat::serve`](crate::Seat::serve).
///
/// If it is dropped, what was [spawned](Lead::spawn) is cancelled, and the lease is released in the background once it
/// has stopped. Work that was not spawned has to have ended before that.
pub struct Term<F: Fencing> {
    lead: Lead<F>,
    /// `None` once it was finished.
    campaign: Option<Campaign>,
    _turn: OwnedMutexGuard<()>,
}

impl<F: Fencing> Term<F> {
    pub(crate) fn new(lead: Lead<F>, campaign: Campaign, turn: OwnedMutexGuard<()>) -> Self {
        Term { lead, campaign: Some(campaign), _turn: turn }
    }

    pub fn lead(&self) -> &Lead<F> {
        &self.lead
    }

    /// Ends the leadership: cancels what was spawned, waits for it, and releases the lease if all has stopped. Returns
    /// why it ended, which may have been before.
    pub async fn finish(mut self) -> Ended {
        self.end(true).await
    }

    /// The same without releasing the lease: the state of the work is not known, and nobody may lead before the lease
    /// has run out.
    pub async fn abandon(mut self) -> Ended {
        self.end(false).await
    }

    pub(crate) async fn end(&mut self, release: bool) -> Ended {
        match self.campaign.take() {
            Some(campaign) => campaign.finish(release).await,
            None => Ended::Resigned,
        }
    }
}

impl<F: Fencing> fmt::Debug for Term<F> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Term").field(&self.lead).finish()
    }
}

/// A campaign under way, or its leadership. If it is dropped, it ends in the background.
pub(crate) struct Campaign(pub(crate) Arc<State>);

impl Campaign {
    /// Waits until it has won; `None` if it has ended instead.
    pub(crate) async fn won(&self) -> Option<u64> {
        let mut phase = self.phase();
        // The state, and so the sender, lives as long as this.
        let won = phase.wait_for(|phase| *phase != Phase::Campaigning).await.ok()?;
        match *won {
            Phase::Leading { token } => Some(token),
            _ => None,
        }
    }

    pub(crate) async fn finish(self, release: bool) -> Ended {
        self.0.order(Order::Finish { release });
        let mut phase = self.phase();
        let done = phase.wait_for(|phase| matches!(phase, Phase::Done(_))).await.map(|phase| *phase);
        match done {
            Ok(Phase::Done(why)) => why,
            _ => Ended::UncleanStop,
        }
    }

    fn phase(&self) -> watch::Receiver<Phase> {
        self.0.phase.subscribe()
    }
}

impl Drop for Campaign {
    fn drop(&mut self) {
        self.0.order(Order::Finish { release: true });
    }
}
