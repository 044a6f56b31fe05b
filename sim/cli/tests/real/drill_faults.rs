//! Faults of drills that need more than a signal: clocks, and logs in files.

use super::{
    common::{Folder, program, servers, text},
    drills::{CHECKS_FIRST, drilled, example},
};
use std::{fs, path::Path};

/// The example's file with another text, beside nothing else: its folder's files are named by their whole path.
pub fn with(name: &str, file: &str, changes: &[(&str, &str)], folder: &Folder) -> String {
    let path = example(name, file);
    let mut text = fs::read_to_string(&path).expect("the example");
    for (from, to) in changes {
        assert!(text.contains(from), "{from} in {}", path.display());
        text = text.replace(from, to);
    }
    folder.write(file, text)
}

pub fn beside(name: &str, file: &str) -> String {
    example(name, file).canonicalize().expect("it is there").display().to_string()
}

/// A lease whose end is a time of day on the clock of whoever has it, as in a row of a table. Between two looks at it, the leader
/// trusts its own clock.
const OWN_CLOCK: &str = r#"
ask() { redis-cli -p {redis.port} "$@"; }
take="local of, till = string.match(redis.call('GET', 'lease') or '', '(%S+) (%d+)')
  if of and of ~= ARGV[1] and tonumber(till) > tonumber(ARGV[2]) then return 0 end
  redis.call('SET', 'lease', ARGV[1] .. ' ' .. ARGV[3])
  return 1"
while :; do
  now=$(date +%s%3N)
  till=$((now + 2000))
  if [ "$(ask EVAL "$take" 0 {node} $now $till)" = 1 ]; then
    [ "$leads" ] || echo {node} leads
    leads=1
    for nth in 1 2 3 4 5 6 7 8 9 10; do
      [ $(date +%s%3N) -lt $till ] && curl -sf -X POST http://{store}/ >/dev/null
      sleep 0.05
    done
  elif [ "$leads" ]; then
    echo {node} leads no more
    leads=
  fi
  sleep 0.05
done
"#;

pub fn shell(script: &str, folder: &Folder) -> String {
    let file = format!(
        "[fleet]\ncommand = [\"sh\", \"-c\", '''{script}''']\nlease = \"2s\"\n[service]\nredis = {{}}\n[store]\nhttp = {{}}\n\
         [log]\nelected = \"leads\"\ndeposed = \"leads no more\"\n"
    );
    folder.write("fleet.toml", file)
}

fn redis(what: &str) -> bool {
    let found = [servers::find("redis-server", "redis-server", what), servers::find("curl", "curl", what)];
    found.iter().all(Option::is_some)
}

#[test]
fn a_lease_on_the_clock_of_its_holder_is_found_by_clocks_that_step_or_differ() {
    if !redis("the drill of clocks") {
        return;
    }
    let folder = Folder::new();
    let file = shell(OWN_CLOCK, &folder);
    let (code, said) = drilled(file.as_ref(), "steady", &folder);
    assert_eq!(code, Some(0), "{said}");
    for scenario in ["clock-step", "clock-skew"] {
        let (code, said) = drilled(file.as_ref(), scenario, &folder);
        assert!(code == Some(1) && said.contains("no_stale_write"), "{scenario}: {code:?}\n{said}");
    }
}

#[test]
fn a_fleet_that_never_asks_for_the_time_is_inconclusive_if_clocks_were_asked_for() {
    let what = "the drill of a fleet that never asks for the time";
    if servers::find("python3", "python3", what).is_none() {
        return;
    }
    let folder = Folder::new();
    let member = "import http.client, threading\nprint('leads', flush=True)\nwhile True:\n\
                  \x20 at = http.client.HTTPConnection('{store.host}', {store.port})\n\
                  \x20 at.request('POST', '/')\n  at.getresponse()\n  threading.Event().wait(0.1)\n";
    // Only the first one leads, and the others wait for ever.
    let member = format!("import threading\nif {{number}} > 1: threading.Event().wait()\n{member}");
    let file = format!(
        "[fleet]\nmembers = 2\ncommand = [\"python3\", \"-S\", \"-c\", \"\"\"{member}\"\"\"]\nlease = \"1s\"\n[store]\nhttp = {{}}\n\
         [log]\nelected = \"leads\"\ndeposed = []\n"
    );
    let file = folder.write("fleet.toml", file);
    let (code, said) = drilled(file.as_ref(), "clock-step", &folder);
    assert!(code == Some(2) && said.contains("none of its processes has asked"), "{code:?}\n{said}");
}

