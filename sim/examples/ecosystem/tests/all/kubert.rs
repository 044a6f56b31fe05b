//! kubert 0.25.0, `lease.rs`: its task is said to claim the lease "until the task completes or the lease is claimed by another
//! process" (line 358), and to retry requests (line 410). The methods that configure the retries return a new builder, which
//! is dropped (lines 376 to 378): what is left are three retries, without a pause where the lease is another's (line 387).

use crate::{
    services::kubert::service,
    suite::{STRIKES_S, quiet},
    world::{at, cut_off, named, tell},
};
use scenarios::fault::{Fault, Who};

#[test]
fn a_process_never_stands_again_after_a_partition() {
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), cut_off(named(before), 90.0)));
    let ended = told.said("the manager has ended: Ok(Err(Timeout))");
    assert_eq!(ended.iter().map(|(_, node)| *node).collect::<Vec<_>>(), [before], "{}", told.log());
}

#[test]
fn nobody_leads_again_after_the_server_was_down() {
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(40_000.0) };
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), down));
    assert_eq!(told.said("the manager has ended").len(), 3, "{}", told.log());
    let last = told.writes.last().expect("somebody led").0;
    assert!(last < STRIKES_S + service().lease_s, "{}", told.log());
}
