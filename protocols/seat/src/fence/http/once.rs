//! A file that remembers which requests were handled.

use super::ledger::{OpenError, replace};
use data_encoding::HEXLOWER;
use http::{StatusCode, request::Parts};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::sync::Notify;

const HEAD: &str = "fencepost requests 1";
/// After so many lines, and one for each request that was known, the file is written anew.
const SPARE: usize = 1_000;

/// A handler's word in the extensions of its response: it has written nothing, so the request may be made again. With axum,
/// `(Extension(NotDone), StatusCode::SERVICE_UNAVAILABLE)` is such a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotDone;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    UnderWay,
    CutOff,
    Handled(StatusCode),
}

#[derive(Clone, Debug)]
struct Known {
    /// Of what was asked under this name.
    digest: String,
    /// When it began, or when it was handled; milliseconds since the Unix epoch.
    at_ms: u64,
    state: State,
}

#[derive(Debug)]
struct Journal {
    file: File,
    /// Bytes that are known to be on the disk; behind them may be lines, or parts, of which that is not known.
    length: u64,
    /// Lines until it is written anew.
    spare: usize,
}

/// The requests of one resource.
#[derive(Debug)]
pub(super) struct Requests {
    path: PathBuf,
    resource: String,
    keep: Duration,
    /// Locked before `known`.
    journal: Mutex<Journal>,
    known: Mutex<BTreeMap<String, Known>>,
    /// Told when a handler has ended.
    ended: Notify,
}

/// What comes of a request.
pub(super) enum Begin {
    /// It is to be handled.
    First(UnderWay),
    /// It was handled, and this was answered.
    Before(StatusCode),
    /// Its handler did not end.
    CutOff,
    /// The name is another request's.
    Other,
}

/// Of a request whose handler is running. If it is dropped before the handler has answered, that was cut off.
pub(super) struct UnderWay {
    requests: Arc<Requests>,
    name: String,
    /// What becomes of it if this is dropped; `None` if it is not known of then.
    left: Option<State>,
}

/// The `Idempotency-Key` of a request; `None` if it has none, two, or one that is empty, above 255 bytes, or not
/// visible ASCII without spaces.
pub(super) fn name_of(parts: &Parts) -> Option<String> {
    let mut names = parts.headers.get_all(super::key::REQUEST).iter();
    let (Some(name), None) = (names.next(), names.next()) else { return None };
    let name = name.to_str().ok().filter(|name| (1..=255).contains(&name.len()))?;
    name.bytes().all(|byte| byte.is_ascii_graphic()).then(|| name.to_owned())
}

impl Requests {
    /// The requests in a file; none if it does not exist.
    pub(super) fn open(path: PathBuf, resource: &str, keep: Duration) -> Result<Requests, OpenError> {
        let io = |error| OpenError::Io { path: path.clone(), error };
        let known = match std::fs::read(&path) {
            Ok(text) => read(&String::from_utf8_lossy(&text), resource)
                .ok_or_else(|| OpenError::Foreign { path: path.clone(), resource: resource.to_owned() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), resource, "there is no record of requests: none was handled yet");
                BTreeMap::new()
            }
            Err(error) => return Err(io(error)),
        };
        let known: BTreeMap<_, _> = known.into_iter().filter(|(_, known)| is_kept(known, keep)).collect();
        let journal = write_anew(&path, resource, &known).map_err(io)?;
        let (journal, known) = (Mutex::new(journal), Mutex::new(known));
        Ok(Requests { path, resource: resource.to_owned(), keep, journal, known, ended: Notify::new() })
    }

    /// Waits for the handler of this request, if there is one; then says what comes of it. That it begins is on the disk
    /// when this returns.
    pub(super) async fn begin(self: &Arc<Self>, name: String, digest: String) -> io::Result<Begin> {
        let first = loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            {
                let mut all = lock(&self.known);
                match all.get(&name).filter(|known| is_kept(known, self.keep)) {
                    Some(known) if known.digest != digest => return Ok(Begin::Other),
                    Some(Known { state: State::Handled(status), .. }) => return Ok(Begin::Before(*status)),
                    Some(Known { state: State::CutOff, .. }) => return Ok(Begin::CutOff),
                    Some(Known { state: State::UnderWay, .. }) => {}
                    None => {
                        let known = Known { digest, at_ms: now_ms(), state: State::UnderWay };
                        all.insert(name.clone(), known.clone());
                        break known;
                    }
                }
            }
            ended.await;
        };
        let mut under_way = UnderWay { requests: self.clone(), name: name.clone(), left: None };
        let requests = self.clone();
        blocking(move || requests.append(&mut lock(&requests.journal), &line(&name, &first, "began"))).await?;
        under_way.left = Some(State::CutOff);
        Ok(Begin::First(under_way))
    }

    /// Notes that a handler has answered: with this status, or that it has written nothing.
    fn end(&self, name: &str, status: Option<StatusCode>) {
        let mut journal = lock(&self.journal);
        let Some(mut known) = lock(&self.known).get(name).cloned() else { return };
        known.at_ms = now_ms();
        let written = self.append(&mut journal, &line(name, &known, status.as_ref().map_or("undone", |s| s.as_str())));
        if let Err(error) = written {
            let (resource, request) = (&self.resource, name);
            tracing::warn!(%error, resource, request, "a request's end could not be written: after a restart it is cut off");
        }
        let mut all = lock(&self.known);
        match status {
            Some(status) => drop(all.insert(name.to_owned(), Known { state: State::Handled(status), ..known })),
            None => drop(all.remove(name)),
        }
    }

    /// The line is on the disk when this returns.
    fn append(&self, journal: &mut Journal, line: &str) -> io::Result<()> {
        if journal.spare == 0 {
            let all = {
                let mut all = lock(&self.known);
                all.retain(|_, known| is_kept(known, self.keep));
                all.clone()
            };
            // If it fails, the next line tries again.
            *journal = write_anew(&self.path, &self.resource, &all)?;
        }
        // What a failed write has left may be whole lines, of which a shorter one would cover a part.
        if journal.file.metadata()?.len() > journal.length {
            journal.file.set_len(journal.length)?;
            journal.file.sync_data()?;
        }
        journal.file.seek(SeekFrom::Start(journal.length))?;
        journal.file.write_all(line.as_bytes())?;
        journal.file.sync_data()?;
        journal.length += line.len() as u64;
        journal.spare -= 1;
        Ok(())
    }
}

