//! Members that elect among themselves.

use fencepost_seat::{AddressError, Raft, Resigner, Seat, SettingsError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
};
use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

const NAMES: [&str; 3] = ["a", "b", "c"];
/// Longer than anything takes here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Long, because tests share the machine.
const TTL: Duration = Duration::from_secs(2);
/// Where nobody is to lead.
const SHORT: Duration = Duration::from_millis(500);

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// Ports that are free now, and are not used by other tests of this process meanwhile.
fn members() -> Vec<(&'static str, String)> {
    let listeners = NAMES.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = listeners.map(|listener| listener.local_addr().unwrap().port());
    NAMES.iter().zip(ports).map(|(name, port)| (*name, format!("localhost:{port}"))).collect()
}

#[test]
fn members_that_cannot_elect_are_refused() {
    let wrong = |members: &[(&str, &str)]| Raft::in_clear(members.iter().copied(), "unused").unwrap_err();
    assert_eq!(wrong(&[]), AddressError::None);
    assert_eq!(wrong(&[("a", "a:7000"), ("a", "b:7000")]), AddressError::Twice("a".to_owned()));
    assert_eq!(wrong(&[("a", "a:port")]), AddressError::Wrong("a:port".to_owned(), "HOST:PORT"));

    let folder = folder("refused");
    let raft = Raft::in_clear([("a", "a"), ("b", "b")], &folder).unwrap();
    let seat = |raft: &Raft, member: &str| Seat::new(raft.clone(), "invoices").member(member);
    assert_eq!(seat(&raft, "c").unwrap_err(), SettingsError::Stranger("c".to_owned()));
    let kept = seat(&raft, "a").unwrap();
    assert_eq!(seat(&raft, "a").unwrap_err(), SettingsError::Taken("invoices".to_owned()));
    assert!(matches!(Seat::new(raft, "orders").shards(2, "a"), Err(SettingsError::Taken(seat)) if seat == "orders-0"));

    // Two processes that write one journal would lose votes.
    let twin = Raft::in_clear([("a", "a"), ("b", "b")], &folder).unwrap();
    let why = "another member has it".to_owned();
    assert_eq!(seat(&twin, "a").unwrap_err(), SettingsError::Folder { folder: folder.clone(), why });
    drop(kept);
    assert!(seat(&twin, "a").is_ok());
    let unnamed = Raft::in_clear([("a", "a"), ("b c", "b")], folder.join("unnamed")).unwrap();
    // Neither has taken the seat, nor the folder.
    for _ in 0..2 {
        assert_eq!(seat(&unnamed, "a").unwrap_err(), SettingsError::Member("b c".to_owned()));
    }
    assert!(!folder.join("unnamed").exists());
    let file = folder.join("lock");
    let blocked = Raft::in_clear([("a", "a")], file).unwrap();
    assert!(matches!(seat(&blocked, "a"), Err(SettingsError::Folder { .. })));
}

/// Who signs certificates.
type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate, and its key.
fn signed(by: &Authority) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, by).unwrap();
    (vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
}

/// What a member presents, beside trusting `trusted`.
#[derive(Clone, Copy)]
enum Shows<'a> {
    Signed(&'a Authority),
    Nothing,
}

fn tls(
    trusted: &Authority,
    server_by: &Authority,
    shows: Shows<'_>,
    asks: bool,
) -> (Arc<ServerConfig>, Arc<ClientConfig>) {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der().clone()).unwrap();
    let roots = Arc::new(roots);
    let client = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let client = client.with_root_certificates(roots.clone());
    let client = match shows {
        Shows::Signed(by) => {
            let (chain, key) = signed(by);
            client.with_client_auth_cert(chain, key).unwrap()
        }
        Shows::Nothing => client.with_no_client_auth(),
    };
    let server = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let server = match asks {
        true => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build().unwrap();
            server.with_client_cert_verifier(verifier)
        }
        false => server.with_no_client_auth(),
    };
    let (chain, key) = signed(server_by);
    (Arc::new(server.with_single_cert(chain, key).unwrap()), Arc::new(client))
}

