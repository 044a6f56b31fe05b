//! What needs no service. Everything else is tested in `sim/examples/seat/`.

use fencepost_seat::{AddressError, Etcd, Postgres, Redis};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::sync::Arc;

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
    let wrong = [
        etcd("http://root:hunter2@etcd:2379"),
        etcd("https://root:hunter2@etcd:2379"),
        redis("rediss://:hunter2@redis"),
        redis("redis+unix:///run/redis.sock?pass=hunter2"),
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
}

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
