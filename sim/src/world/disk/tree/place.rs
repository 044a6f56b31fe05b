//! The folder of this machine that has one disk, as long as the run lasts.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

const PREFIX: &str = "fencepost-files-";
/// Whoever makes a folder locks it within this time.
const LOCKED_WITHIN: Duration = Duration::from_secs(60);

/// A folder that is removed with this value. Its lock says that its process lives.
pub struct Place {
    folder: PathBuf,
    _lock: File,
}

impl Place {
    pub fn new() -> io::Result<Place> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        static STALE: Once = Once::new();
        let within = std::env::temp_dir();
        loop {
            // All have names of one length: memory of a process must not depend on it.
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = within.join(format!("{PREFIX}{:08x}-{number:08x}", std::process::id()));
            match fs::create_dir(&folder) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let lock = File::create(folder.join("lock"))?;
            lock.lock()?;
            let place = Place { folder, _lock: lock };
            STALE.call_once(|| remove_stale(&within, &place._lock));
            return Ok(place);
        }
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later process.
        drop(remove(&self.folder));
    }
}

/// Removes this folder, also if the program has taken away the permission to change one below it.
pub fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
        result => return result,
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)?.flatten() {
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(folder)
}

/// What this file has, also if the program may only write it.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let denied = match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => e,
        result => return result,
    };
    let before = fs::metadata(path)?.permissions();
    fs::set_permissions(path, Permissions::from_mode(before.mode() | 0o400)).map_err(|_| denied)?;
    let bytes = fs::read(path);
    fs::set_permissions(path, before)?;
    bytes
}

/// Removes what processes have left that were killed. The clock of a run is not the machine's: the lock's own time is.
fn remove_stale(within: &Path, lock: &File) {
    let Ok(now) = lock.metadata().and_then(|metadata| metadata.modified()) else { return };
    for entry in fs::read_dir(within).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_one {
            continue;
        }
        let made = entry.metadata().and_then(|metadata| metadata.modified());
        let old = made.is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age > LOCKED_WITHIN));
        let free = match File::open(folder.join("lock")) {
            Ok(lock) => !matches!(lock.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_))),
            Err(e) => e.kind() == io::ErrorKind::NotFound,
        };
        if old && free {
            drop(remove(&folder));
        }
    }
}
