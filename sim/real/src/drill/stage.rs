//! Everything that runs while a drill is played: the service, the store, the members, and a proxy on each of their links.

mod ready;
mod values;

use super::{
    audit::{self, Told, redis::Scripts},
    clock::{self, Clock, Unnoticed},
    container::Engine,
    file::{File, Link, Ready, Server, Store},
    kept::{Followed, Kept, Line, Listener, Recipe},
    scenario::Scenario,
    servers::{self, Service, Started},
    wire,
};
use crate::{
    error::Failed,
    process::free_address,
    proxy::{Answer, Direction, Line as Network, Proxy, Tap},
};
use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::TcpStream,
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
};

/// How long a member may take to end when the drill is over.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is heard while a drill is played.
pub enum Heard {
    /// A member has said something.
    Line(usize, Line),
    /// The store's audit has told something.
    Store(Told),
    /// A member's write is on the wire, by its connection's port, and waits for an answer.
    Write(usize, u16, oneshot::Sender<()>),
    /// What the store has answered to a write on that connection.
    Answer(u16, Answer),
    /// The audit has failed.
    Lost(Failed),
}

/// Where a drill's files are.
#[derive(Clone, Debug)]
pub struct Places {
    /// `fencepost` itself, the keeper of what it starts.
    pub keeper: PathBuf,
    /// Of one run: empty before it.
    pub folder: PathBuf,
    /// What the file's setup has installed; it stays for the next run.
    pub tools: PathBuf,
    /// What runs the members, if they are containers.
    pub engine: Option<Engine>,
}

/// A member of the fleet.
pub struct Member {
    pub name: String,
    /// Where it is to listen, if it does.
    pub port: u16,
    recipe: Recipe,
    process: Option<Kept>,
    /// Whether the process is ready, by `[fleet] ready`.
    pub ready: ready::Found,
    /// What is asked at its port for that, if anything.
    asked: Option<Ready>,
    /// Where it writes its log, if that is not its output.
    log: Option<Followed>,
    /// Its own, if that is to be moved.
    pub clock: Option<Clock>,
    /// Its links to the members of the service.
    service: Vec<Proxy>,
    /// Its link to the store, unless that is its own; held for its life.
    _store: Option<Proxy>,
}

/// The running drill.
pub struct Stage {
    pub members: Vec<Member>,
    pub service: Option<Service>,
    _store: Option<Started>,
    /// Members by the ports that their connections have at the store.
    ports: Arc<Mutex<BTreeMap<u16, usize>>>,
    /// The file's folder.
    pub folder: PathBuf,
    /// Where members' programs are looked for.
    pub path: String,
    /// Of Redis.
    scripts: Scripts,
    events: UnboundedSender<Heard>,
}

impl Stage {
    /// Starts the servers and the proxies, but no member.
    ///
    /// # Errors
    /// A server is not installed or does not start, or a statement fails.
    pub async fn start(
        file: &File,
        scenario: Scenario,
        places: &Places,
    ) -> Result<(Stage, UnboundedReceiver<Heard>), Failed> {
        let (keeper, folder) = (&places.keeper, &places.folder);
        let (events, heard) = mpsc::unbounded_channel();
        let mut service = match &file.service {
            Some(service) if service.address.is_none() => Some(Service::start(service, keeper, folder).await?),
            _ => None,
        };
        // A database may be both.
        let shared = file.service.as_ref().is_some_and(|service| Some(service.server) == file.store.server());
        let store = match file.store.server() {
            Some(server) if file.store.address().is_none() && !shared => {
                Some(servers::start(server, keeper, folder).await?)
            }
            _ => None,
        };
        let given = file.service.iter().filter_map(|given| given.address);
        let service_at: Vec<SocketAddr> = given.chain(service.iter().flat_map(Service::addresses)).collect();
        let own = store.as_ref().map(|store| store.address).or(file.store.address());
        let scripts = Scripts::default();
        let store_at = watch(&file.store, own.or(service_at.first().copied()), &scripts, &events).await?;
        let path = servers::search_path(service.iter().flat_map(|service| &service.members).chain(&store));
        let mut stage = Stage {
            members: Vec::new(),
            service: None,
            _store: store,
            ports: Arc::default(),
            folder: file.folder.clone(),
            path,
            scripts,
            events,
        };
        let library = scenario.moves_clocks().then(|| clock::library(folder)).transpose()?;
        for index in 0..usize::from(file.fleet.members) {
            let member = stage.member(file, index, (&service_at, store_at), places).await?;
            stage.members.push(member);
            if let Some(library) = &library {
                stage.members[index].has_clock(library, folder)?;
            }
        }
        stage.service = service.take();
        Ok((stage, heard))
    }

