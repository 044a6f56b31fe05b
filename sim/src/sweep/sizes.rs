//! How many candidates the runs of a sweep have.

use protocols::election::Protocol;
use scenarios::{Scenario, scenario};

/// How many candidates the runs of a sweep have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// So many; a scenario that needs more is inconclusive.
    Of(Vec<u16>),
    /// Three and five.
    Usual,
    /// From one to nine, where that is enough for the scenario.
    Long,
}

impl Sizes {
    /// The numbers.
    pub fn numbers(&self) -> &[u16] {
        match self {
            Sizes::Of(numbers) => numbers,
            Sizes::Usual => &[3, 5],
            Sizes::Long => &[1, 2, 3, 5, 7, 9],
        }
    }

    /// Are so many candidates enough for the scenario?
    pub(super) fn has(&self, scenario: &Scenario, protocol: &Protocol, nodes: u16) -> bool {
        matches!(self, Sizes::Of(_)) || nodes >= scenario::fewest(scenario, protocol)
    }
}
