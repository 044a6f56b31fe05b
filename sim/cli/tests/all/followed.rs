//! `check --follow`: a log that is judged while it is written.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

/// A write of a node's that was accepted.
fn line(t_us: u64, node: &str, token: u64) -> String {
    format!(
        "{{\"t_us\":{t_us},\"event\":\"apply\",\"resource\":\"orders\",\"node\":\"{node}\",\"token\":{token},\"seq\":{t_us},\"verdict\":\"ok\"}}\n"
    )
}

/// A command that follows files, and the lines that it prints.
struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Following {
    fn start(name: &str, arguments: &[&str]) -> Following {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("followed-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        File::create(folder.join("a.log")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command
            .arg("check")
            .args(arguments)
            .arg("--follow")
            .current_dir(&folder)
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the binary starts");
        let mut said = String::new();
        let errors = child.stderr.take().expect("standard error");
        // It listens for signals from here on.
        let mut errors = BufReader::new(errors);
        errors.read_line(&mut said).expect("a line");
        assert!(said.starts_with("following ") || said == "waiting for later.log\n", "{said}");
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let lines = BufReader::new(child.stdout.take().expect("standard output"));
        Following { child, lines, folder }
    }

    fn add(&self, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.folder.join("a.log")).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    }

    /// The next line that it prints.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    /// Interrupts it, and returns its exit code and the rest of what it printed.
    fn ends(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("kill runs");
        assert!(kill.success());
        self.rest()
    }

    fn rest(&mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.child.kill();
    }
}

#[test]
fn a_violation_is_told_while_the_log_grows_and_the_report_ends_it() {
    let mut following = Following::start("grows", &["a.log"]);
    following.add(&(line(1, "n1", 1) + &line(2, "n2", 2)));
    following.add(&line(3, "n1", 1));
    let told = following.says();
    assert!(told.starts_with("VIOLATED ") && told.contains("token"), "{told}");
    let (code, report) = following.ends();
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("SAFETY VIOLATED: ") && report.contains("a.log"), "{report}");
    assert!(!report.contains("fencepost-follow"), "the copies have other names:\n{report}");
}

#[test]
fn a_log_that_is_rotated_goes_on_in_the_next_file() {
    let mut following = Following::start("rotated", &["a.log"]);
    following.add(&line(1, "n1", 1));
    let a = following.folder.join("a.log");
    fs::rename(&a, following.folder.join("a.log.1")).expect("renamed");
    following.add(&line(2, "n2", 2));
    following.add(&line(3, "n1", 1));
    assert!(following.says().starts_with("VIOLATED "));
    assert_eq!(following.ends().0, Some(1));
}

#[test]
fn a_log_that_is_not_there_yet_is_awaited() {
    let mut following = Following::start("awaited", &["later.log"]);
    fs::write(following.folder.join("later.log"), line(1, "n1", 1) + &line(2, "n2", 2) + &line(3, "n1", 1))
        .expect("written");
    assert!(following.says().starts_with("VIOLATED "));
    assert_eq!(following.ends().0, Some(1));
    let (code, _) = Following::start("never", &["later.log"]).ends();
    assert_eq!(code, Some(64));
}

#[test]
fn the_command_of_the_sidecar_tells_a_stale_write() {
    let manifest =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sidecar.yaml")).expect("it is there");
    let command = manifest.lines().find_map(|line| line.trim().strip_prefix("command: ")).expect("a command");
    let words: Vec<String> = serde_json::from_str(command).expect("a list");
    // As it stands, but for where the log is, and where the figures are.
    let words: Vec<&str> = words
        .iter()
        .map(|word| match &**word {
            "/log/invoices.log" => "a.log",
            "0.0.0.0:9100" => "127.0.0.1:0",
            word => word,
        })
        .filter(|word| *word != "--follow")
        .collect();
    let mut following = Following::start("sidecar", &words[2..]);
    let line = |second: u32, did: &str, node: &str, token: u64| {
        format!("2026-11-23T10:00:0{second}Z {did} i-{second} of {node} with token {token}\n")
    };
    following.add(&(line(1, "stored", "n1", 7) + &line(2, "stored", "n2", 8) + &line(3, "refused", "n1", 7)));
    following.add(&line(4, "stored", "n1", 7));
    let told = following.says();
    assert!(told.starts_with("VIOLATED ") && told.contains("token 7"), "{told}");
    assert_eq!(following.ends().0, Some(1));
}

#[test]
fn standard_input_ends_with_its_report() {
    let mut following = Following::start("input", &["-"]);
    let mut input = following.child.stdin.take().expect("standard input");
    // The last line has no end.
    let log = line(1, "n1", 1) + &line(2, "n2", 2);
    input.write_all(log.trim_end().as_bytes()).expect("it reads");
    drop(input);
    let (code, report) = following.rest();
    assert!(code == Some(0) && report.contains("PASS"), "{report}");
}

#[test]
fn metrics_say_what_is_violated() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let address = format!("127.0.0.1:{port}");
    let mut following = Following::start("metrics", &["a.log", "--metrics", &address]);
    let ask = || {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(ask().contains("fencepost_check_readable 1"));
    following.add(&(line(1, "n1", 1) + &line(2, "n2", 2) + &line(3, "n1", 1)));
    assert!(following.says().starts_with("VIOLATED "));
    let answer = ask();
    assert!(answer.contains("fencepost_check_violated{invariant=\"no_stale_write\"} 1\n"), "{answer}");
    assert!(answer.contains("fencepost_check_events 3\n"), "{answer}");
    assert_eq!(following.ends().0, Some(1));
}

#[test]
fn what_cannot_grow_is_refused() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("followed.gz");
    fs::write(&file, [0x1f, 0x8b, 8, 0, 0]).expect("a file");
    for (arguments, why) in [
        (vec![file.to_str().expect("a name"), "--follow"], "is compressed"),
        (vec!["missing/a.log", "--follow"], "cannot read missing/a.log"),
        (vec!["missing.log", "--metrics", "127.0.0.1:1"], "--follow"),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_fencepost")).arg("check").args(&arguments).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(64) && said.contains(why), "{arguments:?}: {said}");
    }
}
