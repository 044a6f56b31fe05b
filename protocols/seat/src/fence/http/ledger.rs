//! A file that remembers who has written under the highest token.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

const HEAD: &str = "fencepost ledger 1";

/// A leader that a resource has seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sealed {
    pub(super) token: u64,
    pub(super) holder: String,
}

/// A name that a resource cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no name for a resource: use 1 to 128 visible ASCII characters without spaces")]
pub struct BadName(pub(super) String);

pub(super) fn check_name(resource: &str) -> Result<(), BadName> {
    let good = (1..=128).contains(&resource.len()) && resource.bytes().all(|byte| byte.is_ascii_graphic());
    good.then_some(()).ok_or_else(|| BadName(resource.to_owned()))
}

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("the ledger {} is open in another process, or twice in this one", .0.display())]
    Taken(PathBuf),
    #[error("{} is no ledger of the resource `{resource}`", path.display())]
    Foreign { path: PathBuf, resource: String },
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("the ledger {}: {error}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    resource: String,
    /// Locked while it is open: two who remember by themselves would both let an old leader in.
    _lock: File,
}

impl Ledger {
    /// Opens a resource's ledger, and says who has written last; a file that does not exist is one that nobody has
    /// written to.
    pub(super) fn open(path: &Path, resource: &str) -> Result<(Ledger, Option<Sealed>), OpenError> {
        check_name(resource)?;
        let foreign = || OpenError::Foreign { path: path.to_owned(), resource: resource.to_owned() };
        let io = |error| OpenError::Io { path: path.to_owned(), error };
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(beside(path, "lock")).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Taken(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let sealed = match std::fs::read_to_string(path) {
            Ok(text) => Some(read(&text, resource).ok_or_else(foreign)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), resource, "there is no ledger: every leader is let through at first");
                None
            }
            Err(error) => return Err(io(error)),
        };
        Ok((Ledger { path: path.to_owned(), resource: resource.to_owned(), _lock: lock }, sealed))
    }

    /// Remembers a leader. It is on the disk when this returns.
    pub(super) fn seal(&self, sealed: &Sealed) -> io::Result<()> {
        let text = format!("{HEAD}\n{} {} {}\n", self.resource, sealed.token, sealed.holder);
        replace(&self.path, text.as_bytes()).map(drop)
    }
}

/// Writes a file anew, whole or not at all. It is on the disk when this returns.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<File> {
    let new = beside(path, "new");
    let mut file = File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(file)
}

fn read(text: &str, resource: &str) -> Option<Sealed> {
    let line = text.strip_prefix(HEAD)?.strip_prefix('\n')?.strip_suffix('\n')?;
    let words: Vec<&str> = line.split(' ').collect();
    let [name, token, holder] = words[..] else { return None };
    let sealed = Sealed { token: token.parse().ok()?, holder: holder.to_owned() };
    (name == resource).then_some(sealed)
}

pub(super) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    name.into()
}
