use crate::state::Successor;
use protocols::types::NodeId;
use std::sync::Arc;
use tokio::sync::watch;

/// Asks a seat's leader to finish.
#[derive(Clone, Debug)]
pub struct Resigner {
    pub(crate) names: Arc<Vec<String>>,
    pub(crate) resigning: watch::Sender<Option<Successor>>,
    pub(crate) leads: watch::Sender<bool>,
}

impl Resigner {
    /// Asks the leader to finish: [`Lead::resigning`](crate::Lead::resigning) resolves, and
    /// [`Seat::serve`](crate::Seat::serve) releases the lease once the work has ended, or after
    /// [`Settings::drain`](crate::Settings::drain). Has no effect on a member that does not lead.
    pub fn resign(&self) {
        self.ask(Successor::Anybody);
    }

    /// The same, and lets this one of the [members](crate::Settings::members) lead next, if it campaigns then: with
    /// etcd, Raft and Redis. With other services, or if it does not, whoever comes first leads. Does nothing if that is
    /// this member.
    pub fn resign_to(&self, member: &str) {
        match self.names.iter().position(|name| name == member) {
            // A seat has fewer members than that.
            Some(place @ 1..=0xffff) => self.ask(Successor::Named(NodeId(place as u16))),
            Some(_) => {}
            None => {
                tracing::warn!(member, "is not one of the members; whoever comes first leads");
                self.ask(Successor::Anybody);
            }
        }
    }

    fn ask(&self, successor: Successor) {
        if *self.leads.borrow() {
            self.resigning.send_replace(Some(successor));
        }
    }
}
