//! Scripts are sections of `testdata/conformance/<service>.txt`: conversations with the replies that both the real
//! server and the model must give.
//!
//! ```text
//! # A comment.
//! a> SET k v PX 500        session a sends this; a session opens when first named
//! < +OK                    the reply, on one or more lines
//! ! wait 100               wait, in milliseconds
//! ! clock                  start the stopwatch
//! ! elapsed                show the stopwatch, in milliseconds
//! < 100..200               a number within these bounds
//! ! reconnect a            reopen the session's connection
//! ! restart                kill and restart the server
//! = -ERR                   the model's deviating reply; only in the section not-modelled, which explains it
//! ```
//! Everything else is the service's own language. `FENCEPOST_UPDATE=1` records the replies anew from the real server;
//! bounds that still hold are kept.

use crate::transcripts::{HEAD, sections};
use std::{
    fmt::Write,
    fs,
    future::Future,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// One side of the comparison.
pub trait Arm {
    /// Its name in failure messages.
    fn name(&self) -> String;
    fn is_model(&self) -> bool;
    /// Discards all its state.
    fn reset(&mut self) -> impl Future<Output = ()>;
    /// Sends a command in a session; returns the reply's lines.
    fn ask(&mut self, session: &str, command: &str) -> impl Future<Output = Vec<String>>;
    /// Reopens a session's connection.
    fn reconnect(&mut self, session: &str) -> impl Future<Output = ()>;
    /// Kills and restarts the server.
    fn restart(&mut self) -> impl Future<Output = ()>;
    /// Messages that arrived unasked and were not read.
    fn rest(&mut self) -> impl Future<Output = Vec<String>>;
}

/// The section for the model's deviations.
const NOT_MODELLED: &str = "not-modelled";

/// A line that does something, with its expected replies.
struct Step {
    /// The line, with the comments and blank lines before it.
    text: String,
    line: String,
    replies: Vec<String>,
    simulated: Vec<String>,
}

pub struct Script {
    file: PathBuf,
    /// The name of its section.
    name: String,
    steps: Vec<Step>,
    end: String,
}

pub fn all(service: &str) -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/conformance");
    let file = folder.join(service).with_extension("txt");
    let text = fs::read_to_string(&file).expect("scripts are text");
    sections(&text).into_iter().map(|(name, script)| Script::read(&file, name, script)).collect()
}

/// The replies to every step, and finally what was never read.
pub type Replies = Vec<Vec<String>>;

