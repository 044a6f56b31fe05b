//! What a service's state says of leadership, for the history. The models are pure, and also run where there is no world,
//! against real servers' scripts; then nobody listens.

use crate::world;
use protocols::history::GrantEnd;

/// A leadership as a service's state has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The holder's name.
    pub name: String,
    /// The fencing token that goes with it; 0 when there is none.
    pub token: u64,
    /// When it ends unless it is renewed, nanoseconds of the server's wall clock; `None` when the server ends it itself.
    pub until: Option<u64>,
}

/// Tells the world, if there is one, who holds leadership now; `why` says how anybody else's came to its end. A holder who
/// is no candidate holds nothing.
pub fn tell(holder: Option<Holder>, why: GrantEnd) {
    world::try_with(|world| world.granted_to(holder, why));
}
