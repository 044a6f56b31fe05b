//! Finds installed programs.

use super::install::{self, skip, wish};
use std::{
    env,
    path::{Path, PathBuf},
};

/// Finds a program in Debian's PostgreSQL folders or on the search path.
pub fn look(program: &str) -> Option<PathBuf> {
    places(program).find(|file| file.is_file())
}

/// The library from Debian's ZooKeeper package, to run with `java`.
pub fn zookeeper_jar() -> Option<PathBuf> {
    let jar =
        env::var_os("FENCEPOST_ZOOKEEPER_3_8").map_or_else(|| "/usr/share/java/zookeeper.jar".into(), PathBuf::from);
    (jar.is_file() && look("java").is_some()).then_some(jar)
}

/// The same for a test; `None`, with a message, if it is missing and the test may pass without `what`.
///
/// # Panics
/// It is missing, and `FENCEPOST_SERVERS` requires it.
pub fn find_zookeeper(what: &str) -> Option<PathBuf> {
    if zookeeper_jar().is_none() && wish() == "install" {
        install::alone(|| {
            if zookeeper_jar().is_none() {
                install::packages(&["zookeeper", "default-jre-headless"], "zookeeper");
            }
        });
    }
    let found = zookeeper_jar();
    if found.is_none() {
        skip(what, "ZooKeeper is not installed");
    }
    found
}

/// All places where the program may be.
pub(super) fn places(program: &str) -> impl Iterator<Item = PathBuf> {
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|v| v.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.push(older_consul().join("usr/bin"));
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    folders.into_iter().map(move |folder| folder.join(program))
}

/// Where Consul from an older Debian is unpacked.
fn older_consul() -> PathBuf {
    install::folder().join("consul-1.8")
}

/// Consul, for a test; `None`, with a message, if it is missing and the test may pass without `what`.
///
/// # Panics
/// It is missing, and `FENCEPOST_SERVERS` requires it.
pub fn consul(what: &str) -> Option<PathBuf> {
    if look("consul").is_none() && wish() == "install" {
        install::alone(|| {
            if look("consul").is_none() {
                // The last suite that has it, with Consul 1.8.
                install::unpack("consul", "bullseye", &older_consul());
            }
        });
    }
    let found = look("consul");
    if found.is_none() {
        skip(what, "`consul` is not installed");
    }
    found
}

/// Rotel, an OpenTelemetry collector, for a test; `None`, with a message, if it is missing and the test may pass
/// without `what`.
///
/// # Panics
/// It is missing, and `FENCEPOST_SERVERS` requires it.
pub fn rotel(what: &str) -> Option<PathBuf> {
    let folder = install::folder().join("rotel");
    let agent = folder.join("rotel/rotel-agent");
    if !agent.is_file() && wish() == "install" {
        install::alone(|| {
            if !agent.is_file() {
                install::wheel("rotel==0.0.1a15", &folder);
            }
        });
    }
    if !agent.is_file() {
        skip(what, "Rotel is not installed");
        return None;
    }
    Some(agent)
}

/// A program, for a test; `None`, with a message, if it is missing and the test may pass without `what`.
///
/// # Panics
/// It is missing, and `FENCEPOST_SERVERS` requires it.
pub fn find(program: &str, package: &str, what: &str) -> Option<PathBuf> {
    if look(program).is_none() && wish() == "install" {
        install::alone(|| {
            if look(program).is_none() {
                install::packages(&[package], package);
            }
        });
    }
    let found = look(program);
    if found.is_none() {
        skip(what, &format!("`{program}` is not installed"));
    }
    found
}

/// The same for a file that a package has.
///
/// # Panics
/// It is missing, and `FENCEPOST_SERVERS` requires it.
pub fn file(path: &Path, package: &str, what: &str) -> Option<()> {
    if !path.exists() && wish() == "install" {
        install::alone(|| {
            if !path.exists() {
                install::packages(&[package], package);
            }
        });
    }
    if !path.exists() {
        skip(what, &format!("`{package}` is not installed"));
    }
    path.exists().then_some(())
}
