//! What to do about missing programs: installs servers with the ordinary commands of package managers, or unpacks
//! packages of another Debian suite.

use std::{
    env,
    fs::{self, File, create_dir_all},
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

/// A folder with these Python packages, for `PYTHONPATH`, in which `module` can be imported; `None`, with a message, if they are
/// missing and the test may pass without `what`.
///
/// # Panics
/// They are missing, and `FENCEPOST_SERVERS` requires them.
pub fn python(folder: PathBuf, packages: &[&str], module: &str, what: &str) -> Option<PathBuf> {
    let imports = || {
        let import =
            Command::new("python3").env("PYTHONPATH", &folder).args(["-c", &format!("import {module}")]).output();
        import.is_ok_and(|output| output.status.success())
    };
    if !imports() && wish() == "install" {
        let into = folder.display().to_string();
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", &into];
        alone(|| {
            run("python3", &[&install[..], packages].concat());
        });
    }
    if imports() {
        return Some(folder);
    }
    skip(what, &format!("Python cannot import {module}"));
    None
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

// Unpacks packages of another Debian suite into a folder: for servers that the machine's own suite no longer has, or
// does not have yet.

/// The machine's own apt sources with another suite in place of its own, in either format, of `deb` or `deb-src`.
fn sources(texts: &[(String, String)], own: &str, other: &str, kind: &str) -> Option<(&'static str, String)> {
    for (name, text) in texts {
        let is_of = |line: &str, start: &str| {
            line.strip_prefix(start).is_some_and(|rest| rest.split_whitespace().any(|word| word == own))
        };
        if name.ends_with(".sources") {
            let stanza = text.split("\n\n").find(|stanza| stanza.lines().any(|line| is_of(line, "Suites:")));
            if let Some(stanza) = stanza {
                let line = |line: &str| match line.split_once(':') {
                    Some(("Suites", _)) => format!("Suites: {other}\n"),
                    Some(("Types", _)) => format!("Types: {kind}\n"),
                    _ => format!("{line}\n"),
                };
                return Some(("older.sources", stanza.lines().map(line).collect()));
            }
        } else if let Some(line) = text.lines().find(|line| is_of(line, "deb ")) {
            let word = |word: &str| match word {
                "deb" => kind.to_owned(),
                word if word == own => other.to_owned(),
                word => word.to_owned(),
            };
            return Some(("older.list", line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n"));
        }
    }
    None
}

/// The suite of this machine.
fn own_suite() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix("VERSION_CODENAME=")?.trim_matches('"').to_owned()))
}

/// The names and contents of apt's own source files.
fn configured() -> Vec<(String, String)> {
    let apt = Path::new("/etc/apt");
    let parts = apt.join("sources.list.d").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = parts.chain([apt.join("sources.list")]).collect();
    files.sort();
    let text = |path: &Path| Some((path.to_str()?.to_owned(), fs::read_to_string(path).ok()?));
    files.iter().filter_map(|path| text(path)).collect()
}

/// Downloads a package of another suite and unpacks it into `into`; nothing is installed, and apt's own lists stay
/// unchanged. Failures show when the program is looked up again.
pub(super) fn unpack(package: &str, suite: &str, into: &Path) {
    if let Some(archive) = download(&["download", "-q", package], "deb", package, suite, ".deb") {
        run("dpkg-deb", &["-x", &archive.display().to_string(), &into.display().to_string()]);
    }
}

/// Downloads the source of a package of another suite, and returns the archive of its authors; otherwise as [`unpack`].
pub(super) fn source(package: &str, suite: &str) -> Option<PathBuf> {
    let wanted = ["source", "-q", "--download-only", "--only-source", package];
    download(&wanted, "deb-src", package, suite, ".orig.tar.gz")
}

/// Downloads from another suite; returns the last file that is called so.
fn download(wanted: &[&str], kind: &str, package: &str, suite: &str, ending: &str) -> Option<PathBuf> {
    let found = own_suite().and_then(|own| sources(&configured(), &own, suite, kind));
    let Some((name, text)) = found else {
        say(&format!("{package} of {suite} cannot be had: this machine has no sources of Debian's packages"));
        return None;
    };
    let private = folder().join("apt");
    let make = |name: &str| fs::create_dir_all(private.join(name));
    let made = ["parts", "lists/partial", "cache/archives/partial", "packages"].into_iter().try_for_each(make);
    if made.and_then(|()| fs::write(private.join("parts").join(name), text)).is_err() {
        say(&format!("{} cannot be written", private.display()));
        return None;
    }
    let at = |name: &str| private.join(name).display().to_string();
    let options = [
        "Dir::Etc::sourcelist=/dev/null".to_owned(),
        format!("Dir::Etc::sourceparts={}", at("parts")),
        format!("Dir::State::lists={}", at("lists")),
        format!("Dir::Cache={}", at("cache")),
    ];
    let options: Vec<&str> = options.iter().flat_map(|option| ["-o", option.as_str()]).collect();
    let packages = at("packages");
    // apt-get downloads into its working directory.
    let get = [&["-c", "cd \"$0\" && exec apt-get \"$@\"", &packages], &options[..], wanted].concat();
    if !run("apt-get", &[&options[..], &["update", "-q"]].concat()) || !run("sh", &get) {
        return None;
    }
    let archives = private.join("packages").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        let path = path.to_string_lossy();
        path.contains(&format!("/{package}_")) && path.ends_with(ending)
    };
    archives.filter(is_it).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_another_suite_are_the_machines_own() {
        let one = |name: &str, text: &str| vec![(name.to_owned(), text.to_owned())];
        let stanza = "Types: deb\nURIs: u\nSuites: s s-updates\nComponents: main\n";
        let other = one("a.sources", &format!("Types: deb\nURIs: x\nSuites: t\n\n{stanza}"));
        let expected = "Types: deb\nURIs: u\nSuites: older\nComponents: main\n".to_owned();
        assert_eq!(sources(&other, "s", "older", "deb"), Some(("older.sources", expected)));
        let lines = one("sources.list", "# deb u s main\ndeb [arch=amd64] u s main contrib\n");
        let expected = "deb [arch=amd64] u older main contrib\n".to_owned();
        assert_eq!(sources(&lines, "s", "older", "deb"), Some(("older.list", expected)));
        assert_eq!(sources(&lines, "none", "older", "deb"), None);
        let expected = "deb-src [arch=amd64] u older main contrib\n".to_owned();
        assert_eq!(sources(&lines, "s", "older", "deb-src"), Some(("older.list", expected)));
    }
}
