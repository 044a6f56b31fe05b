//! Checks that every client is served, not only some.

use crate::{
    cluster::Cluster,
    said::{At, Sentence, sentence},
    words::{Names, count, duration},
};
use protocols::{history::Outcome, types::NodeId};

/// What each client got while it could have got something.
pub(super) struct Clients {
    bound_us: u64,
    clients: Vec<Client>,
    /// The index of the first client; clients are adjacent.
    first: usize,
    longest: Option<Unserved>,
}

#[derive(Clone, Copy, Default)]
struct Client {
    /// Must it be served now?
    claimed: bool,
    /// The time of its last number, or the time from which it must be served, which may be yet to come.
    latest: u64,
    /// Requests that ended without a number since then.
    ended: u64,
}

/// An interval in which a client asked and got no number.
struct Unserved {
    client: NodeId,
    from_us: u64,
    us: u64,
    ended: u64,
}

impl Clients {
    pub(super) fn new(cluster: &Cluster, bound_us: u64) -> Self {
        let (first, count) = (cluster.first_client(), cluster.clients() as usize);
        Clients { bound_us, clients: vec![Client::default(); count], first, longest: None }
    }

    /// Takes the end of a request. Costs a comparison or two.
    pub(super) fn replied(&mut self, t_us: u64, client: NodeId, outcome: Outcome) {
        let Some(known) = client.index().checked_sub(self.first).and_then(|place| self.clients.get_mut(place)) else {
            return;
        };
        match outcome {
            Outcome::Ok { .. } => {
                if known.claimed && t_us.saturating_sub(known.latest) > self.bound_us {
                    self.close(t_us, client);
                } else {
                    (known.latest, known.ended) = (known.latest.max(t_us), 0);
                }
            }
            Outcome::Rejected | Outcome::Unknown => known.ended += 1,
        }
    }

    pub(super) fn wait_until(&mut self, t_us: u64) {
        self.clients.iter_mut().for_each(|client| client.latest = t_us);
    }

    /// Decides who must be served from now on: each client that reaches all running candidates, while somebody must
    /// act.
    pub(super) fn settle(&mut self, t_us: u64, interrupted: bool, acts: bool, cluster: &Cluster) {
        for place in 0..self.clients.len() {
            let client = NodeId((self.first + place) as u16);
            let claims = acts && cluster.reaches_all(client);
            if self.clients[place].claimed && (interrupted || !claims) {
                self.close(t_us, client);
            }
            let known = &mut self.clients[place];
            if claims && (interrupted || !known.claimed) {
                (known.latest, known.ended) = (known.latest.max(t_us), 0);
            }
            known.claimed = claims;
        }
    }

    /// Ends a client's interval without a number.
    fn close(&mut self, t_us: u64, client: NodeId) {
        let known = &mut self.clients[client.index() - self.first];
        let us = t_us.saturating_sub(known.latest);
        let (from_us, ended) = (known.latest, known.ended);
        (known.latest, known.ended) = (known.latest.max(t_us), 0);
        // A client that asked for nothing was denied nothing.
        if ended > 0 && us > self.bound_us && self.longest.as_ref().is_none_or(|l| us > l.us) {
            self.longest = Some(Unserved { client, from_us, us, ended });
        }
    }

    /// Since when that client waited, microseconds.
    pub(super) fn violated_us(&self) -> Option<u64> {
        self.longest.as_ref().map(|unserved| unserved.from_us)
    }

    /// The client that waited longest in vain, if that was too long.
    pub(super) fn violation(&self, names: &Names) -> Option<Sentence> {
        let Unserved { client, from_us, us, ended } = self.longest.as_ref()?;
        let (client, asked) = (names.node(*client), count(*ended, "request"));
        let (us, within) = (duration(*us as f64), duration(self.bound_us as f64));
        let rest = format!(
            " on, and ended {asked} without one, although it reached every candidate, and writes were accepted; the \
             bound is {within}"
        );
        Some(sentence![format!("{client} got no number for {us} from "), At(*from_us), rest])
    }
}
