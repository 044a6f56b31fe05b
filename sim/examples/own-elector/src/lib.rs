//! Two election protocols, a coordination service and a scenario that Fencepost does not have, added to what it has.

pub mod elector;
pub mod leaseholder;
pub mod scenario;
pub mod service;

use sim::registry::Registry;

/// Fencepost's own, and this crate's.
///
/// # Panics
/// Fencepost has got something of the same name.
pub fn registry() -> Registry {
    let all = Registry::default()
        .with_protocol(&elector::PROTOCOL)
        .and_then(|all| all.with_protocol(&leaseholder::PROTOCOL))
        .and_then(|all| all.with_service(service::MODEL, service::CLIENT))
        .and_then(|all| all.with_scenario(&scenario::SCENARIO));
    all.expect("nothing else has these names")
}
