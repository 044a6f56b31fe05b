//! Real processes for tests: the built `fencepost`, and the servers it talks to, on free ports of loopback in a temporary
//! folder. Each is ended by its process id when it is dropped, which a panic does as well.
//!
//! `FENCEPOST_SERVERS` says what to do about a program that is missing: unset, the test says so aloud and passes; `require`,
//! it fails; `install`, it is installed first, from Debian's packages and with pip.

pub mod fleet;
pub mod http;
pub mod servers;

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long something may take that should be quick; a loaded machine is slow.
pub const SOON: Duration = Duration::from_secs(30);
/// From one look to the next.
const INTERVAL: Duration = Duration::from_millis(20);

/// Says something that shows although the test passes.
pub fn say(line: &str) {
    // Not `eprintln!`, which the test harness keeps to itself.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What is to be done about missing programs.
pub fn wish() -> String {
    let wish = env::var("FENCEPOST_SERVERS").unwrap_or_default();
    assert!(["", "require", "install"].contains(&wish.as_str()), "FENCEPOST_SERVERS is `require` or `install`");
    wish
}

/// Says that a test is left out; fails when `FENCEPOST_SERVERS` does not allow that.
pub fn skip(what: &str, why: &str) {
    assert!(wish().is_empty(), "{what} cannot be tested: {why}, and FENCEPOST_SERVERS={} wants it", wish());
    say(&format!("SKIPPED: {what}, because {why}; FENCEPOST_SERVERS=install installs what is missing"));
}

/// Waits until `look` gives something.
pub fn eventually<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < within, "not within {} s: {what}", within.as_secs());
        sleep(INTERVAL);
    }
}

/// An address of loopback that was free a moment ago.
pub fn free_address() -> SocketAddr {
    let port = protocols_clients::env::tokio::free_port().expect("loopback has a free port");
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A temporary folder; it stays for a look when its test fails.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new() -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("fencepost-real-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        // In memory where there is such a place: every write is synced.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.join(name) } else { env::temp_dir().join(name) };
        fs::create_dir_all(&folder).expect("temporary folders can be made");
        Folder(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it, as an argument.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("temporary folders have readable names").to_owned()
    }

    /// Writes a file into it; its name as an argument.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), bytes).expect("temporary files can be written");
        self.file(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return say(&format!("logs are in {}", self.0.display()));
        }
        // What stays behind is a temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that was started; killed when dropped.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it; what it prints is appended to `log`.
    pub fn start(mut command: Command, log: &Path) -> Process {
        let file = File::options().create(true).append(true).open(log).expect("logs can be written");
        let errors = file.try_clone().expect("a file has more than one handle");
        let started = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let child = started.unwrap_or_else(|e| panic!("{command:?} cannot be started: {e}"));
        Process { child, log: log.to_owned() }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by its process id.
    pub fn signal(&mut self, name: &str) {
        // A process that was waited for has an id that may be somebody else's.
        if !self.has_ended() {
            let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
            assert!(sent.is_ok_and(|s| s.success()), "SIG{name} cannot be sent");
        }
    }

    /// Has it ended?
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_some()
    }

    /// Waits for its end.
    pub fn wait(&mut self, within: Duration) -> ExitStatus {
        let log = self.log.clone();
        eventually(&format!("the end of a process, see {}", log.display()), within, || {
            self.child.try_wait().expect("a child can be asked")
        })
    }

    /// Asks it to end, and waits until it has.
    pub fn end(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait(SOON)
    }

    /// Kills it, as a power loss does.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it has printed.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Waits until it listens; false when it ended instead.
    pub fn listens(&mut self, address: SocketAddr) -> bool {
        let what = format!("something listens on {address}, see {}", self.log.display());
        eventually(&what, SOON, || {
            let ended = self.has_ended();
            let listens = TcpStream::connect(address).is_ok();
            (ended || listens).then_some(listens && !ended)
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program under test.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("RUST_BACKTRACE", "1").env_remove("RUST_LOG").env_remove("PGPASSWORD");
    command
}

/// Runs a command that is to end by itself, and soon.
pub fn run(mut command: Command) -> Output {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = spawned.unwrap_or_else(|e| panic!("{command:?} cannot be started: {e}"));
    let pid = child.id();
    let (done, ended) = std::sync::mpsc::channel();
    // Whoever does not end is ended: the test then fails by the exit code.
    let guard = std::thread::spawn(move || {
        if ended.recv_timeout(SOON).is_err() {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().expect("a child can be waited for");
    let _ = done.send(());
    guard.join().expect("the guard only waits");
    output
}

/// Runs the program under test.
pub fn fencepost<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    let mut command = program();
    command.args(arguments);
    run(command)
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
