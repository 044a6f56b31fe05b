//! Genuine programs: unmodified libraries, each as it is used in production.

mod entropy;
mod http;
pub mod redis;
mod threads;
mod tokio;

use crate::world::{SECOND, World};
use std::{path::Path, process::Command};

type Program = (&'static str, fn(u64) -> World);

/// A world for each program, which has run to its end.
const PROGRAMS: &[Program] = &[
    ("entropy", entropy::run),
    ("http", http::run),
    ("redis", redis::run),
    ("threads", threads::run),
    ("tokio", tokio::run),
];

/// Runs a prepared world for a virtual minute.
fn minute(mut world: World) -> World {
    world.says_quiet = SAYS_QUIET.get();
    world.run_until(60 * SECOND).unwrap_or_else(|e| panic!("{e}\n{}", world.log.join("\n")));
    world
}

fn log(name: &str, seed: u64) -> String {
    let (_, run) = PROGRAMS.iter().find(|(known, _)| *known == name).expect("a program of this name");
    run(seed).log.join("\n") + "\n"
}

/// What each program says with seed 1 is in a file, for review; debug and release builds compare with the same one.
#[test]
fn programs_say_what_they_said() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata");
    for (name, _) in PROGRAMS {
        // Where something lies in memory depends on how the program was built.
        let said: String =
            log(name, 1).lines().filter(|line| !line.contains("0x")).map(|line| format!("{line}\n")).collect();
        let file = folder.join(format!("{name}.txt"));
        if std::env::var_os("FENCEPOST_UPDATE").is_some_and(|v| v == "1") {
            std::fs::write(&file, &said).unwrap();
        }
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(said == before, "{name} says now:\n{said}\nFENCEPOST_UPDATE=1 keeps this");
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for (name, _) in PROGRAMS {
        let first = log(name, 2);
        assert_eq!(first, log(name, 2), "{name}, twice in one process");
        assert_ne!(first, log(name, 3), "{name}: the seed means nothing");
    }
}

/// A process that is told when nothing can reach it asks less often, and does the same.
#[test]
fn quiet_times_change_nothing() {
    let mut exchanges = [0, 0];
    for (name, run) in PROGRAMS {
        let [quiet, not] = [true, false].map(|says_quiet| {
            SAYS_QUIET.set(says_quiet);
            let world = run(5);
            exchanges[usize::from(says_quiet)] += world.hosts.iter().map(|host| host.exchanges).sum::<u64>();
            world.log
        });
        assert_eq!(quiet, not, "{name}");
    }
    // What happens at one instant keeps its order, too.
    let [quiet, not] = [true, false].map(|says_quiet| {
        SAYS_QUIET.set(says_quiet);
        let mut world = World::new(5);
        world.process("a", fencepost_libc::main_of(ticks)).process("b", fencepost_libc::main_of(ticks));
        minute(world).log
    });
    assert_eq!(quiet, not);
    assert!(exchanges[1] < exchanges[0], "{exchanges:?}");
}

fn ticks() {
    for n in 0..20 {
        println!("tick {n}");
        // The first time nothing is done; then both at one instant.
        std::thread::sleep(std::time::Duration::from_millis(500));
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
}

thread_local! {
    static SAYS_QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
}

/// A fresh execution of this binary, with other threads beside the one that runs.
#[test]
fn a_fresh_process_runs_the_same() {
    const ASKED: &str = "FENCEPOST_FRESH";
    let all = || PROGRAMS.iter().map(|(name, _)| log(name, 4)).collect::<String>();
    if let Some(file) = std::env::var_os(ASKED) {
        return std::fs::write(file, all()).unwrap();
    }
    let here = all();
    let file = std::env::temp_dir().join(format!("fencepost-fresh-{}", std::process::id()));
    let test = "programs::a_fresh_process_runs_the_same";
    let mut command = Command::new(std::env::current_exe().unwrap());
    // Another environment lies elsewhere on the stack.
    command.args([test, "--exact", "--test-threads", "3"]).env(ASKED, &file).env("PADDING", "x".repeat(3_333));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let there = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    // Everything is the same; addresses are where the system permits to fix them.
    let fixed = addresses_are_fixed();
    let comparable = |text: &str| -> String {
        let lines = text.lines().filter(|line| fixed || !line.contains("0x"));
        lines.map(|line| format!("{line}\n")).collect()
    };
    for (here, there) in comparable(&here).lines().zip(comparable(&there).lines()) {
        assert_eq!(here, there);
    }
    assert_eq!(here.lines().count(), there.lines().count());
}

/// Whether addresses are fixed, which they must be wherever the system permits it.
fn addresses_are_fixed() -> bool {
    let mut world = World::new(1);
    world.process("p", fencepost_libc::main_of(std::thread::park));
    world.run_until(1).unwrap();
    let personality = std::fs::read_to_string(format!("/proc/{}/personality", world.pid("p"))).unwrap_or_default();
    let flags = u64::from_str_radix(personality.trim(), 16).unwrap_or(0);
    let fixed = flags & libc::ADDR_NO_RANDOMIZE as u64 != 0;
    // SAFETY: numbers; what this sets concerns programs that are executed, and is set back.
    let permitted = unsafe {
        let now = libc::personality(0xffff_ffff) as libc::c_ulong;
        let permitted = libc::personality(now | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) >= 0;
        libc::personality(now);
        permitted
    };
    assert!(fixed || personality.is_empty() || !permitted, "addresses are random, and need not be");
    fixed
}
