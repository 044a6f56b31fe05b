//! A database whose disk fills, and has room again.

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
    fmt,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The size of the disk: an empty database takes 40 MB, and its log 16 MB and more.
const SIZE: &str = "size=160m";
const LEASE: Duration = Duration::from_secs(2);
/// How long the disk is full.
const FULL: Duration = Duration::from_secs(10);

/// What came of it.
pub struct Filled {
    pub verdict: Verdict,
    /// Writes that were acknowledged before, while it was full, and after.
    pub written: [usize; 3],
    /// Leaderships while it was full.
    pub reigns: usize,
    /// Whether the database ended by itself.
    pub ended: bool,
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [before, full, after] = self.written;
        let (verdict, reigns, s) = (self.verdict, self.reigns, FULL.as_secs());
        let how = if self.ended { "ended, and was started again" } else { "went on" };
        write!(
            f,
            "{verdict}; {before} before, {full} in {s} s on a full disk with {reigns} more leaderships, {after} after; the database {how}"
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
pub fn fill(program: PathBuf) -> Result<Option<Filled>, Error> {
    let folder = Folder::new();
    let Some(disk) = Disk::mount(folder.path())? else { return Ok(None) };
    let Some(mut stand) = Stand::with_database(Service::Redis, folder) else { return Ok(None) };
    let seat = "seat-0".to_owned();
    stand.prepare(std::slice::from_ref(&seat))?;
    let part = Part {
        service: Service::Redis,
        service_at: stand.served.at(),
        database_at: stand.database.server.address,
        seat,
        name: String::new(),
        lease: LEASE,
        pace: Duration::from_millis(5),
        work: Work::Closure,
        fenced: true,
    };
    let mut fleet = Fleet::start(program, part, 1)?;
    fleet.recover(LEASE)?;
    let (before, reigns) = (fleet.told.acknowledged.len(), fleet.told.reigns);
    let ballast = disk.fill()?;
    fleet.watch(FULL)?;
    let (full, reigns) = (fleet.told.acknowledged.len() - before, fleet.told.reigns - reigns);
    fs::remove_file(ballast)?;
    let ended = stand.database.server.process.has_ended();
    if ended {
        stand.database.restart();
    }
    fleet.recover(2 * LEASE)?;
    let seat = fleet.seat().to_owned();
    let record = fleet.finish()?;
    let after = record.acknowledged.len() - before - full;
    let acknowledged: Vec<_> = record.acknowledged.into_iter().map(|(_, write)| (seat.clone(), write)).collect();
    let verdict = judge(stand.rows()?, &acknowledged);
    drop(stand);
    Ok(Some(Filled { verdict, written: [before, full, after], reigns, ended }))
}
