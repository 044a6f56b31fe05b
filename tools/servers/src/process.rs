//! Processes of tests.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long a quick operation may take on a loaded machine.
pub const SOON: Duration = Duration::from_secs(30);
/// The interval between checks.
const INTERVAL: Duration = Duration::from_millis(20);

/// Waits until `look` returns a value.
///
/// # Panics
/// It does not within `within`.
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

/// A started process; killed when dropped.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a process whose output is appended to `log`.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(mut command: Command, log: &Path) -> Process {
        let file = File::options().create(true).append(true).open(log).expect("logs can be written");
        let errors = file.try_clone().expect("a file has more than one handle");
        let started = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let child = started.unwrap_or_else(|e| panic!("{command:?} cannot be started: {e}"));
        Process { child, log: log.to_owned() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, by process id.
    ///
    /// # Panics
    /// It cannot be sent.
    pub fn signal(&mut self, name: &str) {
        // Once waited for, a child's process id may be reused.
        if !self.has_ended() {
            let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
            assert!(sent.is_ok_and(|s| s.success()), "SIG{name} cannot be sent");
        }
    }

    /// Whether it has ended.
    ///
    /// # Panics
    /// The operating system does not say.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It does not end in time.
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

    /// Kills it, as in a power loss.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its output.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Waits until it listens; false if it ended instead.
    pub fn listens(&mut self, address: SocketAddr) -> bool {
        self.is_ready(&format!("something listens on {address}"), || TcpStream::connect(address).is_ok())
    }

    /// Waits until `ready` returns true; false if the process ended instead.
    pub(super) fn is_ready(&mut self, what: &str, ready: impl Fn() -> bool) -> bool {
        let what = format!("{what}, see {}", self.log.display());
        eventually(&what, SOON, || {
            let ended = self.has_ended();
            let ready = ready();
            (ended || ready).then_some(ready && !ended)
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a command that should end soon by itself.
///
/// # Panics
/// It cannot be started.
pub fn run(mut command: Command) -> Output {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = spawned.unwrap_or_else(|e| panic!("{command:?} cannot be started: {e}"));
    let pid = child.id();
    let (done, ended) = std::sync::mpsc::channel();
    // A command that does not end is killed, and the test fails by its exit code.
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

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
