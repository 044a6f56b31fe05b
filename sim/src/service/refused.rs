//! Tells of requests that a model does not know. What a program does then is no finding: the real service would have answered.

use crate::world;

/// The service refused this, as not modelled.
pub fn tell(service: &str, what: &str) {
    world::try_with(|world| world.refuses(format!("the simulated {service} refused a request: {what}")));
}
