//! A complete failover of real servers under real sentinels, and of the models: three servers, three sentinels, and the
//! primary is killed. The events of the sentinel that carries it out must agree word for word, except for addresses and
//! ids; so must the other sentinels' events, and the final state.

use super::{
    report,
    sentinel::{Talk, serve, until},
};
use protocols_clients::env::{Env, tokio::TokioEnv};
use servers::{Folder, Server};
use sim::service::redis_sentinel::{
    Address,
    sentinel::{Config, Sentinel},
    watch,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

/// The silence after which a server counts as down, in milliseconds, and the bound for the failover's steps.
const DOWN_AFTER_MS: u64 = 1_000;
const FAILOVER_TIMEOUT_MS: u64 = 10_000;

/// The events to compare: the steps of a failover, and its consequences.
const EVENTS: [&str; 16] = [
    "+odown",
    "+try-failover",
    "+elected-leader",
    "+failover-state-select-slave",
    "+selected-slave",
    "+failover-state-send-slaveof-noone",
    "+failover-state-wait-promotion",
    "+promoted-slave",
    "+failover-state-reconf-slaves",
    "+slave-reconf-sent",
    "+slave-reconf-inprog",
    "+slave-reconf-done",
    "+failover-end",
    "+switch-master",
    "+config-update-from",
    "-failover-abort-not-elected",
];

type Task = <TokioEnv as Env>::Task;

/// The ports of servers and sentinels; the primary comes first.
struct Fleet {
    servers: Vec<u16>,
    sentinels: Vec<u16>,
    kill: Box<dyn FnMut()>,
    _alive: Box<dyn std::any::Any>,
}

fn real(folder: &Folder) -> Option<Fleet> {
    let what = "a failover of redis sentinel 7.0";
    let folders: Vec<Folder> = (0..3).map(|_| Folder::new()).collect();
    let primary = servers::redis(&folders[0], what, servers::Tls::Off)?;
    let port = primary.address.port();
    let replicas: Vec<Server> = folders[1..].iter().filter_map(|folder| servers::replica(folder, what, port)).collect();
    let lines = format!(
        "sentinel monitor mymaster 127.0.0.1 {port} 2\nsentinel down-after-milliseconds mymaster {DOWN_AFTER_MS}\n\
         sentinel failover-timeout mymaster {FAILOVER_TIMEOUT_MS}\n"
    );
    let sentinels: Vec<Server> = (0..3).filter_map(|_| servers::sentinel(folder, what, &lines)).collect();
    let ports = |servers: &[Server]| servers.iter().map(|server| server.address.port()).collect::<Vec<_>>();
    let mut all = vec![port];
    all.extend(ports(&replicas));
    let sentinel_ports = ports(&sentinels);
    let mut primary = primary;
    let alive = Box::new((replicas, sentinels, folders));
    Some(Fleet {
        servers: all,
        sentinels: sentinel_ports,
        kill: Box::new(move || primary.process.kill()),
        _alive: alive,
    })
}

fn model() -> Fleet {
    let ports: Vec<u16> = (0..6).map(|_| servers::free_address().port()).collect();
    let (servers, sentinels) = ports.split_at(3);
    let first = servers[0];
    let mut primary = Some(serve(first, None));
    let replicas: Vec<Task> = servers[1..].iter().map(|port| serve(*port, Some(first))).collect();
    let local = |port| Address { host: "127.0.0.1".to_owned(), port };
    let watches: Vec<Task> = sentinels
        .iter()
        .map(|port| {
            let config = Config {
                down_after_ms: DOWN_AFTER_MS as i64,
                failover_timeout_ms: FAILOVER_TIMEOUT_MS as i64,
                ..Config::of(local(first), 2)
            };
            let id = format!("{port:040x}");
            let sentinel = Arc::new(Mutex::new(Sentinel::new(config, local(*port), id, u64::from(*port))));
            let (env, port) = (TokioEnv::new(u64::from(*port)), *port);
            env.clone().spawn(async move { watch::serve(sentinel, env, port).await.expect("the port is free") })
        })
        .collect();
    let alive = Box::new((replicas, watches));
    Fleet {
        servers: servers.into(),
        sentinels: sentinels.into(),
        kill: Box::new(move || drop(primary.take())),
        _alive: alive,
    }
}

/// The result of a failover.
#[derive(PartialEq, Debug)]
struct Came {
    /// The events of the sentinel that carried it out, from its election on.
    leader: Vec<String>,
    /// The events of each other sentinel about the new primary.
    others: Vec<Vec<String>>,
    /// The roles of the two remaining servers.
    roles: [String; 2],
    /// Whether all sentinels' configurations have one epoch and the same primary, one of the replicas.
    agree: bool,
}

async fn fail_over(mut fleet: Fleet) -> Came {
    let mut primary = Talk::to(fleet.servers[0]).await;
    // Both replicas are connected, and every sentinel sees the two others and both replicas.
    let ready = |role: &str| role.matches("[\"127.0.0.1\"").count() == 2;
    for _ in 0..600 {
        if ready(&primary.ask(&["ROLE"]).await) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let enough = "+OK 3 usable Sentinels. Quorum and failover authorization can be reached";
    let mut listeners = Vec::new();
    for port in &fleet.sentinels {
        until(&mut Talk::to(*port).await, &["SENTINEL", "ckquorum", "mymaster"], enough).await;
        let mut listener = Talk::to(*port).await;
        for event in EVENTS {
            listener.ask(&["SUBSCRIBE", event]).await;
        }
        listeners.push(listener);
    }
    primary.ask(&["SET", "lock", "holder"]).await;
    // `INFO` is sent every ten seconds: by now every sentinel has it from both replicas.
    tokio::time::sleep(Duration::from_secs(11)).await;
    (fleet.kill)();
    let mut said = Vec::new();
    for listener in &mut listeners {
        let mut events = Vec::new();
        while !events.last().is_some_and(|event: &String| event.contains("+switch-master")) {
            events.push(listener.hear().await);
        }
        said.push(events);
    }
    let names = names(&fleet);
    let plain = |events: Vec<String>| events.iter().map(|event| shown(event, &names)).collect::<Vec<_>>();
    let place = said.iter().position(|events| events.iter().any(|event| event.contains("+elected-leader")));
    let led = plain(said.remove(place.expect("one was elected")));
    let from = led.iter().position(|event| event.contains("+elected-leader")).unwrap_or(0);
    let others = said.into_iter().map(|events| {
        let events = plain(events).into_iter();
        events.filter(|event| event.contains("+config-update-from") || event.contains("+switch-master")).collect()
    });
    let others: Vec<Vec<String>> = others.collect();
    let mut named = Vec::new();
    for port in &fleet.sentinels {
        named.push(Talk::to(*port).await.ask(&["SENTINEL", "get-master-addr-by-name", "mymaster"]).await);
    }
    let agree = named.windows(2).all(|two| two[0] == two[1])
        && fleet.servers[1..].iter().any(|port| named[0].contains(&port.to_string()));
    let mut roles = Vec::new();
    for port in &fleet.servers[1..] {
        let mut talk = Talk::to(*port).await;
        let is_primary = named[0].contains(&port.to_string());
        let role = if is_primary { "[\"master\"" } else { "[\"slave\"" };
        let mut answer = talk.ask(&["ROLE"]).await;
        for _ in 0..200 {
            if answer.starts_with(role) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            answer = talk.ask(&["ROLE"]).await;
        }
        let lock = talk.ask(&["GET", "lock"]).await;
        roles.push(format!("{} {lock}", &answer[..role.len()]));
    }
    roles.sort();
    Came { leader: led[from..].to_vec(), others, roles: roles.try_into().expect("two"), agree }
}

/// Names for the ports.
fn names(fleet: &Fleet) -> BTreeMap<String, &'static str> {
    let replicas = fleet.servers[1..].iter().map(|port| (port.to_string(), "REPLICA"));
    let sentinels = fleet.sentinels.iter().map(|port| (port.to_string(), "SENTINEL"));
    let mut names: BTreeMap<String, &'static str> = replicas.chain(sentinels).collect();
    names.insert(fleet.servers[0].to_string(), "PRIMARY");
    names
}

/// An event with names for ports and ids.
fn shown(event: &str, names: &BTreeMap<String, &'static str>) -> String {
    let words = event.split([' ', ':', '"', '[', ']']).filter(|word| !word.is_empty());
    let word = |word: &str| match names.get(word) {
        Some(name) => (*name).to_owned(),
        None if word.len() == 40 => "ID".to_owned(),
        None => word.to_owned(),
    };
    words.map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_failover_says_and_does_the_same() {
    super::run(async {
        let folder = Folder::new();
        let Some(real) = real(&folder) else { return };
        let (real, model) = (fail_over(real).await, fail_over(model()).await);
        assert!(real.agree, "{real:#?}");
        assert_eq!(model, real);
        report("redis sentinel 7.0", real.leader.len(), "failover events and");
    });
}
