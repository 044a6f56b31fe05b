//! This program once more, stopped before its `main`: a simulated process is a copy of it, made in a fraction of a
//! millisecond. It has one thread and nothing in its statics, so nothing that `fork` may not copy is there.

use crate::{
    child::Child,
    control::{Control, Hello, Order, Reply},
    error::Error,
    wire::{self, Plain},
};
use std::{
    io::{self, ErrorKind},
    os::{
        fd::OwnedFd,
        linux::net::SocketAddrExt,
        unix::{
            net::{SocketAddr, UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// The environment variable that makes a program a zygote. Its value is the name of the socket (in the abstract
/// namespace) to which processes connect.
pub const VARIABLE: &str = "FENCEPOST_ZYGOTE";

/// How long a zygote may take until it says so, and a process may compute: a busy machine takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A function of this program that can be a process's `main`; `fencepost-libc` makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Main(pub u64);

/// The zygote, for as long as this or one of its processes exists.
#[derive(Clone)]
pub struct Zygote {
    control: Arc<Mutex<Control>>,
    running_at: u64,
}

impl Zygote {
    /// Executes this program once more.
    ///
    /// # Errors
    /// It could not be executed, or it does not link `fencepost-libc`.
    pub fn start() -> Result<Zygote, Error> {
        Self::try_start().map_err(|why| match why.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::UnexpectedEof => Error::NotLinked,
            _ => Error::Zygote { why },
        })
    }

    fn try_start() -> io::Result<Zygote> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Always of the same length, as the environment lies on the stack and moves what is below it.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fencepost-{:010}-{count:010}", std::process::id());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        let (mut stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("simulated").env_clear().env(VARIABLE, &name).stdin(Stdio::from(OwnedFd::from(theirs)));
        if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", path);
        }
        let mut process = command.spawn()?;
        let mut buffer = Vec::new();
        let mut hello = || {
            stream.set_read_timeout(Some(PATIENCE))?;
            let hello = Hello::of(wire::receive(&mut stream, &mut buffer)?);
            hello.map_err(|_| ErrorKind::UnexpectedEof.into())
        };
        match hello() {
            Ok(Hello { running_at }) => {
                let control = Control::new(stream, listener, process);
                Ok(Zygote { control: Arc::new(Mutex::new(control)), running_at })
            }
            Err(why) => {
                process.kill()?;
                process.wait()?;
                Err(why)
            }
        }
    }

    /// Starts a process. It waits for [`Child::begin`].
    ///
    /// # Errors
    /// The machine has no room for another process, or the zygote is gone.
    pub fn fork(&self, name: &str, main: Main) -> Result<Child, Error> {
        let failed = |why| Error::Fork { process: name.to_owned(), why };
        let (pid, link) = {
            let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
            let pid = match control.ask(&Order::Fork { main: main.0 }).map_err(failed)? {
                Reply::Forked { pid } => pid,
                Reply::Failed { errno } => return Err(failed(io::Error::from_raw_os_error(errno))),
                Reply::Ended { .. } => return Err(failed(ErrorKind::InvalidData.into())),
            };
            // It has already connected: the zygote did this before it answered.
            (pid, control.accept().map_err(failed)?)
        };
        let mut child = Child::new(name, pid, link, self.control.clone(), self.running_at);
        child.set_patience(PATIENCE)?;
        Ok(child)
    }
}
