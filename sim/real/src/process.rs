//! Processes of a cluster: starting, signalling and ending them.

use crate::{error::Failed, leash};
use rustix::process::{Pid, Signal, kill_process};
use std::{ffi::OsString, fs::OpenOptions, net::SocketAddr, path::PathBuf, process::Stdio, time::Duration};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

/// How long a server may take to listen.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// Between attempts to connect.
const READY_INTERVAL: Duration = Duration::from_millis(20);

/// How to start a process; usable repeatedly.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// `fencepost` itself, which ties the program to this process so that it never outlives it.
    pub leash: PathBuf,
    pub program: PathBuf,
    /// Never contains secrets: any user can read a process's arguments.
    pub arguments: Vec<OsString>,
    /// The file to which its output is appended.
    pub output: PathBuf,
}

/// A started process; dropping it kills it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pid: Pid,
}

impl Recipe {
    /// Starts it in its own process group: an interrupt at the terminal is for the cluster to handle.
    pub fn start(&self) -> Result<Running, Failed> {
        let shown = self.program.display();
        let output = OpenOptions::new().create(true).append(true).open(&self.output);
        let output = output.map_err(Failed::unwritten(&self.output))?;
        let errors = output.try_clone().map_err(Failed::unwritten(&self.output))?;
        let mut command = Command::new(&self.leash);
        command
            .args([leash::REAL, leash::COMMAND])
            .arg(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let child = command.process_group(0).kill_on_drop(true).spawn();
        let child = child.map_err(Failed::cannot(format!("start {shown}")))?;
        let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
        let pid = pid.ok_or_else(|| Failed::Harness(format!("{shown} ended at once")))?;
        Ok(Running { child, pid })
    }
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Sends a signal unless the process has ended.
    pub fn signal(&mut self, signal: Signal) {
        // Once waited for, a child's process id may be reused.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(self.pid, signal);
        }
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill().await;
    }

    /// Asks it to end, and kills it after `patience`.
    pub async fn end(&mut self, patience: Duration) {
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        if tokio::time::timeout(patience, self.child.wait()).await.is_err() {
            self.kill().await;
        }
    }
}

/// A loopback port that is free now.
///
/// # Errors
/// No port is free.
pub fn free_address() -> Result<SocketAddr, Failed> {
    let port = servers::free_port().map_err(|e| Failed::Harness(format!("no free port on loopback: {e}")))?;
    Ok(SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Waits until `address` accepts connections.
///
/// # Errors
/// The process ended, or nothing listens in time.
pub async fn listens(address: SocketAddr, process: &mut Running, recipe: &Recipe) -> Result<(), Failed> {
    let name = recipe.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let attempt = async {
        loop {
            if TcpStream::connect(address).await.is_ok() {
                return Ok(());
            }
            if process.has_ended() {
                return Err(Failed::Harness(format!("{name} ended at once; see {}", recipe.output.display())));
            }
            tokio::time::sleep(READY_INTERVAL).await;
        }
    };
    let late = format!("{name} does not listen on {address} after {} s", READY_WITHIN.as_secs());
    tokio::time::timeout(READY_WITHIN, attempt).await.map_err(|_| Failed::Harness(late))?
}
