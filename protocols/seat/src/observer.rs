//! What Fencepost's own node is told of its seat.

use crate::ended::Ended;
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    payload::Payload,
    types::{Leadership, NodeId},
};

/// What a campaign does, or the leadership that follows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum News {
    Campaigns,
    Asks(ServiceOutput),
    Hears(ServiceInput),
    Leads(Leadership),
    /// The belief lasts until then by the monotonic clock, nanoseconds.
    Renewed(u64),
    Over(Ended),
    /// Who leads, by its place among the seat's members, of which this member is the first.
    Observed(Option<NodeId>),
    /// The campaign, or its leadership, asks for nothing more.
    Ends,
}

impl Payload for News {}

/// Is told what happens, in this order.
pub trait Observer: Send + Sync {
    fn told(&self, news: News);
}
