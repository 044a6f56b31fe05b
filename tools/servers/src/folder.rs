//! Temporary folders.

use super::wish::say;
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// A temporary folder, which is kept for inspection if its test fails.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder.
    ///
    /// # Panics
    /// It cannot be created.
    #[allow(clippy::new_without_default, reason = "it is made on disk")]
    pub fn new() -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("fencepost-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        // In memory if possible, since every write is synced.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.join(name) } else { env::temp_dir().join(name) };
        fs::create_dir_all(&folder).expect("temporary folders can be made");
        Folder(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it, as an argument.
    ///
    /// # Panics
    /// The path is not valid Unicode.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("temporary folders have readable names").to_owned()
    }

    /// Writes a file in it; returns its path as an argument.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), bytes).expect("temporary files can be written");
        self.file(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return say(&format!("logs are in {}", self.0.display()));
        }
        // At worst, a temporary folder is left behind.
        let _ = fs::remove_dir_all(&self.0);
    }
}