    async fn member(
        &self,
        file: &File,
        index: usize,
        (service_at, store_at): (&[SocketAddr], Option<SocketAddr>),
        places: &Places,
    ) -> Result<Member, Failed> {
        let folder = &places.folder;
        let failed = Failed::cannot::<std::io::Error>("start a proxy");
        let line = Network::default();
        let mut service = Vec::new();
        for address in service_at {
            service.push(Proxy::start(*address, line, gives_up_after(file)).await.map_err(&failed)?);
        }
        let store = match store_at {
            Some(at) => {
                let proxy = Proxy::tapped(at, line, None, Some(self.tap(file.store.clone(), index)));
                Some(proxy.await.map_err(&failed)?)
            }
            None => None,
        };
        let name = format!("n{}", index + 1);
        let data = folder.join(&name);
        fs::create_dir_all(&data).map_err(Failed::cannot(format!("make {}", data.display())))?;
        let port = free_address()?.port();
        let through: Vec<SocketAddr> = service.iter().map(|proxy| proxy.address).collect();
        let mut values = values::values(file, (&through, store.as_ref().map(|proxy| proxy.address)));
        values.set("node", &name);
        values.set("number", index + 1);
        values.set("data", data.display());
        values.set("tools", places.tools.display());
        values.set("port", port);
        let mut environment: BTreeMap<String, String> =
            file.fleet.environment.iter().map(|(key, text)| (key.clone(), values.fill(text))).collect();
        // Otherwise it would say nothing for minutes, since its output is no terminal.
        environment.entry("PYTHONUNBUFFERED".to_owned()).or_insert_with(|| "1".to_owned());
        let words = file.fleet.command.iter().flat_map(|command| command.filled(&values)).collect();
        let (keeper, output) = (places.keeper.clone(), folder.join(format!("{name}.log")));
        let mut recipe = Recipe { keeper, words, environment, folder: file.folder.clone(), output, container: None };
        match places.engine.as_ref().zip(file.fleet.image.as_ref()) {
            Some((engine, image)) => recipe = engine.contain(recipe, image, file, &values)?,
            None => _ = recipe.environment.entry("PATH".to_owned()).or_insert_with(|| self.path.clone()),
        }
        let written = file.log.file.as_ref().map(|log| file.folder.join(values.fill(log)));
        let log = written.map(|path| Followed::start(path, self.listener(index)));
        let (ready, asked) = (ready::Found::default(), file.fleet.ready.clone().filter(Ready::asks));
        Ok(Member { name, port, recipe, process: None, ready, asked, log, clock: None, service, _store: store })
    }

    /// Finds a member's writes, and remembers its connections to the store.
    fn tap(&self, store: Store, member: usize) -> Arc<Tap> {
        let (ports, scripts) = (self.ports.clone(), self.scripts.clone());
        let (asked, mut asks) = mpsc::unbounded_channel();
        let (answered, mut answers) = mpsc::unbounded_channel();
        let (writes, events) = (self.events.clone(), self.events.clone());
        // Nobody holds anything, or wants to know, if nobody listens.
        tokio::spawn(async move {
            while let Some((port, go)) = asks.recv().await {
                let _ = writes.send(Heard::Write(member, port, go));
            }
        });
        tokio::spawn(async move {
            while let Some((port, answer)) = answers.recv().await {
                let _ = events.send(Heard::Answer(port, answer));
            }
        });
        let opened = move |port| {
            ports.lock().unwrap_or_else(PoisonError::into_inner).insert(port, member);
            wire::watch(&store, &scripts)
        };
        Arc::new(Tap { opened: Box::new(opened), asked, answered })
    }

    /// Whose connection has that port at the store.
    pub fn at_port(&self, port: u16) -> Option<usize> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner).get(&port).copied()
    }

    /// Starts a member that does not run.
    ///
    /// # Errors
    /// Its keeper cannot be started.
    pub fn start_member(&mut self, index: usize) -> Result<(), Failed> {
        let listener = self.listener(index);
        let member = &mut self.members[index];
        // If its log is a file, what else it says is kept and not listened to.
        member.process = Some(member.recipe.start(member.log.is_none().then_some(listener))?);
        member.ready = ready::Found::default();
        if let Some(asked) = &member.asked {
            let at = SocketAddr::from(([127, 0, 0, 1], member.port));
            tokio::spawn(ready::ask(asked.clone(), at, member.ready.clone()));
        }
        Ok(())
    }

    /// Hears a member's lines.
    fn listener(&self, index: usize) -> Listener {
        let events = self.events.clone();
        Arc::new(move |line| events.send(Heard::Line(index, line)).is_ok())
    }

    /// Blocks, or opens, both directions between a member and every member of the service.
    pub fn cut_off(&self, index: usize, on: bool) {
        self.block_requests(index, on);
        self.members[index].service.iter().for_each(|proxy| block(&proxy.backward, on));
    }

    /// Blocks, or opens, what a member sends to the service; answers still come.
    pub fn block_requests(&self, index: usize, on: bool) {
        self.members[index].service.iter().for_each(|proxy| block(&proxy.forward, on));
    }

    /// What the service sends to a member takes so much longer.
    pub fn delay_answers(&self, index: usize, extra: Duration) {
        let extra_us = u64::try_from(extra.as_micros()).unwrap_or(u64::MAX);
        for proxy in &self.members[index].service {
            proxy.backward.send_modify(|gate| gate.extra_us = extra_us);
        }
    }

    /// Ends all members, and then the servers.
    pub async fn end(mut self) {
        for member in &mut self.members {
            if let Some(process) = &mut member.process {
                process.end(PATIENCE).await;
            }
        }
        if let Some(service) = &mut self.service {
            service.end().await;
        }
        if let Some(store) = &mut self._store {
            store.end().await;
        }
    }
}

