//! Free ports.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

/// Ports that [`free_port`] gives out; connections take theirs from above (Linux: 32,768 and up), and would come between the
/// choice of a port and its use.
const PORTS: Range<u32> = 10_000..32_000;

/// A port of loopback that nobody listens on, for a server that is about to be started. No two calls of one process give
/// the same one.
///
/// # Errors
/// All are taken.
pub fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes begin apart from each other.
    let first = std::process::id().wrapping_mul(97);
    for _ in PORTS {
        let next = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = (PORTS.start + next % (PORTS.end - PORTS.start)) as u16;
        // Asked by connecting: a listener, however short its life, is inherited by a process that is started meanwhile.
        let refused = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
        if TcpStream::connect(("127.0.0.1", port)).is_err_and(refused) {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// An address of loopback that nobody listens on.
///
/// # Panics
/// All are taken.
pub fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port().expect("loopback has a free port")))
}
