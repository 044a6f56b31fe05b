//! Failover beside other programs: how long after `kill -9` of the leader another process says that it leads.

use crate::{
    Error, Service,
    args::Part,
    draws::Draws,
    ending,
    process::{Competitor, Event},
    raft,
    stand::Served,
    table::cells,
    told::Told,
};
use servers::{Folder, find, find_client_go, find_consul, free_address, look};
use std::{
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

const LEASE: Duration = Duration::from_secs(5);
/// That of `etcdctl elect`, which cannot be told another.
const ETCDCTL_ELECTS: Duration = Duration::from_secs(60);
/// That of `consul lock`, which cannot be told another, either.
const CONSUL_LOCKS: Duration = Duration::from_secs(15);
/// That of client-go's documentation.
const CLIENT_GO: Duration = Duration::from_secs(15);
/// Seats side by side, and kills of each one's leader.
const SIDE_BY_SIDE: usize = 10;
const KILLS: usize = 5;
/// How long a process may take to be in the queue behind the leader: a JVM starts slowly on a busy machine.
const QUEUES: Duration = Duration::from_secs(4);
/// Nobody takes longer.
const STUCK: Duration = Duration::from_secs(240);

/// How a program competes.
struct Contender {
    name: &'static str,
    service: Service,
    lease: Duration,
    /// The command that competes for the seat of this number: as the process of this place, and of this number.
    command: Box<dyn Fn(usize, usize, usize) -> Command + Sync>,
    /// Whether this line says that it leads.
    leads: fn(&str) -> bool,
    kills: usize,
    /// How many compete for a seat. Where they elect among themselves, a majority of them has to live.
    processes: usize,
}

pub fn run(program: &Path, services: &[Service]) -> Result<(), Error> {
    println!("| program | service | lease | kills | next leader, p50 | p95 | max |");
    println!("|---|---|---|---|---|---|---|");
    for service in services.iter().copied() {
        match service {
            Service::Consul => consul(program)?,
            Service::Etcd => etcdctl(program)?,
            Service::Kubernetes => client_go(program)?,
            Service::Zookeeper => curator(program)?,
            _ => {
                let folder = Folder::new();
                let Some(served) = Served::start(service, &folder) else { continue };
                measure(&seat(program, service, served.at(), LEASE, &folder)?)?;
            }
        }
    }
    Ok(())
}

fn etcdctl(program: &Path) -> Result<(), Error> {
    let what = "a comparison with etcdctl";
    let folder = Folder::new();
    let Some(etcd) = find("etcdctl", "etcd-client", what).and_then(|_| Served::start(Service::Etcd, &folder)) else {
        return Ok(());
    };
    let at = etcd.at();
    let endpoint = at[0].to_string();
    let command = move |arguments: &[&str]| {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &endpoint]).args(arguments).stderr(Stdio::null());
        command
    };
    let (lock, elect) = (command.clone(), command);
    let lock = move |seat: usize, _, _| lock(&["lock", "--ttl", &LEASE.as_secs().to_string(), &format!("lock-{seat}")]);
    let elect = move |seat: usize, _, life: usize| elect(&["elect", &format!("elect-{seat}"), &format!("m{life}")]);
    let contender = |name, lease, kills, command| Contender {
        name,
        service: Service::Etcd,
        lease,
        command,
        leads: |line| line.starts_with("lock-") || line.starts_with("elect-"),
        kills,
        processes: 2,
    };
    measure(&seat(program, Service::Etcd, at.clone(), LEASE, &folder)?)?;
    measure(&contender("etcdctl lock", LEASE, KILLS, Box::new(lock)))?;
    measure(&Contender { kills: 1, ..seat(program, Service::Etcd, at, ETCDCTL_ELECTS, &folder)? })?;
    measure(&contender("etcdctl elect", ETCDCTL_ELECTS, 1, Box::new(elect)))
}

