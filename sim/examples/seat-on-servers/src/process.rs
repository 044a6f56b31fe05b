//! The processes that compete: members of a seat, and what they are compared with.

use servers::Link;
use std::{
    io::{self, BufRead, BufReader},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::Sender,
    thread::{self, JoinHandle},
    time::Instant,
};

/// What a process said, or that it has ended.
pub struct Event {
    pub at: Instant,
    /// Its place in its fleet.
    pub place: usize,
    /// The number of the process at this place.
    pub life: usize,
    /// A line; `None` at its end.
    pub line: Option<String>,
}

/// A running process; killed when dropped.
pub struct Competitor {
    child: Child,
    /// It ends when this is closed, should this process be killed.
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    /// Its ways to the servers, which end after it.
    pub links: Vec<Link>,
}

impl Competitor {
    pub fn start(
        mut command: Command,
        links: Vec<Link>,
        (place, life): (usize, usize),
        events: Sender<Event>,
    ) -> io::Result<Competitor> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let reader = thread::spawn(move || {
            let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
            let lines = lines.map_while(Result::ok).map(Some).chain([None]);
            for line in lines {
                // Nobody listens any more once the fleet has ended.
                let _ = events.send(Event { at: Instant::now(), place, life, line });
            }
        });
        Ok(Competitor { child, stdin, reader: Some(reader), links })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a signal: `STOP` or `CONT`.
    pub fn signal(&mut self, name: &str) -> io::Result<()> {
        // Once waited for, a child's process id may be reused.
        if self.child.try_wait()?.is_none() {
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status()?;
        }
        Ok(())
    }

    /// Kills it, and waits until all that it has said is among the events.
    pub fn finish(&mut self) {
        self.kill();
        // What it has started may have the same input, and the output that is read here.
        self.stdin = None;
        if let Some(reader) = self.reader.take() {
            // A panic of that thread is its own.
            let _ = reader.join();
        }
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        self.finish();
    }
}
