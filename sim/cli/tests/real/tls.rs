//! TLS everywhere: between clients, nodes, store and services; peers without a certificate stay out, and secrets stay
//! in.

use super::common::{
    self, Folder, Process, SOON, eventually,
    fleet::{Fleet, TOKEN_KEY, accepted},
    free_address,
    http::{self, Answer, request},
    program, run, servers,
};
use protocols_real::tls::Files;
use sim_real::{control, secret};
use std::{fs, net::SocketAddr, path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const PASSWORD: &str = "postgres-password-of-the-test";

/// Sends text over TLS, with the certificates in a folder, and returns the answer; an error if the handshake or the
/// connection fails.
fn over_tls(to: SocketAddr, folder: &Path, own_certificate: bool, say: &str) -> Result<String, String> {
    let own = |name: &str| own_certificate.then(|| folder.join(name));
    let files = Files {
        certificate: own(secret::CERTIFICATE),
        key: own(secret::KEY),
        authority: Some(folder.join(secret::AUTHORITY)),
        mutual: false,
    };
    let connector = files.load().and_then(|tls| tls.connector("")).map_err(|e| e.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let exchange = async {
        let stream = TcpStream::connect(to).await?;
        let mut stream = connector.connect(to.ip().into(), stream).await?;
        stream.write_all(say.as_bytes()).await?;
        let mut answer = vec![0; 8192];
        let count = stream.read(&mut answer).await?;
        answer.truncate(count);
        // An answer may arrive in pieces; the server closes after the last.
        let _ = tokio::time::timeout(Duration::from_secs(1), stream.read_to_end(&mut answer)).await;
        Ok::<_, std::io::Error>(common::text(&answer))
    };
    let answer = runtime.block_on(async { tokio::time::timeout(SOON, exchange).await });
    answer.map_err(|e| e.to_string())?.map_err(|e| e.to_string())
}

fn next(node: SocketAddr, folder: &Path, own_certificate: bool, name: &str) -> Result<Option<Answer>, String> {
    let asked = request("POST", "/next", &[&format!("fencepost-request: {name}")]);
    over_tls(node, folder, own_certificate, &asked).map(|text| Answer::parse(&text))
}

/// A number under a name, from the leader.
fn number(nodes: &[SocketAddr], folder: &Path, name: &str) -> u64 {
    eventually(&format!("a number for {name}"), SOON, || {
        nodes.iter().find_map(|node| next(*node, folder, true, name).ok()??.seq())
    })
}

fn with_certificates() -> Folder {
    let folder = Folder::new();
    secret::write_certificates(folder.path()).expect("certificates can be made");
    folder
}

const CERTIFICATE: [&str; 3] = ["cert.pem", "key.pem", "ca.pem"];

/// `--tls-cert … --tls-key … --tls-ca …`.
fn options(folder: &Folder) -> Vec<String> {
    let files = CERTIFICATE.map(|name| folder.file(name));
    ["--tls-cert", "--tls-key", "--tls-ca"].into_iter().zip(files).flat_map(|(o, f)| [o.to_owned(), f]).collect()
}

/// Asserts that no secret is in an argument of any process, or in a log.
fn nothing_leaks(secrets: &[&str], logs: &[(String, String)]) {
    let mut shown = logs.to_vec();
    for process in fs::read_dir("/proc").expect("Linux").flatten() {
        let file = process.path().join("cmdline");
        // Processes may end meanwhile.
        shown.push((file.display().to_string(), common::text(&fs::read(&file).unwrap_or_default())));
    }
    for (place, text) in &shown {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} is in {place}");
        }
    }
}