impl Member {
    pub fn process(&mut self) -> Option<&mut Kept> {
        self.process.as_mut()
    }

    /// Whether its process has ended by itself since it was looked at last.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.process.as_mut().is_some_and(Kept::has_ended);
        if ended {
            self.process = None;
        }
        ended
    }

    /// Gives it a clock of its own, which is right.
    fn has_clock(&mut self, library: &Path, folder: &Path) -> Result<(), Failed> {
        let clock = Clock::new(folder.join(format!("{}.clock", self.name)), library.to_owned())?;
        let words = std::mem::take(&mut self.recipe.words);
        self.recipe.words = clock.words(words, self.recipe.environment.get("LD_PRELOAD"));
        self.clock = Some(clock);
        Ok(())
    }

    /// Why its processes may not have noticed how its clock was moved last; `None` if they have.
    pub async fn unnoticed(&self) -> Option<Unnoticed> {
        let (clock, root) = (self.clock.as_ref()?, self.process.as_ref().map_or(0, Kept::root));
        let Unnoticed { why, unmet } = clock.unnoticed(root).await?;
        Some(Unnoticed { why: format!("the clock of {} was moved, but {why}", self.name), unmet })
    }

    /// All that it has said.
    pub fn output(&self) -> &Path {
        &self.recipe.output
    }

    /// Where it says who leads.
    pub fn log(&self) -> &Path {
        self.log.as_ref().map_or(&self.recipe.output, |log| &log.path)
    }
}

fn block(direction: &Direction, on: bool) {
    direction.send_modify(|gate| gate.blocked = if on { gate.blocked + 1 } else { gate.blocked.saturating_sub(1) });
}

/// Begins the audit of the store. Returns the store's address; `None` if the store is each member's own.
async fn watch(
    store: &Store,
    address: Option<SocketAddr>,
    scripts: &Scripts,
    events: &UnboundedSender<Heard>,
) -> Result<Option<SocketAddr>, Failed> {
    let (rows, mut decided) = mpsc::unbounded_channel();
    let (to, lost) = (events.clone(), events.clone());
    tokio::spawn(async move {
        while let Some(told) = decided.recv().await {
            if to.send(Heard::Store(told)).is_err() {
                return;
            }
        }
    });
    let ends = move |ended: Result<(), Failed>| {
        if let Err(why) = ended {
            // The drill may be over.
            let _ = lost.send(Heard::Lost(why));
        }
    };
    let none = || Failed::Harness("the store has no address".to_owned());
    match store {
        Store::Postgres { .. } => {
            let address = address.ok_or_else(none)?;
            let audit = audit::postgres::Audit::start(address, store).await?;
            tokio::spawn(async move { ends(audit.watch(rows).await) });
            Ok(Some(address))
        }
        Store::Redis { prefix, .. } => {
            let address = address.ok_or_else(none)?;
            let monitor = audit::redis::Monitor::start(address, prefix, scripts.clone()).await?;
            tokio::spawn(async move { ends(monitor.watch(rows).await) });
            Ok(Some(address))
        }
        Store::Http { fence } => {
            let own = audit::http::Store::start(*fence).await?;
            let address = own.address()?;
            tokio::spawn(own.serve(rows));
            Ok(Some(address))
        }
        Store::Own { link: None, .. } => Ok(None),
        Store::Own { link: Some(Link { address, .. }), .. } => match TcpStream::connect(address).await {
            Ok(_) => Ok(Some(*address)),
            Err(why) => {
                Err(Failed::Unplayable(format!("nothing listens at {address}, the address of `[store] log`: {why}")))
            }
        },
    }
}

/// When the service's kernel gives up the connection of a member that is cut off: a database keeps a lock until then. Others know
/// leases.
fn gives_up_after(file: &File) -> Option<Duration> {
    file.service.filter(|given| given.server == Server::Postgres).map(|_| file.fleet.lease)
}
