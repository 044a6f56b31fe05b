//! The servers that a drill starts.

use super::{
    audit::postgres::USER,
    file::{self, Server},
    kept::{Kept, Recipe},
};
use crate::{error::Failed, process::free_address};
use ::servers::members::{Kind, Roster};
use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

/// How long a server may take to listen: a JVM starts slowly on a loaded machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long the members of a service may take to elect one of them, on a loaded machine.
const ELECTED_WITHIN: Duration = Duration::from_secs(60);
/// How often they are asked which of them leads.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// A server, which may be killed and started again at its address.
pub struct Started {
    pub address: SocketAddr,
    recipe: Recipe,
    process: Kept,
}

/// Starts a server with its data in `folder`, kept by the program `keeper`.
///
/// # Errors
/// It is not installed, or does not listen in time.
pub async fn start(server: Server, keeper: &Path, folder: &Path) -> Result<Started, Failed> {
    let (address, data) = (free_address()?, folder.join(server.name()));
    fs::create_dir_all(&data).map_err(Failed::cannot(format!("make {}", data.display())))?;
    let (program, arguments) = call(server, address, &data)?;
    let words = std::iter::once(program.display().to_string()).chain(arguments).collect();
    let mut started = Started::new(address, words, keeper, data, folder.join(format!("{}.log", server.name())))?;
    started.listens().await?;
    Ok(started)
}

/// The coordination service: one server, or several that elect one of them.
pub struct Service {
    pub members: Vec<Started>,
    /// `None` if there is one.
    roster: Option<Arc<Roster>>,
}

impl Service {
    /// Starts all of it, and waits until it can be used.
    ///
    /// # Errors
    /// It is not installed, or does not listen or elect in time.
    pub async fn start(given: &file::Service, keeper: &Path, folder: &Path) -> Result<Service, Failed> {
        if given.members == 1 {
            return Ok(Service { members: vec![start(given.server, keeper, folder).await?], roster: None });
        }
        let roster = Roster::new(kind(given.server)?, usize::from(given.members));
        let roster = Arc::new(roster.map_err(Failed::cannot("find free ports"))?);
        let (name, mut members) = (given.server.name(), Vec::new());
        let data = folder.join(name);
        for (member, address) in roster.clients().into_iter().enumerate() {
            let words =
                roster.words(member, &data).map_err(Failed::cannot(format!("write into {}", data.display())))?;
            let (own, log) = (data.join(member.to_string()), folder.join(format!("{name}-{}.log", member + 1)));
            members.push(Started::new(address, words, keeper, own, log)?);
            roster.is(member, members[member].process.root().unsigned_abs());
        }
        let mut service = Service { members, roster: Some(roster) };
        service.is_ready().await?;
        Ok(service)
    }

    /// Where clients find its members.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.address).collect()
    }

    /// Kills all members; their data stays.
    pub async fn kill(&mut self) {
        for member in &mut self.members {
            member.kill().await;
        }
    }

    /// Kills all members, and deletes their data.
    pub async fn end(&mut self) {
        for member in &mut self.members {
            member.end().await;
        }
    }

    /// Starts all members again after a kill, with their data, and waits until the service can be used.
    ///
    /// # Errors
    /// It does not listen or elect in time.
    pub async fn restart(&mut self) -> Result<(), Failed> {
        for member in 0..self.members.len() {
            self.begin(member)?;
        }
        self.is_ready().await
    }

    /// Starts a member again after a kill, with its data, and waits until it listens.
    ///
    /// # Errors
    /// It does not listen in time.
    pub async fn restart_member(&mut self, member: usize) -> Result<(), Failed> {
        self.begin(member)?;
        self.members[member].listens().await
    }

    fn begin(&mut self, member: usize) -> Result<(), Failed> {
        let started = &mut self.members[member];
        started.process = started.recipe.start(None)?;
        self.roster.iter().for_each(|roster| roster.is(member, started.process.root().unsigned_abs()));
        Ok(())
    }

    /// Cuts a member off from the others, or ends that; the fleet reaches all of them.
    pub fn cut_off(&self, member: usize, on: bool) {
        match &self.roster {
            Some(roster) if on => roster.cut_off(member),
            Some(roster) => roster.heal(),
            None => {}
        }
    }

    async fn is_ready(&mut self) -> Result<(), Failed> {
        for member in &mut self.members {
            member.listens().await?;
        }
        let log = self.members.first().map(|member| member.recipe.output.display().to_string()).unwrap_or_default();
        let since = Instant::now();
        while self.roster.is_some() && self.leader().await.is_none() {
            if since.elapsed() > ELECTED_WITHIN {
                let within = ELECTED_WITHIN.as_secs();
                return Err(Failed::Harness(format!("no member of the service leads after {within} s; see {log}")));
            }
            sleep(ASKED_EVERY).await;
        }
        Ok(())
    }

    /// The member that leads the others; `None` if none does at the moment, or if there is one member.
    pub async fn leader(&self) -> Option<usize> {
        let roster = self.roster.clone()?;
        tokio::task::spawn_blocking(move || roster.leader()).await.ok().flatten()
    }
}

