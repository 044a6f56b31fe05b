//! Each mistake gets one helpful sentence, and exit code 64.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A folder with a log of JSON lines, one with numeric times, and a file in place of a folder.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-mistakes");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let line = |ts: &str, node: &str, token: u64| {
        format!("{{\"ts\":{ts},\"who\":\"{node}\",\"fence\":{token},\"resource\":\"orders\"}}\n")
    };
    let iso = line("\"2026-01-01T00:00:00Z\"", "a", 1) + &line("\"2026-01-01T00:00:01Z\"", "b", 2);
    std::fs::write(folder.join("iso.jsonl"), iso).expect("a log");
    std::fs::write(folder.join("numbers.jsonl"), line("1", "a", 1) + &line("2", "b", 2)).expect("a log");
    std::fs::write(folder.join("a-file"), "").expect("a file");
    folder
}

/// The meaning of both logs' fields.
const MEANT: &str = "--map t_us=ts,node=who,token=fence --set verdict=ok";

#[test]
fn each_mistake_gets_one_sentence_that_helps() {
    let folder = folder();
    let cases: Vec<(String, &str)> = [
        ("scenario gc-pause --seed 42 --out a-file", "a-file is a file, and --out is a folder to write to"),
        ("frontier gc-pause --x ttl=1s --y pause=1s..2s --out a-file", "a-file is a file, and --out is"),
        ("plot message-counts --out a-file", "a-file is a file, and --out is a folder to write to"),
        ("check iso.jsonl --map token=", "--map token= names no field of the log; write its name after the `=`"),
        ("check iso.jsonl --map =fence", "--map =fence does not say what `fence` is; write it before the `=`"),
        ("check iso.jsonl --map fence", "--map fence does not say which field is which, such as token=fence_token"),
        ("check iso.jsonl --format csv", "iso.jsonl: contains JSON objects; omit --format, or pass --format json"),
        ("check iso.jsonl --format logfmt", "contains JSON objects; omit --format, or pass --format json"),
        ("sweep", "--seeds <A..B>"),
        ("sweep --seeds 0..1", "name what to sweep: `sweep all` runs every scenario"),
        ("sweep gc-pause --seeds 0..1 --protocol raft redlock", "several protocols take commas: --protocol P,redlock"),
        ("sweep gc-pause,partitoin --seeds 0..1", "there is no scenario `partitoin`; did you mean `partition`?"),
        (
            "sweep gc-pause --seeds 0..1 --protocol raft,redlok",
            "there is no protocol `redlok`; did you mean `redlock`?",
        ),
        ("scenario GC-Pause", "there is no scenario `GC-Pause`; did you mean `gc-pause`?"),
        ("scenario gc-pause --protocol RAFT", "there is no protocol `RAFT`; did you mean `raft`?"),
        ("scenario gc-pause --protocol postgres", "did you mean `pg-advisory`, `db-row` or `db-row-node-clock`?"),
        ("scenario gc-pause --protocol pg", "did you mean `pg-advisory`, `db-row` or `db-row-node-clock`?"),
        ("scenario gc-pause --protocol mysql", "did you mean `db-row` or `db-row-node-clock`?"),
        ("scenario gc-pause --protocol kubernetes", "did you mean `k8s-lease`?"),
        ("scenario gc-pause --protocol kube", "did you mean `k8s-lease`?"),
        ("scenario gc-pause --protocol s3", "did you mean `object-lease`?"),
        ("scenario gc-pause --protocol lease", "these have it in their name: redis-lease, k8s-lease"),
        ("scenario gc-pause --duration 1ms", "--duration is 1ms, but candidates start within the first 250ms"),
        ("sweep steady --seeds 0..1 --duration 250ms", "--duration is 250ms, but candidates start within"),
        ("plot foo", "`plot` has no `foo`; there are ttl-sweep, election-cdf, message-counts"),
        ("plot ttl-sweeep", "ttl-sweep"),
        ("xyzzy", "there is no command `xyzzy`; `"),
        (
            "list foo",
            "[possible values: scenarios, protocols, faults, invariants, parameters, works, networks, bugs, all]",
        ),
        ("scenario steady --verbose --quiet", "--verbose"),
    ]
    .map(|(words, says)| (words.to_owned(), says))
    .into_iter()
    .chain([(
        format!("check iso.jsonl {MEANT} --time-unit ms"),
        "--time-unit has no effect: every time is a date and time, which needs no unit",
    )])
    .collect();
    let mut wrong = Vec::new();
    for (words, says) in &cases {
        let (code, sentence) = said(words, &folder, None);
        let lines = sentence.trim_end().lines().count();
        if code != Some(64) || !sentence.contains(says) || lines != 1 {
            wrong.push(format!("{words}: {code:?}, {lines} lines: {sentence}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Only the user can state the unit of numbers.
    let (code, sentence) = said(&format!("check numbers.jsonl {MEANT} --time-unit s"), &folder, None);
    assert_ne!(code, Some(64), "{sentence}");
}

/// The exit code and standard error; `program` is the typed name, if it is not the whole path.
fn said(words: &str, folder: &Path, program: Option<&str>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    #[cfg(unix)]
    if let Some(program) = program {
        std::os::unix::process::CommandExt::arg0(&mut command, program);
    }
    command.args(words.split_whitespace()).env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS");
    let output = command.current_dir(folder).output().expect("the binary runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
#[cfg(unix)]
fn hints_call_the_program_as_it_was_called() {
    let folder = folder();
    for (words, hint) in [
        ("scenario no-such-thing", "`./fp list scenarios` has all"),
        ("scenario steady --protocol no-such-thing", "`./fp list protocols` has all"),
        ("scenario", "`./fp list scenarios` has the names"),
        ("xyzzy", "`./fp --help` lists all"),
        ("scenario steady --bug pooled-session", "`./fp "),
    ] {
        let (code, sentence) = said(words, &folder, Some("./fp"));
        let unknown = words.ends_with("pooled-session") && sentence.contains("there is no bug");
        assert!(code == Some(64) && (sentence.contains(hint) || unknown), "{words}: {sentence}");
        assert!(!sentence.contains("cargo run"), "{words}: {sentence}");
    }
}
