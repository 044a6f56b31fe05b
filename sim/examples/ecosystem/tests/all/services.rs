//! The services, and what comes of each.

use crate::suite::{Leaders, Pause, suite};
use crate::world::{Service, on_etcd, on_kubernetes, on_postgres, on_redis};
use fencepost_libc::main_of;

suite! {
    rslock, on_redis(main_of(ecosystem::rslock::main)), Leaders::One, Leaders::One, Pause::TwoLead;
    redlock, on_redis(main_of(ecosystem::redlock::main)), Leaders::One, Leaders::One, Pause::TwoLead;
    redsync, on_redis(main_of(ecosystem::redsync::main)), Leaders::One, Leaders::One, Pause::TwoLead;
    armature_lock, on_redis(main_of(ecosystem::armature_lock::main)), Leaders::Two, Leaders::Two, Pause::TwoLead;
    armature_leader, on_redis(main_of(ecosystem::armature_leader::main)), Leaders::One, Leaders::One, Pause::TwoLead;
    distributed_lock_redis, on_redis(main_of(ecosystem::distributed_lock_redis::main)), Leaders::Two, Leaders::None, Pause::TwoLead;
    distributed_lock_postgres, on_postgres(main_of(ecosystem::distributed_lock_postgres::main)), Leaders::Two, Leaders::Two, Pause::OneLeads;
    etcd_election, on_etcd(main_of(ecosystem::etcd_election::main)), Leaders::One, Leaders::One, Pause::FencedOff;
    etcd_lock, on_etcd(main_of(ecosystem::etcd_lock::main)), Leaders::One, Leaders::One, Pause::FencedOff;
    kube_leader_election, on_kubernetes(main_of(ecosystem::kube_leader_election::main), 15.0), Leaders::Two, Leaders::One, Pause::TwoLead;
    kube_lease_manager, on_kubernetes(main_of(ecosystem::kube_lease_manager::main), 30.0), Leaders::Two, Leaders::One, Pause::TwoLead;
    kube_coordinate, on_kubernetes(main_of(ecosystem::kube_coordinate::main), 15.0), Leaders::One, Leaders::One, Pause::TwoLead;
    kubert, on_kubernetes(main_of(ecosystem::kubert::main), 30.0), Leaders::One, Leaders::One, Pause::TwoLead;
}
