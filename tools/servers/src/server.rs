//! Running servers.

use super::{
    call,
    find::{self, find, find_zookeeper},
    folder::{Folder, free_address},
    kubernetes::find_kubernetes,
    process::Process,
};
use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

/// How often another port is tried, since a free port may be taken before it is used.
const PORTS_TRIED: u32 = 5;
/// The timeout of one check whether a server answers.
const PROBE_WITHIN: Duration = Duration::from_secs(1);

/// A running server; killed when dropped.
pub struct Server {
    pub process: Process,
    pub address: SocketAddr,
    call: Arc<dyn Fn(SocketAddr) -> Command + Send + Sync>,
    probe: Probe,
    log: PathBuf,
}

/// How to tell that a server answers: a request, and what its answer contains. `None`: it listens.
pub(super) type Probe = Option<(&'static [u8], &'static str)>;

/// Redis answers.
pub(super) const REDIS: Probe = Some((b"PING\r\n", "+PONG"));
/// etcd reports that it is healthy.
pub(super) const ETCD: Probe = Some((b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", r#""health":"true""#));

/// ZooKeeper reports its status as a standalone server.
pub(super) const ZOOKEEPER: Probe = Some((b"srvr", "Mode: standalone"));

/// Kubernetes' API server reaches its etcd.
const KUBERNETES: Probe = Some((b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n\r\nok"));

/// Consul can write, that is, it has elected itself.
const CONSUL: Probe =
    Some((b"PUT /v1/kv/fencepost/ready HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "\r\n\r\ntrue"));

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tls {
    Off,
    /// With `cert.pem`, `key.pem` and `ca.pem` in the folder; clients need certificates.
    On,
}

impl Server {
    /// Starts the server on a free port; its output goes to `<name>.log` in the folder.
    pub(super) fn start(
        name: &str,
        folder: &Path,
        probe: Probe,
        call: impl Fn(SocketAddr) -> Command + Send + Sync + 'static,
    ) -> Server {
        let call: Arc<dyn Fn(SocketAddr) -> Command + Send + Sync> = Arc::new(call);
        let log = folder.join(format!("{name}.log"));
        for _ in 0..PORTS_TRIED {
            let address = free_address();
            let process = Process::start(call(address), &log);
            let mut server = Server { process, address, call: call.clone(), probe, log: log.clone() };
            if server.wait() {
                return server;
            }
        }
        panic!("{name} does not start; see {}", log.display());
    }

    /// Kills the server and restarts it at the same address, with its disk.
    ///
    /// # Panics
    /// It does not start again.
    pub fn restart(&mut self) {
        self.kill();
        assert!(self.starts_again(), "it does not start again; see {}", self.log.display());
    }

    pub(super) fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts a killed server at the same address; false if it ended instead.
    pub(super) fn starts_again(&mut self) -> bool {
        self.process = Process::start((self.call)(self.address), &self.log);
        self.wait()
    }

    /// Waits until it answers; false if it ended instead.
    fn wait(&mut self) -> bool {
        let (address, probe) = (self.address, self.probe);
        match probe {
            None => self.process.listens(address),
            Some((ask, wanted)) => {
                self.process.is_ready("it answers", || answers(address, ask, wanted).unwrap_or(false))
            }
        }
    }
}

/// Whether the first request gets that answer.
fn answers(address: SocketAddr, ask: &[u8], wanted: &str) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PROBE_WITHIN))?;
    stream.write_all(ask)?;
    let (mut answer, mut bytes) = (String::new(), [0; 1024]);
    while !answer.contains(wanted) {
        let count = stream.read(&mut bytes)?;
        if count == 0 || answer.len() > bytes.len() {
            return Ok(false);
        }
        answer += &String::from_utf8_lossy(&bytes[..count]);
    }
    Ok(true)
}

fn certificates(folder: &Folder) -> [String; 3] {
    ["cert.pem", "key.pem", "ca.pem"].map(|name| folder.file(name))
}

/// An empty etcd; `None`, with a message, if it is not installed and the test may pass without `what`.
pub fn etcd(folder: &Folder, what: &str, tls: Tls) -> Option<Server> {
    let program = find("etcd", "etcd-server", what)?;
    let (data, files) = (folder.path().join("etcd"), certificates(folder));
    let call = move |address| {
        let (mut command, peer) = (Command::new(&program), free_address());
        match tls {
            Tls::Off => command.args(call::etcd(address, peer, &data)),
            Tls::On => command.args(call::etcd_with_tls(address, peer, &data, files.each_ref().map(String::as_str))),
        };
        command
    };
    Some(Server::start("etcd", folder.path(), ETCD.filter(|_| tls == Tls::Off), call))
}

/// A Consul with a single key, `fencepost/ready`; `None`, with a message, if it is not installed and the test may pass
/// without `what`.
pub fn consul(folder: &Folder, what: &str) -> Option<Server> {
    let (program, data) = (find::consul(what)?, folder.path().join("consul"));
    let call = move |address| {
        let mut command = Command::new(&program);
        command.args(call::consul(address, [free_address(), free_address()], &data));
        command
    };
    Some(Server::start("consul", folder.path(), CONSUL, call))
}

/// Kubernetes' API server, with no Lease yet; `None`, with a message, if it is not installed and the test may pass without
/// `what`. Its etcd is started and killed with it.
pub fn kubernetes(folder: &Folder, what: &str) -> Option<Server> {
    let (etcd, program) = (find("etcd", "etcd-server", what)?, find_kubernetes(what)?);
    let data = folder.path().join("kubernetes");
    let call = move |address| {
        let mut command = Command::new(&program);
        command.args(call::kubernetes(address, [free_address(), free_address()], &etcd, &data));
        command
    };
    Some(Server::start("kubernetes", folder.path(), KUBERNETES, call))
}

/// An empty Redis; `None`, with a message, if it is not installed and the test may pass without `what`.
pub fn redis(folder: &Folder, what: &str, tls: Tls) -> Option<Server> {
    let program = find("redis-server", "redis-server", what)?;
    let (data, files) = (folder.path().to_owned(), certificates(folder));
    let call = move |address| {
        let mut command = Command::new(&program);
        match tls {
            Tls::Off => command.args(call::redis(address, &data)),
            Tls::On => command.args(call::redis_with_tls(address, &data, files.each_ref().map(String::as_str))),
        };
        command
    };
    Some(Server::start("redis", folder.path(), REDIS.filter(|_| tls == Tls::Off), call))
}

/// An empty ZooKeeper; `None`, with a message, if it is not installed and the test may pass without `what`.
pub fn zookeeper(folder: &Folder, what: &str) -> Option<Server> {
    let jar = find_zookeeper(what)?;
    let data = folder.path().join("zookeeper");
    fs::create_dir_all(&data).expect("temporary folders can be made");
    let call = move |address| {
        let mut command = Command::new("java");
        // Otherwise it would delete empty containers once a minute, whatever a test is doing.
        command.arg("-Dznode.container.checkIntervalMs=86400000");
        command.args(call::zookeeper(address, &data, &jar).expect("temporary files can be written"));
        command
    };
    Some(Server::start("zookeeper", folder.path(), ZOOKEEPER, call))
}

/// A replica of the server on loopback port `of`; otherwise as [`redis`].
pub fn replica(folder: &Folder, what: &str, of: u16) -> Option<Server> {
    let program = find("redis-server", "redis-server", what)?;
    let data = folder.path().to_owned();
    let call = move |address| {
        let mut command = Command::new(&program);
        command.args(call::redis(address, &data)).args(["--replicaof", "127.0.0.1", &of.to_string()]);
        command
    };
    Some(Server::start("redis", folder.path(), REDIS, call))
}

/// A Redis Sentinel with these configuration lines; otherwise as [`redis`].
///
/// # Panics
/// Its configuration cannot be written.
pub fn sentinel(folder: &Folder, what: &str, lines: &str) -> Option<Server> {
    let program = find("redis-server", "redis-server", what)?;
    let (data, lines) = (folder.path().to_owned(), lines.to_owned());
    let call = move |address: SocketAddr| {
        // The sentinel saves its findings in it.
        let file = data.join(format!("sentinel-{}.conf", address.port()));
        let head = format!("bind 127.0.0.1\nport {}\ndir {}\n", address.port(), data.display());
        if !file.exists() {
            std::fs::write(&file, head + &lines).expect("the configuration can be written");
        }
        let mut command = Command::new(&program);
        command.arg(file).arg("--sentinel");
        command
    };
    Some(Server::start("sentinel", folder.path(), REDIS, call))
}
