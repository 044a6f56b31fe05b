//! Free ports.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

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
