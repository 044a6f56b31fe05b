//! An election protocol and a scenario that Fencepost does not have, added to what it has.

pub mod elector;
pub mod scenario;

use sim::registry::Registry;

/// Fencepost's own, and this crate's.
///
/// # Panics
/// Fencepost has got something of the same name.
pub fn registry() -> Registry {
    let all = Registry::default().with_protocol(&elector::PROTOCOL);
    all.and_then(|all| all.with_scenario(&scenario::SCENARIO)).expect("nothing else has these names")
}