#[test]
fn a_cluster_with_tls_hands_out_numbers() {
    let outer = Folder::new();
    if servers::find("redis-server", "redis-server", "a cluster with TLS").is_none() {
        return;
    }
    let dir = outer.path().join("cluster");
    let mut command = program();
    command.args(["cluster", "--backend", "redis", "--tls", "--lease-ttl", "2s", "--dir"]).arg(&dir);
    command.env("RUST_LOG", "trace");
    let mut cluster = Process::start(command, &outer.path().join("cluster.log"));
    let card = eventually("a cluster runs", SOON, || control::card(&dir).ok());
    let nodes: Vec<SocketAddr> = card.nodes.iter().map(|(_, address)| *address).collect();
    let numbers: Vec<u64> = (1..=10).map(|n| number(&nodes, &dir, &format!("shop:{n}"))).collect();
    assert!(numbers.windows(2).all(|w| w[0] < w[1]), "{numbers:?}");
    eventually("the table tells who leads", SOON, || cluster.log().contains("leader, token").then_some(()));

    // The store rejects clients without a certificate, and plain text.
    const STATE: &str = "{\"state\":{\"resource\":\"sequence\"}}\n";
    assert!(over_tls(card.store, &dir, true, STATE).expect("with a certificate").contains("\"highest\""));
    assert!(over_tls(card.store, &dir, false, STATE).is_err());
    assert!(!http::send(card.store, STATE.as_bytes()).contains("highest"));
    assert!(http::ask(nodes[0], "GET", "/status").is_none(), "a node with a certificate speaks no plain text");

    let key = fs::read_to_string(dir.join("token.key")).expect("the cluster has a key");
    let logs = dir
        .read_dir()
        .expect("the cluster's folder")
        .flatten()
        .filter(|e| e.path().extension().is_some_and(|x| x == "log"));
    let mut logs: Vec<_> =
        logs.map(|e| (e.path().display().to_string(), fs::read_to_string(e.path()).unwrap_or_default())).collect();
    assert!(logs.len() >= 5, "a service, a store and three nodes: {}", logs.len());
    logs.push(("cluster.log".to_owned(), cluster.log()));
    nothing_leaks(&[key.trim(), &card.secret], &logs);
    cluster.signal("INT");
    assert_eq!(cluster.wait(SOON).code(), Some(0), "{}", cluster.log());
    let audit = run({
        let mut command = program();
        command.args(["audit", "--data"]).arg(dir.join("store.redb"));
        command
    });
    assert_eq!(accepted(&common::text(&audit.stdout)), numbers);
}

/// A fleet whose servers all require certificates, on a service that does too.
fn mutual(folder: Folder, backend: &str, service: SocketAddr) {
    let mut fleet = Fleet::new(folder);
    fleet.environment.push(("RUST_LOG".to_owned(), "trace".to_owned()));
    let mut tls = options(&fleet.folder);
    tls.push("--tls-mutual".to_owned());
    let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
    fleet.start_store(&tls);
    fleet.tell_nodes(&tls);
    fleet.tell_nodes(&["--lease-ttl", "3s", "--store-tls", "--service-tls"]);
    fleet.start_nodes(2, backend, service);
    let nodes: Vec<SocketAddr> = fleet.nodes.values().map(|n| n.address).collect();
    let folder = fleet.folder.path().to_owned();
    let numbers: Vec<u64> = (1..=5).map(|n| number(&nodes, &folder, &format!("shop:{n}"))).collect();

    let stranger = with_certificates();
    for node in &nodes {
        assert!(next(*node, &folder, false, "stranger:1").is_err(), "a client without a certificate");
        assert!(next(*node, stranger.path(), true, "stranger:1").is_err(), "an authority that is not the server's");
        let mixed = with_certificates();
        fs::copy(folder.join("ca.pem"), mixed.path().join("ca.pem")).expect("files can be copied");
        assert!(next(*node, mixed.path(), true, "stranger:1").is_err(), "a certificate by somebody else's authority");
        assert!(http::ask(*node, "GET", "/status").is_none(), "plain text");
    }
    let store = fleet.store().address;
    for bytes in [&b"{\"state\":{\"resource\":\"sequence\"}}\n"[..], b"\x16\x03\x01\xff\xff\x01\x00", &[0x80; 70_000]] {
        for server in nodes.iter().chain([&store]) {
            let answer = http::send(*server, bytes);
            assert!(!answer.contains("highest") && !answer.contains("HTTP"), "{answer}");
        }
    }
    assert_eq!(number(&nodes, &folder, "shop:5"), numbers[4]);
    nothing_leaks(&[TOKEN_KEY], &fleet.logs());
    assert_eq!(accepted(&fleet.audit(&[])), numbers);
}

#[test]
fn everything_speaks_tls_with_redis() {
    let folder = with_certificates();
    let Some(redis) = servers::redis(&folder, "TLS with Redis", servers::Tls::On) else { return };
    mutual(folder, "redis", redis.address);
}

#[test]
fn everything_speaks_tls_with_etcd() {
    let folder = with_certificates();
    let Some(etcd) = servers::etcd(&folder, "TLS with etcd", servers::Tls::On) else { return };
    mutual(folder, "etcd", etcd.address);
}

