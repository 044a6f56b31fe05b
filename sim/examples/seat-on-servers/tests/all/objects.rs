//! The fence of objects by S3's protocol: a client of S3 signs and retries, and the server answers by status codes.

use fencepost_seat::{
    Ended, FencedObjects, Redis, Seat, Term,
    fence::{FenceError, object_store::without_head},
};
use object_store::{
    ObjectStoreExt, PutPayload,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
};
use servers::{Folder, Process, SOON, Tls, free_address, redis};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    num::NonZeroUsize,
    path::PathBuf,
    process::Command,
    time::Duration,
};
use tokio::time::timeout;

const WHAT: &str = "the fence of objects in S3";
const BUCKET: &str = "invoices";

/// The server, and a client of its one bucket.
fn s3(folder: &Folder) -> Option<(Process, AmazonS3)> {
    // A server of S3 for tests, which knows conditional puts.
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("moto-5.2.5");
    let library = servers::python(library, &["moto[s3,server]==5.2.5"], "moto.server", WHAT)?;
    let address = free_address();
    let mut command = Command::new("python3");
    let port = address.port().to_string();
    command.env("PYTHONPATH", library).args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port]);
    let mut process = Process::start(command, &folder.path().join("moto.log"));
    assert!(process.listens(address), "{}", process.log());
    make_bucket(address);
    // The client wants one, also without TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = AmazonS3Builder::new().with_endpoint(format!("http://{address}")).with_allow_http(true);
    let client = client.with_bucket_name(BUCKET).with_region("us-east-1");
    let client = client.with_access_key_id("a").with_secret_access_key("b").build();
    Some((process, client.expect("a client")))
}

fn make_bucket(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!("PUT /{BUCKET} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// A leader with the token that this is: seats of two names know nothing of each other, so both believe.
async fn leader(redis: &Redis, seat: &str, token: u64) -> Term<fencepost_seat::Fenced> {
    let seat = Seat::new(redis.clone(), seat).ttl(Duration::from_secs(10)).member("a").expect("settings");
    loop {
        let term = timeout(SOON, seat.campaign()).await.expect("it leads");
        if term.lead().token() == token {
            return term;
        }
        assert_eq!(term.finish().await, Ended::Resigned);
    }
}

async fn content(store: &AmazonS3, path: &Path) -> String {
    let object = store.get(path).await.expect("it is there").bytes().await.expect("it is read");
    String::from_utf8(without_head(&object).to_vec()).expect("text")
}

#[tokio::test]
async fn an_object_of_s3_takes_nothing_from_a_former_leader() {
    let folder = Folder::new();
    let Some((_s3, store)) = s3(&folder) else { return };
    let Some(server) = redis(&folder, WHAT, Tls::Off) else { return };
    let redis = Redis::connect(&format!("redis://{}", server.address)).expect("an address");
    let (former, newer) = (leader(&redis, "former", 1).await, leader(&redis, "newer", 2).await);
    let (report, path) = (|text: &'static str| PutPayload::from_static(text.as_bytes()), Path::from("reports/today"));

    store.put_fenced(former.lead(), &path, report("of the first")).await.expect("nobody else has");
    store.put_fenced(former.lead(), &path, report("of the first, again")).await.expect("nor now");
    let longer = |old: Option<bytes::Bytes>| [&old.unwrap_or_default()[..], b"; and of the second"].concat().into();
    store.update_fenced(newer.lead(), &path, longer).await.expect("it is newer");
    let refused = store.put_fenced(former.lead(), &path, report("late")).await;
    assert!(matches!(refused, Err(FenceError::Over(Ended::Refused))), "{refused:?}");
    assert_eq!(former.lead().ended().await, Ended::Refused);
    assert_eq!(content(&store, &path).await, "of the first, again; and of the second");

    // What somebody has put there without a fence; S3 has no range of an empty object.
    for (name, before) in [("empty", ""), ("short", "not fenced")] {
        let path = Path::from(name);
        store.put(&path, report(before)).await.expect("it is put");
        store.put_fenced(newer.lead(), &path, report("fenced")).await.expect("nobody has fenced it");
        assert_eq!(content(&store, &path).await, "fenced");
    }

    let (path, keep) = (Path::from("sum"), NonZeroUsize::MIN);
    let add = |old: Option<bytes::Bytes>| [&old.unwrap_or_default()[..], b"+"].concat().into();
    for done in [true, false] {
        let put = store.update_fenced_once(newer.lead(), &path, "invoice-7", keep, add).await.expect("it is newer");
        assert_eq!(put.is_some(), done);
    }
    assert_eq!(content(&store, &path).await, "+");
    newer.finish().await;
}
