//! Unmodified programs as processes of the world. Each is a process of this machine, too (`fencepost-process`), which
//! runs whenever the world lets it, and a task of the world carries out what it did. So faults reach it as they reach any
//! task: one that is dropped has killed the process, and one that does not run has paused it.

mod said;
mod sockets;
pub(crate) mod store;

pub use crate::world::programs::{From, Line, Sent};
use crate::{
    host,
    world::{self, env::SimEnv, stall::Stall},
};
use fencepost_process::{Child, Error, Go, Main, Op, Start, Then, Turn, Zygote};
use protocols::{fence::checks::Fencing, point::Point, types::NodeId};
use protocols_clients::env::Env;
pub use said::{Accepted, Accepts, NoPattern, NotAccepts, Pattern};
use sockets::Sockets;
use std::{fmt, sync::Arc};
pub use store::{Database, NoSchema, Own};
use store::{FOLDER, Store};

/// How many processors a process sees.
const CPUS: u16 = 2;

/// What every candidate of a run runs.
#[derive(Clone)]
pub struct Program {
    zygote: Zygote,
    main: Main,
    env: Vec<(String, String)>,
    leads_when: Vec<Pattern>,
    stops_when: Vec<Pattern>,
    restarts: bool,
    database: Option<Database>,
    own_store: Option<Own>,
    leader_key: Option<(String, String)>,
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
        let (env, leads_when, stops_when, restarts, database, own_store, leader_key) = Default::default();
        let zygote = Zygote::start()?;
        Ok(Program { zygote, main, env, leads_when, stops_when, restarts, database, own_store, leader_key })
    }

    /// With this variable in its environment, which is otherwise empty.
    pub fn with_env(mut self, name: &str, value: &str) -> Program {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A process that ends by itself is started again a second later, as by a supervisor.
    pub fn restarted(self) -> Program {
        Program { restarts: true, ..self }
    }

    /// Its leader writes to this database instead of the store.
    pub fn writes_to(self, database: Database) -> Program {
        Program { database: Some(database), ..self }
    }

    /// The resource is this program, which runs in the store's place, under its name and address. It has the same environment,
    /// and `STATE_DIRECTORY`: a folder on its disk, which is there from the beginning.
    pub fn served_by(self, own: Own) -> Program {
        Program { own_store: Some(own), ..self }
    }

    /// Whoever holds this key of the service at this process's name leads, as the service sees it.
    pub fn elects_by(self, service: &str, key: &str) -> Program {
        Program { leader_key: Some((service.to_owned(), key.to_owned())), ..self }
    }

    /// The service, and its key.
    pub(crate) fn leader_key(&self) -> Option<(String, String)> {
        self.leader_key.clone()
    }

    /// The resource that its leader writes to.
    pub(crate) fn store(&self, fencing: Fencing) -> Store {
        let Some(own) = self.own_store.clone() else { return Store::new(fencing, self.database.as_ref()) };
        let (leads_when, stops_when) = Default::default();
        let program = Program { main: own.main, leads_when, stops_when, ..self.clone() };
        let (name, folder) = FOLDER;
        let program = program.with_env(name, folder);
        Store::Own(Arc::new(move |node| Box::pin(Running::begin(program.clone(), node))))
    }

    /// A process that prints a line with this part leads from then on. Such a line is printed once for each leadership.
    pub fn leads_when(mut self, says: Pattern) -> Program {
        self.leads_when.push(says);
        self
    }

    /// A process that prints a line with this part leads no more.
    pub fn stops_when(mut self, says: Pattern) -> Program {
        self.stops_when.push(says);
        self
    }

    /// The write that the store says it has accepted in this line.
    fn accepted(&self, line: &str) -> Option<Accepted> {
        self.own_store.iter().flat_map(|own| &own.accepts).find_map(|pattern| pattern.find(line))
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
        let stops = world::with(|w| w.waits_for(Point::BeforeSend) || w.counts_sends());
        if !program.leads_when.is_empty() {
            world::with(|w| w.observe());
        }
        let mut running = Running { program, env, starts, sockets, stops, lines };
        let child = running.program.zygote.fork(&name, running.program.main);
        let ended = match child {
            Ok(child) => running.run_out(child, name).await,
            Err(why) => Err(why),
        };
        match ended {
            Ok(how) => {
                running.print(From::End, how);
                if running.program.restarts {
                    world::with(|w| w.crash(node));
                }
            }
            Err(why) => panic!("{why}"),
        }
    }

    async fn run_out(&mut self, mut child: Child, name: String) -> Result<String, Error> {
        let (ip, pid) = (sockets::ip_of(self.env.node), 1_000 * (self.starts + 1) + u32::from(self.env.node.0));
        let (seed, mut env) = (self.env.random(), self.program.env.clone());
        // As containers have it.
        env.push(("HOSTNAME".to_owned(), name.clone()));
        let disk = world::with(|w| w.files_of(self.env.node));
        let disk = disk.unwrap_or_else(|why| panic!("a process gets no disk: {why}"));
        let start = Start { name, pid, ip, seed, cpus: CPUS, env, disk, go: self.go(Vec::new()) };
        self.sockets.is_process(child.pid());
        let (mut turn, mut stall) = (child.begin(&start)?, Stall::default());
        loop {
            stall.event(world::with(|w| w.now()));
            let Turn { ops, then, .. } = turn;
            ops.into_iter().for_each(|op| self.carry_out(op));
            let events = match then {
                Then::Wait { until } => self.sockets.next(self.env, until).await,
                Then::Send { head, .. } => {
                    world::with(|w| w.sends(self.env.node, head));
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
        let (node, Program { leads_when, stops_when, .. }) = (self.env.node, &self.program);
        let said = |patterns: &[Pattern]| patterns.iter().find_map(|pattern| pattern.find(&text));
        let (leads, stops) = match from {
            From::Output | From::Error => (said(leads_when), said(stops_when)),
            From::Refused | From::End => (None, None),
        };
        let accepted = match from {
            From::Output | From::Error if world::with(|w| w.is_store(node)) => self.program.accepted(&text),
            _ => None,
        };
        world::with(|w| {
            w.print(node, from, text);
            if let Some(accepted) = accepted {
                w.accepts(&accepted.node, accepted.token, accepted.seq);
            }
            // "Leads no more" has "leads" in it.
            match (leads, stops) {
                (_, Some(_)) => w.says_it_stopped(node),
                (Some(token), None) => w.says_it_leads(node, token),
                (None, None) => {}
            }
        });
    }
}