/// The lock is the service's to count, and the script is none the wiser for its clock.
fn on_the_service_s_clock(more: &str) -> String {
    CHECKS_FIRST.replace("echo checked", "date").replace("while :; do\n  if", &format!("{more}\nwhile :; do\n  if"))
}

#[test]
fn a_lock_that_the_service_counts_passes_with_any_clock() {
    if !redis("the drill of clocks") {
        return;
    }
    let folder = Folder::new();
    let (code, said) = drilled(shell(&on_the_service_s_clock(""), &folder).as_ref(), "clock-step,clock-skew", &folder);
    assert!(code == Some(0) && said.contains("2 runs, all of them pass"), "{code:?}\n{said}");
}

#[test]
fn a_clock_that_does_not_move_is_no_pass() {
    let what = "the drill of clocks that do not move";
    if !redis(what) || servers::find("cc", "gcc", what).is_none() {
        return;
    }
    let folder = Folder::new();
    let (source, program) =
        (folder.write("waits.c", "#include <unistd.h>\nint main(void) { return pause(); }"), folder.file("waits"));
    let compiled = std::process::Command::new("cc").args(["-static", "-o", &program, &source]).status();
    assert!(compiled.is_ok_and(|status| status.success()), "a C compiler");
    // A helper may be the one that compares times.
    let file = shell(&on_the_service_s_clock(&format!("{program} &")), &folder);
    let (code, said) = drilled(file.as_ref(), "clock-step", &folder);
    assert!(code == Some(2) && said.contains("(waits) is linked statically"), "{code:?}\n{said}");
    let file = fs::read_to_string(&file).expect("written").replace("\"sh\", \"-c\"", &format!("\"{program}\""));
    let file = folder.write("static.toml", file);
    let (code, said) = drilled(file.as_ref(), "clock-skew", &folder);
    assert!(
        code == Some(64) && said.contains("`clock-skew` cannot be played: ") && said.contains("statically"),
        "{said}"
    );
}

/// It writes its log to a file, and to its output what would make every member a leader.
const LOGS_TO_A_FILE: &str = r#"
say() { echo "$@" >> {data}/service.log; }
ask() { redis-cli -p {redis.port} "$@"; }
echo {node} leads
while :; do
  if [ "$(ask SET lock {node} NX PX 1000)" = OK ]; then
    say {node} leads
    while [ "$(ask GET lock)" = {node} ]; do
      ask PEXPIRE lock 1000 >/dev/null
      sleep 0.1
      curl -sf -X POST http://{store}/ >/dev/null
      [ $((lines += 1)) = 5 ] && mv {data}/service.log {data}/service.log.1
      say {node} works
    done
    say {node} leads no more
  fi
  sleep 0.1
done
"#;

