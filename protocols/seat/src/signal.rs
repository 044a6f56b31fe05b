use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// The shutdown of [`Seat::serve_until`](crate::Seat::serve_until) for a service: resolves at SIGTERM, which Kubernetes,
/// systemd and Docker send first, and at SIGINT. Give the process more time until SIGKILL than
/// [`Settings::drain`](crate::Settings::drain), [`Settings::stop_within`](crate::Settings::stop_within) and a request to
/// the service take in all.
///
/// The signals count from this call, before the future is polled.
///
/// # Errors
/// The handlers could not be installed.
pub fn terminated() -> io::Result<impl Future<Output = ()> + Send> {
    let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
