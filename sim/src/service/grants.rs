//! What a service's state says of leadership, for the history. The models are pure, and also run where there is no world,
//! against real servers' scripts; then nobody listens.

use crate::world;
use protocols::{history::GrantEnd, types::NodeId};
use std::hash::{DefaultHasher, Hash, Hasher};

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

/// The same by what the members of a service agree on: one of them has applied the log's entry of that index. The first to do
/// so has it told; entries are told apart by their terms and bytes.
pub fn tell_agreed(index: u64, (term, data): (u64, &[u8]), why: GrantEnd, holder: impl Fn(u16) -> Option<Holder>) {
    let mut hasher = DefaultHasher::new();
    (term, data).hash(&mut hasher);
    let entry = hasher.finish();
    if world::try_with(|world| world.is_first_to_apply(index, entry)) == Some(true) {
        for group in 0..groups() {
            let holder = holder(group);
            world::try_with(|world| world.granted_by_agreement(group, holder, why));
        }
    }
}

/// A member of a service was elected by the others in that epoch: no other one may be.
pub fn tell_elected(epoch: u64, member: &str) {
    world::try_with(|world| world.elected_in(epoch, member));
}

/// A member of a service leads the others from now on, or no longer.
pub fn tell_member(node: NodeId, leads: bool) {
    world::try_with(|world| world.member_leads(node, leads));
}

/// How many groups the world has; one where there is no world.
pub fn groups() -> u16 {
    world::try_with(|world| world.groups()).unwrap_or(1)
}
