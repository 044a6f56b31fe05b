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
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io,
    ops::Range,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
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
    held: Arc<File>,
    durable: Durable,
    /// What a failed sync was to write: the kernel takes it for written.
    dropped: Option<Vec<u8>>,
    /// It had no name yet when it was first synced (`O_TMPFILE`), and may still be given one.
    nameless: bool,
    /// It had a name that was durable, and a later sync has taken that away.
    moved: bool,
}

/// What a sync makes durable.
#[derive(Default)]
pub struct Change {
    /// Files and folders that it names.
    held: BTreeMap<u64, Known>,
    synced: Vec<(u64, Durable)>,
    /// How many lengths and names had been changed when it was looked at.
    cuts: u64,
    /// Of a file's contents, only this part, in bytes.
    part: Option<Range<usize>>,
}

pub struct Tree {
    place: Place,
    /// The number of the topmost folder.
    top: u64,
    known: BTreeMap<u64, Known>,
    /// The shortest that a file has been since it was last synced, in bytes, and when it was last shortened.
    cut: BTreeMap<u64, (u64, u64)>,
    /// Changes of names since their folders were last synced, in order.
    steps: Vec<Step>,
    /// How many lengths and names were changed.
    cuts: u64,
    /// How many were known when those that were gone were last forgotten.
    kept: usize,
}

/// A file that was given another name.
struct Step {
    file: u64,
    from: (u64, OsString),
    to: (u64, OsString),
    /// How many lengths and names had been changed.
    at: u64,
}

/// So many steps are remembered: states between older ones are not drawn.
const STEPS_MAX: usize = 1_000;

fn hold(path: &Path, flags: i32) -> io::Result<Known> {
    let held = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = held.metadata()?;
    let durable = if metadata.is_dir() {
        Durable::Folder(Entries::new())
    } else if metadata.is_symlink() {
        Durable::Link(fs::read_link(path)?)
    } else {
        Durable::File(Vec::new())
    };
    let nameless = metadata.nlink() == 0;
    Ok(Known { held: Arc::new(held), durable, dropped: None, nameless, moved: false })
}

impl Known {
    /// The same, before anything of it is durable.
    fn again(&self) -> Known {
        let durable = match &self.durable {
            Durable::File(_) => Durable::File(Vec::new()),
            Durable::Folder(_) => Durable::Folder(Entries::new()),
            Durable::Link(target) => Durable::Link(target.clone()),
        };
        Known { held: self.held.clone(), durable, dropped: None, nameless: self.nameless, moved: false }
    }
}

impl Change {
    /// Holds what is at this path once, whoever has done so before.
    fn hold(&mut self, number: u64, path: &Path, flags: i32, known: &BTreeMap<u64, Known>) -> io::Result<&Known> {
        let held = match self.held.entry(number) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(free) => free.insert(match known.get(&number) {
                Some(known) => known.again(),
                None => hold(path, flags)?,
            }),
        };
        Ok(held)
    }

    /// With what the file or folder is now; it may be open only.
    fn add(&mut self, path: &Path, flags: i32, known: &BTreeMap<u64, Known>) -> io::Result<()> {
        let metadata = if flags == HELD { fs::symlink_metadata(path)? } else { fs::metadata(path)? };
        let number = metadata.ino();
        let durable = match &self.hold(number, path, flags, known)?.durable {
            Durable::File(_) if metadata.len() > SYNCED_MAX => return Err(io::Error::from_raw_os_error(EFBIG)),
            Durable::File(_) => Durable::File(place::read(path)?),
            Durable::Folder(_) => {
                let mut entries = Entries::new();
                for entry in fs::read_dir(path)? {
                    let entry = entry?;
                    let number = entry.metadata()?.ino();
                    self.hold(number, &entry.path(), HELD, known)?;
                    entries.insert(entry.file_name(), number);
                }
                Durable::Folder(entries)
            }
            Durable::Link(target) => Durable::Link(target.clone()),
        };
        self.synced.push((number, durable));
        Ok(())
    }
}

impl Tree {
    /// An empty disk with the folders that any machine has, and the one in which this program runs.
    pub fn new() -> io::Result<Tree> {
        let place = Place::new()?;
        let mut tree =
            Tree { place, top: 0, known: BTreeMap::new(), cut: BTreeMap::new(), steps: Vec::new(), cuts: 0, kept: 0 };
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
        self.steps.clear();
        let all = self.everything()?;
        self.top = fs::symlink_metadata(self.root())?.ino();
        self.commit(all, false);
        Ok(())
    }