impl UnderWay {
    /// Its handler has answered: with this status, or that it has written nothing. On the disk when this returns.
    pub(super) async fn ends(mut self, status: Option<StatusCode>) {
        let (requests, name) = (self.requests.clone(), self.name.clone());
        let ended = blocking(move || {
            requests.end(&name, status);
            Ok(())
        });
        if ended.await.is_ok() {
            self.left = status.map(State::Handled);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut all = lock(&self.requests.known);
        match (self.left, all.get_mut(&self.name)) {
            (Some(state), Some(known)) => known.state = state,
            (None, _) => drop(all.remove(&self.name)),
            (Some(_), None) => {}
        }
        drop(all);
        self.requests.ended.notify_waiters();
    }
}

fn write_anew(path: &Path, resource: &str, known: &BTreeMap<String, Known>) -> io::Result<Journal> {
    let mut text = format!("{HEAD} {resource}\n");
    for (name, known) in known {
        let what = match &known.state {
            State::Handled(status) => status.as_str(),
            State::UnderWay | State::CutOff => "began",
        };
        text.push_str(&line(name, known, what));
    }
    Ok(Journal { file: replace(path, text.as_bytes())?, length: text.len() as u64, spare: known.len() + SPARE })
}

/// A line of the file, with a check sum: a crash may leave a part of the last one.
fn line(name: &str, known: &Known, what: &str) -> String {
    let line = format!("{name} {} {} {what}", known.digest, known.at_ms);
    format!("{line} {}\n", check(&line))
}

fn check(line: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(line.as_bytes())[..8])
}

/// `None` if it is another resource's file, or damaged before its last line.
fn read(text: &str, resource: &str) -> Option<BTreeMap<String, Known>> {
    let mut lines = text.strip_prefix(HEAD)?.strip_prefix(' ')?.split_inclusive('\n');
    if lines.next()?.strip_suffix('\n')? != resource {
        return None;
    }
    let mut all = BTreeMap::new();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        let Some((name, known)) = read_line(line) else {
            // Nobody was told that the last one was written.
            return lines.peek().is_none().then_some(all);
        };
        match known {
            Some(known) => drop(all.insert(name, known)),
            None => drop(all.remove(&name)),
        }
    }
    Some(all)
}

/// A request's name, and what is known of it then.
fn read_line(line: &str) -> Option<(String, Option<Known>)> {
    let (line, sum) = line.strip_suffix('\n')?.rsplit_once(' ')?;
    let words: Vec<&str> = line.split(' ').collect();
    let ([name, digest, at_ms, what], true) = (&words[..], sum == check(line)) else { return None };
    let state = match *what {
        "undone" => return Some(((*name).to_owned(), None)),
        "began" => State::CutOff,
        status => State::Handled(StatusCode::from_bytes(status.as_bytes()).ok()?),
    };
    Some(((*name).to_owned(), Some(Known { digest: (*digest).to_owned(), at_ms: at_ms.parse().ok()?, state })))
}

/// A request whose handler is running is kept however long that takes.
fn is_kept(known: &Known, keep: Duration) -> bool {
    let age = Duration::from_millis(now_ms().saturating_sub(known.at_ms));
    known.state == State::UnderWay || age < keep
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other).flatten()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
