//! A folder that is a process's disk, as long as a test needs it.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

pub struct Disk(PathBuf);

impl Disk {
    pub fn new() -> Disk {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("fencepost-suite-{:08x}-{number:08x}", std::process::id()));
        std::fs::create_dir_all(folder.join("tmp")).unwrap();
        Disk(folder)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
