//! The disk of an unmodified program: a folder of this machine, in which its processes read and write, and what of it
//! would survive a power loss.
//!
//! POSIX promises only what was synced, and so does this disk: `fsync` of a file makes its contents durable and not its
//! name; `fsync` of a folder makes its entries durable and not the contents of their files. No file system promises less;
//! ext4, XFS and btrfs promise more, each in another way (Pillai et al., "All File Systems Are Not Created Equal", OSDI
//! 2014).

mod loss;
mod place;

use place::Place;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// `O_PATH | O_NOFOLLOW`, and `O_PATH` alone: a file is held without being read.
const HELD: i32 = 0o10_000_000 | 0o400_000;
const HELD_BEHIND: i32 = 0o10_000_000;
/// A failed sync drops pages of this size, in bytes.
const PAGE: usize = 4096;
/// The largest file that can be synced, in bytes: it is kept twice.
const SYNCED_MAX: u64 = 1 << 30;
const EFBIG: i32 = 27;

/// Folders that a machine has before any program runs.
const FOLDERS: [&str; 11] =
    ["data", "home", "mnt", "opt", "root", "run", "srv", "tmp", "var/lib/store", "var/log", "var/tmp"];

type Entries = BTreeMap<OsString, u64>;

#[derive(Clone)]
enum Durable {
    File(Vec<u8>),
    Folder(Entries),
    Link(PathBuf),
}

struct Known {
    /// Keeps the machine from using its number again.
    held: File,
    durable: Durable,
    /// What a failed sync was to write: the kernel takes it for written.
    dropped: Option<Vec<u8>>,
}

/// What a sync makes durable.
#[derive(Default)]
pub struct Change {
    /// Files and folders that it names.
    held: Vec<(u64, Known)>,
    synced: Vec<(u64, Durable)>,
    /// How often files had been shortened when it was looked at.
    cuts: u64,
}

pub struct Tree {
    place: Place,
    /// The number of the topmost folder.
    top: u64,
    known: BTreeMap<u64, Known>,
    /// The shortest that a file has been since it was last synced, in bytes, and when it was last shortened.
    cut: BTreeMap<u64, (u64, u64)>,
    cuts: u64,
}

fn hold(path: &Path, flags: i32) -> io::Result<(u64, Known)> {
    let held = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = held.metadata()?;
    let durable = if metadata.is_dir() {
        Durable::Folder(Entries::new())
    } else if metadata.is_symlink() {
        Durable::Link(fs::read_link(path)?)
    } else {
        Durable::File(Vec::new())
    };
    Ok((metadata.ino(), Known { held, durable, dropped: None }))
}

impl Change {
    /// With what the file or folder is now; it may be open only.
    fn add(&mut self, path: &Path, flags: i32) -> io::Result<()> {
        let (number, known) = hold(path, flags)?;
        let durable = match &known.durable {
            Durable::File(_) if known.held.metadata()?.len() > SYNCED_MAX => {
                return Err(io::Error::from_raw_os_error(EFBIG));
            }
            Durable::File(_) => Durable::File(fs::read(path)?),
            Durable::Folder(_) => {
                let mut entries = Entries::new();
                for entry in fs::read_dir(path)? {
                    let entry = entry?;
                    let (number, inner) = hold(&entry.path(), HELD)?;
                    entries.insert(entry.file_name(), number);
                    self.held.push((number, inner));
                }
                Durable::Folder(entries)
            }
            Durable::Link(target) => Durable::Link(target.clone()),
        };
        self.held.push((number, known));
        self.synced.push((number, durable));
        Ok(())
    }
}

impl Tree {
    /// An empty disk with the folders that any machine has, and the one in which this program runs.
    pub fn new() -> io::Result<Tree> {
        let place = Place::new()?;
        let mut tree = Tree { place, top: 0, known: BTreeMap::new(), cut: BTreeMap::new(), cuts: 0 };
        let root = tree.root();
        let here = std::env::current_dir()?;
        for folder in FOLDERS.iter().map(Path::new).chain(here.strip_prefix("/")) {
            fs::create_dir_all(root.join(folder))?;
        }
        tree.all_is_durable()?;
        Ok(tree)
    }

