//! This program once more, stopped before its `main`: a simulated process is a copy of it, made in a fraction of a
//! millisecond. It has one thread and nothing in its statics, so nothing that `fork` may not copy is there.

use crate::{
    child::Child,
    control::{Control, Hello, Order, Reply},
    error::Error,
    watch::{Watch, Watched, lock},
    wire::{self, Plain},
};
use std::{
    io::{self, ErrorKind},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

/// The environment variable that makes a program a zygote.
pub const VARIABLE: &str = "FENCEPOST_ZYGOTE";

/// How long a zygote may take until it says so, and a process may compute: a busy machine takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A function of this program that can be a process's `main`; `fencepost-libc` makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Main(pub u64);

/// The zygote, for as long as this or one of its processes exists.
#[derive(Clone)]
pub struct Zygote {
    // The watch ends first: it asks the zygote.
    watch: Arc<Watch>,
    control: Arc<Mutex<Control>>,
}

impl Zygote {
    /// Executes this program once more.
    ///
    /// # Errors
    /// It could not be executed, or it does not link `fencepost-libc`.
    pub fn start() -> Result<Zygote, Error> {
        if !cfg!(all(target_os = "linux", target_env = "gnu")) {
            return Err(Error::Elsewhere);
        }
        // This is the copy, and its `main` runs: nothing has stopped it. It must not make copies, too.
        if std::env::var_os(VARIABLE).is_some() {
            return Err(Error::NotLinked);
        }
        Self::try_start().map_err(|why| match why.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::UnexpectedEof => Error::NotLinked,
            _ => Error::Zygote { why },
        })
    }

    fn try_start() -> io::Result<Zygote> {
        let (mut stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        // Its environment lies on the stack, and moves what is below it: so it is the same each time.
        command.arg0("simulated").env_clear().env(VARIABLE, "1").stdin(Stdio::from(OwnedFd::from(theirs)));
        if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", path);
        }
        let mut process = command.spawn()?;
        // The command has the zygote's end; without it, the zygote's end is heard.
        drop(command);
        let mut buffer = Vec::new();
        let mut hello = || {
            stream.set_read_timeout(Some(PATIENCE))?;
            let hello = Hello::of(wire::receive(&mut stream, &mut buffer)?);
            hello.map_err(|_| ErrorKind::UnexpectedEof.into())
        };
        match hello() {
            Ok(Hello { running_at }) => {
                let control = Arc::new(Mutex::new(Control::new(stream, process)));
                let watch = Arc::new(Watch::start(Arc::downgrade(&control), running_at)?);
                Ok(Zygote { watch, control })
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
        self.try_fork(name, main).map_err(|why| Error::Fork { process: name.to_owned(), why })
    }

    fn try_fork(&self, name: &str, main: Main) -> io::Result<Child> {
        let ((from, writes), (reads, to)) = (io::pipe()?, io::pipe()?);
        let number = |of: &dyn AsRawFd| of.as_raw_fd().cast_unsigned();
        let (reads_at, writes_at) = (number(&reads), number(&writes));
        let (world, thread) = (std::process::id(), thread().unwrap_or(0));
        let order = Order::Fork { main: main.0, world, thread, reads: reads_at, writes: writes_at };
        let pid = match lock(&self.control).ask(&order)? {
            Reply::Forked { pid } => pid,
            Reply::Failed { errno } => return Err(io::Error::from_raw_os_error(errno)),
            Reply::Ended { .. } => return Err(ErrorKind::InvalidData.into()),
        };
        let watched = Watched::new(pid, PATIENCE);
        self.watch.add(&watched);
        Ok(Child::new(name, pid, (from, to), self.control.clone(), watched))
    }
}

/// The system's number of the calling thread.
fn thread() -> Option<u32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}
