//! `docs/json.md` lists exactly the fields that `--json` prints.

use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const DOCS: &str = include_str!("../../../../docs/json.md");

/// The fields in the tables of one section of the page.
fn documented(title: &str, table: usize) -> BTreeSet<String> {
    let (_, part) = DOCS.split_once(title).unwrap_or_else(|| panic!("no part {title}"));
    let part = part.split("\n## ").next().expect("a part");
    let table = part.split("| field | is |\n|---|---|\n").nth(table + 1).expect("a table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let names = rows.flat_map(|row| row.split('|').nth(1).expect("a cell").split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// The paths of all fields in a value; maps with variable keys, such as kinds of messages, count as one.
fn fields(value: &Value, path: &str, deep: &dyn Fn(&str) -> bool, found: &mut BTreeSet<String>) {
    const NAMED: [&str; 9] = [
        "passages",
        "messages_by_kind",
        "verdicts",
        "faults",
        "liveness_could_fail",
        "by_kind",
        "all_at_once",
        "steps[]",
        "numbers.cells[]",
    ];
    match value {
        Value::Object(_) if NAMED.iter().any(|named| path == *named || path.ends_with(&format!(".{named}"))) => {
            found.insert(format!("{path}.*"));
        }
        Value::Object(map) if !map.is_empty() && deep(path) => {
            for (name, value) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                fields(value, &path, deep, found);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_object) && deep(path) => {
            all.iter().for_each(|value| fields(value, &format!("{path}[]"), deep, found));
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("json-{name}-{}", std::process::id()))
}

fn printed(arguments: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(arguments.split(' ')).arg("--json").current_dir(env!("CARGO_TARGET_TMPDIR"));
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{arguments}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn compare(documented: &BTreeSet<String>, printed: &BTreeSet<String>) {
    let undocumented: Vec<_> = printed.difference(documented).collect();
    let unprinted: Vec<_> = documented.difference(printed).collect();
    assert!(undocumented.is_empty(), "printed, and not in docs/json.md: {undocumented:?}");
    assert!(unprinted.is_empty(), "in docs/json.md, and not printed: {unprinted:?}");
}

#[test]
fn json_of_runs_is_as_documented() {
    let out = folder("runs");
    let history = out.join("history.jsonl");
    fs::create_dir_all(&out).expect("a folder");
    let mut found = BTreeSet::new();
    let deep = |path: &str| !path.starts_with("groups[].");
    for arguments in [
        "gc-pause --rate 50 --fencing off --seed 42",
        "gc-pause --protocol redis-naive --seed 0",
        "gc-pause --protocol raft --rate 50 --seed 1 --groups 2",
        "read-lease --protocol raft --rate 50 --seed 1",
        "diverging-copies --protocol bully --rate 50 --seed 42",
        "clean-kill --rate 50 --seed 1 --works sequencer,compaction",
    ] {
        let more = format!("scenario {arguments} --out {} --history {}", out.display(), history.display());
        fields(&printed(&more), "", &deep, &mut found);
    }
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/logs");
    let [one, two] = ["billing-1.jsonl", "billing-2.jsonl"].map(|name| logs.join(name).display().to_string());
    let log = printed(&format!(
        "check {one} {two} --map t_us=ts,seq=invoice,verdict=result --set resource=invoices,node={{file}} --word \
         verdict:APPLIED=ok,verdict:REJECTED=fenced --ignore level,msg"
    ));
    assert_eq!((&log["metrics"]["elections"], &log["metrics"]["writes_accepted"]), (&Value::Null, &29.into()));
    fields(&log, "", &deep, &mut found);
    compare(&documented("## `scenario`, `replay`, `check`", 0), &found);
    // A log with less information has the same fields.
    let mut checked = BTreeSet::new();
    fields(&printed(&format!("check {}", history.display())), "", &deep, &mut checked);
    assert!(
        checked.is_subset(&found) && checked.contains("cause"),
        "{:?}",
        checked.difference(&found).collect::<Vec<_>>()
    );
    let two = printed(&format!(
        "scenario gc-pause --rate 50 --fencing off --seed 42 --beside fencing=on --out {}",
        out.display()
    ));
    let mut both = BTreeSet::new();
    fields(&two, "", &|path| path != "runs", &mut both);
    compare(&documented("## `scenario`, `replay`, `check`", 1), &both);
    assert_eq!([&two["runs"][0]["verdict"], &two["runs"][1]["verdict"]], ["safety", "pass"]);
    let _ = fs::remove_dir_all(&out);
}

#[test]
fn json_of_a_sweep_is_as_documented() {
    let out = folder("sweep");
    // A bug that breaks a promise.
    let sweep = format!(
        "sweep steady --protocol redis-lease --bug mixed-locks --nodes 3 --rate 50 --seeds 0..2 --out {}",
        out.display()
    );
    let deep = |path: &str| !["moved", "without_baseline"].contains(&path);
    let mut found = BTreeSet::new();
    fields(&printed(&sweep), "", &deep, &mut found);
    compare(&documented("## `sweep`: `summary.json`", 0), &found);
    let (mut listed, mut lines) = (BTreeSet::new(), 0);
    for line in fs::read_to_string(out.join("failures.ndjson")).expect("a file").lines() {
        fields(&serde_json::from_str(line).expect("JSON"), "", &deep, &mut listed);
        lines += 1;
    }
    assert!(lines > 0, "nothing failed, so nothing is listed");
    compare(&documented("## `sweep`: `summary.json`", 1), &listed);
    let _ = fs::remove_dir_all(&out);
}

#[test]
fn json_of_a_matrix_is_as_documented() {
    let mut found = BTreeSet::new();
    let cells = printed("matrix gc-pause steady --protocol redis-fenced --seeds 0..1 --rate 50");
    fields(&cells, "", &|_| true, &mut found);
    // A cell that holds has nothing at `parts`.
    found.remove("cells[].parts");
    compare(&documented("## `matrix`", 0), &found);
}

/// The output of each of the other commands. A field that is `null` here and an object elsewhere has rows for the
/// object's fields.
#[test]
fn json_of_the_other_commands_is_as_documented() {
    let out = folder("others");
    let pictures = format!("--out {}", out.display());
    let cases = [
        ("`sweep swarm`", 0, format!("sweep swarm --seeds 0..3 {pictures}")),
        ("`list`", 0, "list".to_owned()),
        ("`determinism`", 0, "determinism clean-kill --seeds 0..1 --protocol raft-core --rate 50".to_owned()),
        ("`bisect`", 0, "bisect read-lease --protocol raft-core --seeds 0..2 --rate 50".to_owned()),
        (
            "`frontier`",
            0,
            format!(
                "frontier gc-pause --protocol redis-lease --fencing off --x ttl=2s,3s --y pause=500ms..10s --seeds 0..1 {pictures}"
            ),
        ),
        (
            "`advise`",
            0,
            "advise --slo 99.9% --pause 1.2s --over 7d --protocol redis-fenced --lease-ttl 3s --now redis-fenced@2s"
                .to_owned(),
        ),
        ("`assess`", 0, "assess k8s-lease --lease-ttl 5s --pause 7s --fencing off".to_owned()),
        ("`experiments`", 0, "experiments 7 --reduced".to_owned()),
        ("`work-set`", 0, "work-set --jobs 20k".to_owned()),
        ("`plot`", 0, format!("plot ttl-sweep --ttl 2s --protocol redis-fenced --seeds 0..2 {pictures}")),
        ("`plot`", 1, format!("plot election-cdf --runs 3 --protocol raft-core {pictures}")),
        ("`plot`", 2, format!("plot message-counts --protocol bully --nodes 3 {pictures}")),
        ("`report`", 0, format!("report {0} --out {0}", out.display())),
    ];
    for (title, table, arguments) in cases {
        let mut found = BTreeSet::new();
        let deep = |path: &str| !["cells[]", "cells"].contains(&path);
        fields(&printed(&arguments), "", &deep, &mut found);
        compare(&documented(&format!("\n## {title}\n"), table), &found);
    }
    let _ = fs::remove_dir_all(&out);
}

/// The commands on failing plans and on shards.
#[test]
fn json_of_what_is_made_of_findings_is_as_documented() {
    let out = folder("findings");
    fs::create_dir_all(&out).expect("a folder");
    let run = format!("scenario partition --protocol redis-naive --rate 50 --seed 7 --out {}", out.display());
    assert_eq!(printed(&run)["verdict"], "safety");
    let capsule = out.join("partition/redis-naive/7/capsule.json");
    let sweep = "sweep steady --protocol redis-lease --bug mixed-locks --nodes 3 --rate 50 --seeds 0..2";
    let shards: Vec<String> = (1..=2).map(|part| out.join(format!("shard-{part}")).display().to_string()).collect();
    for (part, shard) in (1..).zip(&shards) {
        printed(&format!("{sweep} --shard {part}/2 --out {shard}"));
    }
    let merge = format!("merge {} --out {}", shards.join(" "), out.join("merged").display());
    let cases = [
        ("\n## `explain`\n", format!("explain {} --futures 5", capsule.display())),
        (
            "\n## `exhaust`\n",
            format!("exhaust --protocol redis-lease --fencing off --pairs 9 --rate 2 --out {}", out.display()),
        ),
        ("\n## `shrink`\n", format!("shrink {}", capsule.display())),
        ("\n## `mutants`\n", "mutants mixed-locks --seeds 0..3".to_owned()),
        ("\n## `sweep`: `summary.json`\n", merge),
    ];
    for (title, arguments) in cases {
        let mut found = BTreeSet::new();
        let deep = |path: &str| !["moved", "without_baseline"].contains(&path);
        fields(&printed(&arguments), "", &deep, &mut found);
        compare(&documented(title, 0), &found);
    }
    let (night, mut found) =
        (format!("nightly --protocol redis-fenced --runs 1 --out {}/nights", out.display()), BTreeSet::new());
    // A failure is open in the first night, and fixed in the second.
    for more in [" --bug mixed-locks", ""] {
        fields(&printed(&format!("{night}{more}")), "", &|path| !path.ends_with(".failure"), &mut found);
    }
    compare(&documented("\n## `nightly`\n", 0), &found);
    let _ = fs::remove_dir_all(&out);
}
