//! What a power loss leaves of a tree.

use super::{Durable, Entries, Known, Reached, Step, Tree, place, reached};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs::{self, File, FileTimes, Metadata},
    io,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

/// Disks write sectors of this size whole, in bytes.
const SECTOR: usize = 512;

/// An entry that is not as it would be after the loss of everything unsynced.
struct Renamed {
    folder: u64,
    name: OsString,
    before: Option<u64>,
    now: Option<u64>,
    /// The machine has a folder of this path in the working directory, so that the disk always has it.
    given: bool,
}

/// The tree as the processes left it.
#[derive(Default)]
struct Live {
    folders: BTreeMap<u64, Entries>,
    paths: BTreeMap<u64, PathBuf>,
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u64::from(random.next_u32()) * bound as u64) >> 32) as usize
}

impl Tree {
    /// Of what was not synced, a random part remains: of entries that belong together (a renaming) all or none, of each
    /// file some sectors. What a path names afterwards is durable.
    ///
    /// # Errors
    /// This machine fails.
    pub fn lose_power(&mut self, random: &mut ChaCha8Rng) -> io::Result<()> {
        let live = self.live()?;
        let changes = self.changes(&live)?;
        let groups = grouped(&changes);
        let mut kept = drawn(&changes, &groups, random);
        let mut folders = self.folders_with(&changes, &kept);
        while self.keep_the_moved(&live, &folders, &changes, &groups, &mut kept) {
            folders = self.folders_with(&changes, &kept);
        }
        self.stop_between_steps(&live, &changes, &groups, &mut folders, random);
        let fresh = self.place.path().join("fresh");
        fs::create_dir(&fresh)?;
        let (known, cut, built) = (&self.known, &self.cut, BTreeMap::new());
        let mut build = Build { known, cut, live: &live, folders: &folders, built, random };
        build.folder(self.top, &fresh)?;
        let root = self.root();
        place::remove(&root)?;
        fs::rename(&fresh, &root)?;
        self.all_is_durable()
    }

    /// The folders with what was synced, and the changes that were kept.
    fn folders_with(&self, changes: &[Renamed], kept: &[bool]) -> BTreeMap<u64, Entries> {
        let durable = self.durable_folders().into_iter();
        let mut folders: BTreeMap<u64, Entries> = durable.map(|(number, entries)| (number, entries.clone())).collect();
        for (change, _) in changes.iter().zip(kept).filter(|(_, kept)| **kept) {
            let entries = folders.entry(change.folder).or_default();
            match change.now {
                Some(now) => drop(entries.insert(change.name.clone(), now)),
                None => drop(entries.remove(&change.name)),
            }
        }
        folders
    }

    /// What had a durable name and has one now is not lost, although the folder that it was moved to is new, or the one
    /// that it was in is gone: then the way to its new name was kept, too. False if there is nothing of that kind.
    fn keep_the_moved(
        &self,
        live: &Live,
        folders: &BTreeMap<u64, Entries>,
        changes: &[Renamed],
        groups: &[usize],
        kept: &mut [bool],
    ) -> bool {
        let numbers = |of: &BTreeMap<u64, &Entries>| -> BTreeSet<u64> {
            reached(self.top, of).into_iter().map(|one| one.number).collect()
        };
        let before = numbers(&self.durable_folders());
        let after = numbers(&folders.iter().map(|(number, entries)| (*number, entries)).collect());
        let had_a_name = |number: &u64| before.contains(number) || self.known.get(number).is_some_and(|of| of.moved);
        let live_folders = live.folders.iter().map(|(number, entries)| (*number, entries)).collect();
        let now = reached(self.top, &live_folders);
        let way: BTreeMap<u64, &Reached> = now.iter().map(|one| (one.number, one)).collect();
        let at: BTreeMap<(u64, &OsStr), usize> =
            changes.iter().enumerate().map(|(at, change)| ((change.folder, &*change.name), at)).collect();
        let mut keeps = BTreeSet::new();
        for lost in now.iter().filter(|one| had_a_name(&one.number) && !after.contains(&one.number)) {
            let mut one = lost;
            while one.number != self.top {
                keeps.extend(at.get(&(one.folder, one.name)).map(|at| groups[*at]));
                one = way[&one.folder];
            }
        }
        let newly: Vec<usize> = (0..kept.len()).filter(|at| !kept[*at] && keeps.contains(&groups[*at])).collect();
        newly.iter().for_each(|at| kept[*at] = true);
        !newly.is_empty()
    }

