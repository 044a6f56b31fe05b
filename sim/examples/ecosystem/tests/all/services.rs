//! The services, and what comes of each.

use crate::suite::{Partition, suite};
use crate::world::{Service, on_kubernetes, on_redis};
use fencepost_libc::main_of;

suite! {
    rslock, on_redis(main_of(ecosystem::rslock::main)), Partition::OneLeads;
    redlock, on_redis(main_of(ecosystem::redlock::main)), Partition::OneLeads;
    redsync, on_redis(main_of(ecosystem::redsync::main)), Partition::OneLeads;
    armature_lock, on_redis(main_of(ecosystem::armature_lock::main)), Partition::TwoLead;
    armature_leader, on_redis(main_of(ecosystem::armature_leader::main)), Partition::OneLeads;
    kube_leader_election, on_kubernetes(main_of(ecosystem::kube_leader_election::main), 15.0), Partition::TwoLead;
    kube_lease_manager, on_kubernetes(main_of(ecosystem::kube_lease_manager::main), 30.0), Partition::TwoLead;
    kube_coordinate, on_kubernetes(main_of(ecosystem::kube_coordinate::main), 15.0), Partition::OneLeads;
    kubert, on_kubernetes(main_of(ecosystem::kubert::main), 30.0), Partition::OneLeads;
}
