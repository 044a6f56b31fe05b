//! A candidate's node, and its position in the queue.

use crate::{
    election::{
        Setup,
        zookeeper::{Kind, sequence_of},
    },
    random::Random,
    service::zookeeper::{Mode, Op, Request},
    types::NodeId,
};

/// The queue that a candidate is in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Queue {
    folder: String,
    lock_name: &'static str,
}

impl Queue {
    /// The queue for what is stood for. A seat's name is a path where it has a folder of its own, under a chroot.
    pub fn new(kind: Kind, setup: &Setup) -> Self {
        let folder = match &setup.seat {
            None => kind.folder(setup.group),
            Some(seat) if seat.starts_with('/') => seat.clone(),
            Some(seat) => format!("/fencepost/{seat}"),
        };
        Queue { folder, lock_name: kind.lock_name() }
    }

    /// Requests the candidates' nodes.
    pub fn children(&self) -> Request {
        Request::Children { path: self.folder.clone(), watch: false }
    }

    /// The path of a node in the queue.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Creates a node at the end of the queue, protected by `guard`, whose content is the candidate's name.
    pub fn enter(&self, guard: &str, candidate: &str) -> Request {
        let path = self.path(&format!("{guard}{}", self.lock_name));
        Request::Write(Op::Create { path, data: candidate.into(), mode: Mode::EphemeralSequential })
    }

    /// Creates the parent folders from the root down: containers, as by `creatingParentContainersIfNeeded`.
    pub fn folders(&self) -> impl Iterator<Item = Request> {
        let ends = self.folder.match_indices('/').map(|(at, _)| at).skip(1).chain([self.folder.len()]);
        let container = |end: usize| {
            let path = self.folder[..end].to_owned();
            Request::Write(Op::Create { path, data: Vec::new(), mode: Mode::Container })
        };
        ends.map(container)
    }
}

/// The names in the order of the queue, without other nodes.
pub fn in_order(names: Vec<String>) -> Vec<String> {
    let mut places: Vec<(u64, String)> =
        names.into_iter().filter_map(|name| Some((sequence_of(&name)?, name))).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, name)| name).collect()
}

/// A node's protection (`ProtectedUtils.java`): by it, its creator finds the node after a lost answer.
pub fn guard(random: &mut Random) -> String {
    let (high, low) = (random.next_u64(), random.next_u64());
    // In the format of a random UUID.
    let [a, b, c] = [high >> 32, high >> 16 & 0xffff, high & 0xfff];
    let [d, e] = [low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff];
    format!("_c_{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}-")
}

/// The candidate with that name.
pub fn candidate(names: &[String], name: &[u8]) -> Option<NodeId> {
    let place = names.iter().position(|known| known.as_bytes() == name)?;
    u16::try_from(place).ok().map(NodeId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_from_the_root_on() {
        let queue = Queue { folder: Kind::Latch.folder(3), lock_name: Kind::Latch.lock_name() };
        let paths: Vec<String> = queue
            .folders()
            .filter_map(|request| match request {
                Request::Write(Op::Create { path, .. }) => Some(path),
                _ => None,
            })
            .collect();
        assert_eq!(paths, ["/fencepost", "/fencepost/latch-3"]);
    }

    #[test]
    fn a_guard_is_a_uuid() {
        let guard = guard(&mut Random::new(1));
        assert_eq!((guard.len(), guard.matches('-').count()), (40, 5));
        assert!(guard.starts_with("_c_") && guard.ends_with('-'));
    }
}
