//! Adds two election protocols, a coordination service and a scenario to Fencepost's own.

mod belief;
pub mod elector;
pub mod leaseholder;
pub mod scenario;
pub mod service;

use sim::registry::Registry;

/// Fencepost's registry, extended by this crate's entries.
///
/// # Panics
/// An entry's name is already taken.
pub fn registry() -> Registry {
    let all = Registry::default()
        .with_protocol(&elector::PROTOCOL)
        .and_then(|all| all.with_protocol(&leaseholder::PROTOCOL))
        .and_then(|all| all.with_service(service::MODEL, service::CLIENT))
        .and_then(|all| all.with_scenario(&scenario::SCENARIO));
    all.expect("nothing else has these names")
}
