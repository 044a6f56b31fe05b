//! `--shard`: which part of a sweep this process runs, and how what it leaves comes into its folder.
//!
//! A shard's files are written aside, in a folder within its folder, and moved into place when all of them are
//! complete, the one that `merge` reads last. So a shard that was killed is one that `merge` does not find.

pub mod engine;

use super::{
    exit::{HARNESS, Stop, USAGE},
    one_run::{default_out, is_folder},
};
use crate::terminal::exit::ends_with;
use engine::{Share, Unclear, shard_of};
use sim::{
    artifacts,
    merge::{Asked, FILE, Shard},
    sweep::Outcome,
};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

ends_with! {
    Unclear: usage,
}

/// Which part of a sweep to run, and where to leave its result.
pub struct Place {
    /// The shard, from 1, and the number of shards; `(1, 1)` also for a whole sweep.
    pub part: (u64, u64),
    pub out: PathBuf,
    is_shard: bool,
}

impl Place {
    /// With `--shard auto`, `out` is the folder of all shards, and each has a folder there.
    ///
    /// # Errors
    /// The environment does not say which shard this is, or `out` is a file.
    pub fn of(share: Option<Share>, out: Option<PathBuf>) -> Result<Place, Stop> {
        let (part, out) = match share {
            None => ((1, 1), out.unwrap_or_else(default_out)),
            Some(Share::Part(part, of)) => ((part, of), out.unwrap_or_else(default_out)),
            Some(Share::Auto(given)) => {
                let part = shard_of(given, |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))?;
                let all = out.unwrap_or_else(|| default_out().join("shards"));
                (part, all.join(format!("{}-of-{}", part.0, part.1)))
            }
        };
        is_folder(&out)?;
        Ok(Place { part, out, is_shard: share.is_some() })
    }

    /// The place of what shards were merged into.
    pub fn merged(out: PathBuf) -> Place {
        Place { part: (1, 1), out, is_shard: false }
    }

    /// To write straight into the folder, beside what it has.
    pub fn beside(&self) -> Open<'_> {
        Open { place: self, aside: None }
    }

    /// Prepares the folder; nothing of a shard is written there before [`Open::close`].
    ///
    /// # Errors
    /// The folder cannot be written to, or has another shard of this sweep.
    pub fn open(&self, asked: &Asked) -> Result<Open<'_>, Stop> {
        let out = &self.out;
        if !self.is_shard {
            // An earlier shard's would be taken for this sweep's.
            return match fs::remove_file(out.join(FILE)) {
                Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    Err(Stop::usage(format!("cannot remove {}: {e}", out.join(FILE).display())))
                }
                _ => Ok(self.beside()),
            };
        }
        if let Some(other) = Shard::read(out).ok().and_then(|earlier| earlier.is_another(self.part, asked)) {
            let (out, of) = (out.display(), self.part.1);
            return Err(Stop::usage(format!(
                "{out} has shard {other}/{of} of this sweep; give each shard its own --out"
            )));
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // In containers, all processes may have one number.
        let name = format!(".incomplete-{}-{}", process::id(), since.as_nanos());
        let aside = out.join(&name);
        fs::create_dir_all(&aside).map_err(|e| Stop::usage(format!("cannot make {}: {e}", aside.display())))?;
        Ok(Open { place: self, aside: Some(name) })
    }
}

/// A result that is being written.
pub struct Open<'a> {
    place: &'a Place,
    /// The name of the folder to write to until everything is complete.
    aside: Option<String>,
}

impl Open<'_> {
    /// The folder to write to.
    pub fn folder(&self) -> PathBuf {
        self.aside.as_ref().map_or_else(|| self.place.out.clone(), |aside| self.place.out.join(aside))
    }

    /// The folder where everything lies in the end.
    pub fn out(&self) -> &Path {
        &self.place.out
    }

    /// Names the artifacts as they lie in the end.
    pub fn name(&self, outcome: &mut Outcome) {
        let Some(aside) = self.aside.as_ref().map(|name| format!("/{name}")) else { return };
        for failure in outcome.failures.iter_mut().chain(&mut outcome.unsafe_runs) {
            failure.artifacts = failure.artifacts.as_ref().map(|path| path.replace(&aside, ""));
            failure.repro = failure.repro.replace(&aside, "");
        }
    }

    /// Writes the file that `merge` reads; nothing for a whole sweep.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn leave(&self, shard: impl FnOnce() -> Shard) -> Result<(), Stop> {
        match self.aside {
            None => Ok(()),
            Some(_) => {
                self.written(artifacts::save(&self.folder().join(FILE), &shard().to_json()?).map_err(Stop::from))
            }
        }
    }

    /// The result of writing a file. A shard that could not be written may be run again elsewhere, unlike one with
    /// wrong arguments.
    ///
    /// # Errors
    /// It was not written.
    pub fn written<T>(&self, done: Result<T, Stop>) -> Result<T, Stop> {
        done.map_err(|stop| match stop.code {
            USAGE if self.aside.is_some() => Stop { code: HARNESS, ..stop },
            _ => stop,
        })
    }

    /// Moves everything into place.
    ///
    /// # Errors
    /// A file cannot be moved.
    pub fn close(&self) -> Result<(), Stop> {
        if self.aside.is_none() {
            return Ok(());
        }
        let (from, out) = (self.folder(), self.out());
        let done = (|| {
            match fs::remove_file(out.join(FILE)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            let complete = from.join(FILE);
            move_below(&from, out, &complete)?;
            if complete.is_file() {
                fs::rename(&complete, out.join(FILE))?;
            }
            fs::remove_dir(&from)
        })();
        done.map_err(|e| Stop::harness(format!("cannot move {} to {}: {e}", from.display(), out.display())))
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // After an error, what was written is of no use, and may fill the disk.
        if self.aside.is_some() {
            let _ = fs::remove_dir_all(self.folder());
        }
    }
}

/// Moves all files below a folder but `except` to the same names below another, and removes what is then empty.
fn move_below(from: &Path, to: &Path, except: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (path, name) = {
            let entry = entry?;
            (entry.path(), entry.file_name())
        };
        let to = to.join(name);
        if path == except {
            continue;
        }
        if !path.is_dir() {
            fs::rename(&path, &to)?;
            continue;
        }
        fs::create_dir_all(&to)?;
        if path.join("plan.json").is_file() {
            // A run's folder: whatever another run has left there is not this one's.
            for name in artifacts::FILES {
                let _ = fs::remove_file(to.join(name));
            }
        }
        move_below(&path, &to, except)?;
        fs::remove_dir(&path)?;
    }
    Ok(())
}
