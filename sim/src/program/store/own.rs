//! A resource that is a program of the user's own. It runs at the store's place, and its lines say what it has accepted.

use crate::program::accepted::Accepts;
use fencepost_process::Main;
use std::{
    fs, io,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering},
};

/// The environment variable that names the folder, as systemd calls it.
pub(crate) const FOLDER: &str = "STATE_DIRECTORY";

/// A program that is the resource, and the lines by which it says what it has accepted.
#[derive(Clone, Debug)]
pub struct Own {
    pub(crate) main: Main,
    pub(crate) accepts: Vec<Accepts>,
}

impl Own {
    /// The program that runs `main`, and says by a line with one of these parts that it has accepted a write.
    pub fn new(main: Main, accepts: Vec<Accepts>) -> Own {
        Own { main, accepts }
    }
}

/// A folder of this machine for one run: what is in it survives a restart of the program, and is deleted after the run.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// # Errors
    /// It cannot be created.
    pub(crate) fn create() -> io::Result<Folder> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Always as long: a longer path would be another allocation, and another run.
        let path = std::env::temp_dir().join(format!("fencepost-{:010}-{count:010}", process::id()));
        if path.exists() {
            // Of a process that had the same number and was killed.
            fs::remove_dir_all(&path)?;
        }
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    pub(crate) fn path(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
