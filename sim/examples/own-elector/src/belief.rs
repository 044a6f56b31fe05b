//! How long a leader of `majority-lease` believes, and the parameter that sets it.

use protocols::{
    election::Timings,
    parameter::{Parameter, Place, Takes},
};

/// `--set majority-lease.margin=5`.
pub const MARGIN: Parameter = Parameter {
    name: "margin",
    takes: Takes::Count { least: 0, most: 50 },
    usual: "1",
    about: "Percentage of the lease by which the leader stops before others may take over",
    place: Place::Values,
};

/// How long the leader believes, counted from when it sent a round that a majority answered.
pub fn belief(timings: &Timings) -> u64 {
    let percent = timings.own.values.get(&MARGIN).unwrap_or(1);
    timings.lease_ttl - timings.lease_ttl / 100 * percent
}
