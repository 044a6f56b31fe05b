//! What the caller of a generated plan may choose.

use crate::params::Profile;
use protocols::{
    bug::Bug,
    election::{self, Protocol},
    fence::checks::Fencing,
};

/// The parts of a plan that the caller chooses instead of the seed.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The protocols to draw from; not empty.
    pub protocols: Vec<&'static Protocol>,
    /// `None`: drawn.
    pub net: Option<&'static Profile>,
    /// Shortest and longest one-way latency, microseconds; `None`: the network's.
    pub latency_us: Option<(u64, u64)>,
    /// Lost packets per million; `None`: the network's.
    pub loss_ppm: Option<u32>,
    /// The number of candidates; `None`: drawn.
    pub nodes: Option<u16>,
    pub fencing: Fencing,
    /// The number of groups; the faults are about the first.
    pub groups: u16,
    /// The known bugs to switch on, in plans of the protocols that have them.
    pub bugs: Vec<&'static Bug>,
}

impl Choice {
    /// The ids of the bugs that this protocol has.
    pub fn bugs_of(&self, protocol: &str) -> Vec<String> {
        self.bugs.iter().filter(|bug| bug.concerns(protocol)).map(|bug| bug.id.to_owned()).collect()
    }
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            protocols: election::ALL.to_vec(),
            net: None,
            latency_us: None,
            loss_ppm: None,
            nodes: None,
            fencing: Fencing::On,
            groups: 1,
            bugs: Vec::new(),
        }
    }
}
