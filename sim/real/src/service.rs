//! Coordination services that a cluster starts from installed programs.

use super::{
    process::{Recipe, free_address},
    spec::Spec,
};
use crate::error::Failed;
use protocols::service::{Service, postgres};
use protocols_clients::postgres::USER;
use std::{net::SocketAddr, path::PathBuf};

/// How to start a member of `service` called `name`, with its data in the cluster's folder, and the address at which it
/// will listen. It follows, or watches, the server at `first`, if given.
///
/// # Errors
/// The service is not installed; the message says what to do.
pub fn recipe(
    service: &Service,
    member: &str,
    first: Option<SocketAddr>,
    spec: &Spec,
) -> Result<(Recipe, SocketAddr), Failed> {
    if service.process == postgres::SERVICE.process {
        return database(service, spec);
    }
    let (program, name) = (program(service)?, if service.name.starts_with("redis") { member } else { service.name });
    let data = spec.folder.join(name);
    std::fs::create_dir_all(&data).map_err(Failed::cannot(format!("make {}", data.display())))?;
    let address = free_address()?;
    // As in the simulation, every write is on disk before it is acknowledged.
    let arguments = match service.name {
        "redis" | "redis-servers" => servers::call::redis(address, &data),
        "redis-replicated" => servers::call::redis_replica(address, &data, first),
        "redis-sentinel" => {
            let Some(primary) = first else { return Err(Failed::Harness("there is no primary to watch".to_owned())) };
            let ttl_ms = spec.plan.timings.lease_ttl_ms;
            let timing = servers::call::Watching::of_lease(ttl_ms);
            let file = servers::call::sentinel_file(address, &data, primary, timing)
                .map_err(Failed::cannot(format!("write in {}", data.display())))?;
            servers::call::sentinel(&file)
        }
        "etcd" => servers::call::etcd(address, free_address()?, &data),
        "zookeeper" => {
            let jar = servers::zookeeper_jar().ok_or_else(|| {
                Failed::NoService("ZooKeeper is not installed: `apt-get install zookeeper`".to_owned())
            })?;
            servers::call::zookeeper(address, &data, &jar).map_err(Failed::cannot("write its settings"))?
        }
        "consul" => servers::call::consul(address, [free_address()?, free_address()?], &data),
        "kubernetes" => {
            let etcd = installed("etcd", "etcd-server")?;
            servers::call::kubernetes(address, [free_address()?, free_address()?], &etcd, &data)
        }
        _ => Vec::new(),
    };
    let output = spec.folder.join(format!("{name}.log"));
    let arguments = arguments.into_iter().map(Into::into).collect();
    Ok((Recipe { leash: spec.program.clone(), program, arguments, output }, address))
}

/// The program that runs `service`.
///
/// # Errors
/// It is not installed, or cannot be started here; the message says what to do.
pub fn program(service: &Service) -> Result<PathBuf, Failed> {
    let (program, install) = match service.name {
        "redis" | "redis-servers" | "redis-replicated" | "redis-sentinel" => ("redis-server", "redis-server"),
        "etcd" => ("etcd", "etcd-server"),
        "zookeeper" => ("java", "zookeeper default-jre-headless"),
        "consul" => ("consul", "consul"),
        "kubernetes" => {
            return servers::kubernetes_leases().ok_or_else(|| {
                let compile = "`FENCEPOST_SERVERS=install cargo test -p fencepost-servers kubernetes` compiles it";
                Failed::NoService(format!("no `apiserver` is here: {compile}, {OR}"))
            });
        }
        _ => {
            let what = service.process.unwrap_or(service.name);
            let why = format!("no `{what}` is started here; give --service HOST:PORT of a running one");
            return Err(Failed::NoService(why));
        }
    };
    installed(program, install)
}

const OR: &str = "or give --service HOST:PORT of a running one";

fn installed(program: &str, package: &str) -> Result<PathBuf, Failed> {
    let none = || format!("`{program}` is not installed: `apt-get install {package}`, {OR}");
    servers::look(program).ok_or_else(|| Failed::NoService(none()))
}

/// A PostgreSQL for the cluster. Candidates log in as its superuser.
fn database(service: &Service, spec: &Spec) -> Result<(Recipe, SocketAddr), Failed> {
    if service.name == postgres::POOLED.name {
        let why = "no PgBouncer in transaction mode is started here; give --service HOST:PORT of a running one";
        return Err(Failed::NoService(why.to_owned()));
    }
    let (data, address) = (spec.folder.join("postgres"), free_address()?);
    std::fs::create_dir_all(&data).map_err(Failed::cannot(format!("make {}", data.display())))?;
    let (program, arguments) = servers::own_postgres(address, &data, USER)?;
    let arguments = arguments.into_iter().map(Into::into).collect();
    let output = spec.folder.join("postgres.log");
    Ok((Recipe { leash: spec.program.clone(), program, arguments, output }, address))
}
