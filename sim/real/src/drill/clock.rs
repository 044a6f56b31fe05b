//! Moves the clock of one member: a small library of ours, which its processes load, reads how far from a file.
//!
//! A program that asks the kernel itself cannot be moved: one that is linked statically, and every program in Go, whose runtime
//! calls the vDSO. What can be told from the program's file is told before the drill begins, and the rest while it is played.

use super::file::File;
use crate::{error::Failed, tree};
use std::{
    fs,
    io::Write,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// The library, in C.
const PRELOAD: &str = include_str!("clock/preload.c");
/// The variable that names the library's file.
const VARIABLE: &str = "FENCEPOST_CLOCK";
/// Where the file has the steps, the two offsets, and the step at which somebody has asked.
const STEP: u64 = 0;
const OFFSETS: [u64; 2] = [8, 16];
const ASKED: u64 = 24;
/// How long a process may take from its start to its libraries.
const LOADS_WITHIN: Duration = Duration::from_millis(200);

/// Makes the library in `folder`, and returns its path.
///
/// # Errors
/// There is no C compiler, or it fails.
pub fn library(folder: &Path) -> Result<PathBuf, Failed> {
    let to = folder.join("clock.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-fno-delete-null-pointer-checks", "-x", "c", "-", "-o"]).arg(&to);
    compiler.args(["-ldl", "-lpthread", "-lrt"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let failed = Failed::cannot::<std::io::Error>("run `cc`");
    let mut compiler = compiler.spawn().map_err(&failed)?;
    if let Some(mut input) = compiler.stdin.take() {
        input.write_all(PRELOAD.as_bytes()).map_err(&failed)?;
    }
    let done = compiler.wait_with_output().map_err(&failed)?;
    match done.status.success() {
        true => Ok(to),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let first = said.lines().find(|line| line.contains("error")).or(said.lines().next()).unwrap_or_default();
            Err(Failed::Harness(format!("`cc` cannot compile the library that moves a clock: {first}")))
        }
    }
}

/// Why a fault may show nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unnoticed {
    pub why: String,
    /// Such a fleet does not meet it: all could have asked for the time, and none has, or a leader does not wait for late answers.
    pub unmet: bool,
}

/// A member's clock.
#[derive(Debug)]
pub struct Clock {
    file: PathBuf,
    library: PathBuf,
    step: u64,
}

impl Clock {
    /// One that is right. Its file is `file`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: PathBuf, library: PathBuf) -> Result<Clock, Failed> {
        fs::write(&file, [0; 4 * size_of::<i64>()]).map_err(Failed::unwritten(&file))?;
        Ok(Clock { file, library, step: 0 })
    }

    /// A member's words, with what makes its processes load the library. Only they do: its keeper does not.
    pub fn words(&self, words: Vec<String>, other: Option<&String>) -> Vec<String> {
        let others = other.map(|other| format!(":{other}")).unwrap_or_default();
        let library = format!("LD_PRELOAD={}{others}", self.library.display());
        ["env".to_owned(), library, format!("{VARIABLE}={}", self.file.display())].into_iter().chain(words).collect()
    }

    /// It is off by so many milliseconds from now on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set(&mut self, off_ms: i64) -> Result<(), Failed> {
        let open = fs::OpenOptions::new().write(true).open(&self.file);
        let file = open.map_err(Failed::unwritten(&self.file))?;
        self.step += 1;
        // The offset that is not in use; the step puts it into use.
        let offset = OFFSETS[usize::from(self.step % 2 == 1)];
        let write = |at, word: i64| file.write_all_at(&word.to_ne_bytes(), at);
        write(offset, off_ms * 1_000_000)
            .and_then(|()| write(STEP, self.step as i64))
            .map_err(Failed::unwritten(&self.file))
    }

    /// Whether a process has asked for the time of day since it was moved last.
    fn is_asked(&self) -> bool {
        let mut word = [0; 8];
        let read = fs::File::open(&self.file).and_then(|file| file.read_exact_at(&mut word, ASKED));
        read.is_ok() && u64::from_ne_bytes(word) == self.step + 1
    }

    /// Why the processes below `root` may not have noticed the last move; `None` if they have.
    pub async fn unnoticed(&self, root: i32) -> Option<Unnoticed> {
        let without = |pid: &i32| reason(*pid, &self.library);
        let suspects: Vec<i32> = tree::below(root).into_iter().filter(|pid| without(pid).is_some()).collect();
        if !suspects.is_empty() {
            // They may have just begun.
            tokio::time::sleep(LOADS_WITHIN).await;
            if let Some((pid, why)) = suspects.iter().find_map(|pid| Some((pid, without(pid)?))) {
                return Some(Unnoticed { why: format!("its process {pid} {why}"), unmet: false });
            }
        }
        let why = "none of its processes has asked for the time of day since".to_owned();
        (!self.is_asked()).then_some(Unnoticed { why, unmet: true })
    }
}

