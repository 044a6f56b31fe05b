//! `stonith`: before a takeover, a candidate has the silent nodes' power cut, and waits for the acknowledgement.
//!
//! A wrapper around another elector (here `lowest-id`), whose word alone is worth nothing: a silent node need not have
//! stopped. The wrapper adds corosync's membership and quorum, and Pacemaker's fencing.
//! ```text
//!  a peer is silent ──► quorum? ──no──► neither fence nor lead: wait
//!                          │ yes          (a leader's belief ends a ttl after it last heard a majority)
//!                          ▼
//!           wait 0 … 1 s, and 2 s more before shooting the leader
//!                          │ still silent
//!                          ▼
//!  ┌─────────────► ask the fencing device
//!  │ no answer             │ answered: its power is off
//!  └───────────────────────┤
//!                          ▼
//!     every other candidate off, or alive and "I do not lead" ──► 200 ms for its last packets ──► lead
//! ```
//! **Where it comes from.** ClusterLabs/pacemaker: `lib/pengine/utils.c: pe_can_fence` (no fencing without quorum),
//! `lib/pengine/unpack.c` (a lost or never seen node is fenced, `startup-fencing`; `no-quorum-policy=stop`),
//! `daemons/fenced/fenced_commands.c: schedule_stonith_command` (delays; random up to `pcmk_delay_max`, and
//! `pcmk_delay_base`, here for the node that runs the resource, as in `priority-fencing-delay`). corosync/corosync:
//! `exec/votequorum.c` (`two_node`: a quorum of one, and therefore `wait_for_all`: a starting node is not quorate
//! before it has seen the other), and `token` (3 s, here the TTL), resent after a 4.2th of it. An operation that times
//! out (`stonith-timeout`) is retried without end: there must be no takeover without an acknowledgement. An accepted
//! request, as a cloud provider's API reports it, is no acknowledgement; a rejected one is repeated, with growing
//! delays. A live leader is not shot but asked to stop, as Pacemaker stops a resource before it starts it elsewhere:
//! see [`Message::Claim`].
//!
//! **What it assumes about time.** For safety, only that no packet travels longer than [`SETTLE`]: a write may be on
//! its way while its sender's power is cut, and without a token nothing else keeps it out of a successor's reign.
//! Timeouts decide who is shot, never who leads. No two lead: each needs, after its claim, the other's word that it
//! does not lead, or its power cut.
//!
//! **What breaks it.** A packet slower than [`SETTLE`], and a device that lies. An unreachable device leaves the
//! cluster without a leader. If two nodes both have quorum (two nodes in all, or a partition that a third node sees
//! around) and ask the device within its [`crate::fence::power::ACTION_DELAY`], both are off until they have rebooted:
//! GitHub, 2012-12-22, where a network froze for 90 s and fileserver pairs shot each other. The delay in the leader's
//! favour exceeds the sum of the others, and so prevents that if one of them leads; in any clean partition of more than
//! two nodes, quorum prevents it.
//!
//! **What shows it.** `stonith-race`, `gc-pause`, `isolate-leader`, `asymmetric-partition`.

mod bugs;
mod candidate;
mod message;

use super::{
    OwnTimers, Preference, Promise, Protocol, Transport, hazard, lowest_id,
    promise::{self, UNFENCED},
};
use crate::{elector::boxed, fence::power, service::power as device, types::SECOND};
pub use bugs::{ACCEPTED_IS_STOPPED, NO_QUORUM};
use candidate::Stonith;
pub use candidate::{DELAY_BASE, DELAY_RANDOM, SETTLE};
pub use message::{Message, Said};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "stonith",
    about: "Pacemaker's fencing around lowest-id: takes over once the device has confirmed that the silent nodes are off",
    service: &device::SERVICE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl * 10 / 42,
    takeover_max: |timings, _| {
        2 * timings.renew_interval + DELAY_BASE + DELAY_RANDOM + power::ACTION_DELAY + 2 * SETTLE
    },
    preference: Preference::Lowest,
    majority: true,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    read_lease: None,
    elector: |setup| {
        let inner = (lowest_id::PROTOCOL.elector)(setup.clone());
        boxed(Stonith::new(setup, inner))
    },
    promise: |hazard, _| match hazard {
        // The device's word is all there is: nothing else keeps former leaders out.
        hazard::LYING_DEVICE => UNFENCED,
        // Packets may be slower than assumed.
        hazard::ANY | hazard::SATURATED_LINK => Promise::May,
        _ => Promise::Holds,
    },
    bounds: promise::preferring,
    notices: promise::Notices::SILENCE,
    belief_overlap: |_, _| Some(0),
};
