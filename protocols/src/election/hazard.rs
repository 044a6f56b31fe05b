//! The hazards that protocols make promises about. A scenario takes one of them, or declares its own.

/// What a scenario does, as far as promises depend on it. A promise matches constants or reads properties; under a
/// hazard that it does not know, a protocol promises what its last arm says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hazard {
    /// What happens, in one sentence.
    pub about: &'static str,
    /// Whether the leader is cut off from its voters or its service while its writes still reach the resource.
    pub isolates_leader: bool,
    /// Whether candidates restart, and may have forgotten whose lease they must wait out.
    pub restarts: bool,
    /// Whether a successor may be elected without waiting for the leader's lease: the service dropped it, or never had
    /// it.
    pub drops_lease: bool,
    /// Whether leaders answer reads from memory unless told otherwise.
    pub reads_memory: bool,
}

impl Hazard {
    /// A hazard without any of the properties.
    pub const fn new(about: &'static str) -> Hazard {
        Hazard { about, isolates_leader: false, restarts: false, drops_lease: false, reads_memory: false }
    }

    const fn isolating(about: &'static str) -> Hazard {
        Hazard { isolates_leader: true, ..Hazard::new(about) }
    }

    const fn restarting(about: &'static str) -> Hazard {
        Hazard { restarts: true, ..Hazard::new(about) }
    }

    const fn dropping(about: &'static str) -> Hazard {
        Hazard { drops_lease: true, ..Hazard::new(about) }
    }
}

pub const NONE: Hazard = Hazard::new("Nothing goes wrong.");
pub const CRASH: Hazard = Hazard::new("The leader's process dies.");
pub const PAUSE_BEYOND_LEASE: Hazard = Hazard::new("The leader pauses beyond its lease, with a write in progress.");
pub const PAUSE_WITHIN_LOCK_DELAY: Hazard = Hazard::new("The leader pauses beyond its session, within the lock-delay.");
pub const CUT_OFF_FROM_SERVICE: Hazard = Hazard::isolating("The leader reaches the resource, but not the service.");
pub const RESIGNATION: Hazard = Hazard::new("The leader resigns.");
pub const CUT_OFF_FROM_PEERS: Hazard = Hazard::isolating("The leader reaches clients and resource, but no candidate.");
pub const ONE_WAY_CUT: Hazard = Hazard::isolating("Messages pass in one direction only.");
pub const SPLIT_VOTE: Hazard = Hazard::new("Several candidates stand for election at once.");
pub const NO_QUORUM: Hazard = Hazard::new("No group of connected candidates is a majority.");
pub const BROKEN_RING: Hazard = Hazard::new("A ring falls apart into two.");
pub const SLOW_PREFERRED: Hazard = Hazard::new("The preferred candidate stalls repeatedly, longer than others wait.");
pub const TRANSFER: Hazard = Hazard::new("The leader hands over to a named successor.");
pub const CLOCK_DRIFT: Hazard =
    Hazard { reads_memory: true, ..Hazard::new("Clocks drift, and the leader reads from memory.") };
pub const CHURN: Hazard = Hazard::new("Candidates join and leave.");
pub const FALSE_SUSPICION: Hazard = Hazard::new("Losses and stalls that failure detectors must tolerate.");
pub const POWER_OUTAGE: Hazard = Hazard::new("All machines lose power at once.");
pub const ROLLING_RESTART: Hazard = Hazard::restarting("The candidates restart one after the other.");
pub const RESTART_IN_ISOLATION: Hazard = Hazard::restarting("Followers restart while the leader is cut off from them.");
pub const SERVICE_RESTART: Hazard = Hazard::new("The service dies or loses power, and returns.");
pub const SERVICE_DATA_LOSS: Hazard = Hazard::dropping("The service returns without its data.");
pub const SERVICE_RESTORED: Hazard = Hazard::dropping("The service returns with its state from before a takeover.");
pub const SERVICE_FORGETS: Hazard = Hazard::dropping("The service dies and loses its latest grants.");
pub const PROMOTED_ELSEWHERE: Hazard =
    Hazard::new("A replica is promoted while the cut-off primary still serves its leader.");
pub const MIXED_LOCKS: Hazard = Hazard::dropping("The fleet is divided between two independent locks.");
pub const SLOW_SERVICE: Hazard = Hazard::new("The leader dies, and the service answers after every request's timeout.");
pub const CLOCK_STEPS: Hazard = Hazard::new("Wall clocks are set forward and back.");
pub const FLAPPING: Hazard = Hazard::new("Links go down and up, never for long.");
pub const MISSING_LINK: Hazard = Hazard::new("Two nodes cannot reach each other; all others reach both.");
pub const REJOIN: Hazard = Hazard::new("A candidate that was cut off returns.");
pub const STARVATION: Hazard = Hazard::new("All nodes stall repeatedly, each time for less than the lease.");
pub const LOST_LEASE: Hazard = Hazard::dropping("The service drops the leader's lease or key.");
pub const FORGED_CLAIM: Hazard = Hazard::new("A forged message claims leadership for a dead candidate.");
pub const DELAYED_RENEWALS: Hazard = Hazard::isolating("The leader's renewals are delayed for longer than its lease.");
pub const LYING_DEVICE: Hazard = Hazard::new("The fencing device confirms an action that it does not perform.");
pub const SATURATED_LINK: Hazard = Hazard::new("The leader's heartbeats queue behind data on a saturated link.");
pub const ANY: Hazard = Hazard::new("Anything the fault list can express.");
