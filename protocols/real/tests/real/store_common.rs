//! Shared by the store's tests: folders, stores, clients that send raw lines, and PostgreSQL.
#![allow(dead_code, reason = "every test file uses its part")]

pub mod leader;
pub mod postgres;

use protocols_clients::site::Endpoint;
use protocols_real::{
    directory::Directory,
    store::{
        Audit, Auth, Keep, Store, StoreError, StoreSettings,
        link::{self, Link},
        loaded::Rules,
        server::Limits,
        token::TokenKey,
        wire,
    },
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The fleet's secret in tests.
pub const KEY: &str = "a key for tests only";

/// Nothing in these tests takes longer unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A folder that is removed with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("fencepost-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn store(&self) -> PathBuf {
        self.0.join("store.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn key() -> TokenKey {
    TokenKey::new(KEY.as_bytes()).unwrap()
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/tls").join(name)
}

pub fn tls_acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(testdata("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(testdata("key.pem")).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate], key).unwrap()))
}

/// Trusts the tests' certificate, or none.
pub fn tls_config(trusting: bool) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    if trusting {
        roots.add(CertificateDer::from_pem_file(testdata("cert.pem")).unwrap()).unwrap();
    }
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

/// Settings of a store that demands MACs.
pub fn settings(keep: Keep) -> StoreSettings {
    let (rules, limits) = (Rules::default(), Limits::default());
    StoreSettings { keep, rules, auth: Auth::Key(key()), limits, tls: None, commit: "" }
}

/// A store on its own port.
pub struct Server {
    pub address: SocketAddr,
    pub audit: Audit,
    stop: CancellationToken,
    task: JoinHandle<Result<(), StoreError>>,
}

impl Server {
    pub async fn start(settings: StoreSettings) -> Self {
        let store = Store::open(settings).await.unwrap();
        let audit = store.audit();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(store.serve(listener, stop.clone()));
        Server { address, audit, stop, task }
    }

    /// A store without MACs, on the given file.
    pub async fn insecure(path: PathBuf) -> Self {
        Self::start(StoreSettings { auth: Auth::Insecure, ..settings(Keep::Embedded(path)) }).await
    }

    /// Stops the store and waits for its end, after which the file is free.
    pub async fn stop(self) -> Result<(), StoreError> {
        self.stop.cancel();
        drop(self.audit);
        timeout(PATIENCE, self.task).await.expect("it stops").unwrap()
    }

    pub async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    pub fn link(&self, node: &str, deliver: impl FnMut(protocols::message::Message) + Send + 'static) -> Link {
        Link::start(link_settings(self.address, node), deliver)
    }
}

pub fn link_settings(store: SocketAddr, node: &str) -> link::LinkSettings {
    let fleet = ["n1", "n2", "n3", "store"].map(str::to_owned).to_vec();
    let endpoint = Endpoint { host: store.ip().to_string(), port: store.port() };
    link::LinkSettings::new(endpoint, node.to_owned(), Arc::new(Directory::new(fleet)), Some(key()))
}

/// A client that sends raw lines.
pub struct Client {
    pub read: BufReader<OwnedReadHalf>,
    pub write: OwnedWriteHalf,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        let (read, write) = TcpStream::connect(address).await.unwrap().into_split();
        Client { read: BufReader::new(read), write }
    }

    pub async fn say(&mut self, text: &str) {
        self.write.write_all(text.as_bytes()).await.unwrap();
    }

    /// The next line; "" once the store has closed the connection.
    pub async fn hear(&mut self) -> String {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.read.read_line(&mut line)).await.expect("an answer in time");
        read.map(|_| line.trim_end().to_owned()).unwrap_or_default()
    }

    pub async fn ask(&mut self, line: &str) -> String {
        self.say(&format!("{line}\n")).await;
        self.hear().await
    }
}

pub fn seal(node: &str, generation: u32, token: u64, mac: &str) -> String {
    format!(
        r#"{{"seal":{{"resource":"sequence","node":"{node}","generation":{generation},"token":{token},"mac":"{mac}"}}}}"#
    )
}

pub fn write(node: &str, generation: u32, token: u64, seq: u64, request: &str, mac: &str) -> String {
    let read = seq.saturating_sub(1);
    format!(
        r#"{{"write":{{"resource":"sequence","node":"{node}","generation":{generation},"token":{token},"seq":{seq},"read_version":{read},"request":"{request}","mac":"{mac}"}}}}"#
    )
}

/// The request with its MAC, as a node of the fleet sends it.
pub fn signed(line: &str) -> String {
    wire::line(&key().sign(wire::parse(line).unwrap()))
}

/// The answer to the first seal of n1 with token 7.
pub const SEALED_7: &str =
    r#"{"sealed":{"resource":"sequence","node":"n1","generation":1,"token":7,"verdict":"ok","seq":0,"version":0}}"#;

pub const STATE: &str = r#"{"state":{"resource":"sequence"}}"#;

/// A buffer that remains readable after it was handed out as a writer.
#[derive(Clone, Default)]
pub struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Text {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}
