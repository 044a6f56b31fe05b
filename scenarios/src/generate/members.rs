//! The members of the service in a generated plan.

use crate::streams;
use protocols::election::Protocol;

/// The shortest lease with which a client can reach a member, milliseconds, if a message takes up to `one_way_max_us`.
/// ZooKeeper's clients give each member a share of the session, in which they connect and a majority persists the
/// session; with a shorter one they would never get in.
pub(super) fn reached_ms(members: u16, one_way_max_us: u64) -> u64 {
    const ONE_WAYS: u64 = 8;
    if members > 1 { u64::from(members) * ONE_WAYS * one_way_max_us / 1_000 } else { 0 }
}

/// How many members the protocol's service has, at most five. If one is usual, three of four plans have one.
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
