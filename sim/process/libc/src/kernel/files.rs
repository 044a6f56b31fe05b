//! What a process knows of its disk, which is a folder of the machine: where paths lead, which numbers its files have, and
//! when they were changed.

use super::{Kernel, threads::On};
use crate::system::disk;
use std::{collections::BTreeMap, io, ops::Range};

/// Whose a path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zone {
    /// The machine's, and never on a disk: devices and the system's own files.
    Devices,
    /// The machine's, only read.
    ReadOnly,
    /// The working directory that the program began in: what the disk does not have is read from the machine.
    Crate,
    Disk,
}

const DEVICES: [&str; 3] = ["/proc", "/sys", "/dev"];
const READ_ONLY: [&str; 7] = ["/etc", "/usr", "/lib", "/lib64", "/bin", "/sbin", "/nix"];

pub struct Files {
    /// The disk, without a slash at its end.
    pub root: String,
    pub cwd: String,
    crate_folder: String,
    program: String,
    /// The machine's number of the disk's file system.
    pub device: u64,
    numbers: BTreeMap<u64, u64>,
    counted: u64,
    /// Descriptors that were opened for writing, the machine's number of the file, and its path then: libc itself may
    /// close one unseen (`fclose`).
    written: BTreeMap<i32, (u64, String)>,
    /// The modification time that was last set, by the machine's number of the file: another one is a write's.
    stamped: BTreeMap<u64, (i64, i64)>,
    /// Folders being listed: their entries as `getdents64` returns them, in order.
    pub listings: BTreeMap<i32, Vec<Vec<u8>>>,
    synced: BTreeMap<u32, i32>,
    syncs: u32,
}

pub fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Files {
    pub fn new(root: String) -> Option<Files> {
        if root.is_empty() {
            return None;
        }
        let text = |path: io::Result<std::path::PathBuf>| path.ok().and_then(|path| path.to_str().map(str::to_owned));
        let cwd = text(std::env::current_dir()).unwrap_or_else(|| "/".to_owned());
        let program = std::env::current_exe().map(|mut path| {
            path.pop();
            path
        });
        let device = disk::stat_at(&root).map_or(0, |stat| stat.st_dev);
        Some(Files {
            root,
            crate_folder: cwd.clone(),
            cwd,
            program: text(program).unwrap_or_default(),
            device,
            numbers: BTreeMap::new(),
            counted: 0,
            written: BTreeMap::new(),
            stamped: BTreeMap::new(),
            listings: BTreeMap::new(),
            synced: BTreeMap::new(),
            syncs: 0,
        })
    }

    pub fn zone(&self, path: &str) -> Zone {
        let within = |folder: &str| is_within(path, folder);
        if DEVICES.into_iter().any(within) {
            Zone::Devices
        } else if self.crate_folder != "/" && within(&self.crate_folder) {
            Zone::Crate
        } else if READ_ONLY.into_iter().any(within) || self.program.len() > 1 && within(&self.program) {
            Zone::ReadOnly
        } else {
            Zone::Disk
        }
    }

    /// Whether something of the machine's lies below this folder, which is not on the disk.
    pub fn leads_to_machine(&self, path: &str) -> bool {
        is_within(&self.crate_folder, path) || is_within(&self.program, path)
    }

    /// The number that the process sees in place of the machine's.
    pub fn number(&mut self, inode: u64) -> u64 {
        *self.numbers.entry(inode).or_insert_with(|| {
            self.counted += 1;
            self.counted
        })
    }

    /// A new file: its number on the machine may have been another one's.
    pub fn is_new(&mut self, inode: u64) {
        self.numbers.remove(&inode);
        self.stamped.remove(&inode);
        self.number(inode);
    }

    pub fn opened_for_writing(&mut self, descriptor: i32, inode: u64, path: &str, wall: u64) {
        self.stamp(descriptor, wall);
        self.written.insert(descriptor, (inode, path.to_owned()));
    }

    pub fn copied(&mut self, from: i32, to: i32, wall: u64) {
        if let Some(file) = self.written.get(&from).cloned() {
            self.stamp(to, wall);
            self.written.insert(to, file);
        }
    }

    /// If it was written since the last look, it was changed now.
    pub fn stamp(&mut self, descriptor: i32, wall: u64) {
        let Some((inode, _)) = self.written.get(&descriptor) else { return };
        let is_it = |stat: &libc::stat| (stat.st_ino, stat.st_dev) == (*inode, self.device);
        if let Some(stat) = disk::stat(descriptor).filter(is_it) {
            if self.is_written(&stat) {
                self.changed(stat.st_ino, wall, |times| disk::set_times(descriptor, c"", times));
            }
            return;
        }
        let Some((inode, path)) = self.written.remove(&descriptor) else { return };
        if disk::stat_at(&path).is_some_and(|stat| stat.st_ino == inode && self.is_written(&stat)) {
            self.touch(&path, wall);
        }
    }

    fn is_written(&self, stat: &libc::stat) -> bool {
        self.stamped.get(&stat.st_ino) != Some(&(stat.st_mtime, stat.st_mtime_nsec))
    }

    fn changed(&mut self, inode: u64, wall: u64, set: impl FnOnce(u64)) {
        set(wall);
        self.stamped.insert(inode, ((wall / 1_000_000_000) as i64, (wall % 1_000_000_000) as i64));
    }

    /// The file or folder at this path of the machine was changed now.
    pub fn touch(&mut self, path: &str, wall: u64) {
        let (Some(stat), Ok(name)) = (disk::stat_at(path), std::ffi::CString::new(path)) else { return };
        self.changed(stat.st_ino, wall, |times| disk::set_times(libc::AT_FDCWD, &name, times));
    }

    /// A file that another process of this disk has written: its time stays until it is written again.
    pub fn known(&mut self, stat: &libc::stat) {
        self.stamped.entry(stat.st_ino).or_insert((stat.st_mtime, stat.st_mtime_nsec));
    }

    /// The program has set these times itself.
    pub fn keep_times(&mut self, stat: &libc::stat) {
        self.stamped.insert(stat.st_ino, (stat.st_mtime, stat.st_mtime_nsec));
    }

    pub fn close(&mut self, descriptor: i32, wall: u64) {
        self.stamp(descriptor, wall);
        self.written.remove(&descriptor);
        self.listings.remove(&descriptor);
    }
}

impl Kernel {
    /// Before time moves: what was written was written now.
    pub fn stamp_written(&mut self) {
        let wall = self.wall;
        if let Some(files) = self.files.as_mut().filter(|files| !files.written.is_empty()) {
            for descriptor in files.written.clone().into_keys() {
                files.stamp(descriptor, wall);
            }
        }
    }

    /// Asks the world, before any other thread runs: what this one has written by now is what is synced.
    ///
    /// # Errors
    /// The world is gone.
    pub fn begin_sync(&mut self, descriptor: i32, part: Range<u64>) -> io::Result<u32> {
        let Some(files) = &mut self.files else { return Ok(0) };
        files.syncs += 1;
        let sync = files.syncs;
        self.tell(fencepost_process::Op::Sync { sync, descriptor, from: part.start, to: part.end });
        self.exchange(fencepost_process::Then::Wait { until: Some(self.mono) })?;
        Ok(sync)
    }

    pub(super) fn synced(&mut self, sync: u32, error: i32) {
        if let Some(files) = &mut self.files {
            files.synced.insert(sync, error);
        }
        self.wake(|on| *on == On::Sync(sync), 1);
    }

    pub fn end_of_sync(&mut self, sync: u32) -> Option<i32> {
        self.files.as_mut()?.synced.remove(&sync)
    }
}
