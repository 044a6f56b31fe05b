//! A command that is asked to end (SIGTERM, Ctrl-C) fails at its next wait: so its members and servers are stopped, and
//! their folders removed, as after any other failure.

use crate::Error;
use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// How often a wait looks whether it is to end.
const LOOKS: Duration = Duration::from_millis(100);

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on, signals make [`next`] and [`pause`] fail instead of ending the process.
pub fn heed() -> Result<(), Error> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let within = runtime.enter();
    let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    drop(within);
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        ASKED.store(true, Ordering::Relaxed);
    });
    Ok(())
}

pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The next event; `None` if there is none within this time.
///
/// # Errors
/// The command is asked to end.
pub fn next<T>(events: &Receiver<T>, within: Duration) -> Result<Option<T>, Error> {
    let until = Instant::now() + within;
    loop {
        if is_asked() {
            return Err("it was asked to end".into());
        }
        let left = until.saturating_duration_since(Instant::now());
        match events.recv_timeout(left.min(LOOKS)) {
            Ok(event) => return Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) if left > LOOKS => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Sleeps for so long.
///
/// # Errors
/// The command is asked to end.
pub fn pause(length: Duration) -> Result<(), Error> {
    let until = Instant::now() + length;
    while Instant::now() < until {
        if is_asked() {
            return Err("it was asked to end".into());
        }
        thread::sleep(until.saturating_duration_since(Instant::now()).min(LOOKS));
    }
    Ok(())
}
