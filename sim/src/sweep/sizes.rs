//! The numbers of candidates in a sweep.

use protocols::election::Protocol;
use scenarios::{Scenario, scenario};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// These numbers; a scenario that needs more candidates is inconclusive.
    Of(Vec<u16>),
    /// Three and five.
    Usual,
    /// One to nine, as far as the scenario allows.
    Long,
}

impl Sizes {
    pub fn numbers(&self) -> &[u16] {
        match self {
            Sizes::Of(numbers) => numbers,
            Sizes::Usual => &[3, 5],
            Sizes::Long => &[1, 2, 3, 5, 7, 9],
        }
    }

    /// Whether this number of candidates is enough for the scenario.
    pub(super) fn has(&self, scenario: &Scenario, protocol: &Protocol, nodes: u16) -> bool {
        matches!(self, Sizes::Of(_)) || nodes >= scenario::fewest(scenario, protocol)
    }
}