fn seat(
    program: &Path,
    service: Service,
    at: Vec<SocketAddr>,
    lease: Duration,
    folder: &Folder,
) -> Result<Contender, Error> {
    let (program, folder, among) = (program.to_owned(), folder.path().to_owned(), service == Service::Raft);
    let processes = if among { 3 } else { 2 };
    let mut parts = Vec::new();
    for number in 0..SIDE_BY_SIDE {
        let mut part = Part { seat: format!("seat-{number}"), ..Part::idle(service, at.clone(), lease) };
        if among {
            part.folder = folder.join(&part.seat);
            std::fs::create_dir_all(&part.folder)?;
            raft::found(&part.folder, processes)?;
            part.service_at = (0..processes).map(|_| free_address()).collect();
        }
        parts.push(part);
    }
    let command = move |seat: usize, place: usize, life: usize| {
        let part = Part { name: format!("m{place}.{life}"), ..parts[seat].clone() };
        let mut command = Command::new(&program);
        command.arg("member").args(part.to_args());
        command
    };
    Ok(Contender {
        name: "the seat",
        service,
        lease,
        command: Box::new(command),
        leads: |line| matches!(Told::read(line), Some(Told::Leads { .. })),
        kills: KILLS,
        processes,
    })
}

/// With the lease of `consul lock`, and few kills: one takes up to three leases.
fn consul(program: &Path) -> Result<(), Error> {
    let folder = Folder::new();
    let Some(agent) = Served::start(Service::Consul, &folder) else { return Ok(()) };
    let at = agent.at();
    let (consul, address) = (find_consul("a comparison with `consul lock`"), format!("http://{}", at[0]));
    measure(&Contender { kills: 2, ..seat(program, Service::Consul, at, CONSUL_LOCKS, &folder)? })?;
    let Some(consul) = consul else { return Ok(()) };
    let command = move |seat: usize, _, _| {
        let mut command = Command::new(&consul);
        // What it runs ends with its input.
        command.args(["lock", "-http-addr", &address, "-pass-stdin", &format!("lock-{seat}"), "echo leads; exec cat"]);
        command.stderr(Stdio::null());
        command
    };
    measure(&Contender {
        name: "consul lock",
        service: Service::Consul,
        lease: CONSUL_LOCKS,
        command: Box::new(command),
        leads: |line| line == "leads",
        kills: 2,
        processes: 2,
    })
}

fn client_go(program: &Path) -> Result<(), Error> {
    let folder = Folder::new();
    let Some(server) = Served::start(Service::Kubernetes, &folder) else { return Ok(()) };
    let (at, lease, kills) = (server.at(), CLIENT_GO, 2);
    measure(&seat(program, Service::Kubernetes, at.clone(), LEASE, &folder)?)?;
    measure(&Contender { kills, ..seat(program, Service::Kubernetes, at.clone(), lease, &folder)? })?;
    let main = include_str!("../compare/leader.go");
    let Some(leader) = find_client_go("leader", main, "a comparison with client-go") else { return Ok(()) };
    let command = move |seat: usize, place: usize, life: usize| {
        let mut command = Command::new(&leader);
        command.args([format!("http://{}", at[0]), format!("lock-{seat}"), format!("m{place}.{life}")]);
        command.stderr(Stdio::null());
        command
    };
    measure(&Contender {
        name: "client-go, as documented",
        service: Service::Kubernetes,
        lease,
        command: Box::new(command),
        leads: |line| line == "leads",
        kills,
        processes: 2,
    })
}

