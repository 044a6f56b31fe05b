//! A coordination service that loses its data, and later disappears.

use super::common::{
    Folder, SOON, eventually, fencepost,
    fleet::{Fleet, accepted},
    free_address, http, servers, text,
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Sends Redis a command like `redis-cli`.
fn tell_redis(redis: SocketAddr, command: &str) {
    let mut stream = TcpStream::connect(redis).expect("Redis listens");
    stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).expect("Redis reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("Redis answers");
    assert!(answer.starts_with('+'), "{command}: {answer}");
}

/// Redis loses its counter: safe, but dark; the log gives the reason and a remedy that works. Then Redis disappears
/// altogether.
#[test]
fn what_is_wrong_with_the_service_is_said_and_can_be_remedied() {
    let folder = Folder::new();
    let Some(mut redis) = servers::redis(&folder, "a service that loses its data", servers::Tls::Off) else { return };
    let raise = |above: &str| {
        fencepost(["raise-token", "--backend", "redis", "--service", &redis.address.to_string(), "--above", above])
    };
    let raised = raise("2000");
    assert!(text(&raised.stdout).contains("were at 0 and are at 2000 now"), "{raised:?}");
    let mut fleet = Fleet::new(folder);
    let metrics = free_address();
    fleet.start_store(&["--metrics", &metrics.to_string()]);
    fleet.tell_nodes(&["--lease-ttl", "1s"]);
    fleet.start_nodes(2, "redis", redis.address);
    let mut numbers = vec![fleet.number("shop:1")];
    let node = fleet.leader();
    assert_eq!(http::status(fleet.node(&node))["fence_token"], 2001);
    tell_redis(redis.address, "FLUSHALL");
    let reason = eventually("a node says that tokens are too low", SOON, || {
        let reasons = fleet.nodes.values().map(|m| http::status(m.address)["reason"].clone());
        reasons.filter_map(|r| r.as_str().map(str::to_owned)).find(|reason| reason.contains("raise-token"))
    });
    let remedy = format!("cargo real raise-token --backend redis --service {} --above 2001", redis.address);
    assert!(reason.contains(&remedy), "{reason}");
    let logs = fleet.logs().into_iter().map(|(_, log)| log).collect::<String>();
    assert!(logs.contains("hands out tokens below those that `sequence` has seen"), "{logs}");
    let refusal = fleet.store().process.log();
    assert!(refusal.contains("WARN") && refusal.contains("refused a seal: its token is stale"), "{refusal}");
    let shown = http::send(metrics, http::request("GET", "/metrics", &[]).as_bytes());
    assert!(shown.contains("fencepost_store_highest_token{resource=\"sequence\"} 2001"), "{shown}");
    assert!(!shown.contains("fencepost_store_rejections_total{resource=\"sequence\"} 0"), "{shown}");
    assert!(raise("2001").status.success());
    assert!(text(&raise("1").stdout).contains("nothing to do"));
    numbers.push(fleet.number("shop:2"));
    let shown = http::send(metrics, http::request("GET", "/metrics", &[]).as_bytes());
    assert!(shown.contains("fencepost_leaders_acting 1"), "{shown}");
    // Followers were refused, too, and know of a leader that is not.
    eventually("nobody advises to raise tokens any more", Duration::from_secs(10), || {
        let mut reasons = fleet.nodes.values().map(|m| http::status(m.address)["reason"].clone());
        (!reasons.any(|reason| reason.as_str().is_some_and(|r| r.contains("raise-token")))).then_some(())
    });
    redis.process.kill();
    for member in fleet.nodes.values() {
        let fails = |log: &str| log.matches("the coordination service fails").count();
        eventually("the log says that the service fails", SOON, || (fails(&member.process.log()) > 0).then_some(()));
        // Logged once, however many requests fail.
        let before = fails(&member.process.log());
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(fails(&member.process.log()), before, "{}", member.process.log());
        let reason = http::status(member.address)["reason"].clone();
        assert!(reason.as_str().is_some_and(|r| r.contains("the coordination service has failed for")), "{reason}");
    }
    assert_eq!(accepted(&fleet.audit(&[])), numbers);
}
