//! A storm that is asked to end.

use super::{alone, program};
use servers::{Folder, Process, SOON, eventually, find};
use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

/// A process as proc(5) has it.
struct Seen {
    parent: u32,
    name: String,
    /// Together with its id, this names it for ever.
    started: u64,
}

fn seen(pid: u32) -> Option<Seen> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (before, after) = (text.split_once('(')?.1, text.rsplit_once(") ")?.1);
    let fields: Vec<&str> = after.split(' ').collect();
    let name = before.rsplit_once(") ")?.0.to_owned();
    // One that has ended and that nobody has asked about runs no more.
    let [state, parent] = [fields.first()?, fields.get(1)?];
    (*state != "Z").then_some(Seen { parent: parent.parse().ok()?, name, started: fields.get(19)?.parse().ok()? })
}

/// What this process has started, and what that has started.
fn descendants(of: u32) -> BTreeMap<u32, Seen> {
    let ids =
        fs::read_dir("/proc").expect("proc").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: BTreeMap<u32, Seen> = ids.filter_map(|pid| Some((pid, seen(pid)?))).collect();
    let is_below = |pid: &u32| {
        let ancestors = std::iter::successors(Some(*pid), |pid| all.get(pid).map(|seen| seen.parent));
        ancestors.skip(1).any(|ancestor| ancestor == of)
    };
    let below: Vec<u32> = all.keys().copied().filter(is_below).collect();
    let mut all = all;
    all.retain(|pid, _| below.contains(pid));
    all
}

#[test]
fn a_storm_that_is_asked_to_end_stops_its_servers() {
    let _alone = alone();
    let what = "the end of a storm";
    if find("redis-server", "redis-server", what).is_none() || find("initdb", "postgresql", what).is_none() {
        return;
    }
    let folder = Folder::new();
    let mut command = Command::new(program());
    command.args(["storm", "1", "Redis"]);
    let mut storm = Process::start(command, &folder.path().join("storm.log"));
    let started = eventually("the servers and the members run", SOON, || {
        let started = descendants(storm.pid());
        let has = |name: &str| started.values().any(|seen| seen.name == name);
        (has("redis-server") && has("postgres") && has("seat-on-servers")).then_some(started)
    });
    assert!(!storm.end().success(), "it says that it has not done what it was told: {}", storm.log());
    let left: Vec<&str> = started
        .iter()
        .filter(|(pid, before)| seen(**pid).is_some_and(|now| now.started == before.started))
        .map(|(_, before)| before.name.as_str())
        .collect();
    assert!(left.is_empty(), "{left:?} run on: {}", storm.log());
    let own = format!("fencepost-{}-", storm.pid());
    for place in [Path::new("/dev/shm"), &env::temp_dir()] {
        let left = fs::read_dir(place).into_iter().flatten().flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count();
        assert_eq!(left, 0, "folders are left in {}", place.display());
    }
}