/// Why that process does not see the moved clock; `None` if it does, or has ended.
fn reason(pid: i32, library: &Path) -> Option<String> {
    let at = Path::new("/proc").join(pid.to_string());
    let maps = fs::read_to_string(at.join("maps")).ok().filter(|maps| !maps.is_empty())?;
    let program = fs::read_link(at.join("exe")).ok()?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match kind(&at.join("exe")) {
        Some(why) => Some(format!("({name}) {why}")),
        None if maps.contains(&*library.to_string_lossy()) => None,
        None => Some(format!("({name}) has not loaded the library that moves its clock")),
    }
}

/// Why the clocks of this fleet cannot be moved, as far as its command tells; `tools` is where its setup has put programs.
pub fn unmovable(file: &File, tools: &Path) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("clocks are moved on Linux only".to_owned());
    }
    if servers::look("cc").is_none() {
        return Some(
            "`cc` is not installed, which compiles what moves a clock: `apt-get install gcc libc6-dev`".to_owned(),
        );
    }
    let first = file.fleet.command.as_ref()?.words().next()?;
    let filled =
        first.replace("{tools}", &tools.display().to_string()).replace("{dir}", &file.folder.display().to_string());
    let mut program = found(&filled, &file.folder)?;
    if let Some(interpreter) = interpreter(&program) {
        program = found(&interpreter, &file.folder)?;
    }
    Some(format!("{filled} {}", kind(&program)?))
}

fn found(program: &str, folder: &Path) -> Option<PathBuf> {
    match program.contains('/') {
        true => Some(folder.join(program)),
        false => servers::look(program),
    }
}

/// The interpreter of a script.
fn interpreter(script: &Path) -> Option<String> {
    let mut head = [0; 256];
    let length = fs::File::open(script).and_then(|file| file.read_at(&mut head, 0)).ok()?;
    let line = head[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let is_env = Path::new(first).file_name().is_some_and(|name| name == "env");
    let named = words.find(|word| is_env && !word.starts_with('-') && !word.contains('='));
    Some(named.unwrap_or(first).to_owned())
}

/// Why a program's clock cannot be moved; `None` if it can, or if it is none that is known here. (elf(5); Go's linker writes its
/// build id as a note of the owner `Go`.)
fn kind(program: &Path) -> Option<String> {
    let (file, said) = (fs::File::open(program).ok()?, |why: &str| Some(why.to_owned()));
    let read = |at: u64, length: usize| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    };
    let header = read(0, 64)?;
    if !header.starts_with(b"\x7fELF") {
        return None;
    }
    if header[4..6] != [2, 1] {
        return said("is no program of 64 bits, and its clock cannot be moved");
    }
    let number = |bytes: &[u8], at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte))
    };
    let (table, size, count) = (number(&header, 32, 8), number(&header, 54, 2), number(&header, 56, 2));
    let mut linker = None;
    for nth in 0..count {
        let entry = read(table + nth * size, 56)?;
        let (at, length) = (number(&entry, 8, 8), usize::try_from(number(&entry, 32, 8)).ok()?.min(1 << 16));
        match number(&entry, 0, 4) {
            3 => linker = Some(read(at, length)?),
            4 if is_of_go(&read(at, length)?, number) => {
                return said("is a Go program, which asks the kernel itself for the time: its clock cannot be moved");
            }
            _ => {}
        }
    }
    match linker {
        None => said("is linked statically, so that its clock cannot be moved"),
        Some(linker) if String::from_utf8_lossy(&linker).contains("musl") => {
            said("is linked with musl, and clocks are moved with glibc")
        }
        Some(_) if file.metadata().is_ok_and(|about| about.mode() & 0o6000 != 0) => {
            said("changes its user, so that its clock cannot be moved")
        }
        Some(_) => None,
    }
}

