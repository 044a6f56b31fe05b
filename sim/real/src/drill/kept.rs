//! Somebody else's processes: members of a fleet, and servers. Each has a keeper, which ends with this process and ends
//! whatever it keeps.

use crate::{error::Failed, leash, tree};
use logs::Tail;
use protocols_real::log::true_time_us;
use rustix::process::Signal;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, ChildStdin, Command},
    task::AbortHandle,
};

/// The longest line that is listened to, in bytes; longer ones are cut.
const LINE_MAX: usize = 16 * 1024;

/// How long a container's client may take to end once the container has.
const CLIENT_ENDS_WITHIN: Duration = Duration::from_secs(2);
/// How often a file is looked at.
const LOOKS: Duration = Duration::from_millis(10);
/// The most that is read of one file at once, in bytes.
const TURN_MAX: usize = 16 * 1024 * 1024;

/// Is told each line of a process's output; false once nobody listens.
pub type Listener = Arc<dyn Fn(Line) -> bool + Send + Sync>;

/// What to start.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// `fencepost` itself, the keeper.
    pub keeper: PathBuf,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Its working directory.
    pub folder: PathBuf,
    /// The file to which its output is appended.
    pub output: PathBuf,
    /// What the program runs, if it is a container engine's client.
    pub container: Option<Container>,
}

/// A container, which is stopped and ended by its engine: its processes may be another user's, and children of a daemon's.
#[derive(Clone, Debug)]
pub struct Container {
    /// The engine's client.
    pub engine: PathBuf,
    pub name: String,
}

impl Container {
    /// Has the engine do something to it.
    ///
    /// # Errors
    /// It does not; with what it has said.
    pub async fn order(&self, words: &[&str]) -> Result<(), Failed> {
        let what = || format!("{} {} {}", self.engine.display(), words.join(" "), self.name);
        let mut command = Command::new(&self.engine);
        let done =
            command.args(words).arg(&self.name).output().await.map_err(Failed::cannot(format!("run `{}`", what())))?;
        match done.status.success() {
            true => Ok(()),
            false => Err(Failed::Harness(format!("`{}` failed: {}", what(), first_line(&done.stderr)))),
        }
    }
}

/// A line of a process's output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// When it was read, in microseconds of the machine's clock.
    pub t_us: u64,
    pub text: String,
}

/// A process that has been started, and whatever it has started. Dropping it kills them.
#[derive(Debug)]
pub struct Kept {
    keeper: Child,
    pid: i32,
    /// The keeper lives as long as this is open.
    hold: Option<ChildStdin>,
    /// What is stopped and killed instead of the process, which only passes on its output.
    container: Option<Container>,
}

impl Recipe {
    /// Starts it. Its lines also go to `lines`, if given.
    ///
    /// # Errors
    /// The keeper cannot be started, or the output cannot be written. A program that cannot be started ends at once, and its output
    /// says why.
    pub fn start(&self, lines: Option<Listener>) -> Result<Kept, Failed> {
        let shown = self.words.first().cloned().unwrap_or_default();
        let open = || {
            let file = OpenOptions::new().create(true).append(true).open(&self.output);
            file.map_err(Failed::unwritten(&self.output))
        };
        let mut command = Command::new(&self.keeper);
        command.args([leash::REAL, leash::KEEPER]);
        if let Some(container) = &self.container {
            command.args([leash::CONTAINER, &container.name]);
        }
        command.args(&self.words).envs(&self.environment).current_dir(&self.folder);
        command.stdin(Stdio::piped()).process_group(0);
        match lines {
            Some(_) => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
            None => command.stdout(open()?).stderr(open()?),
        };
        let mut keeper = command.spawn().map_err(Failed::cannot(format!("start {shown}")))?;
        let pid = keeper.id().ok_or_else(|| Failed::Harness(format!("{shown} ended at once")))? as i32;
        if let Some(lines) = lines {
            if let Some(out) = keeper.stdout.take() {
                tokio::spawn(listen(out, open()?, lines.clone()));
            }
            if let Some(errors) = keeper.stderr.take() {
                tokio::spawn(listen(errors, open()?, lines));
            }
        }
        Ok(Kept { pid, hold: keeper.stdin.take(), keeper, container: self.container.clone() })
    }
}

