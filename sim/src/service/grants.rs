//! Reports to the world what a model knows: the leadership in a service's state, for the history, and requests that it
//! refused because they are not modelled. The models are pure and also run without a world, against scripts for real
//! servers; then nothing is reported.

use crate::world;
pub use crate::world::Holder;
use protocols::{history::GrantEnd, types::NodeId};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The key of the running service by which programs elect, if there is one.
pub fn leader_key() -> Option<String> {
    world::try_with(|world| world.leader_key()).flatten()
}

/// The process whose connection is being served contends for the leader key under this name, which is the holder's later.
pub fn contends(contender: &str) {
    world::try_with(|world| world.note_contender(contender));
}

/// The same of all that contend; the new ones are the calling process's.
pub fn contend(contenders: &[String]) {
    world::try_with(|world| world.note_contenders(contenders));
}

/// A member proposes an entry of its log.
pub fn proposes(entry: &[u8]) {
    world::try_with(|world| world.note_proposed(entry));
}

/// Reports the holder of leadership to the world, if there is one, for a single group; `why` says how another's
/// leadership ended. A holder that is no candidate counts as none.
pub fn tell(holder: Option<Holder>, why: GrantEnd) {
    tell_of(0, holder, why);
}

/// The same for one group.
pub fn tell_of(group: u16, holder: Option<Holder>, why: GrantEnd) {
    world::try_with(|world| world.note_grant(group, holder, why));
}

/// Reports the holder in each group, by the names of our own protocols; or the holder of the key by which programs elect.
pub fn tell_each(why: GrantEnd, of_group: impl Fn(u16) -> Option<Holder>, of_key: impl FnOnce(&str) -> Option<Holder>) {
    match leader_key() {
        Some(key) => tell(of_key(&key), why),
        None => (0..groups()).for_each(|group| tell_of(group, of_group(group), why)),
    }
}

/// The same for members that agree on a log: a member has applied the entry at `index`. Only the first member's
/// application is reported; entries are distinguished by term and bytes.
pub fn tell_agreed(
    index: u64,
    (term, data): (u64, &[u8]),
    why: GrantEnd,
    of_group: impl Fn(u16) -> Option<Holder>,
    of_key: impl FnOnce(&str) -> Option<Holder>,
) {
    let mut hasher = DefaultHasher::new();
    (term, data).hash(&mut hasher);
    let entry = hasher.finish();
    if world::try_with(|world| world.note_applied(index, entry)) == Some(true) {
        world::try_with(|world| world.note_applying(Some(data)));
        let agreed = |group, holder| {
            world::try_with(|world| world.note_agreed_grant(group, holder, why));
        };
        match leader_key() {
            Some(key) => agreed(0, of_key(&key)),
            None => (0..groups()).for_each(|group| agreed(group, of_group(group))),
        }
        world::try_with(|world| world.note_applying(None));
    }
}

/// A service's member was elected in this epoch; no other may be.
pub fn tell_elected(epoch: u64, member: &str) {
    world::try_with(|world| world.note_elected(epoch, member));
}

/// Records that a member of the service started or stopped leading the others.
pub fn tell_member(node: NodeId, leads: bool) {
    world::try_with(|world| world.member_leads(node, leads));
}

/// The number of groups in the world; one without a world.
pub fn groups() -> u16 {
    world::try_with(|world| world.groups()).unwrap_or(1)
}

// Tells of requests that a model does not know. What a program does then is no finding: the real service would have answered.

/// The service refused this, as not modelled.
pub fn tell_refused(service: &str, what: &str) {
    world::try_with(|world| world.refuses(format!("the simulated {service} refused a request: {what}")));
}