    /// Of files that were moved one after the other, only the first may have arrived: then a name is free that the next one
    /// was to take.
    fn stop_between_steps(
        &self,
        live: &Live,
        changes: &[Renamed],
        groups: &[usize],
        folders: &mut BTreeMap<u64, Entries>,
        random: &mut ChaCha8Rng,
    ) {
        if self.steps.len() < 2 {
            return;
        }
        let is_there = |number: &u64| {
            live.paths.contains_key(number) || live.folders.contains_key(number) || self.known.contains_key(number)
        };
        // What is moved into a folder that may be lost would be lost with it.
        let durable: BTreeSet<u64> =
            reached(self.top, &self.durable_folders()).into_iter().map(|one| one.number).collect();
        let steps: Vec<&Step> = self.steps.iter().filter(|step| is_there(&step.file)).collect();
        for first in groups.iter().enumerate().filter(|(at, first)| at == *first).map(|(at, _)| at) {
            let of_group =
                || changes.iter().zip(groups).filter(|(_, group)| **group == first).map(|(change, _)| change);
            let concerns = |(folder, name): &(u64, OsString)| {
                of_group().any(|change| change.folder == *folder && change.name == *name)
            };
            let steps: Vec<_> = steps.iter().filter(|step| concerns(&step.from) || concerns(&step.to)).collect();
            let all_arrive = steps.iter().all(|step| durable.contains(&step.to.0));
            if steps.len() < 2 || !all_arrive || below(random, 3) > 0 {
                continue;
            }
            for Renamed { folder, name, before, .. } in of_group().filter(|change| !change.given) {
                let entries = folders.entry(*folder).or_default();
                match before {
                    Some(before) => drop(entries.insert(name.clone(), *before)),
                    None => drop(entries.remove(name)),
                }
            }
            for step in &steps[..1 + below(random, steps.len() - 1)] {
                let ((from_folder, from), (to_folder, to)) = (&step.from, &step.to);
                folders.entry(*from_folder).or_default().remove(from);
                folders.entry(*to_folder).or_default().insert(to.clone(), step.file);
            }
        }
    }

    fn live(&self) -> io::Result<Live> {
        let mut live = Live::default();
        let mut folders = vec![(self.top, self.root())];
        while let Some((number, path)) = folders.pop() {
            let mut entries = Entries::new();
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                let metadata = entry.metadata()?;
                entries.insert(entry.file_name(), metadata.ino());
                match metadata.is_dir() {
                    true => folders.push((metadata.ino(), entry.path())),
                    false => drop(live.paths.insert(metadata.ino(), entry.path())),
                }
            }
            live.folders.insert(number, entries);
            live.paths.insert(number, path);
        }
        Ok(live)
    }

    /// In the order of their paths, as the machine's numbers differ from run to run.
    fn changes(&self, live: &Live) -> io::Result<Vec<Renamed>> {
        let here = std::env::current_dir()?;
        let (mut changes, mut seen, mut folders) = (Vec::new(), BTreeSet::new(), vec![(self.top, PathBuf::from("/"))]);
        let none = Entries::new();
        while let Some((number, path)) = folders.pop() {
            if !seen.insert(number) {
                continue;
            }
            let before = match self.known.get(&number) {
                Some(Known { durable: Durable::Folder(entries), .. }) => entries,
                _ => &none,
            };
            // One that was removed was empty.
            let now = live.folders.get(&number).unwrap_or(&none);
            let names: BTreeSet<&OsString> = before.keys().chain(now.keys()).collect();
            for name in names {
                let (before, now) = (before.get(name).copied(), now.get(name).copied());
                folders.extend([before, now].into_iter().flatten().map(|number| (number, path.join(name))));
                if before != now {
                    let given = before.is_none()
                        && now.is_some_and(|now| live.folders.contains_key(&now))
                        && path.join(name).starts_with(&here)
                        && path.join(name).is_dir();
                    changes.push(Renamed { folder: number, name: name.clone(), before, now, given });
                }
            }
        }
        Ok(changes)
    }
}

/// The first change of the group to which each belongs: those that concern one file reach the disk together.
fn grouped(changes: &[Renamed]) -> Vec<usize> {
    let mut group: Vec<usize> = (0..changes.len()).collect();
    let mut of_file: BTreeMap<u64, usize> = BTreeMap::new();
    fn first(group: &[usize], mut at: usize) -> usize {
        while group[at] != at {
            at = group[at];
        }
        at
    }
    for (at, change) in changes.iter().enumerate() {
        for file in [change.before, change.now].into_iter().flatten() {
            let other = *of_file.entry(file).or_insert(at);
            let (a, b) = (first(&group, at), first(&group, other));
            group[a.max(b)] = a.min(b);
        }
    }
    (0..changes.len()).map(|at| first(&group, at)).collect()
}

