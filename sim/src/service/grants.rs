//! What a service's state says of leadership, for the history. The models are pure, and also run where there is no world,
//! against real servers' scripts; then nobody listens.

use crate::world;
use protocols::history::GrantEnd;

pub use crate::world::Holder;

/// Tells the world, if there is one, who holds leadership now; `why` says how anybody else's came to its end. A holder who
/// is no candidate holds nothing.
pub fn tell(holder: Option<Holder>, why: GrantEnd) {
    world::try_with(|world| world.granted_to(holder, why));
}
