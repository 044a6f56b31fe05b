//! redis-lock 0.5.1, `single.rs`: `lock_across` is documented as executing "a function while locking on a single resource",
//! but by default the key lives for 10 ms (`DEFAULT_TTL`, line 15), nothing extends it, and the function is not ended.

use crate::{
    suite::quiet,
    world::{on_redis, tell},
};
use fencepost_libc::main_of;

#[test]
fn all_three_lead_at_once_in_a_steady_world() {
    let service = on_redis(main_of(ecosystem::redis_lock::main)).named("redis_lock");
    let told = tell(&service, &quiet(&service).lasting(3.0));
    assert!(told.unusual().is_empty(), "{}", told.log());
    assert!(told.two_lead(), "{:?}: {}", told.violated, told.log());
}
