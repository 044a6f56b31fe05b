//! What needs no service. Everything else is tested in `sim/examples/seat/`.

mod raft;

use fencepost_seat::{
    AddressError, Consul, Ended, Etcd, Postgres, PostgresLock, Redis, Redlock, Seat, SettingsError, Zookeeper,
    fence::FenceError,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{error::Error, sync::Arc, time::Duration};
use tokio::{io::AsyncReadExt, net::TcpListener};

fn tls() -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.expect("versions").with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}

#[test]
fn no_error_prints_a_password() {
    let etcd = |address| Etcd::connect([address]).err();
    let redis = |address| Redis::connect(address).err();
    let postgres = |address| Postgres::connect(address).err();
    let redlock = |address| Redlock::connect([address]).err();
    let lock = |address| PostgresLock::connect(address).err();
    let consul = |address| Consul::connect(address).err();
    let zookeeper = |address| Zookeeper::connect(address).err();
    let token = Consul::connect("consul").and_then(|consul| consul.token("hunter2\n"));
    let wrong = [
        consul("https://consul:8500?token=hunter2"),
        consul("http://consul:8500?token=hunter2"),
        consul("http://hunter2@consul:8500"),
        token.err(),
        zookeeper("zk:hunter2@zookeeper:2181/services"),
        etcd("http://root:hunter2@etcd:2379"),
        etcd("https://root:hunter2@etcd:2379"),
        redis("rediss://:hunter2@redis"),
        redis("redis+unix:///run/redis.sock?pass=hunter2"),
        redlock("rediss://:hunter2@redis"),
        redlock("redis://:hunter2@redis:port"),
        lock("postgres://app:hunter2@db/app?sslmode=require"),
        lock("host=a,b user=app password=hunter2"),
        postgres("postgres://app:hunter2@db/app?sslmode=require"),
        postgres("host=a,b user=app password=hunter2"),
        postgres("host=db password=hunter2@ sslmode=require"),
    ];
    let tls = tls();
    let encrypted = [
        Etcd::connect_tls(["https://root:hunter2@etcd:2379"], &tls).err(),
        Etcd::connect_tls(["http://root:hunter2@etcd:2379"], &tls).err(),
        Redis::connect_tls("redis://:hunter2@redis", &tls).err(),
        Redis::connect_tls("rediss+unix:///run/redis.sock?pass=hunter2", &tls).err(),
        Postgres::connect_tls("host=a,b user=app password=hunter2", &tls).err(),
        PostgresLock::connect_tls("host=a,b user=app password=hunter2", &tls).err(),
        Redlock::connect_tls(["redis://:hunter2@redis"], &tls).err(),
        Redlock::connect(["redis://:hunter2@a", "redis://:hunter2@b", "redis://:hunter2@a:6379/1"]).err(),
    ];
    for error in wrong.into_iter().chain(encrypted) {
        let said = error.expect("an address that cannot be used").to_string();
        assert!(!said.contains("hunter2"), "{said}");
    }
    assert_eq!(
        etcd("http://").map(|e| e.to_string()).as_deref(),
        Some("`http://` is no address of this service: use `http://HOST:PORT`")
    );
    assert_eq!(Etcd::connect::<&str>([]).err(), Some(AddressError::None));
    assert_eq!((consul(""), zookeeper("")), (Some(AddressError::None), Some(AddressError::None)));
}

#[test]
fn a_majority_needs_three_servers_with_one_vote_each() {
    let redlock = |addresses: &[&str]| Redlock::connect(addresses).err();
    assert_eq!(redlock(&[]), Some(AddressError::None));
    assert_eq!(redlock(&["redis://a", "redis://b:6380"]), Some(AddressError::Few(2)));
    let twice = redlock(&["redis://a", "redis://b", "redis://a:6379/1"]);
    assert_eq!(twice, Some(AddressError::Twice("a:6379".to_owned())));
    assert_eq!(redlock(&["redis://a", "redis://a:6380", "redis://:hunter2@b/1"]), None);
}

#[test]
fn nothing_that_is_printed_has_the_token() {
    let consul = Consul::connect("http://consul:8500/").and_then(|consul| consul.token("hunter2")).unwrap();
    assert_eq!(format!("{consul:?}"), "Consul(Endpoint { host: \"consul\", port: 8500 })");
}

#[tokio::test]
async fn consul_is_asked_with_the_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let consul = Consul::connect(&listener.local_addr().unwrap().to_string()).unwrap().token("hunter2").unwrap();
    let seat = Seat::new(consul, "invoices").member("host-7").unwrap();
    let asked = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 4096];
        let count = stream.read(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let asked = tokio::select! {
        asked = asked => asked,
        _ = seat.campaign() => panic!("nobody has answered"),
    };
    assert!(asked.starts_with("PUT /v1/session/create HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nx-consul-token: hunter2\r\n"), "{asked}");
}