/// Members that elect among themselves speak by mutual TLS: one with a certificate of somebody else's authority votes
/// for nobody, and nobody votes for it.
#[test]
fn electing_nodes_know_each_other_by_their_certificates() {
    let mut fleet = Fleet::new(with_certificates());
    fleet.start_store(&[]);
    let stranger = with_certificates();
    let (http, elect) = ([free_address(), free_address()], [free_address(), free_address()]);
    let named = |addresses: [SocketAddr; 2]| format!("n1={},n2={}", addresses[0], addresses[1]);
    let start = |fleet: &mut Fleet, index: usize, certificates: &Folder| {
        let name = ["n1", "n2"][index];
        let store = fleet.store().address.to_string();
        let mut options = ["node", "--backend", "raft", "--lease-ttl", "1s", "--id", name].map(str::to_owned).to_vec();
        options.extend([("--peers", named(http)), ("--electors", named(elect))].map(|(o, v)| format!("{o}={v}")));
        options.extend(
            [("--listen", http[index]), ("--elect-listen", elect[index])].map(|(option, at)| format!("{option}={at}")),
        );
        let files = [("--token-key", "token.key"), ("--data", name)];
        options.extend(files.map(|(option, file)| format!("{option}={}", fleet.folder.file(file))));
        options.extend([format!("--store={store}")]);
        options.extend(self::options(certificates));
        fleet.start(name, http[index], options.into_iter().map(Into::into).collect())
    };
    let own = Folder::new();
    for name in CERTIFICATE {
        fs::copy(fleet.folder.file(name), own.path().join(name)).expect("files can be copied");
    }
    let n1 = start(&mut fleet, 0, &own);
    let mut n2 = start(&mut fleet, 1, &stranger);
    for (name, member) in [("n1", &n1), ("n2", &n2)] {
        eventually(&format!("{name} refuses the other"), SOON, || {
            let log = member.process.log();
            (log.contains("no TLS with") && log.matches("no TLS with").count() > 3).then_some(())
        });
    }
    // Plain text is no way around it: an alert of TLS is the answer, if there is one.
    let answer = http::send(elect[0], b"\0\0\0\0plain");
    assert!(answer.is_empty() || answer.starts_with('\u{15}'), "{answer:?}");
    for member in [&n1, &n2] {
        assert!(!member.process.log().contains("elected"), "{}", member.process.log());
    }
    assert_eq!(n2.process.end().code(), Some(0), "{}", n2.process.log());
    let n2 = start(&mut fleet, 1, &own);
    let numbers: Vec<u64> = (1..=3).map(|n| number(&http, own.path(), &format!("shop:{n}"))).collect();
    fleet.nodes.extend([("n1".to_owned(), n1), ("n2".to_owned(), n2)]);
    assert_eq!(accepted(&fleet.audit(&[])), numbers);
}

/// Without `--tls-mutual` a node shows its certificate, and asks for none.
#[test]
fn https_works_for_whoever_trusts_the_authority() {
    let folder = with_certificates();
    let Some(redis) = servers::redis(&folder, "HTTPS", servers::Tls::Off) else { return };
    let mut fleet = Fleet::new(folder);
    fleet.start_store(&[]);
    let tls = options(&fleet.folder);
    fleet.tell_nodes(&tls.iter().map(String::as_str).collect::<Vec<_>>());
    fleet.start_nodes(1, "redis", redis.address);
    let (n1, folder) = (fleet.node("n1"), fleet.folder.path().to_owned());
    let seq = eventually("a number", SOON, || next(n1, &folder, false, "shop:1").expect("trusted")?.seq());
    assert!(next(n1, with_certificates().path(), false, "shop:2").is_err(), "a client that trusts somebody else");
    // As the cluster's own introduction says; curl uses OpenSSL, which is stricter than rustls.
    if let Some(curl) = servers::find("curl", "curl", "HTTPS with curl") {
        let mut command = std::process::Command::new(curl);
        command.args(["-sS", "--cacert", &fleet.folder.file("ca.pem"), &format!("https://{n1}/status")]);
        let output = run(command);
        assert!(output.status.success(), "{}", common::text(&output.stderr));
        assert!(common::text(&output.stdout).contains(r#""node_id":"n1""#));
    }
    assert_eq!(accepted(&fleet.audit(&[])), [seq]);
}

#[test]
fn a_databases_password_shows_up_nowhere() {
    let folder = Folder::new();
    let Some(postgres) = servers::postgres(&folder, "PostgreSQL's password", servers::Access::Password(PASSWORD))
    else {
        return;
    };
    let mut fleet = Fleet::new(folder);
    fleet.environment.push(("PGPASSWORD".to_owned(), PASSWORD.to_owned()));
    fleet.environment.push(("RUST_LOG".to_owned(), "trace".to_owned()));
    fleet.start_store(&["--postgres", &postgres.url()]);
    nothing_leaks(&[TOKEN_KEY, PASSWORD], &fleet.logs());
    // Nor if it is wrong.
    let mut command = program();
    command.args(["store", "--postgres", &postgres.url(), "--listen", &free_address().to_string()]);
    command.args(["--token-key", &fleet.folder.file("token.key")]).env("PGPASSWORD", "not-the-password");
    let refused = run(command);
    let errors = common::text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(70), "{errors}");
    assert!(!errors.contains("not-the-password") && errors.lines().any(|l| l.starts_with("fencepost: ")), "{errors}");
}
