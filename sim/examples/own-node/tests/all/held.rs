//! What the node and the store hold, and that the store's comparison is what holds it.

use crate::{fenced, unfenced, world};
use fencepost::{
    World, consul, etcd,
    failure::Kind,
    kubernetes, postgres, redis,
    scenarios::{clean_kill, gc_pause, partition},
    served_by, zookeeper,
};
use own_node::{node, store};

/// Runs it, and checks that nothing it called is missing in the world.
fn holds(world: World) {
    let checked = world.scenarios([gc_pause(), partition(), clean_kill()]).seeds(0..2).check();
    println!("{checked}");
    assert!(checked.refused.is_empty(), "{checked}");
}

#[test]
fn redis_fenced() {
    holds(world("redis-fenced", fenced()).service(redis()));
}

#[test]
fn etcd_election() {
    holds(world("etcd-election-from-sending", fenced()).service(etcd()));
}

#[test]
fn postgres_row() {
    holds(world("db-row", fenced()).service(postgres()));
}

#[test]
fn zookeeper_election() {
    holds(world("zk-election-from-sending", fenced()).service(zookeeper()));
}

#[test]
fn consul_session() {
    holds(world("consul-session-from-sending", fenced()).service(consul()));
}

#[test]
fn a_pause_before_every_send_of_a_leader_in_redis() {
    let checked = world("redis-fenced", fenced()).service(redis()).seeds(0..1).pause_before_every_send().check();
    println!("{checked}");
    assert!(checked.sends > 10, "{checked}");
}

#[test]
fn a_store_that_compares_nothing_accepts_a_former_leaders_write() {
    let world = world("redis-fenced", unfenced()).service(redis()).scenarios([gc_pause()]).seeds(0..4);
    let failure = world.pause_before_every_send().try_check().expect_err("a former leader takes effect");
    assert_eq!(failure.kind, Kind::Safety, "{failure}");
    println!("{failure}");
}

/// A leader that still reaches the store, and no longer the service, has no fence here: its own clock has to stop it.
#[test]
fn a_leader_that_is_cut_off_stops_by_its_own_clock() {
    let services = [
        ("redis-fenced", redis()),
        ("etcd-election-from-sending", etcd()),
        ("db-row", postgres()),
        ("zk-election-from-sending", zookeeper()),
        ("consul-session-from-sending", consul()),
        ("k8s-lease", kubernetes()),
    ];
    for (protocol, service) in services {
        println!("{}", world(protocol, unfenced()).service(service).scenarios([partition()]).seeds(0..4).check());
    }
}

#[test]
fn kubernetes_lease() {
    holds(world("k8s-lease", fenced()).service(kubernetes()));
}

/// The store may have other clients, and then nobody can tell whether a former leader is among them.
#[test]
fn a_write_of_a_stranger_is_no_pass() {
    let visited = || {
        println!("accepted 1 of stranger under 1");
        store::main();
    };
    let store = served_by(visited).accepts_when("accepted {seq} of {node} under {token}");
    let world = world("redis-fenced", store).service(redis());
    let failure = world.scenarios([gc_pause()]).seeds(0..4).try_check().expect_err("nobody knows the stranger");
    assert_eq!(failure.kind, Kind::Inconclusive, "{failure}");
}

#[test]
fn a_store_without_a_line_for_its_writes_is_no_store() {
    let world = World::new().store(fenced()).fleet(3, node::main).service(redis());
    let failure = world.scenarios([gc_pause()]).try_check().expect_err("nothing says what was accepted");
    assert!(failure.to_string().contains("accepts_when"), "{failure}");
}
