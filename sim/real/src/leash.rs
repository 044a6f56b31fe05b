//! Processes that must not outlive the one that started them, however that ends.

use crate::error::Failed;
use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

/// What `fencepost` is called with to become a program on a leash.
pub const COMMAND: &str = "leashed";

/// Becomes `program` (its name and its arguments), which the kernel kills when the process that started this one ends, be
/// it by `kill -9` (prctl(2), `PR_SET_PDEATHSIG`; it outlasts execve(2)). Only Linux has that; elsewhere such a program
/// survives a starter that was killed.
///
/// # Errors
/// The program cannot be started; in one sentence.
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
    // It may have gone before the kernel was told; then somebody else has taken over its children.
    match getppid() == parent {
        true => Ok(()),
        false => Err(Failed::Harness("the process that started this one has gone".to_owned())),
    }
}

/// Was this process told to survive its terminal, as `nohup` does?
pub fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| hangup_is_ignored(&status))
}

/// proc_pid_status(5): `SigIgn` is a mask in hex, signal 1 its lowest bit.
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
