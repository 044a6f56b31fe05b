//! Two runs side by side, the head of a report, and `report`: their output, files and rejections.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pages-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn fencepost(arguments: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command
        .args(arguments.split(' '))
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .env_remove("CARGO");
    command.output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const OFF: &str = "scenario gc-pause --rate 50 --seed 42 --fencing off";

#[test]
fn a_failure_is_told_first_with_what_to_run_next() {
    let folder = folder("head");
    let said = text(&fencepost(OFF, &folder).stdout);
    let head: Vec<&str> = said.lines().take_while(|line| !line.starts_with("Timeline")).collect();
    let head = head.join("\n");
    for part in [
        "✗ SAFETY VIOLATED",
        "What happened: n3 checked its lease at 6.7",
        "The store accepted it, because fencing was",
        "Why it is wrong: it breaks the rule no_stale_write: No write is accepted after a newer",
        "leaders_acting_by_effect",
        "What to run next:",
        "--fencing off --open",
        "--beside fencing=on --open",
    ] {
        assert!(head.contains(part), "{part} is missing:\n{head}");
    }
    assert!(head.lines().count() < 16, "it is not short:\n{head}");
    // The suggested command runs, and shows both.
    let next = head.lines().find(|line| line.contains("--beside")).expect("a command");
    let words = next.split_once("scenario ").expect("a command of ours").1.trim_end_matches(" --open");
    let ran = fencepost(&format!("scenario {words} --quiet"), &folder);
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("B: fencing on: Every invariant held."), "{}", text(&ran.stdout));
    let passed = text(&fencepost("scenario steady --rate 50 --seed 1", &folder).stdout);
    assert!(!passed.contains("What happened"), "{passed}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_run_is_shown_beside_another() {
    let folder = folder("beside");
    let ran = fencepost(&format!("{OFF} --beside fencing=on"), &folder);
    let said = text(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
    let (_, beside) = said.split_once("\nBeside it\n").expect("what is beside it");
    for part in [
        "B  gc-pause · etcd-election · seed 42 · fencing on",
        "They part at 10.24",
        "A 10.24",
        "ACCEPTED although stale",
        "B 10.24",
        "refused: seq",
    ] {
        assert!(beside.contains(part), "{part} is missing:\n{beside}");
    }
    let row =
        |label: &str| beside.lines().find(|line| line.trim_start().starts_with(label)).expect("a figure").to_owned();
    assert!(row("leaders taking effect at once").ends_with('≠') && !row("elections").ends_with('≠'), "{beside}");
    let page = folder.join("target/fencepost/gc-pause/etcd-election-fencing-off/42/beside.html");
    let page = fs::read_to_string(page).expect("a page of both");
    assert!(page.contains("id=\"model-1\"") && page.contains("fencing on") && page.ends_with("</html>\n"));
    // The same with two histories.
    for (name, more) in [("off", " --fencing off"), ("on", "")] {
        fencepost(&format!("scenario gc-pause --rate 50 --seed 42{more} --history {name}.jsonl --quiet"), &folder);
    }
    let checked = fencepost("check off.jsonl --beside on.jsonl --out both", &folder);
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stderr));
    assert!(text(&checked.stdout).contains("They part at 10.24"), "{}", text(&checked.stdout));
    assert!(folder.join("both/beside.html").is_file());
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_cannot_be_shown_beside_is_refused() {
    let folder = folder("refused");
    for (arguments, why) in [
        (format!("{OFF} --beside fencing=off"), "--beside changes nothing"),
        (format!("{OFF} --beside fenzing=on"), "--beside: "),
        (format!("{OFF} --beside protocol=raf"), "did you mean `raft`"),
        (format!("{OFF} --beside protocol=raft --beside seed=1"), "--beside"),
        ("plan gc-pause --beside fencing=off".to_owned(), "--beside needs a run"),
        ("check nothing.jsonl --beside nothing.jsonl".to_owned(), "cannot read nothing.jsonl"),
        ("report nowhere".to_owned(), "nowhere does not exist"),
        ("report .".to_owned(), "has nothing to report"),
    ] {
        let ran = fencepost(&arguments, &folder);
        let said = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(64), "{arguments}: {said}");
        assert!(said.contains(why) && said.trim_end().lines().count() == 1, "{arguments}: {said}");
    }
    fs::write(folder.join("summary.json"), "{\"schema\":9}").expect("written");
    let said = text(&fencepost("report .", &folder).stderr);
    assert!(said.contains("its schema is 9"), "{said}");
    fs::write(folder.join("summary.json"), "[1,").expect("written");
    let said = text(&fencepost("report .", &folder).stderr);
    assert!(said.contains("summary.json is no JSON"), "{said}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_sweep_a_matrix_and_runs_have_an_index() {
    let folder = folder("report");
    let sweep = "sweep steady --protocol redis-lease --bug mixed-locks --nodes 3 --rate 50 --seeds 0..2 --out swept";
    let swept = fencepost(sweep, &folder);
    let reported = fencepost("report swept", &folder);
    assert_eq!(reported.status.code(), Some(0), "{}", text(&reported.stderr));
    let page = fs::read_to_string(folder.join("swept/index.html")).expect("an index");
    assert_eq!(swept.status.code(), Some(1), "{}", text(&swept.stderr));
    let told = text(&swept.stdout);
    assert!(
        told.contains("what happened: n") && told.contains("timeline: swept/steady/redis-lease/0/timeline.html"),
        "{told}"
    );
    assert!(page.contains("A sweep of ") && page.contains("\"steady/redis-lease/0/timeline.html\""), "{told}");
    assert!(text(&reported.stdout).contains("broke a promise"), "{}", text(&reported.stdout));
    let ran = fencepost(&format!("{OFF} --out runs"), &folder);
    assert_eq!(ran.status.code(), Some(1));
    let reported = fencepost("report runs", &folder);
    let said = text(&reported.stdout);
    assert!(said.contains("1 run, of which 1 went wrong") && said.contains("n3 checked its lease at 6.7"), "{said}");
    let page = fs::read_to_string(folder.join("runs/index.html")).expect("an index");
    assert!(page.contains("gc-pause/etcd-election-fencing-off/42/timeline.html"), "the timeline is linked");
    fencepost("matrix steady gc-pause --protocol redis-fenced,bully --seeds 0..1 --rate 50 --out cells", &folder);
    let reported = fencepost("report cells --out elsewhere", &folder);
    assert!(text(&reported.stdout).contains("1 of 4 cells are broken"), "{}", text(&reported.stdout));
    let page = fs::read_to_string(folder.join("elsewhere/index.html")).expect("an index");
    assert!(page.contains("\"../cells/gc-pause/bully/0/timeline.html\""), "a broken cell has its timeline");
    let _ = fs::remove_dir_all(&folder);
}

