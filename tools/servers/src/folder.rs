//! What a server needs of the machine for itself: a temporary folder, and a free port.

use super::install::say;
use std::{
    env, fs, io,
    net::{SocketAddr, TcpStream},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// A temporary folder, which is kept for inspection if its test fails.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder.
    ///
    /// # Panics
    /// It cannot be created.
    #[allow(clippy::new_without_default, reason = "it is made on disk")]
    pub fn new() -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("fencepost-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        // In memory if possible, since every write is synced.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.join(name) } else { env::temp_dir().join(name) };
        fs::create_dir_all(&folder).expect("temporary folders can be made");
        Folder(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it, as an argument.
    ///
    /// # Panics
    /// The path is not valid Unicode.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("temporary folders have readable names").to_owned()
    }

    /// Writes a file in it; returns its path as an argument.
    ///
    /// # Panics
    /// It cannot be written.
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
        // At worst, a temporary folder is left behind.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The ports that [`free_port`] returns. Connections use higher ones (Linux: 32,768 and up), and could otherwise take a
/// port between its choice and its use.
const PORTS: Range<u32> = 10_000..32_000;

/// A loopback port that nobody listens on, for a server to be started. No two calls in one process return the same one.
///
/// # Errors
/// All ports are taken.
pub fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes start at different ports.
    let first = std::process::id().wrapping_mul(97);
    for _ in PORTS {
        let next = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = (PORTS.start + next % (PORTS.end - PORTS.start)) as u16;
        // Checked by connecting: a child process started meanwhile would inherit even a short-lived listener.
        let refused = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
        if TcpStream::connect(("127.0.0.1", port)).is_err_and(refused) {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// A loopback address that nobody listens on.
///
/// # Panics
/// All ports are taken.
pub fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port().expect("loopback has a free port")))
}
