//! Processes that must not outlive the process that started them, however it ends.

use crate::{error::Failed, tree};
use std::{
    ffi::OsString,
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, Stdio},
    thread,
};

/// The word before all these subcommands, for a `fencepost` that has the simulation's, too.
pub const REAL: &str = "real";

/// The subcommand of `fencepost` that starts a leashed program.
pub const COMMAND: &str = "leashed";

/// The subcommand of `fencepost` that keeps somebody else's program.
pub const KEEPER: &str = "kept";

/// Runs `program` until it ends, or until standard input does, which the starting process holds; then kills whatever the
/// program has started and left behind. A leash is not enough for such a program: it may start others, change its user,
/// or be a script. Returns its exit code; 128 and the signal's number if a signal has ended it.
///
/// # Errors
/// The program cannot be started.
pub fn keep(program: &[OsString]) -> Result<u8, Failed> {
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
    thread::spawn(move || {
        // Nothing is ever written there: it ends when its holder does.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        tree::kill(me);
        std::process::exit(128 + 9);
    });
    let status = child.wait().map_err(Failed::cannot(format!("wait for {}", name.display())))?;
    tree::kill(me);
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(255);
    Ok(u8::try_from(code).unwrap_or(255))
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