#[test]
fn an_ensemble_is_read_as_its_own_clients_read_it() {
    let said = |address| Zookeeper::connect(address).map(|service| format!("{service:?}"));
    let two = said("zk-1:2182,zk-2/services/eu/").unwrap();
    assert!(two.contains("\"zk-1\", port: 2182") && two.contains("\"zk-2\", port: 2181"), "{two}");
    assert!(two.ends_with("chroot: \"/services/eu\" }"), "{two}");
    for wrong in ["zk-1,", "/services", "zk-1/a//b", "zk-1/..", "zk-1:port"] {
        assert!(said(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_no_part_of_a_path_is_no_name() {
    let etcd = Etcd::connect(["http://etcd:2379"]).unwrap();
    let seat = |seat: &str, member: &str| Seat::new(etcd.clone(), seat).member(member).map(drop);
    for bad in [".", "..", "a/b", ""] {
        assert_eq!(seat(bad, "a"), Err(SettingsError::Seat(bad.to_owned())));
        assert_eq!(seat("invoices", bad), Err(SettingsError::Member(bad.to_owned())));
    }
    assert_eq!(seat("...", "a.b"), Ok(()));
}

#[test]
fn a_request_may_take_as_long_as_a_belief_has_after_a_renewal() {
    let seat = |ms| {
        let postgres = Postgres::connect("postgres://app@db/app").unwrap();
        let seat = Seat::new(postgres, "invoices").ttl(Duration::from_secs(15));
        seat.request_timeout(Duration::from_millis(ms)).member("a").map(drop).map_err(|error| error.to_string())
    };
    // A belief of 13.5 s, which is renewed every 5 s.
    for good in [10, 1_500, 8_500] {
        assert_eq!(seat(good), Ok(()));
    }
    for bad in [0, 9, 8_501] {
        let why = "does not go with a lease of 15000 ms and a margin of 1500 ms: use 10 ms to 8500 ms";
        assert_eq!(
            seat(bad).unwrap_err(),
            format!("a request timeout of {bad} ms {why}, so that a renewal may take it before the belief ends")
        );
    }
}

#[test]
fn a_fences_error_has_the_source_of_the_writes() {
    let write = FenceError::Write(Wraps(Ended::Lost));
    assert_eq!(write.to_string(), "the write has failed");
    assert_eq!(write.source().map(ToString::to_string), Some(Ended::Lost.to_string()));
    assert!(FenceError::<Wraps>::Over(Ended::Refused).source().is_none());
}

#[derive(Debug, thiserror::Error)]
#[error("the write has failed")]
struct Wraps(#[source] Ended);

#[cfg(unix)]
#[tokio::test]
async fn sigterm_asks_to_finish() {
    let terminated = fencepost_seat::terminated().expect("handlers");
    // Before it is polled.
    let own = std::process::id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &own]).status().expect("the command kill");
    assert!(sent.success());
    terminated.await;
}

#[test]
fn nothing_that_logs_in_shows_its_password() {
    let etcd = Etcd::connect(["http://etcd:2379"]).unwrap().login("billing", "hunter2");
    let zookeeper = Zookeeper::connect("zookeeper:2181").unwrap().login("billing", "hunter2");
    let lock = PostgresLock::connect("postgres://billing:hunter2@etcd/billing").unwrap();
    let redlock = ["redis://:hunter2@etcd", "redis://:hunter2@b", "redis://:hunter2@c"];
    let locks = format!("{lock:?} {:?}", Redlock::connect(redlock).unwrap());
    for shown in [format!("{etcd:?} {zookeeper:?}"), format!("{:?}", Seat::new(etcd, "invoices")), locks] {
        assert!(shown.contains("etcd") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn the_page_has_the_defaults() {
    let page = include_str!("../../../../docs/seat.md");
    let settings = format!("{:?}", Seat::new(Etcd::connect(["http://etcd:2379"]).unwrap(), "invoices"));
    let shown =
        |name: &str| settings.split_once(&format!(" {name}: ")).and_then(|(_, rest)| rest.split_once([',', ' ']));
    for name in ["ttl", "drain", "stop_within"] {
        let (value, _) = shown(name).unwrap_or_else(|| panic!("{name} is not in {settings}"));
        let row = format!("| `{name}` | {} s |", value.trim_end_matches('s'));
        assert!(page.contains(&row), "docs/seat.md does not have {row}");
    }
    for name in ["margin", "request_timeout", "hold_down"] {
        assert_eq!(shown(name).map(|(value, _)| value), Some("None"), "{name} follows from `ttl`");
    }
}
