//! Processes that must not outlive the process that started them, however it ends.

use crate::error::Failed;
use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

/// The subcommand of `fencepost` that starts a leashed program.
pub const COMMAND: &str = "leashed";

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