impl Script {
    fn read(file: &Path, name: &str, text: &str) -> Script {
        let mut script = Script { file: file.to_owned(), name: name.to_owned(), steps: Vec::new(), end: String::new() };
        for line in text.lines() {
            let last = script.steps.last_mut();
            if let Some(reply) = line.strip_prefix("< ") {
                last.expect("a reply follows what it replies to").replies.push(reply.to_owned());
            } else if let Some(reply) = line.strip_prefix("= ") {
                assert_eq!(script.name, NOT_MODELLED, "only that section has `=`");
                last.expect("a reply follows what it replies to").simulated.push(reply.to_owned());
            } else {
                writeln!(script.end, "{line}").expect("a string");
                if !line.is_empty() && !line.starts_with('#') {
                    let text = std::mem::take(&mut script.end);
                    script.steps.push(Step { text, line: line.into(), replies: vec![], simulated: vec![] });
                }
            }
        }
        script
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of commands.
    pub fn commands(&self) -> usize {
        self.steps.iter().filter(|step| !step.line.starts_with('!')).count()
    }

    /// Plays it on one arm.
    pub async fn play(&self, arm: &mut impl Arm) -> Replies {
        arm.reset().await;
        let (mut clock, mut replies) = (Instant::now(), Replies::new());
        for step in &self.steps {
            let (session, command) = step.line.split_once(' ').unwrap_or((&step.line, ""));
            let reply = match (session, command.split_once(' ').unwrap_or((command, ""))) {
                ("!", ("wait", ms)) => {
                    tokio::time::sleep(Duration::from_millis(ms.parse().expect("milliseconds"))).await;
                    vec![]
                }
                ("!", ("clock", _)) => {
                    clock = Instant::now();
                    vec![]
                }
                ("!", ("elapsed", _)) => vec![clock.elapsed().as_millis().to_string()],
                ("!", ("reconnect", session)) => {
                    arm.reconnect(session).await;
                    vec![]
                }
                ("!", ("restart", _)) => {
                    arm.restart().await;
                    vec![]
                }
                (session, _) => {
                    let session = session.strip_suffix('>');
                    let session = session.unwrap_or_else(|| panic!("{}: cannot read {:?}", self.name(), step.line));
                    arm.ask(session, command).await
                }
            };
            replies.push(reply);
        }
        replies.push(arm.rest().await);
        replies
    }

    /// Compares an arm's replies with the script; the error has a paragraph per difference.
    pub fn check(&self, arm: &impl Arm, replies: &Replies) -> Result<(), String> {
        let mut wrong = String::new();
        for (step, actual) in self.steps.iter().zip(replies) {
            let own = arm.is_model() && !step.simulated.is_empty();
            let expected = if own { &step.simulated } else { &step.replies };
            if !agree(expected, actual) {
                let (name, line) = (arm.name(), &step.line);
                let (expected, actual) = (expected.join("\n    "), actual.join("\n    "));
                writeln!(wrong, "  {line}\n  expected\n    {expected}\n  {name} said\n    {actual}").expect("a string");
            }
        }
        if let Some(rest) = replies.last().filter(|rest| !rest.is_empty()) {
            writeln!(wrong, "  {} also said, and nobody read it\n    {}", arm.name(), rest.join("\n    "))
                .expect("a string");
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{} of {}:\n{wrong}", self.name, self.file.display())) }
    }

    /// Rewrites the script's section of the file with these replies.
    pub fn update(&mut self, replies: Replies) {
        let mut text = String::new();
        for (step, actual) in self.steps.iter_mut().zip(replies) {
            if !agree(&step.replies, &actual) {
                step.replies = actual;
            }
            text += &step.text;
            for (sign, lines) in [('<', &step.replies), ('=', &step.simulated)] {
                lines.iter().for_each(|line| writeln!(text, "{sign} {line}").expect("a string"));
            }
        }
        text += &self.end;
        let all = fs::read_to_string(&self.file).expect("scripts are text");
        let section = |(name, was)| format!("{HEAD}{name}\n{}", if name == self.name { text.as_str() } else { was });
        fs::write(&self.file, sections(&all).into_iter().map(section).collect::<String>())
            .expect("scripts can be written");
    }
}

/// Plays a script and compares the replies. A difference must show three times in a row, since machines stall.
pub async fn check(script: &Script, arm: &mut impl Arm) -> Option<String> {
    let mut wrong = None;
    for _ in 0..3 {
        let replies = script.play(arm).await;
        wrong = script.check(arm, &replies).err();
        if wrong.is_none() {
            break;
        }
    }
    wrong
}

fn agree(expected: &[String], actual: &[String]) -> bool {
    expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| line_agrees(e, a))
}

/// Compares word by word; `A..B` in an expected word matches a number within these bounds.
fn line_agrees(expected: &str, actual: &str) -> bool {
    let (expected, actual): (Vec<_>, Vec<_>) = (expected.split(' ').collect(), actual.split(' ').collect());
    let within = |expected: &str, actual: &str| {
        let (left, right) = expected.split_once("..")?;
        let prefix = left.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        let suffix = right.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let low: i64 = left[prefix.len()..].parse().ok()?;
        let high: i64 = right[..right.len() - suffix.len()].parse().ok()?;
        let number: i64 = actual.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()?;
        Some((low..=high).contains(&number))
    };
    let word = |(e, a): (&&str, &&str)| e == a || within(e, a).unwrap_or(false);
    expected.len() == actual.len() && expected.iter().zip(&actual).all(word)
}

#[test]
fn bounds_are_bounds() {
    for (expected, actual, agrees) in [
        ("a b", "a b", true),
        ("a b", "a c", false),
        (":400..500", ":437", true),
        (":400..500", ":501", false),
        ("ttl 9..10 of 10", "ttl 9 of 10", true),
        ("[\"5..7\"]", "[\"6\"]", true),
        ("-5..-3", "-4", true),
        ("k..z", "k", false),
        ("a", "a b", false),
    ] {
        assert_eq!(line_agrees(expected, actual), agrees, "{expected} against {actual}");
    }
}