/// Which changes have reached the disk.
fn drawn(changes: &[Renamed], groups: &[usize], random: &mut ChaCha8Rng) -> Vec<bool> {
    let mut kept = vec![false; changes.len()];
    for (at, first) in groups.iter().enumerate() {
        kept[at] = if *first == at { random.next_u32() & 1 == 0 } else { kept[*first] };
    }
    kept.iter().zip(changes).map(|(kept, change)| *kept || change.given).collect()
}

struct Build<'a> {
    known: &'a BTreeMap<u64, Known>,
    cut: &'a BTreeMap<u64, (u64, u64)>,
    live: &'a Live,
    folders: &'a BTreeMap<u64, Entries>,
    built: BTreeMap<u64, PathBuf>,
    random: &'a mut ChaCha8Rng,
}

impl Build<'_> {
    fn metadata(&self, number: u64) -> io::Result<Metadata> {
        match self.live.paths.get(&number) {
            Some(path) => fs::symlink_metadata(path),
            None => self.known.get(&number).ok_or(io::ErrorKind::NotFound)?.held.metadata(),
        }
    }

    fn folder(&mut self, number: u64, at: &Path) -> io::Result<()> {
        let folders = self.folders;
        for (name, entry) in folders.get(&number).into_iter().flatten() {
            let (path, metadata) = (at.join(name), self.metadata(*entry)?);
            if let Some(other) = self.built.get(entry) {
                // A folder has one place only.
                if !metadata.is_dir() {
                    fs::hard_link(other, path)?;
                }
                continue;
            }
            self.built.insert(*entry, path.clone());
            if metadata.is_symlink() {
                let target = match self.known.get(entry) {
                    Some(Known { durable: Durable::Link(target), .. }) => target.clone(),
                    _ => fs::read_link(&self.live.paths[entry])?,
                };
                symlink(target, &path)?;
                continue;
            }
            match metadata.is_dir() {
                true => {
                    fs::create_dir(&path)?;
                    self.folder(*entry, &path)?;
                }
                false => fs::write(&path, self.contents(*entry)?)?,
            }
            let opened = File::open(&path)?;
            let modified = metadata.modified()?;
            opened.set_times(FileTimes::new().set_modified(modified).set_accessed(modified))?;
            opened.set_permissions(metadata.permissions())?;
        }
        Ok(())
    }

    fn contents(&mut self, number: u64) -> io::Result<Vec<u8>> {
        let before = match self.known.get(&number) {
            Some(Known { durable: Durable::File(bytes), .. }) => bytes.as_slice(),
            _ => &[],
        };
        match self.live.paths.get(&number) {
            Some(path) => {
                let shortest = self.cut.get(&number).map(|(shortest, _)| *shortest as usize);
                Ok(torn(before, &place::read(path)?, shortest, self.random))
            }
            None => Ok(before.to_vec()),
        }
    }
}

/// Of what was written since the last sync: nothing, everything, or some sectors up to some length. A file that was
/// meanwhile shorter than before may have lost what it had, and may have gained nothing.
fn torn(before: &[u8], now: &[u8], shortest: Option<usize>, random: &mut ChaCha8Rng) -> Vec<u8> {
    let shortest = shortest.filter(|shortest| *shortest < before.len());
    if before == now && shortest.is_none() {
        return now.to_vec();
    }
    match below(random, 4) {
        0 => return before.to_vec(),
        1 => return now.to_vec(),
        _ => {}
    }
    let before = match shortest {
        Some(shortest) if random.next_u32() & 1 == 0 => &before[..shortest],
        _ => before,
    };
    // That nothing of what was appended is there is as likely as that all of it is.
    let length = match (below(random, 3), now.len().checked_sub(before.len())) {
        (0, Some(more)) => before.len() + below(random, more + 1),
        (1, _) => before.len(),
        _ => now.len(),
    };
    let mut left = vec![0; length];
    for (sector, bytes) in left.chunks_mut(SECTOR).enumerate() {
        let part =
            |of: &'_ [u8]| of[of.len().min(sector * SECTOR)..of.len().min(sector * SECTOR + bytes.len())].to_vec();
        let (before, now) = (part(before), part(now));
        let written = before == now || random.next_u32() & 1 == 0;
        let from = if written { now } else { before };
        bytes[..from.len()].copy_from_slice(&from);
    }
    left
}