/// The names of the files in a run's folder.
fn left(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn links_survive_a_move_and_a_report_from_elsewhere() {
    let folder = folder("moved");
    let sweep =
        "sweep steady --protocol redis-lease --bug mixed-locks --nodes 3 --rate 50 --seeds 0..1 --quiet --out swept";
    assert_eq!(fencepost(sweep, &folder).status.code(), Some(1));
    let elsewhere = folder.join("other/place");
    fs::create_dir_all(&elsewhere).expect("a folder");
    fs::rename(folder.join("swept"), elsewhere.join("moved")).expect("it moves");
    let reported = fencepost("report ../other/place/moved", &folder.join("other"));
    assert_eq!(reported.status.code(), Some(0), "{}", text(&reported.stderr));
    let page = fs::read_to_string(elsewhere.join("moved/index.html")).expect("an index");
    assert!(page.contains("\"steady/redis-lease/0/timeline.html\""), "the timeline is linked");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_page_says_what_was_swept_and_shows_shards_apart() {
    let folder = folder("shards");
    for shard in ["1/2", "2/2"] {
        let out = &shard[..1];
        let sweep = format!(
            "sweep gc-pause --protocol redis-naive --nodes 3 --rate 50 --fencing off --seeds 0..2 --shard {shard} --quiet --out all/{out}"
        );
        let swept = fencepost(&sweep, &folder);
        assert_eq!(swept.status.code(), Some(0), "{}", text(&swept.stderr));
    }
    let one = fencepost("report all/1", &folder);
    let page = fs::read_to_string(folder.join("all/1/index.html")).expect("an index");
    for part in
        ["A sweep of 1 run, fencing off, shard 1 of 2", "Options: --rate 50 --fencing off", "This is shard 1 of 2"]
    {
        assert!(page.contains(part), "{part} is missing: {}", text(&one.stdout));
    }
    let both = fencepost("report all --json", &folder);
    let said: serde_json::Value = serde_json::from_slice(&both.stdout).expect("JSON");
    assert_eq!((&said["of"], &said["title"]), (&"sweep".into(), &"2 sweeps".into()), "{said}");
    let titles: Vec<_> = said["sections"].as_array().expect("sections").iter().map(|s| s["title"].clone()).collect();
    assert_eq!(titles, [1, 2].map(|n| format!("A sweep of 1 run, fencing off, shard {n} of 2")));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_page_shows_runs_that_were_unsafe_as_they_may_be() {
    let folder = folder("unsafe");
    let sweep =
        "sweep gc-pause --protocol redis-naive --nodes 3 --rate 50 --fencing off --seeds 0..2 --quiet --out all/one";
    let swept = fencepost(sweep, &folder);
    assert_eq!(swept.status.code(), Some(0), "{}", text(&swept.stderr));
    // Only what is needed for viewing: nobody wants the history of a run that went as promised.
    let kept = left(&folder.join("all/one/gc-pause/redis-naive-fencing-off/0"));
    assert_eq!(kept, ["plan.json", "report.json", "report.txt", "timeline.html"]);
    for (of, page) in [("all/one", ""), ("all", "one/")] {
        let reported = fencepost(&format!("report {of}"), &folder);
        let index = fs::read_to_string(folder.join(of).join("index.html")).expect("an index");
        assert!(index.contains("unsafe without breaking a promise"), "{}", text(&reported.stdout));
        let link = format!("\"{page}gc-pause/redis-naive-fencing-off/0/timeline.html\"");
        assert!(index.contains(&link), "{link} is missing: {}", text(&reported.stdout));
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_folder_is_of_one_run() {
    let folder = folder("one-run");
    let run = "scenario partition --protocol redis-lease --rate 50 --seed 1 --out out";
    let failed = fencepost(&format!("{run} --bug redis-lease-renewal-throws --verbose"), &folder);
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    let place = folder.join("out/partition/redis-lease/1");
    let all = ["capsule.json", "history.jsonl", "plan.json", "report.json", "report.txt", "repro.sh", "timeline.html"];
    assert_eq!(left(&place), all);
    let report = fs::read_to_string(place.join("report.txt")).expect("a report");
    let wall = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("real time")).map(|line| line.trim_end().to_owned()).collect()
    };
    assert_eq!(wall(&report), wall(&text(&failed.stdout)), "the report is all that --verbose prints");
    // Foreign files stay; those of the other run are removed.
    fs::write(place.join("notes"), "mine").expect("a file");
    assert_eq!(fencepost(run, &folder).status.code(), Some(0));
    assert_eq!(left(&place), ["notes", "plan.json", "report.json", "report.txt", "timeline.html"]);
    let said = text(&fencepost("report out", &folder).stdout);
    assert!(said.contains("1 run, of which 0 went wrong"), "{said}");
    // After another failure, all files belong to it.
    fencepost(&format!("{run} --bug redis-lease-renewal-throws --verbose"), &folder);
    let plan = fs::read_to_string(place.join("plan.json")).expect("a plan");
    assert!(plan.contains("redis-lease-renewal-throws") && left(&place).len() == all.len() + 1, "{:?}", left(&place));
    // A page of two runs keeps the files of the first.
    let off = format!("{OFF} --out beside");
    fencepost(&off, &folder);
    fencepost(&format!("{off} --beside fencing=on"), &folder);
    let names = left(&folder.join("beside/gc-pause/etcd-election-fencing-off/42"));
    assert!(names.contains(&"beside.html".to_owned()) && names.contains(&"capsule.json".to_owned()), "{names:?}");
    let _ = fs::remove_dir_all(&folder);
}