/// A member that leads until it is asked to finish, and says with which token.
fn stands(
    raft: Raft,
    member: &'static str,
    ttl: Duration,
    led: &mpsc::UnboundedSender<(&'static str, u64)>,
) -> (Resigner, JoinHandle<()>) {
    let seat = Seat::new(raft, "invoices").ttl(ttl).member(member).unwrap();
    let (resigner, led) = (seat.resigner(), led.clone());
    let serving = tokio::spawn(async move {
        loop {
            let term = seat.campaign().await;
            // The test may have seen enough.
            let _ = led.send((member, term.lead().token()));
            tokio::select! {
                () = term.lead().resigning() => {}
                _ = term.lead().ended() => {}
            }
            term.finish().await;
        }
    });
    (resigner, serving)
}

fn own(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn members_with_certificates_elect_hand_over_and_follow_a_leader_that_dies() {
    let (folder, authority, members) = (folder("mutual"), authority(), members());
    let (told, mut led) = mpsc::unbounded_channel();
    let mut standing: Vec<_> = NAMES
        .iter()
        .map(|name| {
            let (server, client) = tls(&authority, &authority, Shows::Signed(&authority), true);
            let raft = Raft::over_tls(members.clone(), own(&folder, name), server, client).unwrap();
            (*name, stands(raft.tokens_above(1_000), name, TTL, &told))
        })
        .collect();
    let mut next = async || timeout(PATIENCE, led.recv()).await.expect("nobody leads").unwrap();
    let (first, token) = next().await;
    assert!(token > 1_000);
    let heir = *NAMES.iter().find(|name| **name != first).unwrap();
    let (_, (resigner, _)) = standing.iter().find(|(name, _)| *name == first).unwrap();
    resigner.resign_to(heir);
    let (second, higher) = next().await;
    assert!(second == heir && higher > token, "{second} leads with {higher}, after {first} with {token}");
    // It dies with its node, as a process does.
    let place = standing.iter().position(|(name, _)| *name == second).unwrap();
    let (_, (_, serving)) = standing.remove(place);
    serving.abort();
    let (third, highest) = next().await;
    assert!(third != second && highest > higher);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_votes_without_a_certificate_of_the_fleet() {
    let (fleet, others) = (authority(), authority());
    let cases = [
        ("another", &others, Shows::Signed(&others), true),
        ("none", &others, Shows::Nothing, true),
        ("unasked", &fleet, Shows::Nothing, false),
    ];
    for (case, server_by, shows, asks) in cases {
        let (folder, members) = (folder(case), members());
        let (told, mut led) = mpsc::unbounded_channel();
        let standing: Vec<_> = NAMES[..2]
            .iter()
            .map(|name| {
                // One of them is as it should be, but cannot lead alone.
                let (server, client) = match *name {
                    "a" => tls(&fleet, &fleet, Shows::Signed(&fleet), true),
                    _ => tls(&fleet, server_by, shows, asks),
                };
                stands(Raft::over_tls(members.clone(), own(&folder, name), server, client).unwrap(), name, SHORT, &told)
            })
            .collect();
        assert!(timeout(6 * SHORT, led.recv()).await.is_err(), "{case}: one of them leads");
        standing.into_iter().for_each(|(_, serving)| serving.abort());
    }
}

/// The same member again, once the one before has let go of its folder.
async fn again(folder: &Path, members: &[(&'static str, &str)], member: &str) -> Seat<Raft> {
    let seat = || {
        let raft = Raft::in_clear(members.to_vec(), own(folder, member)).unwrap();
        Seat::new(raft, "invoices").ttl(SHORT).member(member)
    };
    let held = async {
        loop {
            match seat() {
                Err(SettingsError::Folder { .. }) => tokio::time::sleep(SHORT / 50).await,
                seat => break seat.unwrap(),
            }
        }
    };
    timeout(PATIENCE, held).await.expect("the folder is free")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_of_other_members_is_another_one() {
    for (case, above, ttl) in [("tokens", 7, SHORT), ("ttl", 0, 2 * SHORT)] {
        let (folder, members) = (folder(case), members());
        let (told, mut led) = mpsc::unbounded_channel();
        let start = |name: &'static str, above: u64, ttl: Duration| {
            let raft = Raft::in_clear(members.clone(), own(&folder, name)).unwrap().tokens_above(above);
            stands(raft, name, ttl, &told)
        };
        // Each of them waits for a majority of its own fleet.
        let (_, one) = start("a", 0, SHORT);
        let (_, other) = start("b", above, ttl);
        assert!(timeout(6 * ttl, led.recv()).await.is_err(), "{case}: two fleets are one");
        // With one that is of its fleet, it has one.
        let (_, third) = start("c", above, ttl);
        let (leader, token) = timeout(PATIENCE, led.recv()).await.expect("nobody leads").unwrap();
        assert!(leader != "a" && token > above, "{case}: {leader} leads with {token}");
        for serving in [one, other, third] {
            serving.abort();
            let _ = serving.await;
        }
        // What is on its disk is of the fleet as it was.
        let seat = again(&folder, &[("b", "localhost:0"), ("d", "localhost:1")], "b").await;
        let mut watch = seat.watch();
        let why = async { while watch.changed().await.failing.is_none() {} };
        tokio::select! {
            _ = seat.campaign() => panic!("it leads"),
            said = timeout(PATIENCE, why) => said.expect("it says why it does not stand"),
        }
        let failing = seat.status().failing;
        assert_eq!(failing.as_deref(), Some("rejected: the journal is of a fleet with other members"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_votes_as_soon_as_it_can() {
    let (folder, members) = (folder("witness"), members());
    let (told, mut led) = mpsc::unbounded_channel();
    let raft = |name: &str| Raft::in_clear(members.clone(), own(&folder, name)).unwrap();
    // Its port is another's.
    let taken = TcpListener::bind(("0.0.0.0", members[2].1.rsplit_once(':').unwrap().1.parse().unwrap())).unwrap();
    let _witness = Seat::new(raft("c"), "invoices").ttl(SHORT).member("c").unwrap();
    let (_, serving) = stands(raft("a"), "a", SHORT, &told);
    assert!(timeout(4 * SHORT, led.recv()).await.is_err(), "nobody votes for it");
    drop(taken);
    assert_eq!(timeout(PATIENCE, led.recv()).await.expect("nobody leads").unwrap().0, "a");
    serving.abort();
}

#[tokio::test]
async fn a_folder_is_free_once_its_node_has_ended() {
    let (folder, members) = (folder("ends"), [("a", "localhost:0"), ("b", "localhost:1")]);
    let raft = || Raft::in_clear(members, own(&folder, "a")).unwrap();
    let seat = Seat::new(raft(), "invoices").ttl(SHORT).member("a").unwrap();
    // Nothing else runs on this thread until it waits: the node goes on without its seat.
    drop(seat);
    let at_once = Seat::new(raft(), "invoices").ttl(SHORT).member("a");
    assert!(matches!(at_once, Err(SettingsError::Folder { .. })), "two nodes would write one journal");
    again(&folder, &members, "a").await;
}