    fn everything(&self) -> io::Result<Change> {
        let (mut folders, mut all) = (vec![self.root()], Change { cuts: self.cuts, ..Change::default() });
        while let Some(folder) = folders.pop() {
            all.add(&folder, HELD, &self.known)?;
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => folders.push(entry.path()),
                    false => all.add(&entry.path(), HELD, &self.known)?,
                }
            }
        }
        Ok(all)
    }

    /// What a sync of this part of an open file, or of a folder, of the process makes durable; of everything, if the number
    /// is below zero.
    ///
    /// # Errors
    /// The file is too large, or this machine fails.
    pub fn change(&self, process: u32, descriptor: i32, part: Range<u64>) -> io::Result<Change> {
        if descriptor < 0 {
            return self.everything();
        }
        let part = (part != (0..u64::MAX)).then_some(part.start as usize..part.end as usize);
        let mut change = Change { cuts: self.cuts, part, ..Change::default() };
        change.add(&PathBuf::from(format!("/proc/{process}/fd/{descriptor}")), HELD_BEHIND, &self.known)?;
        Ok(change)
    }

    /// The file of this number was longer, and has this length now, in bytes.
    pub fn cut(&mut self, number: u64, length: u64) {
        self.cuts += 1;
        let (shortest, last) = self.cut.entry(number).or_insert((length, 0));
        (*shortest, *last) = (length.min(*shortest), self.cuts);
    }

    /// The file of this number has another name.
    pub fn moves(&mut self, file: u64, from: (u64, String), to: (u64, String)) {
        self.cuts += 1;
        if self.steps.len() == STEPS_MAX {
            self.steps.remove(0);
        }
        let [from, to] = [from, to].map(|(folder, name)| (folder, OsString::from(name)));
        self.steps.push(Step { file, from, to, at: self.cuts });
    }

    /// Makes it durable; or it fails, and the kernel takes it for durable.
    pub fn commit(&mut self, change: Change, fails: bool) {
        for (number, held) in change.held {
            self.known.entry(number).or_insert(held);
        }
        let mut taken_away = Vec::new();
        for (number, durable) in change.synced {
            let Some(known) = self.known.get_mut(&number) else { continue };
            let shortest = self.cut.get(&number).map(|(shortest, _)| *shortest as usize);
            // What was shortened since then may still be lost.
            if !fails && self.cut.get(&number).is_some_and(|(_, last)| *last <= change.cuts) {
                self.cut.remove(&number);
            }
            let durable = match (&known.durable, durable, &change.part) {
                (Durable::File(old), Durable::File(now), Some(part)) => {
                    Durable::File(with_part(old, now, part, shortest))
                }
                (_, durable, _) => durable,
            };
            match (&mut known.durable, durable) {
                (Durable::File(_), Durable::File(bytes)) if fails => known.dropped = Some(bytes),
                (_, _) if fails => {}
                (Durable::File(old), Durable::File(bytes)) => *old = merged(old, bytes, known.dropped.as_deref()),
                (Durable::Folder(old), Durable::Folder(new)) => {
                    self.steps.retain(|step| step.at > change.cuts || step.from.0 != number && step.to.0 != number);
                    let stay: BTreeSet<u64> = new.values().copied().collect();
                    let gone = old.values().filter(|number| !stay.contains(number)).copied();
                    taken_away.extend(gone.map(|gone| (number, gone)));
                    *old = new;
                }
                (old, new) => *old = new,
            }
        }
        if !taken_away.is_empty() || self.known.len() > 2 * self.kept {
            self.forget_the_gone(taken_away);
        }
    }

    /// What a power loss would leave, if it took everything that was not synced.
    fn durable_folders(&self) -> BTreeMap<u64, &Entries> {
        let folders = self.known.iter().filter_map(|(number, known)| match &known.durable {
            Durable::Folder(entries) => Some((*number, entries)),
            _ => None,
        });
        folders.collect()
    }

    /// What is neither linked nor would be there after a power loss cannot come back. What these folders no longer have
    /// is somewhere else, or is gone.
    fn forget_the_gone(&mut self, taken_away: Vec<(u64, u64)>) {
        let reached: BTreeSet<u64> =
            reached(self.top, &self.durable_folders()).into_iter().map(|at| at.number).collect();
        for (folder, number) in taken_away {
            if let Some(known) = self.known.get_mut(&number).filter(|_| reached.contains(&folder)) {
                known.moved = true;
            }
        }
        self.known.retain(|number, known| {
            let linked = known.held.metadata().is_ok_and(|metadata| metadata.nlink() > 0);
            known.nameless &= !linked;
            linked || known.nameless || reached.contains(number)
        });
        self.kept = self.known.len();
    }
}

/// An entry of a folder.
struct Reached<'a> {
    number: u64,
    folder: u64,
    name: &'a OsStr,
}

/// Everything below the topmost folder, each once, and the folder itself, in an order that depends on names alone.
fn reached<'a>(top: u64, folders: &BTreeMap<u64, &'a Entries>) -> Vec<Reached<'a>> {
    let mut all = vec![Reached { number: top, folder: top, name: OsStr::new("") }];
    let (mut seen, mut at) = (BTreeSet::from([top]), 0);
    while let Some(folder) = all.get(at).map(|one| one.number) {
        for (name, number) in folders.get(&folder).into_iter().flat_map(|entries| entries.iter()) {
            if seen.insert(*number) {
                all.push(Reached { number: *number, folder, name });
            }
        }
        at += 1;
    }
    all
}

/// The old contents, with a part of the new ones, and with no more than the file had when it was shortest.
fn with_part(old: &[u8], now: Vec<u8>, part: &Range<usize>, shortest: Option<usize>) -> Vec<u8> {
    let (start, end) = (part.start.min(now.len()), part.end.min(now.len()));
    let stays = old.len().min(shortest.unwrap_or(usize::MAX)).min(now.len());
    let mut mixed = old[..stays].to_vec();
    mixed.resize(stays.max(end), 0);
    mixed[start..end].copy_from_slice(&now[start..end]);
    mixed
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

#[cfg(test)]
mod tests {
    use super::with_part;

    #[test]
    fn a_part_is_synced_and_nothing_else() {
        let (old, now) = (b"aaaaaaaa".as_slice(), || b"bbbbbbbb".to_vec());
        assert_eq!(with_part(old, now(), &(2..4), None), b"aabbaaaa");
        assert_eq!(with_part(old, now(), &(6..100), None), b"aaaaaabb");
        // What was cut off since the last sync is not there again, and no more than there is now.
        assert_eq!(with_part(old, now(), &(2..4), Some(3)), b"aabb");
        assert_eq!(with_part(old, b"bb".to_vec(), &(0..1), None), b"ba");
    }
}