/// How the members of a service are started.
fn kind(server: Server) -> Result<Kind, Failed> {
    let none =
        |what: &str| Failed::NoService(format!("{what}, or leave `members` out and give the address of a running one"));
    let find = |program: &str, package: &str| {
        ::servers::look(program)
            .ok_or_else(|| none(&format!("`{program}` is not installed: `apt-get install {package}`")))
    };
    match server {
        Server::Etcd => Ok(Kind::Etcd(find("etcd", "etcd-server")?)),
        Server::Consul => Ok(Kind::Consul(find("consul", "consul")?)),
        Server::Zookeeper => ::servers::zookeeper_jar()
            .map(Kind::Zookeeper)
            .ok_or_else(|| none("ZooKeeper is not installed: `apt-get install zookeeper default-jre-headless`")),
        Server::Kubernetes | Server::Postgres | Server::Redis => {
            Err(Failed::Unplayable(format!("`{}` is started with one member", server.name())))
        }
    }
}

fn call(server: Server, address: SocketAddr, data: &Path) -> Result<(PathBuf, Vec<String>), Failed> {
    let or = format!("or give the address of a running one, {} = {{ address = \"HOST:PORT\" }}", server.name());
    let find = |program: &str, package: &str| {
        let none = || Failed::NoService(format!("`{program}` is not installed: `apt-get install {package}`, {or}"));
        servers::look(program).ok_or_else(none)
    };
    Ok(match server {
        Server::Redis => (find("redis-server", "redis-server")?, servers::call::redis(address, data)),
        Server::Etcd => (find("etcd", "etcd-server")?, servers::call::etcd(address, free_address()?, data)),
        Server::Consul => {
            (find("consul", "consul")?, servers::call::consul(address, [free_address()?, free_address()?], data))
        }
        Server::Kubernetes => {
            let program = servers::kubernetes_leases().ok_or_else(|| {
                let compile = "`FENCEPOST_SERVERS=install cargo test -p fencepost-servers kubernetes` compiles it";
                Failed::NoService(format!("Kubernetes' API server is not compiled here: {compile}, {or}"))
            })?;
            let (etcd, own) = (find("etcd", "etcd-server")?, [free_address()?, free_address()?]);
            (program, servers::call::kubernetes(address, own, &etcd, &data.join("etcd")))
        }
        Server::Zookeeper => {
            let java = find("java", "zookeeper default-jre-headless")?;
            let jar = servers::zookeeper_jar().ok_or_else(|| {
                Failed::NoService("ZooKeeper is not installed: `apt-get install zookeeper`".to_owned())
            })?;
            let arguments = servers::call::zookeeper(address, data, &jar);
            (java, arguments.map_err(Failed::cannot("write ZooKeeper's settings"))?)
        }
        Server::Postgres => servers::own_postgres(address, data, USER)?,
    })
}

/// Where members' programs are looked for: the machine's folders, and behind them those of the servers' programs, such as `psql`.
pub fn search_path<'s>(started: impl Iterator<Item = &'s Started>) -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    let folders = started.filter_map(|started| Path::new(started.recipe.words.first()?).parent());
    let folders = folders.map(|folder| folder.display().to_string());
    std::iter::once(own).chain(folders).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}

impl Started {
    fn new(
        address: SocketAddr,
        words: Vec<String>,
        keeper: &Path,
        folder: PathBuf,
        output: PathBuf,
    ) -> Result<Started, Failed> {
        let recipe =
            Recipe { keeper: keeper.to_owned(), words, environment: BTreeMap::new(), folder, output, container: None };
        Ok(Started { address, process: recipe.start(None)?, recipe })
    }

    async fn listens(&mut self) -> Result<(), Failed> {
        let log = self.recipe.output.display().to_string();
        let name = self.recipe.words.first().cloned().unwrap_or_default();
        let attempt = async {
            while TcpStream::connect(self.address).await.is_err() {
                if self.process.has_ended() {
                    return Err(Failed::Harness(format!("{name} ended at once; see {log}")));
                }
                sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        };
        let late = Failed::Harness(format!("{name} does not listen after {} s; see {log}", READY_WITHIN.as_secs()));
        tokio::time::timeout(READY_WITHIN, attempt).await.map_err(|_| late)?
    }

    /// Kills it; its data stays.
    pub async fn kill(&mut self) {
        self.process.kill().await;
    }

    /// Kills it, and deletes its data, which nobody reads: etcd alone reserves more than 100 MB.
    pub async fn end(&mut self) {
        self.kill().await;
        // What cannot be deleted is in the run's folder, which the next run of its name empties.
        let _ = fs::remove_dir_all(&self.recipe.folder);
    }
}