#[test]
fn a_log_may_be_a_file_that_is_rotated() {
    if !redis("the drill of a log in a file") {
        return;
    }
    let folder = Folder::new();
    let file = fs::read_to_string(shell(LOGS_TO_A_FILE, &folder)).expect("written");
    let file = folder.write("fleet.toml", file.replace("[log]", "[log]\nfile = \"{data}/service.log\""));
    // Not `isolate-leader`: an answer to its check may have been on its way, and it writes by that one once the link is back.
    let (code, said) = drilled(file.as_ref(), "clean-kill,steady", &folder);
    assert!(code == Some(0) && said.contains("2 runs, all of them pass"), "{code:?}\n{said}");
    let (code, said) = drilled(file.as_ref(), "gc-pause", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    let output = fs::read_to_string(folder.file("drill/gc-pause/0/n1.log")).expect("it is kept");
    assert!(output.contains("n1 leads"), "{output}");
}

fn has_row(said: &str, scenario: &str, seed: u64) -> bool {
    let row = format!("{scenario} seed {seed}  ");
    said.lines().any(|line| line.starts_with(&row) && line.contains(" pass"))
}

#[test]
fn without_a_name_all_that_can_be_played_are_played_and_again_with_the_next_seeds() {
    if !redis("a drill of everything") {
        return;
    }
    let folder = Folder::new();
    let fenced = CHECKS_FIRST.replace("echo {node} leads\n", "token=$(ask INCR token)\n    echo {node} leads\n");
    let fenced = fenced.replace("http://{store}/ >/dev/null", "http://{store}/?token=$token >/dev/null || break");
    let file = fs::read_to_string(shell(&fenced, &folder)).expect("written");
    let file = folder.write("fleet.toml", file.replace("http = {}", "http = { fence = true }"));
    let once = |more: &[&str]| {
        let to = folder.file("drill");
        let done = program().args(["drill", &file, "--dir", &to]).args(more).output().expect("it starts");
        (done.status.code(), text(&done.stdout) + &text(&done.stderr))
    };
    // So many runs may well meet a moment in which the machine stands still, and are then to be repeated.
    let drill = |more: &[&str]| match once(more) {
        (Some(2), said) if said.contains("run it again on a quiet machine") => once(more),
        done => done,
    };
    let (code, said) = drill(&[]);
    assert!(
        said.contains("pause-at-line is left out: ") && said.contains("service-leader-restart is left out: "),
        "{said}"
    );
    // Each of its questions is a connection, whose beginning takes longer, too: its lock has expired by then.
    assert!(said.contains("late-answer is left out: the leader does not wait for answers"), "{said}");
    let (_, without) = said.split_once("10 runs, all of them pass, without ").expect("what was left out");
    for name in ["pause-at-line", "service-leader-restart", "late-answer"] {
        assert!(without.contains(name), "{name}: {without}");
    }
    let played = ["steady", "clean-kill", "gc-pause", "late-write", "service-restart", "clock-step", "clock-skew"];
    let lacks: Vec<&str> = played.into_iter().filter(|name| !has_row(&said, name, 0)).collect();
    assert!(
        code == Some(0) && said.contains("10 runs, all of them pass") && lacks.is_empty(),
        "{lacks:?} {code:?}\n{said}"
    );
    let (code, said) = drill(&["clean-kill", "--times", "2", "--seed", "7"]);
    assert!(code == Some(0) && said.contains("2 runs, all of them pass"), "{code:?}\n{said}");
    for seed in [7, 8] {
        assert!(has_row(&said, "clean-kill", seed), "{said}");
        assert!(Path::new(&folder.file("drill/clean-kill")).join(format!("{seed}/history.jsonl")).is_file());
    }
}

#[test]
fn a_leader_that_is_never_heard_to_stop_is_told() {
    if !redis("a drill with a wrong text") {
        return;
    }
    let folder = Folder::new();
    let file = fs::read_to_string(shell(CHECKS_FIRST, &folder))
        .expect("written")
        .replace("\"leads no more\"", "\"lost lease\"");
    let file = folder.write("fleet.toml", file);
    let (code, said) = drilled(file.as_ref(), "gc-pause-between-writes", &folder);
    assert!(
        code.is_some_and(|code| code < 3) && said.contains("no member has said that it stopped leading"),
        "{code:?}\n{said}"
    );
    assert!(
        !fs::exists(folder.file("drill/gc-pause-between-writes/0/redis")).expect("a folder"),
        "the server's data is left"
    );
}
