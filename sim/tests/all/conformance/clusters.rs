//! Clusters of three: compares what clients see of the same fault in the model and in real members of etcd, ZooKeeper
//! and Consul on loopback, linked by relays. The clients are the same code on both sides: one keeps a lease alive, one
//! writes all the time.
//!
//! A lease that real clients lose must be lost in some run of the model, and one that they keep must be kept in some;
//! the service must be back within the model's range, widened by one step of its timeouts and the delays of a loaded
//! machine; and real clients must see only kinds of failure that the model's clients also see.
//!
//! `FENCEPOST_CLUSTER_RUNS` sets the number of real runs of each fault (default 1), `FENCEPOST_CLUSTER_MODEL_RUNS` that
//! of the model (default 12); `FENCEPOST_CLUSTER_ETCD_LEASE` sets etcd's lease in seconds; with
//! `FENCEPOST_CLUSTER_AGENT=0`, Consul's clients ask its servers instead of an agent on their own machine. The tests
//! print the lines of `docs/clusters.md`.

mod client;
mod fault;
mod seen;
mod sides;

use super::number;
use client::Service;
use fault::Fault;
use seen::{Both, Came, differences, kinds, line};
use servers::{Version, members::Kind};
use std::thread;

/// Finds the servers for a comparison. It takes minutes on an otherwise idle machine, so it runs only on explicit
/// request, not with all tests.
fn find<T>(what: &str, find: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    if servers::wish().is_empty() {
        servers::say(&format!(
            "SKIPPED: {what}, which takes minutes of a quiet machine; FENCEPOST_SERVERS=install runs it"
        ));
        return None;
    }
    find(what)
}

/// Plays every fault on both sides; `bugs` are those of the version. The model comes first, and takes no core from real
/// members. Their clusters run in parallel; one that differs from the model is played again alone, which then counts.
fn compare(name: &str, service: Service, kind: &Kind, bugs: &[&str]) {
    let (runs, model_runs) = (number("FENCEPOST_CLUSTER_RUNS", 1), number("FENCEPOST_CLUSTER_MODEL_RUNS", 12));
    let through_agent = number("FENCEPOST_CLUSTER_AGENT", 1) == 1;
    let model = |fault: Fault| -> Vec<Came> {
        // How soon a majority is restored varies most: a dozen runs may miss rare cases.
        let runs = if fault.is_without_service() { model_runs.max(60) } else { model_runs };
        (0..runs).map(|seed| sides::play_model(service, fault, bugs, seed)).collect()
    };
    let real = |fault: Fault| -> Vec<Came> {
        (0..runs).map(|seed| sides::play_real(service, kind.clone(), fault, through_agent, seed)).collect()
    };
    let models = Fault::ALL.map(model);
    let reals = thread::scope(|scope| {
        let started = Fault::ALL.map(|fault| scope.spawn(move || real(fault)));
        started.map(|real| real.join().expect("a real run"))
    });
    let both = |((fault, real), model)| Both { fault, real, model };
    let mut all: Vec<Both> = Fault::ALL.into_iter().zip(reals).zip(models).map(both).collect();
    servers::say(&format!("{name}: lost, dark in milliseconds, failures; each real and in the model"));
    all.iter().for_each(|both| servers::say(&line(service, both)));
    let known = kinds(&all);
    for both in all.iter_mut().filter(|both| !differences(service, both, &known).is_empty()) {
        both.real = real(both.fault);
        servers::say(&format!("again, alone:\n{}", line(service, both)));
    }
    let known = kinds(&all);
    let different: Vec<String> = all.iter().flat_map(|both| differences(service, both, &known)).collect();
    assert!(different.is_empty(), "{name} and the model differ:\n{}", different.join("\n"));
}

/// Versions in which a leader that wakes revokes leases that its successor has renewed, and versions in which it does
/// not.
#[test]
fn etcd_before_3_4_31() {
    let Some(program) = find("a comparison with three members of etcd 3.4", |what| Version::Etcd34.program_for(what))
    else {
        return;
    };
    compare("etcd 3.4.23", Service::Etcd, &Kind::Etcd(program), &["etcd-stale-revocation"]);
}

#[test]
fn etcd_since_3_5_13() {
    let Some(program) =
        find("a comparison with three members of etcd 3.5.16", |what| Version::Etcd3516.program_for(what))
    else {
        return;
    };
    compare("etcd 3.5.16", Service::Etcd, &Kind::Etcd(program), &[]);
}

#[test]
fn zookeeper() {
    let Some(jar) = find("a comparison with three members of ZooKeeper", servers::find_zookeeper) else { return };
    compare("ZooKeeper 3.8", Service::Zookeeper, &Kind::Zookeeper(jar), &[]);
}

#[test]
fn consul() {
    let Some(program) = find("a comparison with three servers of Consul", servers::find_consul) else { return };
    compare("Consul 1.8", Service::Consul, &Kind::Consul(program), &[]);
}
