//! What to do about missing programs, and how to install servers with the ordinary commands of package managers.

use std::{
    env,
    fs::{File, create_dir_all},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder for wheels.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers")
}

/// Runs `install` while no other process does: package managers need exclusive access, and tests may be separate
/// processes.
pub(super) fn alone(install: impl FnOnce()) {
    let servers = folder();
    create_dir_all(&servers).expect("target/servers can be made");
    // The lock is released with the file.
    let alone = File::create(servers.join("installing")).expect("target/servers can be written");
    alone.lock().expect("files can be locked");
    install();
}

/// Installs Debian packages. They would like to start `service`, which nobody here needs.
pub(super) fn packages(names: &[&str], service: &str) {
    let wanted = [&["install", "-y", "-q"], names].concat();
    if !run("apt-get", &wanted) && run("apt-get", &["update", "-q"]) {
        run("apt-get", &wanted);
    }
    if Path::new("/run/systemd/system").exists() {
        run("systemctl", &["stop", service]);
    }
}

/// Installs a Python wheel into a separate folder.
pub(super) fn wheel(name: &str, folder: &Path) {
    let folder = folder.to_str().expect("the workspace has a readable name");
    run("python3", &["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, name]);
}

pub(super) fn run(program: &str, args: &[&str]) -> bool {
    say(&format!("installing: {program} {}", args.join(" ")));
    // At this runlevel, Debian's packages start no services.
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

/// Prints a message that shows even if the test passes.
pub fn say(line: &str) {
    // Not `eprintln!`, which the test harness captures. Errors are ignored, since nobody may be listening.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What to do about missing programs: nothing, `require` or `install`.
///
/// # Panics
/// `FENCEPOST_SERVERS` has another value.
pub fn wish() -> String {
    let wish = env::var("FENCEPOST_SERVERS").unwrap_or_default();
    assert!(["", "require", "install"].contains(&wish.as_str()), "FENCEPOST_SERVERS is `require` or `install`");
    wish
}

/// Reports that a test is skipped.
///
/// # Panics
/// `FENCEPOST_SERVERS` does not allow that.
pub fn skip(what: &str, why: &str) {
    assert!(wish().is_empty(), "{what} cannot be tested: {why}, and FENCEPOST_SERVERS={} wants it", wish());
    say(&format!("SKIPPED: {what}, because {why}; FENCEPOST_SERVERS=install installs what is missing"));
}
