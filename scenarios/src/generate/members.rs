//! The members of the service in a drawn plan.

use crate::streams;
use protocols::election::Protocol;

/// The shortest lease with which a member can be reached, milliseconds, where a message takes up to so many microseconds.
/// ZooKeeper's clients give each member a share of the session, in which they connect and a majority writes the session down;
/// with less they would never get in.
pub(super) fn reached_ms(members: u16, one_way_max_us: u64) -> u64 {
    const ONE_WAYS: u64 = 8;
    if members > 1 { u64::from(members) * ONE_WAYS * one_way_max_us / 1_000 } else { 0 }
}

/// How many members the protocol's service has: one, a few, or five. Where one is usual, and cheap, three times of four one.
pub(super) fn drawn(protocol: &Protocol, seed: u64) -> u16 {
    let (usual, most) = (protocol.service.usual_members, u64::from(protocol.service.members.most.min(5)));
    let mut random = streams::stream(seed, streams::MEMBERS);
    let draw = |random: &mut _| streams::between(random, 1, most) as u16;
    match (usual, most) {
        (_, 0 | 1) => 1,
        (1, _) if streams::between(&mut random, 0, 3) > 0 => 1,
        _ => draw(&mut random),
    }
}
