//! The service's own word for who leads: nobody may believe that it leads without having been granted that before. The nodes'
//! lines say who believes, and a grant that is told of another node, or not at all, fails the check.

use crate::{fenced, world};
use fencepost::{
    Service, World, consul, etcd,
    failure::Kind,
    kubernetes, postgres, redis,
    scenarios::{clean_kill, gc_pause, scenario},
    zookeeper,
};

fn is_granted(protocol: &str, service: Service) {
    goes(world(protocol, fenced()).service(service).scenarios([gc_pause(), clean_kill()]));
}

fn goes(world: World) {
    println!("{}", world.seeds(0..2).check());
}

/// Members agree on their log, whichever of them a node talks to, and one of them fails.
fn is_granted_by_three(protocol: &str, service: Service) {
    let world = world(protocol, fenced()).service(service.members(3));
    goes(world.scenarios([clean_kill(), scenario("service-failover")]));
}

#[test]
fn by_redis() {
    is_granted("redis-fenced", redis().leader_key("leader:fencepost"));
}

#[test]
fn by_etcd() {
    is_granted("etcd-election-from-sending", etcd().leader_key("fencepost/leader/"));
}

#[test]
fn by_three_of_etcd() {
    is_granted_by_three("etcd-election-from-sending", etcd().leader_key("fencepost/leader"));
}

#[test]
fn by_zookeeper() {
    is_granted("zk-election-from-sending", zookeeper().leader_key("/fencepost/latch"));
}

#[test]
fn by_three_of_zookeeper() {
    is_granted_by_three("zk-election-from-sending", zookeeper().leader_key("/fencepost/latch"));
}

#[test]
fn by_consul() {
    is_granted("consul-session-from-sending", consul().leader_key("fencepost/leader/.lock"));
}

#[test]
fn by_three_of_consul() {
    is_granted_by_three("consul-session-from-sending", consul().leader_key("fencepost/leader/.lock"));
}

#[test]
fn by_kubernetes() {
    is_granted("k8s-lease", kubernetes().leader_key("default/fencepost-leader"));
}

#[test]
fn by_a_lock_of_postgres() {
    // A paused process keeps its session, and so the lock.
    goes(
        world("pg-advisory", fenced()).service(postgres().leader_key("7380946171994308608")).scenarios([clean_kill()]),
    );
}

#[test]
fn a_key_that_nobody_holds_is_not_what_they_elect_by() {
    let world = world("redis-fenced", fenced()).service(redis().leader_key("leader"));
    let failure = world.scenarios([gc_pause()]).try_check().expect_err("nobody holds it");
    assert_eq!(failure.kind, Kind::Inconclusive, "{failure}");
    assert!(failure.to_string().contains("no process has held `leader` of redis"), "{failure}");
}

#[test]
fn one_service_elects() {
    let two = world("redis-fenced", fenced()).service(redis().leader_key("leader:fencepost"));
    let two = two.service(etcd().leader_key("leader")).scenarios([gc_pause()]);
    assert!(two.try_check().expect_err("two keys").to_string().contains("two services have a `leader_key`"));
    let lock = world("pg-advisory", fenced()).service(postgres().leader_key("leader")).scenarios([gc_pause()]);
    assert!(lock.try_check().expect_err("no number").to_string().contains("the number of an advisory lock"));
}
