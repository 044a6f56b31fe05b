//! What docs/writing-logs.md shows is run, on the servers and by the interpreters that it is for, and its lines are judged.

use super::common::{Folder, run, servers, text};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The page's block in a language.
fn block(language: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/writing-logs.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("a block of {language}"));
    rest.split_once("```").expect("the block ends").0.to_owned()
}

fn checked(log: &Path, options: &[&str]) -> (Option<i32>, String) {
    let judged = super::common::fencepost(["check", log.to_str().expect("a name")].iter().chain(options));
    (judged.status.code(), text(&judged.stdout) + &text(&judged.stderr))
}

/// A transaction of a former leader's that began first and commits last is the late one.
#[test]
fn a_trigger_writes_what_was_accepted_in_the_order_of_the_commits() {
    let folder = Folder::new();
    let Some(postgres) = servers::postgres(&folder, "the trigger of docs/writing-logs.md", servers::Access::Anybody)
    else {
        return;
    };
    let psql = |sql: &str| postgres.psql(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
    psql("CREATE TABLE invoices (id bigint PRIMARY KEY, written_by text, fence_token bigint)");
    psql(&block("sql"));
    let insert = |id: u32, node: &str, token: u32| format!("INSERT INTO invoices VALUES ({id}, '{node}', {token})");
    psql(&insert(1, "n1", 7));
    let audit = |name: &str| {
        let csv = psql("COPY (SELECT * FROM fencepost_audit ORDER BY at) TO STDOUT (FORMAT csv, HEADER)");
        let log = folder.path().join(name);
        fs::write(&log, csv).expect("a file");
        checked(&log, &["--map", "t_us=at"])
    };
    psql(&insert(2, "n2", 8));
    psql(&insert(3, "n2", 8));
    let (code, said) = audit("good.csv");
    assert_eq!(code, Some(0), "{said}");

    let mut late = Command::new("psql");
    late.args([&postgres.url(), "-qX", "-v", "ON_ERROR_STOP=1"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut late = late.spawn().expect("psql is there");
    let mut say = late.stdin.take().expect("it listens");
    use std::io::{BufRead, BufReader, Write};
    writeln!(say, "BEGIN; {}; \\echo written", insert(4, "n1", 7)).expect("it listens");
    let mut told = String::new();
    BufReader::new(late.stdout.as_mut().expect("it speaks")).read_line(&mut told).expect("it speaks");
    assert_eq!(told.trim(), "written");
    psql(&insert(5, "n2", 8));
    writeln!(say, "COMMIT;").expect("it listens");
    drop(say);
    assert!(late.wait().expect("it ends").success());
    let (code, said) = audit("bad.csv");
    assert!(code == Some(1) && said.contains("no_stale_write"), "{said}");
}

#[test]
fn a_script_writes_what_redis_accepted() {
    let folder = Folder::new();
    let Some(redis) = servers::redis(&folder, "the script of docs/writing-logs.md", servers::Tls::Off) else { return };
    let port = redis.address.port().to_string();
    let cli = |arguments: &[&str]| {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &port]).args(arguments);
        let output = run(command);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let script = block("lua");
    let write = |node: &str, token: &str| cli(&["EVAL", &script, "1", "invoices", node, token, "paid"]);
    let said: Vec<String> =
        [("n1", "7"), ("n2", "8"), ("n1", "7"), ("n2", "8")].map(|(node, token)| write(node, token)).to_vec();
    assert_eq!(said.iter().map(|word| word.trim()).collect::<Vec<_>>(), ["ok", "ok", "fenced", "ok"]);
    let log = folder.path().join("audit.jsonl");
    fs::write(&log, cli(&["LRANGE", "fencepost:audit", "0", "-1"])).expect("a file");
    let (code, said) = checked(&log, &[]);
    assert_eq!(code, Some(0), "{said}");
    // The same without the comparison.
    cli(&["FLUSHALL"]);
    let open = script.replace("> tonumber(line.token)", "> 1e9");
    for (node, token) in [("n1", "7"), ("n2", "8"), ("n1", "7"), ("n2", "8")] {
        cli(&["EVAL", &open, "1", "invoices", node, token, "paid"]);
    }
    fs::write(&log, cli(&["LRANGE", "fencepost:audit", "0", "-1"])).expect("a file");
    assert_eq!(checked(&log, &[]).0, Some(1));
}

/// Each writes its two lines; another node's, which is elected in between, makes two leaders at once.
#[test]
fn a_few_lines_in_each_language_tell_who_led() {
    for (language, file, program, package) in [
        ("python", "leads.py", "python3", "python3"),
        ("js", "leads.js", "node", "nodejs"),
        ("java", "Leads.java", "java", ""),
        ("ruby", "leads.rb", "ruby", ""),
        ("sh", "leads.sh", "sh", "dash"),
    ] {
        let what = format!("the lines of docs/writing-logs.md in {language}");
        // Java's compiler and Ruby are a lot to install for a few lines, which run where there are such.
        let found = match language {
            "java" => servers::look("javac").and(servers::look(program)),
            "ruby" => servers::look(program),
            _ => servers::find(program, package, &what),
        };
        let Some(program) = found else { continue };
        let folder = Folder::new();
        let source = folder.path().join(file);
        // Whose clock counts milliseconds leads for some.
        let some = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);\nleads(\"deposed\"";
        let waits = |text: String| if language == "js" { text.replace("leads(\"deposed\"", some) } else { text };
        fs::write(&source, waits(block(language))).expect("a file");
        let mut command = Command::new(&program);
        command.arg(&source);
        let output = run(command);
        let written = text(&output.stdout);
        assert_eq!(written.lines().count(), 2, "{language}: {}", text(&output.stderr));
        let one = folder.path().join("one.jsonl");
        fs::write(&one, &written).expect("a file");
        // One leader alone shows nothing.
        assert_eq!(checked(&one, &[]).0, Some(2), "{language}: {written}");
        // Another node says the same of the same time.
        let other = |line: &str| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            line["node"] = "another".into();
            if let Some(token) = line["token"].as_u64() {
                line["token"] = (token + 1).into();
            }
            format!("{line}\n")
        };
        let two = folder.path().join("two.jsonl");
        fs::write(&two, written.lines().map(other).collect::<String>()).expect("a file");
        let judged = super::common::fencepost([Path::new("check"), &one, &two]);
        assert_eq!(judged.status.code(), Some(1), "{language}: {}{}", text(&judged.stdout), text(&judged.stderr));
    }
}
