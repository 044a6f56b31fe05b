//! The servers that a drill starts.

use super::{
    audit::postgres::USER,
    file::Server,
    kept::{Kept, Recipe},
};
use crate::{error::Failed, process::free_address};
use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{net::TcpStream, time::sleep};

/// How long a server may take to listen.
const READY_WITHIN: Duration = Duration::from_secs(30);

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
    let output = folder.join(format!("{}.log", server.name()));
    let environment = BTreeMap::new();
    let recipe = Recipe { keeper: keeper.to_owned(), words, environment, folder: data, output };
    let mut started = Started { address, process: recipe.start(None)?, recipe };
    started.listens().await?;
    Ok(started)
}

fn call(server: Server, address: SocketAddr, data: &Path) -> Result<(PathBuf, Vec<String>), Failed> {
    let find = |program: &str, package: &str| {
        let address =
            format!("or give the address of a running one, {} = {{ address = \"HOST:PORT\" }}", server.name());
        let none =
            || Failed::NoService(format!("`{program}` is not installed: `apt-get install {package}`, {address}"));
        servers::look(program).ok_or_else(none)
    };
    Ok(match server {
        Server::Redis => (find("redis-server", "redis-server")?, servers::call::redis(address, data)),
        Server::Etcd => (find("etcd", "etcd-server")?, servers::call::etcd(address, free_address()?, data)),
        Server::Consul => {
            (find("consul", "consul")?, servers::call::consul(address, [free_address()?, free_address()?], data))
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

impl Started {
    /// The folder of its program, which may have the tools that scripts call.
    pub fn programs(&self) -> Option<&Path> {
        Path::new(self.recipe.words.first()?).parent()
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

    /// Starts it again after a kill, with its data, and waits until it listens.
    ///
    /// # Errors
    /// It does not listen in time.
    pub async fn restart(&mut self) -> Result<(), Failed> {
        self.process = self.recipe.start(None)?;
        self.listens().await
    }
}