/// Passes lines on, and appends all output to a file, until the process closes its output.
async fn listen(from: impl AsyncRead + Unpin, mut file: File, lines: Listener) {
    let (mut from, mut line) = (BufReader::new(from), Vec::new());
    loop {
        let bytes = match from.fill_buf().await {
            Ok(bytes) if !bytes.is_empty() => bytes,
            _ => break,
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        // The disk may be full; the line is still heard.
        let _ = file.write_all(&bytes[..taken]);
        let room = LINE_MAX.saturating_sub(line.len()).min(taken);
        line.extend_from_slice(&bytes[..room]);
        from.consume(taken);
        if end.is_some() && !passed(&mut line, &lines) {
            return;
        }
    }
    // The last line may lack its end.
    if !line.is_empty() {
        passed(&mut line, &lines);
    }
}

/// Passes a line on. Returns whether anybody listens.
fn passed(line: &mut Vec<u8>, lines: &Listener) -> bool {
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    line.clear();
    lines(Line { t_us: true_time_us(), text })
}

/// A file that a member writes, which is followed until this is dropped.
#[derive(Debug)]
pub struct Followed {
    pub path: PathBuf,
    task: AbortHandle,
}

impl Followed {
    /// What it has now is of an earlier run, and is left out.
    pub fn start(path: PathBuf, lines: Listener) -> Followed {
        let tail = Tail::at_end(&path).ok();
        let task = tokio::spawn(follow(path.clone(), tail, lines)).abort_handle();
        Followed { path, task }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(path: PathBuf, mut tail: Option<Tail>, lines: Listener) {
    let mut look = tokio::time::interval(LOOKS);
    loop {
        look.tick().await;
        tail = tail.or_else(|| Tail::open(&path).ok());
        // What cannot be read now may be readable again.
        let added = tail.as_mut().and_then(|tail| tail.lines(TURN_MAX).ok()).unwrap_or_default();
        for line in added.split_inclusive(|byte| *byte == b'\n') {
            if !passed(&mut line[..line.len().min(LINE_MAX)].to_vec(), &lines) {
                return;
            }
        }
    }
}

impl Kept {
    /// The process that has started all others.
    pub fn root(&self) -> i32 {
        self.pid
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.keeper.try_wait(), Ok(None))
    }

    /// Waits until it has ended by itself. Returns its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        self.keeper.wait().await.ok().and_then(|status| status.code())
    }

    /// Stops all of its processes.
    ///
    /// # Errors
    /// It is a container, which its engine does not stop.
    pub async fn stop(&mut self) -> Result<(), Failed> {
        self.signal(Signal::STOP, &["pause"]).await
    }

    /// # Errors
    /// As of [`Kept::stop`].
    pub async fn resume(&mut self) -> Result<(), Failed> {
        self.signal(Signal::CONT, &["unpause"]).await
    }

    /// Asks all of its processes to end; of a container the first one, as every engine does.
    ///
    /// # Errors
    /// As of [`Kept::stop`].
    pub async fn ask_to_end(&mut self) -> Result<(), Failed> {
        self.signal(Signal::TERM, &["kill", "--signal", "TERM"]).await
    }

    async fn signal(&mut self, signal: Signal, order: &[&str]) -> Result<(), Failed> {
        let Some(container) = &self.container else {
            tree::signal(self.pid, signal);
            return Ok(());
        };
        match container.order(order).await {
            // It may have ended by itself.
            Err(why) if tokio::time::timeout(CLIENT_ENDS_WITHIN, self.keeper.wait()).await.is_err() => Err(why),
            _ => Ok(()),
        }
    }

    /// Kills all of its processes, as a crash would, and waits until they are gone.
    pub async fn kill(&mut self) {
        match &self.container {
            None => tree::kill(self.pid),
            // It may have ended; and one that is paused is killed by its removal.
            Some(container) => _ = container.order(&["kill", "--signal", "KILL"]).await,
        }
        // The keeper removes a container, and ends by itself.
        drop(self.hold.take());
        let _ = self.keeper.wait().await;
    }

    /// Asks it to end, and kills it after `patience`; a container, whose first process may be deaf to signals, at once.
    pub async fn end(&mut self, patience: Duration) {
        if self.container.is_none() {
            tree::signal(self.pid, Signal::CONT);
            tree::signal(self.pid, Signal::TERM);
            let _ = tokio::time::timeout(patience, self.keeper.wait()).await;
        }
        self.kill().await;
    }
}

/// The first line of what a program has said, for an error.
pub fn first_line(said: &[u8]) -> String {
    String::from_utf8_lossy(said).lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing").to_owned()
}

/// The last lines of a log, for an error.
pub fn last_lines(log: &Path, count: usize) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last: Vec<String> = lines.iter().rev().take(count).rev().map(|line| format!("  {line}")).collect();
    last.join("\n")
}