    /// Where it is on this machine.
    pub fn root(&self) -> PathBuf {
        self.place.path().join("disk")
    }

    fn all_is_durable(&mut self) -> io::Result<()> {
        self.known.clear();
        self.cut.clear();
        let all = self.everything()?;
        self.top = fs::symlink_metadata(self.root())?.ino();
        self.commit(all, false);
        Ok(())
    }

    fn everything(&self) -> io::Result<Change> {
        let (mut folders, mut all) = (vec![self.root()], Change { cuts: self.cuts, ..Change::default() });
        while let Some(folder) = folders.pop() {
            all.add(&folder, HELD)?;
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => folders.push(entry.path()),
                    false => all.add(&entry.path(), HELD)?,
                }
            }
        }
        Ok(all)
    }

    /// What a sync of this open file or folder of the process makes durable; of everything, if the number is below zero.
    ///
    /// # Errors
    /// The file is too large, or this machine fails.
    pub fn change(&self, process: u32, descriptor: i32) -> io::Result<Change> {
        if descriptor < 0 {
            return self.everything();
        }
        let mut change = Change { cuts: self.cuts, ..Change::default() };
        change.add(&PathBuf::from(format!("/proc/{process}/fd/{descriptor}")), HELD_BEHIND)?;
        Ok(change)
    }

    /// The file of this number was longer, and has this length now, in bytes.
    pub fn cut(&mut self, number: u64, length: u64) {
        self.cuts += 1;
        let (shortest, last) = self.cut.entry(number).or_insert((length, 0));
        (*shortest, *last) = (length.min(*shortest), self.cuts);
    }

    /// Makes it durable; or it fails, and the kernel takes it for durable.
    pub fn commit(&mut self, change: Change, fails: bool) {
        for (number, held) in change.held {
            self.known.entry(number).or_insert(held);
        }
        for (number, durable) in change.synced {
            let Some(known) = self.known.get_mut(&number) else { continue };
            // What was shortened since then may still be lost.
            if !fails && self.cut.get(&number).is_some_and(|(_, last)| *last <= change.cuts) {
                self.cut.remove(&number);
            }
            match (&mut known.durable, durable) {
                (Durable::File(_), Durable::File(bytes)) if fails => known.dropped = Some(bytes),
                (_, _) if fails => {}
                (Durable::File(old), Durable::File(bytes)) => *old = merged(old, bytes, known.dropped.as_deref()),
                (old, new) => *old = new,
            }
        }
        self.forget_the_gone();
    }

    /// What is neither linked nor would be there after a power loss cannot come back.
    fn forget_the_gone(&mut self) {
        let (mut reached, mut next) = (BTreeSet::new(), vec![self.top]);
        while let Some(number) = next.pop() {
            if reached.insert(number) {
                if let Some(Known { durable: Durable::Folder(entries), .. }) = self.known.get(&number) {
                    next.extend(entries.values());
                }
            }
        }
        self.known.retain(|number, known| {
            reached.contains(number) || known.held.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
        });
    }
}

/// What a sync writes: all but pages that an earlier one failed to write, and that nobody has changed since.
fn merged(old: &[u8], mut new: Vec<u8>, dropped: Option<&[u8]>) -> Vec<u8> {
    let Some(dropped) = dropped else { return new };
    for (page, bytes) in new.chunks_mut(PAGE).enumerate() {
        let part = |of: &'_ [u8]| of[of.len().min(page * PAGE)..of.len().min(page * PAGE + bytes.len())].to_vec();
        let (lost, mut before) = (part(dropped), part(old));
        before.resize(bytes.len(), 0);
        if lost == *bytes {
            bytes.copy_from_slice(&before);
        }
    }
    new
}
