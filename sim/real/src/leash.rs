//! Processes that must not outlive the process that started them, however it ends.

use crate::{error::Failed, tree};
use std::{
    ffi::OsString,
    io::{Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The word before all these subcommands, for a `fencepost` that has the simulation's, too.
pub const REAL: &str = "real";

/// The subcommand of `fencepost` that starts a leashed program.
pub const COMMAND: &str = "leashed";

/// The subcommand of `fencepost` that keeps somebody else's program.
pub const KEEPER: &str = "kept";

/// The keeper's option that names the container which its program runs.
pub const CONTAINER: &str = "--container";

/// How long a container's client may take to end once its container is removed again and again.
const REMOVED_WITHIN: Duration = Duration::from_secs(20);
/// Between two removals: the client may not have made the container yet.
const REMOVED_EVERY: Duration = Duration::from_millis(50);

/// Runs `program` until it ends, or until standard input does, which the starting process holds; then kills whatever the
/// program has started and left behind. A leash is not enough for such a program: it may start others, change its user,
/// or be a script. `container` is what it runs if it is the client of a container engine: that is no child of the program's, and is
/// removed in the end. Returns the program's exit code; 128 and the signal's number if a signal has ended it.
///
/// # Errors
/// The program cannot be started.
pub fn keep(program: &[OsString], container: Option<&str>) -> Result<u8, Failed> {
    let [name, arguments @ ..] = program else { return Err(Failed::Harness("say which program".to_owned())) };
    let me = std::process::id() as i32;
    // Orphans are handed to this process, so that it finds them.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(me))
        .map_err(Failed::cannot("be told of processes left behind"))?;
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(Failed::cannot(format!("start {}", name.display())))?;
    // A removal is not to be cut short by the end of this process.
    let container = container.map(|container| Container { engine: name.clone(), name: container.to_owned() });
    let container = Arc::new(Mutex::new(container));
    let remove = |container: &Mutex<Option<Container>>| {
        container.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Container::remove);
    };
    let held = container.clone();
    thread::spawn(move || {
        // Nothing is ever written there: it ends when its holder does.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let (since, is_one) = (Instant::now(), held.lock().is_ok_and(|container| container.is_some()));
        // The client ends, and with it this process, once the container that it was to make has come and gone.
        while is_one && since.elapsed() < REMOVED_WITHIN {
            remove(&held);
            thread::sleep(REMOVED_EVERY);
        }
        tree::kill(me);
        std::process::exit(128 + 9);
    });
    let status = child.wait().map_err(Failed::cannot(format!("wait for {}", name.display())))?;
    remove(&container);
    tree::kill(me);
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(255);
    Ok(u8::try_from(code).unwrap_or(255))
}

struct Container {
    /// The client that has started it.
    engine: OsString,
    name: String,
}

impl Container {
    /// Kills and removes it, if it is there.
    fn remove(&self) {
        let mut command = Command::new(&self.engine);
        command.args(["rm", "--force", "--volumes", &self.name]).stdin(Stdio::null());
        // With nobody left to read it, a message would end the client.
        let Ok(done) = command.output() else { return };
        let said = String::from_utf8_lossy(&done.stderr).to_lowercase();
        if !done.status.success() && !said.contains("no such container") {
            // Into the member's log, if anybody still writes it.
            let _ = writeln!(std::io::stderr(), "{} is not removed: {}", self.name, said.trim_end());
        }
    }
}

/// Becomes `program` (its name and arguments). The kernel kills it when the starting process ends, even by `kill -9`
/// (prctl(2), `PR_SET_PDEATHSIG`, which survives execve(2)). Only Linux supports this; elsewhere the program outlives a
/// killed parent.
///
/// # Errors
/// The program cannot be started.
pub fn become_program(program: &[OsString]) -> Result<std::convert::Infallible, Failed> {
    let [name, arguments @ ..] = program else { return Err(Failed::Harness("say which program".to_owned())) };
    #[cfg(target_os = "linux")]
    tie()?;
    let error = Command::new(name).args(arguments).exec();
    Err(Failed::cannot(format!("start {}", name.display()))(error))
}

#[cfg(target_os = "linux")]
fn tie() -> Result<(), Failed> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(Failed::cannot("be tied to the process that started this one"))?;
    // If the parent ended before the prctl call, another process has adopted this one.
    match getppid() == parent {
        true => Ok(()),
        false => Err(Failed::Harness("the process that started this one has gone".to_owned())),
    }
}

/// Whether SIGHUP is ignored, as under `nohup`.
pub fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| hangup_is_ignored(&status))
}

/// proc_pid_status(5): `SigIgn` is a hex mask whose lowest bit is signal 1.
fn hangup_is_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        assert!(hangup_is_ignored("Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!hangup_is_ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(!hangup_is_ignored(""));
    }
}
