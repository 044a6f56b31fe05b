//! `stonith`: whoever is to take over has the silent ones' power cut first, and waits until that is acknowledged.
//!
//! A wrapper around another elector (here `lowest-id`), whose word alone is worth nothing: that somebody is silent does not
//! mean that he has stopped. The wrapper adds corosync's membership and quorum, and Pacemaker's fencing.
//! ```text
//!  a peer is silent ──► quorum? ──no──► neither fence nor lead: wait
//!                          │ yes          (a leader's belief ends a ttl after it last heard a majority)
//!                          ▼
//!           wait 0 … 1 s, and 2 s more when it runs what is to be taken over
//!                          │ still silent
//!                          ▼
//!  ┌─────────────► ask the fencing device
//!  │ no answer             │ answered: its power is off
//!  └───────────────────────┤
//!                          ▼
//!     every other candidate off, or alive and "I do not lead" ──► 200 ms for its last packets ──► lead
//! ```
//! **Where it comes from.** ClusterLabs/pacemaker: `lib/pengine/utils.c: pe_can_fence` (no fencing without quorum),
//! `lib/pengine/unpack.c` (whoever is lost or was never seen is fenced, `startup-fencing`; `no-quorum-policy=stop`),
//! `daemons/fenced/fenced_commands.c: schedule_stonith_command` (delays; random up to `pcmk_delay_max`, and
//! `pcmk_delay_base`, here for who runs the resource, as `priority-fencing-delay`). corosync/corosync: `exec/votequorum.c`
//! (`two_node`: a quorum of one, and therefore `wait_for_all`: who starts is not quorate before it has seen the other), and
//! `token` (3 s, the ttl here), sent again after a 4.2th of it. An operation that times out (`stonith-timeout`) is asked for
//! again without end: a takeover without an acknowledgement is what must never be. That a request was accepted, as a cloud
//! provider's API says, is none; one that is turned away is made again, later each time. A live leader is not shot but asked to
//! stop, as Pacemaker stops a resource before it starts it elsewhere: see [`Message::Claim`].
//!
//! **What it assumes about time.** For safety only that no packet travels longer than [`SETTLE`]: a write may be on its way
//! while its sender's power is cut, and without a token nothing else keeps it from a successor's reign. Timeouts decide who
//! is shot, never who leads. No two lead: each needs the other's word that it does not, or its power cut, after its claim.
//!
//! **What breaks it.** A packet that is slower than [`SETTLE`], and a device that lies. A device that cannot be reached
//! leaves everybody dark. Two that each have quorum (two nodes, or a cut that a third sees around) and ask the device within
//! its [`crate::fence::power::ACTION_DELAY`] are both off until they have rebooted: GitHub, 2012-12-22, where a network froze
//! for 90 s and fileserver pairs shot each other. The delay for the leader's sake is longer than the others' sum, so that it
//! prevents that where one of them leads; more than two nodes and quorum prevent it in every clean cut.
//!
//! **What shows it.** `stonith-race`, `gc-pause`, `isolate-leader`, `asymmetric-partition`.

mod bugs;
mod candidate;
mod message;

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Transport, lowest_id,
    promise::{self, UNFENCED},
};
use crate::{elector::boxed, fence::power, service::power as device, types::SECOND};
pub use bugs::{ACCEPTED_IS_STOPPED, NO_QUORUM};
use candidate::Stonith;
pub use candidate::{DELAY_BASE, DELAY_RANDOM, SETTLE};
pub use message::{Message, Said};

/// The protocol as the registry knows it.
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
    timers: OwnTimers::NONE,
    claim: None,
    read_lease: None,
    elector: |setup| {
        let inner = (lowest_id::PROTOCOL.elector)(setup.clone());
        boxed(Stonith::new(setup, inner))
    },
    promise: |hazard, _| match hazard {
        // Its word is all that there is: nothing else keeps the past out.
        Hazard::LyingDevice => UNFENCED,
        // Packets may be slower than is assumed.
        Hazard::Any | Hazard::SaturatedLink => Promise::May,
        _ => Promise::Holds,
    },
    bounds: promise::preferring,
    notices: promise::Notices::SILENCE,
    belief_overlap: |_, _| Some(0),
};
