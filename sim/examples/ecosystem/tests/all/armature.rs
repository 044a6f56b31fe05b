//! armature-distributed 0.4.0, `lock.rs`. `LockGuard::is_held` is documented as "`true` while the lease can still be proven
//! held": but the watchdog tolerates two failed renewals (`MAX_RENEW_ERRORS`, line 20), a third of the lease apart and each
//! with a timeout, and no deadline ends the guard when the lease does.

use crate::{
    services::armature_lock::service,
    suite::{STRIKES_S, quiet},
    world::{at, cut_off, named, tell},
};
use scenarios::fault::{Fault, Who};

#[test]
fn a_guard_is_held_beyond_its_lease_while_redis_cannot_be_reached() {
    let before = tell(&service(), &quiet(&service())).leader(STRIKES_S);
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), cut_off(named(before), 9.0)));
    let lost = told.said("leads no more")[0].0;
    // Its last renewal was before the partition.
    assert!(lost > STRIKES_S + service().lease_s + 0.4, "{}", told.log());
    let next = told.successor(before, STRIKES_S).expect("somebody leads");
    assert!(told.last_write(before) > next + 1.0, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
}

#[test]
fn a_guard_is_held_beyond_its_lease_while_redis_is_down() {
    let down = Fault::Kill { node: Who::Service, restart_after_ms: Some(6_000.0) };
    let told = tell(&service(), &quiet(&service()).with(at(STRIKES_S), down));
    let lost = told.said("leads no more")[0].0;
    assert!(lost > STRIKES_S + 2.0 * service().lease_s, "{}", told.log());
    assert!(told.two_lead(), "{:?}: {}", told.violated, told.log());
}
