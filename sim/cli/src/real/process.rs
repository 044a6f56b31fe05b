//! What every command that is a process of its own needs: a runtime, shutdown on request, logs, TLS, and an exit code.

use super::{
    args::{LogFormat, TlsArgs},
    traces::{self, Traces},
};
use crate::terminal::exit::{Stop, ends_with};
use protocols_real::{
    http::ListenError,
    node::NodeError,
    raise::RaiseError,
    store::{StoreError, postgres::UrlError, token::KeyError},
    tls::{Files, Tls, TlsError},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scenarios::units::Unread;
use sim_real::{error::Failed, leash};
use std::{
    future::Future,
    io::{self, IsTerminal},
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// What is logged unless `RUST_LOG` says otherwise. openraft warns of every heartbeat without an answer, twenty times a
/// second, and repeats what its replication has warned of. The node logs itself what the seat does.
const LOGGED: &str = "info,fencepost_seat=warn,openraft=warn,openraft::core::heartbeat=error,openraft::engine::handler::replication_handler=error";
/// How often it is looked whether somebody still reads standard output.
const READER_LOOKED_FOR: Duration = Duration::from_millis(500);

/// Runs `work` on one thread: a node that is stopped at a point then stops as a whole. Disk waits have threads of their
/// own.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Stop::harness(format!("cannot start the runtime: {e}")))?;
    let done = runtime.block_on(work);
    // A blocking task that hangs must not delay the exit.
    runtime.shutdown_background();
    done
}

/// Completes when the process is asked to end: SIGTERM, Ctrl-C, or SIGHUP, which a closed terminal sends.
pub(super) fn asked_to_end() -> Result<impl Future<Output = ()> + Send + 'static, Stop> {
    let wrong = |e| Stop::harness(format!("cannot listen for signals: {e}"));
    let mut term = signal(SignalKind::terminate()).map_err(wrong)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(wrong)?;
    let mut hangup = if leash::ignores_hangup() { None } else { Some(signal(SignalKind::hangup()).map_err(wrong)?) };
    Ok(async move {
        let hangup = async {
            match &mut hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
            () = hangup => {}
        }
    })
}

/// Completes when standard output is a pipe that nobody reads any more (`cargo real cluster | head -5`): a command that
/// runs until it is asked to end is then asked. Writing would tell, but there may be nothing to write for hours.
pub(super) async fn nobody_reads() {
    let out = io::stdout();
    // Errors are always reported; nothing else is waited for.
    let is_broken = || {
        let mut polled = [PollFd::new(&out, PollFlags::empty())];
        poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::ERR)
    };
    while !is_broken() {
        tokio::time::sleep(READER_LOOKED_FOR).await;
    }
}

/// Sends log lines to standard error, and spans of the process called `instance` to a collector if there is one, until
/// the returned value is dropped.
pub(super) fn start_logs(instance: &str, format: LogFormat) -> Result<Traces, Stop> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (spans, traces) = traces::layer(instance)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colour);
    let lines = match format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
    };
    // A second subscriber is refused; the first one stays.
    let _ = tracing_subscriber::registry().with(vec![lines].into_iter().chain(spans).collect::<Vec<_>>()).try_init();
    traces::warn_if_unsent();
    Ok(traces)
}

/// The TLS settings of these options.
pub(super) fn tls(args: &TlsArgs) -> Result<Tls, Stop> {
    files(args).load().map_err(Stop::from)
}

/// The files that they name.
pub(super) fn files(args: &TlsArgs) -> Files {
    let TlsArgs { tls_cert, tls_key, tls_ca, tls_mutual } = args;
    Files { certificate: tls_cert.clone(), key: tls_key.clone(), authority: tls_ca.clone(), mutual: *tls_mutual }
}

// The exit code of a command whose real processes failed.

ends_with! {
    ListenError: usage,
    UrlError: usage,
    KeyError: usage,
    TlsError: usage,
    Unread: usage,
    NodeError: harness,
    RaiseError: harness,
    StoreError: harness,
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Stop {
        match &failed {
            Failed::Unplayable(_) | Failed::NoService(_) | Failed::NoCluster { .. } | Failed::Unread(_) => {
                Stop::usage(failed.to_string())
            }
            _ => Stop::harness(failed.to_string()),
        }
    }
}
