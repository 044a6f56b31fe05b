//! Coordination services that a cluster starts for itself, from what is installed.

use super::{
    process::{Recipe, free_address},
    spec::Spec,
};
use protocols::service::Service;
use std::{net::SocketAddr, path::PathBuf};

/// The program of that name in the search path.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// How to start a service of its own for a cluster, with its data below the cluster's folder, and where it will listen.
///
/// # Errors
/// It is not installed: one sentence that says what to do.
pub fn recipe(service: &Service, spec: &Spec) -> Result<(Recipe, SocketAddr), String> {
    let (program, install, name) = match service.name {
        "redis" => ("redis-server", "redis-server", "redis"),
        "etcd" => ("etcd", "etcd-server", "etcd"),
        _ => return Err("there is no service to start".to_owned()),
    };
    let program = find(program).ok_or_else(|| {
        format!(
            "`{program}` is not installed: `apt-get install {install}`, or give --service HOST:PORT of a running one"
        )
    })?;
    let data = spec.folder.join(name);
    std::fs::create_dir_all(&data).map_err(|e| format!("cannot make {}: {e}", data.display()))?;
    let address = free_address()?;
    let data = data.display().to_string();
    let arguments: Vec<String> = match service.name {
        // Every write is on disk before it is acknowledged, as the simulated one's.
        "redis" => {
            let port = address.port().to_string();
            let options = [
                "--port",
                &port,
                "--bind",
                "127.0.0.1",
                "--dir",
                &data,
                "--save",
                "",
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
            ];
            options.map(str::to_owned).into()
        }
        "etcd" => {
            let (client, peer) = (format!("http://{address}"), format!("http://{}", free_address()?));
            let options = [
                ("--name", "fencepost"),
                ("--data-dir", &data),
                ("--listen-client-urls", &client),
                ("--advertise-client-urls", &client),
                ("--listen-peer-urls", &peer),
                ("--initial-advertise-peer-urls", &peer),
                ("--initial-cluster", &format!("fencepost={peer}")),
            ];
            options.into_iter().flat_map(|(name, value)| [name.to_owned(), value.to_owned()]).collect()
        }
        _ => Vec::new(),
    };
    let output = spec.folder.join(format!("{name}.log"));
    let arguments = arguments.into_iter().map(Into::into).collect();
    Ok((Recipe { leash: spec.program.clone(), program, arguments, output }, address))
}
