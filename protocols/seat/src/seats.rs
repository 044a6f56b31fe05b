use crate::{backend::Backend, ended::Ended, error::SettingsError, lead::Lead, seat::Seat, settings::Settings};
use futures_util::stream::{FuturesUnordered, StreamExt};
use protocols::{
    sharding::{Placement, Places},
    types::NodeId,
};
use std::{fmt, future::Future, pin::pin, sync::Arc};
use tokio::sync::watch;

/// The seats of a fleet that has divided its work into shards. Every member stands for every seat, so that none stays
/// vacant; which member *should* hold one follows from the members' names, by a consistent hash ring.
pub struct Seats<B: Backend> {
    seats: Vec<Seat<B>>,
    places: Places,
    /// This member first.
    names: Arc<Vec<String>>,
}

impl<B: Backend> Settings<B> {
    /// `count` seats instead of one, for this member of the fleet: `NAME-0`, `NAME-1` and so on, on one connection (on
    /// Consul, on two each). All members need the same [members](Settings::members).
    ///
    /// # Errors
    /// Settings that cannot work.
    pub fn shards(self, count: u16, member: impl Into<String>) -> Result<Seats<B>, SettingsError> {
        let member = member.into();
        if !self.preferred.is_empty() {
            return Err(SettingsError::PreferredForShards);
        }
        let shard = |number| {
            let seat = format!("{}-{number}", self.seat);
            Settings { seat, ..self.clone() }.member(member.clone())
        };
        let seats: Vec<Seat<B>> = (0..count).map(shard).collect::<Result<_, _>>()?;
        let names = seats.first().ok_or(SettingsError::Shards)?.names();
        Ok(Seats { places: Places::new(Placement::Ring, &names), seats, names })
    }
}

impl<B: Backend> Seats<B> {
    /// Serves every seat until `shutdown` resolves, as [`Seat::serve_until`] does one; `work` gets the number of the
    /// shard.
    ///
    /// The closures of all shards run within this one future, and so in one task: while one of them computes or blocks, no
    /// other goes on, and their leases are renewed all the same. Work that does more than wait belongs in a task for each
    /// shard, `lead.spawn(charge(shard, lead.clone())).await`, or in [`Lead::spawn_blocking`].
    ///
    /// Returns [`Ended::UncleanStop`] if a stop was unclean, after all others have let go: the process should
    /// end then.
    ///
    /// # Panics
    /// As for [`Seat::serve`].
    pub async fn serve_until<E: fmt::Display>(
        &self,
        shutdown: impl Future<Output = ()>,
        work: impl AsyncFn(u16, &Lead<B::Fencing>) -> Result<(), E>,
    ) -> Ended {
        let (over, work) = (watch::Sender::new(false), &work);
        let serve = |(shard, seat)| {
            let (shard, mut over): (u16, _) = (shard, over.subscribe());
            let seat: &Seat<B> = seat;
            async move {
                // The sender lives as long as this.
                let over = async { drop(over.wait_for(|over| *over).await) };
                seat.serve_until(over, async |lead: &Lead<B::Fencing>| work(shard, lead).await).await
            }
        };
        let mut serving: FuturesUnordered<_> = (0..).zip(&self.seats).map(serve).collect();
        let (mut shutdown, mut asked, mut worst) = (pin!(shutdown), false, Ended::Resigned);
        loop {
            tokio::select! {
                biased;
                ended = serving.next() => match ended {
                    None => return worst,
                    Some(Ended::UncleanStop) => {
                        worst = Ended::UncleanStop;
                        over.send_replace(true);
                    }
                    Some(_) => {}
                },
                () = &mut shutdown, if !asked => {
                    asked = true;
                    over.send_replace(true);
                }
            }
        }
    }

    /// Asks for the leadership of each shard to pass to the member that should have it, of those that live: where this
    /// member leads, and another should, it finishes and [hands over](crate::Resigner::resign_to). Call it on every
    /// member when members have come or gone. It makes no leader: two views of who lives cost a hand-over at most.
    pub fn rebalance(&self, lives: impl Fn(&str) -> bool) {
        for (shard, seat) in (0..).zip(&self.seats) {
            let owner = self.owner(shard, &lives);
            if owner != seat.member() {
                seat.resigner().resign_to(owner);
            }
        }
    }

    /// The member that should lead a shard, of those that live and this one.
    pub fn owner(&self, shard: u16, lives: impl Fn(&str) -> bool) -> &str {
        let lives = |member: NodeId| member.index() == 0 || lives(&self.names[member.index()]);
        let owner = self.places.owner(shard, lives).map_or(0, NodeId::index);
        &self.names[owner]
    }

    /// The seats by shard.
    pub fn seats(&self) -> &[Seat<B>] {
        &self.seats
    }
}

impl<B: Backend> fmt::Debug for Seats<B> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(&self.seats).finish()
    }
}
