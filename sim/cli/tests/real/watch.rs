//! `watch` on a real cluster: its output without a terminal, and how it ends.

use super::common::{
    Folder, Process, SOON, eventually, fencepost, free_address, program, run, running::Running, servers::find, text,
};
use serde_json::Value;
use std::process::Command;

#[test]
fn a_leader_that_is_killed_is_told_in_a_line_each() {
    let mut cluster = Running::start(&[]);
    let (killed, _) = cluster.leader();
    let folder = Folder::new();
    let mut command = program();
    command.args(["watch", "--interval", "100ms", "--dir", &cluster.dir()]);
    let mut watch = Process::start(command, &folder.path().join("watch.log"));
    let told = |what: &str| {
        eventually(&format!("`{what}` is told"), SOON, || watch.log().contains(what).then_some(()));
    };
    told("leads and acts with token ");
    cluster.chaos(&["kill-leader", "--restart-after", "2s"]);
    told(&format!("{killed} is silent: "));
    told(" is elected with token ");
    told(" takes effect with token ");
    told(&format!("{killed} answers again"));
    assert!(watch.log().lines().all(|line| !line.contains('\u{1b}')), "{}", watch.log());
    // The nodes' own logs say whom they follow, and openraft not that each heartbeat went unanswered.
    let (leader, _) = cluster.leader();
    let log = |name: &str| std::fs::read_to_string(format!("{}/{name}.log", cluster.dir())).expect("a log");
    for (name, _) in cluster.card.nodes.iter().filter(|(name, _)| *name != leader) {
        let follows = format!("follows leader=\"{leader}\"");
        eventually(&format!("{name} says whom it follows"), SOON, || log(name).contains(&follows).then_some(()));
    }
    let quiet = log(&leader);
    assert!(!quiet.contains("openraft::core::heartbeat"), "{quiet}");
    assert!(watch.end().success(), "{}", watch.log());
    assert!(cluster.process.end().success());
}

#[test]
fn once_says_by_its_exit_code_whether_somebody_acts() {
    let mut cluster = Running::start(&["--tls"]);
    let seen = fencepost(["watch", "--once", "--json", "--dir", &cluster.dir()]);
    let look: Value = serde_json::from_slice(&seen.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&seen.stderr)));
    assert_eq!((seen.status.code(), &look["schema"]), (Some(0), &Value::from(1)), "{look:#}");
    let (seen, first) = (look["nodes"].as_array().expect("nodes"), &cluster.card.nodes[0].0);
    assert!(seen.len() == 3 && seen[0]["name"] == **first, "{look:#}");
    assert!(look["store"]["figures"]["leaders_acting"].is_number(), "{look:#}");
    let nodes: Vec<String> = cluster.card.nodes.iter().map(|(name, address)| format!("{name}={address}")).collect();
    let (nodes, ca) = (nodes.join(","), format!("{}/ca.pem", cluster.dir()));
    // By addresses, as for any fleet: with its authority, and without.
    let by_address = fencepost(["watch", "--once", "--nodes", &nodes, "--tls-ca", &ca]);
    assert_eq!(by_address.status.code(), Some(0), "{}", text(&by_address.stdout));
    assert!(text(&by_address.stdout).contains("give --store-metrics HOST:PORT to know who takes effect"));
    let plain = fencepost(["watch", "--once", "--nodes", &nodes]);
    assert_eq!(plain.status.code(), Some(3), "{}", text(&plain.stdout));
    assert!(text(&plain.stdout).starts_with("No node answers"), "{}", text(&plain.stdout));
    assert!(cluster.process.end().success());
}

#[test]
fn what_cannot_be_watched_is_refused_in_one_sentence() {
    let folder = Folder::new();
    let nobody = free_address();
    for (line, word) in [
        (format!("--dir {}", folder.file("nowhere")), "start one with `cargo real cluster`"),
        ("--nodes n1".to_owned(), "`n1` is no node; write --nodes as NAME=HOST:PORT"),
        ("--nodes n1=h".to_owned(), "`h` is no HOST:PORT"),
        (format!("--nodes n1={nobody},n1={nobody}"), "two of --nodes have the same name"),
        (format!("--nodes n1={nobody} --store-metrics x"), "`x` is no HOST:PORT"),
        (format!("--store-metrics {nobody}"), "--nodes"),
        (format!("--nodes n1={nobody} --interval 1ms"), "`1ms` must be between 100ms and 1m"),
        (format!("--nodes n1={nobody} --tls-ca {}", folder.file("nowhere")), "nowhere"),
        (format!("--nodes n1={nobody} --tls-cert a"), "--tls-ca"),
    ] {
        let mut words = vec!["watch".to_owned(), "--once".to_owned()];
        words.extend(line.split_whitespace().map(str::to_owned));
        let refused = fencepost(&words);
        let errors = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(64), "{line}: {errors}");
        assert!(errors.lines().count() == 1 && errors.contains(word), "{line}: {errors}");
    }
}

/// The screen of a terminal, in tmux.
struct Tmux {
    socket: String,
    _folder: Folder,
}

impl Tmux {
    fn run(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.args(["-S", &self.socket, "-f", "/dev/null"]).args(arguments);
        text(&run(tmux).stdout)
    }

    fn shows(&self, what: &str) -> String {
        self.shows_all(&[what])
    }

    fn shows_all(&self, what: &[&str]) -> String {
        let all = |screen: &String| what.iter().all(|what| screen.contains(what));
        eventually(&format!("the screen shows {what:?}"), SOON, || Some(self.run(&["capture-pane", "-p"])).filter(all))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn the_dashboard_follows_the_cluster_and_gives_the_terminal_back() {
    if find("tmux", "tmux", "the dashboard in a terminal").is_none() {
        return;
    }
    let mut cluster = Running::start(&[]);
    let (killed, _) = cluster.leader();
    let folder = Folder::new();
    let tmux = Tmux { socket: folder.file("tmux"), _folder: folder };
    tmux.run(&["new-session", "-d", "-x", "100", "-y", "30", "env -i PATH=$PATH TERM=screen PS1=prompt: sh"]);
    tmux.shows("prompt:");
    let watch = format!("'{}' real watch --interval 100ms --dir '{}'", env!("CARGO_BIN_EXE_fencepost"), cluster.dir());
    tmux.run(&["send-keys", &watch, "Enter"]);
    tmux.shows("leads and acts with token ");
    cluster.chaos(&["kill-leader", "--restart-after", "2s"]);
    tmux.shows(&format!("{killed} is silent: "));
    tmux.shows_all(&[&format!("{killed} answers again"), " takes effect with token ", "█", "×"]);
    // A smaller window is redrawn.
    tmux.run(&["resize-window", "-x", "60", "-y", "14"]);
    let narrow = |screen: &String| screen.lines().all(|line| line.chars().count() <= 60) && screen.contains("q quits");
    eventually("it fits", SOON, || Some(tmux.run(&["capture-pane", "-p"])).filter(narrow));
    tmux.run(&["send-keys", "q"]);
    tmux.run(&["send-keys", "echo back: $?", "Enter"]);
    // The shell's own screen is back, with what was typed before.
    let screen = tmux.shows("back: 0");
    assert!(screen.contains("prompt:") && !screen.contains("q quits"), "{screen}");
    assert!(cluster.process.end().success());
}
