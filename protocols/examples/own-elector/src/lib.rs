//! Adds an election protocol and a scenario to Fencepost's own.

pub mod elector;
pub mod scenario;

use sim::registry::Registry;

/// Fencepost's registry with this crate's entries.
///
/// # Panics
/// An entry's name is already taken.
pub fn registry() -> Registry {
    let all = Registry::default().with_protocol(&elector::PROTOCOL);
    all.and_then(|all| all.with_scenario(&scenario::SCENARIO)).expect("nothing else has these names")
}
