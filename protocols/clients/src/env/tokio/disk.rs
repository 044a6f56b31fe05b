//! A process's folder on the machine's disk.

use crate::env::world::Disk;
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A folder; without one, the process cannot keep files.
#[derive(Clone, Debug)]
pub struct TokioDisk(pub(super) Option<PathBuf>);

impl TokioDisk {
    async fn work<T: Send + 'static>(
        &self,
        file: &str,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let folder = self.0.as_ref().ok_or_else(|| io::Error::other("this process has no folder to keep files in"))?;
        let path = folder.join(file);
        // Syncing blocks, and other tasks must not wait for it.
        tokio::task::spawn_blocking(move || work(&path)).await.map_err(io::Error::other)?
    }
}

fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_new = !path.exists();
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(bytes)?;
    if is_new { sync_folder(path) } else { Ok(()) }
}

/// A file's name is durable once its folder is synced.
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = PathBuf::from(aside);
    let mut file = File::create(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    sync_folder(path)
}

impl Disk for TokioDisk {
    async fn read(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        self.work(file, |path| match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn append(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.work(file, move |path| append(path, &bytes)).await
    }

    async fn sync(&self, file: &str) -> io::Result<()> {
        self.work(file, |path| File::options().append(true).create(true).open(path)?.sync_data()).await
    }

    async fn replace(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.work(file, move |path| replace(path, &bytes)).await
    }
}