fn curator(program: &Path) -> Result<(), Error> {
    let folder = Folder::new();
    let Some(zookeeper) = Served::start(Service::Zookeeper, &folder) else { return Ok(()) };
    let at = zookeeper.at();
    measure(&seat(program, Service::Zookeeper, at.clone(), LEASE, &folder)?)?;
    let Some(class_path) = compiled(&folder)? else { return Ok(()) };
    for (name, recipe) in [("Curator's LeaderLatch", "latch"), ("Curator's LeaderSelector", "selector")] {
        let (class_path, address) = (class_path.clone(), at[0].to_string());
        let command = move |seat: usize, _, _| {
            let mut command = Command::new("java");
            command.args(["-Xmx48m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &class_path, "Curator"]);
            let timeout = LEASE.as_millis().to_string();
            command.args([recipe, &address, &format!("/{recipe}-{seat}"), &timeout]).stderr(Stdio::null());
            command
        };
        measure(&Contender {
            name,
            service: Service::Zookeeper,
            lease: LEASE,
            command: Box::new(command),
            leads: |line| line == "leads",
            kills: KILLS,
            processes: 2,
        })?;
    }
    Ok(())
}

/// Compiles `Curator.java`; the class path to run it with.
fn compiled(folder: &Folder) -> Result<Option<String>, Error> {
    let recipes = Path::new("/usr/share/java/curator-recipes.jar");
    if !recipes.is_file() && servers::wish() == "install" {
        let packages = ["install", "-y", "-q", "libcurator-recipes-java", "default-jdk-headless"];
        Command::new("apt-get").args(packages).env("DEBIAN_FRONTEND", "noninteractive").output()?;
    }
    if !recipes.is_file() || look("javac").is_none() {
        servers::skip("a comparison with Curator", "Curator (libcurator-recipes-java) or javac is not installed");
        return Ok(None);
    }
    // Its manifest names the others.
    let class_path = format!("{}:{}", folder.path().display(), recipes.display());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/compare/Curator.java");
    let compiled = Command::new("javac").args(["-cp", &class_path, "-d", &folder.file(""), source]).output()?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned().into());
    }
    Ok(Some(class_path))
}

/// Kills one leader after the other, of several seats side by side, and prints how long the next took.
fn measure(contender: &Contender) -> Result<(), Error> {
    let took: Vec<Duration> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..SIDE_BY_SIDE).map(|seat| scope.spawn(move || Rivals::new(contender, seat).play())).collect();
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?);
        joined.collect::<Result<Vec<_>, Error>>()
    })?
    .concat();
    let Contender { name, service, lease, .. } = contender;
    println!("| {name} | {} | {} s | {} |", service.name(), lease.as_secs(), cells(took));
    Ok(())
}

/// A leader, and those that wait.
struct Rivals<'a> {
    contender: &'a Contender,
    seat: usize,
    processes: Vec<Option<Competitor>>,
    lives: usize,
    tells: Sender<Event>,
    events: Receiver<Event>,
}

impl<'a> Rivals<'a> {
    fn new(contender: &'a Contender, seat: usize) -> Self {
        let (tells, events) = channel();
        let processes = (0..contender.processes).map(|_| None).collect();
        Rivals { contender, seat, processes, lives: 0, tells, events }
    }

    /// Starts one at each place that has none.
    fn start(&mut self) -> Result<(), Error> {
        for place in 0..self.processes.len() {
            if self.processes[place].is_none() {
                self.lives += 1;
                let command = (self.contender.command)(self.seat, place, self.lives);
                let process = Competitor::start(command, Vec::new(), (place, self.lives), self.tells.clone())?;
                self.processes[place] = Some(process);
            }
        }
        Ok(())
    }

    fn play(mut self) -> Result<Vec<Duration>, Error> {
        let mut draws = Draws::new(self.seat as u64);
        self.start()?;
        let (_, mut leader) = self.leader()?;
        let mut took = Vec::new();
        for _ in 0..self.contender.kills {
            self.start()?;
            // The others do not say when they are in the queue. The kill may come at any time between two renewals.
            let longest = self.contender.lease.min(3 * LEASE).as_millis() as u64;
            ending::pause(QUEUES + Duration::from_millis(draws.below(longest)))?;
            // A leader on a busy machine may have lost its lease meanwhile.
            while let Ok(event) = self.events.try_recv() {
                leader = self.is_of_leader(&event).unwrap_or(leader);
            }
            let at = Instant::now();
            if let Some(mut process) = self.processes[leader].take() {
                process.kill();
            }
            let (led, next) = self.leader()?;
            took.push(led.saturating_duration_since(at));
            leader = next;
        }
        Ok(took)
    }

    /// Waits until a process says that it leads.
    fn leader(&self) -> Result<(Instant, usize), Error> {
        loop {
            let event = ending::next(&self.events, STUCK)?.ok_or("nobody leads")?;
            if let Some(place) = self.is_of_leader(&event) {
                return Ok((event.at, place));
            }
        }
    }

    /// The place of the process that says that it leads.
    fn is_of_leader(&self, event: &Event) -> Option<usize> {
        event.line.as_ref().is_some_and(|line| (self.contender.leads)(line)).then_some(event.place)
    }
}