/// Whether one of these notes is Go's.
fn is_of_go(notes: &[u8], number: impl Fn(&[u8], usize, usize) -> u64) -> bool {
    let (mut at, whole) = (0, |length: u64| (length as usize).div_ceil(4) * 4);
    while at + 12 <= notes.len() {
        let (name, text) = (whole(number(notes, at, 4)), whole(number(notes, at + 4, 4)));
        if notes[at + 12..].starts_with(b"Go\0") {
            return true;
        }
        at += 12 + name + text;
    }
    false
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;
    use servers::Folder;

    fn runs(clock: &Clock, words: &[&str]) -> String {
        let words = clock.words(words.iter().map(|word| (*word).to_owned()).collect(), None);
        let done = Command::new(&words[0]).args(&words[1..]).output().expect("it starts");
        assert!(
            done.status.success(),
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn seconds(clock: &Clock) -> i64 {
        runs(clock, &["date", "+%s"]).parse().expect("a number")
    }

    fn machine() -> i64 {
        std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs() as i64
    }

    #[test]
    fn only_the_time_of_day_moves_and_it_is_known_whether_somebody_has_asked() {
        let kept = Folder::new();
        let folder = kept.path();
        let mut clock = Clock::new(folder.join("n1.clock"), library(folder).expect("compiled")).expect("written");
        assert!(!clock.is_asked());
        for off in [0, 7_200, -7_200] {
            clock.set(off * 1_000).expect("written");
            assert!(!clock.is_asked(), "of the step before");
            assert!((seconds(&clock) - off - machine()).abs() <= 2, "{off}");
            assert!(clock.is_asked());
        }
    }

    #[test]
    fn deadlines_are_reached_in_time_on_a_moved_clock() {
        let kept = Folder::new();
        let folder = kept.path();
        let (source, program) = (folder.join("waits.c"), folder.join("waits"));
        fs::write(&source, include_str!("clock/waits.c")).expect("written");
        let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).args(["-lpthread", "-lrt"]).status();
        assert!(compiled.is_ok_and(|status| status.success()));
        let mut clock = Clock::new(folder.join("n1.clock"), library(folder).expect("compiled")).expect("written");
        for off in [3_600_000, -3_600_000] {
            clock.set(off).expect("written");
            runs(&clock, &[program.to_str().expect("a name")]);
        }
    }

    #[test]
    fn programs_whose_clock_cannot_be_moved_are_known() {
        let kept = Folder::new();
        let folder = kept.path();
        let compiled = |name: &str, arguments: &[&str]| {
            let (source, program) = (folder.join("empty.c"), folder.join(name));
            fs::write(&source, "int main(void) { return 0; }").expect("written");
            let status = Command::new("cc").arg(&source).args(arguments).arg("-o").arg(&program).status();
            assert!(status.is_ok_and(|status| status.success()));
            program
        };
        assert_eq!(kind(&compiled("dynamic", &[])), None);
        // Without its library, which not every machine has for linking statically.
        let alone = ["-static", "-nostdlib", "-Wl,-e,main"];
        assert!(kind(&compiled("static", &alone)).is_some_and(|why| why.contains("statically")));
        let note = folder.join("note.s");
        fs::write(&note, ".section .note.go.buildid,\"a\"\n.long 4, 4, 4\n.ascii \"Go\\0\\0\"\n.long 7\n")
            .expect("written");
        let go = compiled("go", &[note.to_str().expect("a name")]);
        assert!(kind(&go).is_some_and(|why| why.contains("Go program")));
        let script = folder.join("script");
        for (line, named) in [("#!/usr/bin/env -S python3 -u\n", "python3"), ("#!/bin/sh -e\n", "/bin/sh")] {
            fs::write(&script, line).expect("written");
            assert_eq!(interpreter(&script).as_deref(), Some(named));
        }
        assert_eq!((interpreter(&go), kind(&script)), (None, None));
    }
}
