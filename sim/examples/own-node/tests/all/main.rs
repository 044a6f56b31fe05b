//! The node and the store of real mode, unmodified, in the simulated world.

mod audit;
mod granted;
mod held;

use fencepost::{Own, World, served_by};
use own_node::{node, store};

/// Three nodes that elect by this protocol, and this store. The service is for the test to add.
fn world(protocol: &str, store: Own) -> World {
    let world = World::new().store(store.accepts_when(store::ACCEPTED)).fleet(3, node::main);
    let world = world.leads_when("elected token={token}").stops_when("deposed token=");
    world.env("PROTOCOL", protocol).shrink_runs(0)
}

fn fenced() -> Own {
    served_by(store::main)
}

fn unfenced() -> Own {
    served_by(store::unfenced)
}
