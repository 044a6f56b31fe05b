//! Unmodified programs as processes of the world. Each is a process of this machine, too (`fencepost-process`), which
//! runs whenever the world lets it, and a task of the world carries out what it did. So faults reach it as they reach any
//! task: one that is dropped has killed the process, and one that does not run has paused it.

mod sockets;
pub(crate) mod store;

use crate::{
    host,
    world::{self, env::SimEnv, stall::Stall},
};
use fencepost_process::{Child, Error, Go, Main, Op, Start, Then, Turn, Zygote};
use protocols::{
    history::{self, Kind, Sink},
    point::Point,
    types::NodeId,
};
use protocols_clients::env::Env;
use reports::{Judgement, invariant, judges::Judges};
use sockets::Sockets;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// How many processors a process sees.
const CPUS: u16 = 2;

/// What every candidate of a run runs, and what it prints.
#[derive(Clone)]
pub struct Program {
    zygote: Zygote,
    main: Main,
    env: Vec<(String, String)>,
    printed: Arc<Mutex<Vec<Line>>>,
}

/// A line that a process printed, or the sentence that refused something it called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// True time, in nanoseconds.
    pub now: u64,
    pub node: NodeId,
    /// How many times the process had been started before.
    pub starts: u32,
    pub from: From,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Output,
    Error,
    /// A call that is not simulated.
    Refused,
    /// The end of a process that ended by itself.
    End,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("main", &self.main).field("env", &self.env).finish_non_exhaustive()
    }
}

impl Program {
    /// A program whose processes run `main`, a function of this executable; `fencepost_libc::main_of` names it.
    ///
    /// # Errors
    /// This executable cannot be executed once more, or does not link `fencepost-libc`.
    pub fn new(main: Main) -> Result<Program, Error> {
        Ok(Program { zygote: Zygote::start()?, main, env: Vec::new(), printed: Arc::default() })
    }

    /// With this variable in its environment, which is otherwise empty.
    pub fn with_env(mut self, name: &str, value: &str) -> Program {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Everything that has been printed so far; what is printed from now on is kept apart.
    pub fn take_printed(&self) -> Vec<Line> {
        std::mem::take(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The verdict on what the store accepted and refused in a run, as on a log of which nothing else is known.
    pub fn judge(events: &[history::Event]) -> Judgement {
        let mut judges = Judges::by(&invariant::ALL, None);
        let of_store = |event: &&history::Event| matches!(event.kind, Kind::Apply { .. });
        events.iter().filter(of_store).for_each(|event| judges.record(event));
        judges.finish()
    }

    /// The first task of a process.
    pub(crate) fn main(&self, node: NodeId) -> host::Main {
        let program = self.clone();
        Box::new(move || Box::pin(Running::begin(program.clone(), node)))
    }
}

struct Running {
    program: Program,
    env: SimEnv,
    starts: u32,
    sockets: Sockets,
    /// Whether the plan waits for a send.
    stops: bool,
    /// What standard output and error have of a line that has not ended.
    lines: [Vec<u8>; 2],
}

impl Running {
    /// Runs a process to its end.
    ///
    /// # Panics
    /// It is of no use to the simulation any more; the panic says why, and ends the run.
    async fn begin(program: Program, node: NodeId) {
        let env = SimEnv::new(node);
        let (name, starts) = world::with(|w| (w.process(node).name.clone(), w.process(node).starts - 1));
        let (sockets, lines) = (Sockets::new(node), [Vec::new(), Vec::new()]);
        let stops = world::with(|w| w.waits_for(Point::BeforeSend));
        let mut running = Running { program, env, starts, sockets, stops, lines };
        let child = running.program.zygote.fork(&name, running.program.main);
        let ended = match child {
            Ok(child) => running.run_out(child, name).await,
            Err(why) => Err(why),
        };
        match ended {
            Ok(how) => running.print(From::End, how),
            Err(why) => panic!("{why}"),
        }
    }

    async fn run_out(&mut self, mut child: Child, name: String) -> Result<String, Error> {
        let (ip, pid) = (sockets::ip_of(self.env.node), 1_000 * (self.starts + 1) + u32::from(self.env.node.0));
        let (seed, mut env) = (self.env.random(), self.program.env.clone());
        // As containers have it.
        env.push(("HOSTNAME".to_owned(), name.clone()));
        let start = Start { name, pid, ip, seed, cpus: CPUS, env, go: self.go(Vec::new()) };
        let (mut turn, mut stall) = (child.begin(&start)?, Stall::default());
        loop {
            stall.event(world::with(|w| w.now()));
            let Turn { ops, then, .. } = turn;
            ops.into_iter().for_each(|op| self.carry_out(op));
            let events = match then {
                Then::Wait { until } => self.sockets.next(self.env, until).await,
                Then::Send { .. } => {
                    self.env.point(Point::BeforeSend).await;
                    Vec::new()
                }
                Then::Exit { code } => return Ok(format!("exit code {code}")),
                Then::Died { signal } => return Ok(format!("signal {signal}")),
            };
            turn = child.go(&self.go(events))?;
        }
    }

    fn go(&self, events: Vec<fencepost_process::Event>) -> Go {
        let now = self.env.now();
        let stop_at = if self.stops { 0 } else { u64::MAX };
        Go { mono: now.mono, wall: now.wall, stop_at, quiet_until: 0, events }
    }

    fn carry_out(&mut self, op: Op) {
        match op {
            Op::Say { descriptor, bytes } => {
                let (place, from) = if descriptor == 2 { (1, From::Error) } else { (0, From::Output) };
                self.lines[place].extend(bytes);
                while let Some(end) = self.lines[place].iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.lines[place].drain(..=end).collect();
                    self.print(from, String::from_utf8_lossy(&line[..end]).into_owned());
                }
            }
            Op::Refused { sentence, .. } => self.print(From::Refused, sentence),
            op => self.sockets.carry_out(op),
        }
    }

    fn print(&self, from: From, text: String) {
        let line = Line { now: world::with(|w| w.now()), node: self.env.node, starts: self.starts, from, text };
        self.program.printed.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}
