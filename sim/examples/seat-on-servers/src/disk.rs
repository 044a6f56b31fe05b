//! A disk that fills, of the database's or of the service's, and has room again.

use crate::{
    Error,
    args::{Part, Work},
    fleet::Fleet,
    ledger::{Verdict, judge},
    service::Service,
    stand::Stand,
};
use servers::{Folder, say};
use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The size of the disk: an empty database takes 40 MB, and its log 16 MB and more; etcd's log takes 64 MB, twice.
const SIZE: &str = "size=160m";
/// How long the disk is full.
const FULL: Duration = Duration::from_secs(10);

/// Whose disk it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// Of the database that a leader on Redis writes to.
    Database,
    Service(Service),
}

/// What came of it.
pub struct Filled {
    whose: Whose,
    pub verdict: Verdict,
    /// Writes that were acknowledged before, while it was full, and after.
    pub written: [usize; 3],
    /// Leaderships while it was full.
    pub reigns: usize,
    /// Whether the server ended by itself.
    pub ended: bool,
    /// What `Status::failing` said meanwhile.
    pub failing: BTreeSet<String>,
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [before, full, after] = self.written;
        let (verdict, reigns, s) = (self.verdict, self.reigns, FULL.as_secs());
        let how = if self.ended { "ended, and was started again" } else { "went on" };
        let whose = match self.whose {
            Whose::Database => "the database",
            Whose::Service(service) => service.name(),
        };
        write!(
            f,
            "{verdict}; {before} before, {full} in {s} s on a full disk with {reigns} more leaderships, {after} after; {whose} {how}; failing: {:?}",
            self.failing
        )
    }
}

/// A small disk in memory; unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// Mounts it at this folder; `None`, with a message, if that is not allowed.
    fn mount(folder: &Path) -> Result<Option<Disk>, Error> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder).output()?;
        if mounted.status.success() {
            return Ok(Some(Disk(folder.to_owned())));
        }
        say("SKIPPED: a disk that fills, because no disk can be mounted here: only root can");
        Ok(None)
    }

    /// Leaves no room on it.
    fn fill(&self) -> Result<PathBuf, Error> {
        let path = self.0.join("ballast");
        let (mut file, bytes) = (File::create(&path)?, vec![0; 4096]);
        while file.write_all(&bytes).is_ok() {}
        Ok(path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // At worst, it is left behind. The folder could not be removed while something was mounted there.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

/// `None`, with a message, if that cannot be had here.
///
/// # Errors
/// A fleet in which nobody writes any more, and failures of the machine's.
pub fn fill(program: PathBuf, whose: Whose) -> Result<Option<Filled>, Error> {
    let folders = [Folder::new(), Folder::new()];
    let (service, small) = match whose {
        Whose::Database => (Service::Redis, &folders[1]),
        Whose::Service(service) => (service, &folders[0]),
    };
    let Some(disk) = Disk::mount(small.path())? else { return Ok(None) };
    let Some(mut stand) = Stand::within(service, folders) else { return Ok(None) };
    let seat = "seat-0".to_owned();
    stand.prepare(std::slice::from_ref(&seat))?;
    let part = Part {
        database_at: stand.database.server.address,
        seat,
        pace: Duration::from_millis(5),
        work: Work::Closure,
        ..Part::idle(service, stand.served.at(), service.lease())
    };
    let lease = part.lease;
    let mut fleet = Fleet::start(program, part, 1, None)?;
    fleet.recover(lease)?;
    let (before, reigns, began) = (fleet.told.acknowledged.len(), fleet.told.reigns, Instant::now());
    let ballast = disk.fill()?;
    if let Whose::Service(_) = whose {
        stand.served.crowd();
        // Whoever takes its place writes to the service.
        fleet.lose_leader();
    }
    fleet.watch(FULL)?;
    let (full, reigns) = (fleet.told.acknowledged.len() - before, fleet.told.reigns - reigns);
    fs::remove_file(ballast)?;
    let ended = match whose {
        Whose::Database => stand.database.server.process.has_ended(),
        Whose::Service(_) => stand.served.has_ended(),
    };
    match whose {
        Whose::Database if ended => stand.database.restart(),
        Whose::Service(_) if ended => stand.served.restart(),
        _ => {}
    }
    fleet.recover(2 * lease)?;
    let failing = fleet.told.failing.iter().filter(|(at, why)| *at > began && !why.is_empty());
    let failing = failing.map(|(_, why)| why.clone()).collect();
    fleet.finish()?;
    let after = fleet.told.acknowledged.len() - before - full;
    let seat = fleet.seat().to_owned();
    let acknowledged: Vec<_> = fleet.told.acknowledged.iter().map(|(_, write)| (seat.clone(), write.clone())).collect();
    let verdict = judge(stand.rows()?, &acknowledged);
    drop(stand);
    Ok(Some(Filled { whose, verdict, written: [before, full, after], reigns, ended, failing }))
}
