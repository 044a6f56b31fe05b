//! What a service's state says of leadership, for the history. The models are pure, and also run where there is no world,
//! against real servers' scripts; then nobody listens.

use crate::world;
use protocols::history::GrantEnd;

pub use crate::world::Holder;

/// Tells the world, if there is one, who holds leadership now, where there is one group; `why` says how anybody else's came
/// to its end. A holder who is no candidate holds nothing.
pub fn tell(holder: Option<Holder>, why: GrantEnd) {
    tell_of(0, holder, why);
}

/// The same of a group's leadership.
pub fn tell_of(group: u16, holder: Option<Holder>, why: GrantEnd) {
    world::try_with(|world| world.granted_to(group, holder, why));
}

/// How many groups the world has; one where there is no world.
pub fn groups() -> u16 {
    world::try_with(|world| world.groups()).unwrap_or(1)
}
