//! Process trees: a program that is run through a wrapper (a shell, a launcher, `consul lock`) is stopped and killed with
//! whatever it has started.

use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// How long processes are killed again and again: one that may not be signalled would never be gone.
const KILLS_FOR: Duration = Duration::from_secs(5);

/// The processes that `root` has started, and they in turn, without `root` itself; empty where there is no `/proc`.
pub fn below(root: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = parent(&stat, || has_threads(&entry.path()));
        if let (Some(pid), Some(parent)) = (pid, parent) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![root]);
    while let Some(pid) = next.pop() {
        let started = children.remove(&pid).unwrap_or_default();
        next.extend(&started);
        found.extend(started);
    }
    found
}

/// proc_pid_stat(5): the number, the name in parentheses (which may contain any character), the state, the parent. A
/// process that has ended and not been waited for counts no more, unless only its first thread has ended.
fn parent(stat: &str, has_threads: impl Fn() -> bool) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    match fields.next()? {
        "Z" | "X" if !has_threads() => None,
        _ => fields.next()?.parse().ok(),
    }
}

/// Whether one of its threads goes on.
fn has_threads(process: &Path) -> bool {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let mut stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.any(|stat| parent(&stat, || false).is_some())
}

/// Signals every process below `root`. Returns how many there were.
pub fn signal(root: i32, signal: Signal) -> usize {
    let all = below(root);
    for pid in all.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
    all.len()
}

/// Kills every process below `root`, also those that are started meanwhile.
pub fn kill(root: i32) {
    let since = Instant::now();
    while signal(root, Signal::KILL) > 0 && since.elapsed() < KILLS_FOR {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_kernels_words_are_read() {
        assert_eq!(parent("12 (a) b) S 7 12 12 0", || false), Some(7));
        assert_eq!(parent("12 (sh) Z 7 12", || false), None);
        assert_eq!(parent("12 (sh) Z 7 12", || true), Some(7));
        assert_eq!(parent("", || true), None);
    }

    #[test]
    fn what_a_shell_has_started_is_found_and_ended() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 60; true' & sleep 60; true"])
            .stdin(Stdio::null())
            .spawn()
            .expect("a shell is everywhere");
        let root = shell.id() as i32;
        while below(root).len() < 3 {
            std::thread::yield_now();
        }
        kill(root);
        assert_eq!(below(root), [] as [i32; 0]);
        shell.wait().expect("it ends once its children have");
    }
}
