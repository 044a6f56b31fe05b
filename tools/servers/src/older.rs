//! Unpacks packages of another Debian suite into a folder: for servers that the machine's own suite no longer has, or
//! does not have yet.

use super::install::{folder, run, say};
use std::{fs, path::Path};

/// The machine's own apt sources with another suite in place of its own, in either format.
fn sources(texts: &[(String, String)], own: &str, other: &str) -> Option<(&'static str, String)> {
    for (name, text) in texts {
        let is_of = |line: &str, start: &str| {
            line.strip_prefix(start).is_some_and(|rest| rest.split_whitespace().any(|word| word == own))
        };
        if name.ends_with(".sources") {
            let stanza = text.split("\n\n").find(|stanza| stanza.lines().any(|line| is_of(line, "Suites:")));
            if let Some(stanza) = stanza {
                let line = |line: &str| match line.starts_with("Suites:") {
                    true => format!("Suites: {other}\n"),
                    false => format!("{line}\n"),
                };
                return Some(("older.sources", stanza.lines().map(line).collect()));
            }
        } else if let Some(line) = text.lines().find(|line| is_of(line, "deb ")) {
            let word = |word: &str| if word == own { other.to_owned() } else { word.to_owned() };
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
    let found = own_suite().and_then(|own| sources(&configured(), &own, suite));
    let Some((name, text)) = found else {
        return say(&format!("{package} of {suite} cannot be had: this machine has no sources of Debian's packages"));
    };
    let private = folder().join("apt");
    let make = |name: &str| fs::create_dir_all(private.join(name));
    let made = ["parts", "lists/partial", "cache/archives/partial", "packages"].into_iter().try_for_each(make);
    if made.and_then(|()| fs::write(private.join("parts").join(name), text)).is_err() {
        return say(&format!("{} cannot be written", private.display()));
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
    let download = ["-c", "cd \"$0\" && exec apt-get \"$@\"", &packages];
    let wanted = [&download[..], &options, &["download", "-q", package]].concat();
    if !run("apt-get", &[&options[..], &["update", "-q"]].concat()) || !run("sh", &wanted) {
        return;
    }
    let archives = private.join("packages").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut archives: Vec<_> =
        archives.filter(|path| path.to_string_lossy().contains(&format!("/{package}_"))).collect();
    archives.sort();
    if let Some(archive) = archives.last() {
        run("dpkg-deb", &["-x", &archive.display().to_string(), &into.display().to_string()]);
    }
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
        assert_eq!(sources(&other, "s", "older"), Some(("older.sources", expected)));
        let lines = one("sources.list", "# deb u s main\ndeb [arch=amd64] u s main contrib\n");
        let expected = "deb [arch=amd64] u older main contrib\n".to_owned();
        assert_eq!(sources(&lines, "s", "older"), Some(("older.list", expected)));
        assert_eq!(sources(&lines, "none", "older"), None);
    }
}
