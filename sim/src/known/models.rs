//! Checks the models of services at the edges of their timers and in the order of their queues, with numbers from their
//! sources: just before and at the end of a lease, who is served next, what a watch reports. In a run, one tick of a
//! lease more or less violates no bound.

#[cfg(feature = "etcd")]
mod etcd;

use crate::service::{
    consul::model as consul,
    kubernetes::model as kubernetes,
    postgres::model::{Key, Locks, Scope},
    zookeeper::model as zookeeper,
};
use protocols::types::SECOND;

/// Runs all checks.
///
/// # Panics
/// A check fails; the panic names it.
pub(super) fn drill() {
    consul_sessions();
    consul_lock_delays();
    #[cfg(feature = "etcd")]
    etcd::drill();
    zookeeper_ticks();
    kubernetes_watches();
    postgres_locks();
}

const IDS: [&str; 2] = ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"];

/// A Consul server with a session of 10 s for each id.
fn consul_model(lock_delay_s: u64) -> consul::Model {
    let mut model = consul::Model::default();
    for id in IDS {
        let session = consul::Session {
            name: id.to_owned(),
            node: consul::NODE.to_owned(),
            lock_delay: lock_delay_s * SECOND,
            behavior: consul::Behavior::Release,
            ttl: "10s".to_owned(),
            checks: Vec::new(),
            create_index: 0,
            ends_at: None,
        };
        model.create_session(0, id, session).expect("the session makes sense");
    }
    model
}

/// `agent/consul/session_ttl.go`: a session is invalidated after twice its TTL, which a renewal restarts.
fn consul_sessions() {
    let mut model = consul_model(15);
    assert!(!model.expire(20 * SECOND - 1), "Consul: a session of 10 s ends before 20 s");
    model.session(IDS[0], Some(19 * SECOND)).expect("it is an id");
    assert!(model.expire(20 * SECOND), "Consul: a session of 10 s has not ended after 20 s");
    assert!(!model.expire(39 * SECOND - 1), "Consul: a renewal at 19 s puts the end off until 39 s");
    assert!(model.expire(39 * SECOND), "Consul: a session renewed at 19 s has not ended at 39 s");
}

/// `agent/consul/kvs_endpoint.go`: a lost session leaves a lock-delay of at most a minute.
fn consul_lock_delays() {
    for (asked, lasts) in [(15, 15), (90, 60), (0, 0)] {
        let mut model = consul_model(asked);
        let acquire = |model: &mut consul::Model, now, id| {
            model.acquire(now, b"key", Vec::new(), 0, id).expect("there is such a session")
        };
        assert!(acquire(&mut model, 0, IDS[0]), "Consul: a free key is refused");
        assert!(!acquire(&mut model, 0, IDS[1]), "Consul: a held key is given away");
        model.destroy_session(IDS[0]).expect("it is an id");
        model.settle(SECOND);
        let over = (1 + lasts) * SECOND;
        if lasts > 0 {
            assert!(!acquire(&mut model, over - 1, IDS[1]), "Consul: a lock-delay of {asked} s is over too early");
        }
        assert!(acquire(&mut model, over, IDS[1]), "Consul: a lock-delay of {asked} s is not over after {lasts} s");
    }
}

/// `server/ExpiryQueue.java: roundToNextInterval`: the next whole tick of 2 s, never the current one.
fn zookeeper_ticks() {
    for (ms, tick) in [(0, 2_000), (1, 2_000), (1_999, 2_000), (2_000, 4_000), (5_001, 6_000)] {
        assert_eq!(zookeeper::bucket_after(ms), tick, "ZooKeeper: the tick after {ms} ms");
    }
}

/// A watch from a version reports every later write, and none up to it.
fn kubernetes_watches() {
    let (mut model, key) = (kubernetes::Model::default(), ("default".to_owned(), "lock".to_owned()));
    let making = kubernetes::Making { now_us: 0, random: [0; 2] };
    let spec = |holder: &str| kubernetes::Spec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        ..kubernetes::Spec::default()
    };
    let meta = |version: u64| kubernetes::Meta {
        name: "lock".to_owned(),
        resource_version: if version == 0 { String::new() } else { version.to_string() },
        ..kubernetes::Meta::default()
    };
    let first = model.create(key.clone(), &meta(0), spec("n1"), "test", making).ok().expect("there is none");
    let second =
        model.update(key.clone(), &meta(first.version), spec("n2"), "test", making).ok().expect("nobody was first").1;
    assert!(second.version > first.version, "Kubernetes: a write keeps its version");
    let stale = model.update(key, &meta(first.version), spec("n3"), "test", making);
    assert!(stale.is_err(), "Kubernetes: an update of an old version is taken");
    let told = |from: u64| model.after(from).iter().map(|event| event.version).collect::<Vec<_>>();
    assert_eq!(told(first.version - 1), [first.version, second.version], "Kubernetes: what a watch is told");
    assert_eq!(told(first.version), [second.version], "Kubernetes: what a watch from a version on is told");
    assert_eq!(told(second.version), [0_u64; 0], "Kubernetes: a watch is told of what was there before");
}

/// `src/backend/storage/lmgr/proc.c: ProcSleep, ProcLockWakeup`: first come, first served; a session's locks end with
/// it.
fn postgres_locks() {
    let (mut locks, mut woken, key) = (Locks::default(), Vec::new(), Key::Advisory(7));
    assert!(locks.take(1, &key, Scope::Session), "PostgreSQL: a free lock is refused");
    for pid in [2, 3, 4] {
        assert!(!locks.take(pid, &key, Scope::Session), "PostgreSQL: a lock is given away");
        locks.wait(pid, &key, Scope::Session);
    }
    locks.stop_waiting(3);
    for (pid, next) in [(1, 2), (2, 4)] {
        locks.give_all_back(pid, Scope::Session, &mut woken);
        assert_eq!(locks.owner(&key), Some(next), "PostgreSQL: whose turn it is after {pid}");
        assert_eq!(woken.pop(), Some(next), "PostgreSQL: who is woken after {pid}");
    }
}
