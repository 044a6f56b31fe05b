//! Files of the service's processes, on disks of the world: what survives a power loss is what was synced.

use crate::world::{plan, plan_at, run_main};
use fencepost_libc::main_of;
use fencepost_process::Main;
use protocols::types::NodeId;
use scenarios::{
    Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    process::Command,
    time::Duration,
};

const STATE: &str = "/var/lib/counter/state";
/// How long numbers are, so that one is torn at no sector.
const ROOM: usize = 3 * 512;

/// How the counter saves its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Saves {
    Right,
    /// Writes, and never syncs.
    Unsynced,
    /// Renames what was not synced.
    RenamesUnsynced,
    /// Syncs the file, and not the folder with its new name.
    FolderUnsynced,
    /// Overwrites it in place, so that a part may be old.
    InPlace,
}

/// A number as long as three sectors, the same in each of them.
fn bytes_of(number: u64) -> Vec<u8> {
    let mut bytes = format!("{number:015}\n").into_bytes().repeat(ROOM / 16);
    bytes.truncate(ROOM);
    bytes
}

/// The number, if it is whole.
fn number_of(bytes: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(bytes.get(..15)?).ok()?.parse().ok()?;
    (bytes == bytes_of(number)).then_some(number)
}

fn save(saves: Saves, number: u64) -> std::io::Result<()> {
    let folder = Path::new(STATE).parent().unwrap();
    let bytes = bytes_of(number);
    if saves == Saves::InPlace {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(STATE)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        return File::open(folder)?.sync_all();
    }
    let new = folder.join("new");
    let mut file = File::create(&new)?;
    file.write_all(&bytes)?;
    if !matches!(saves, Saves::Unsynced | Saves::RenamesUnsynced) {
        file.sync_all()?;
    }
    fs::rename(new, STATE)?;
    if !matches!(saves, Saves::Unsynced | Saves::FolderUnsynced) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Counts, and says a number only when it is saved.
fn count(saves: Saves) {
    let folder = Path::new(STATE).parent().unwrap();
    if fs::create_dir(folder).is_ok() {
        File::open("/var/lib").unwrap().sync_all().unwrap();
    }
    let mut number = match fs::read(STATE) {
        Ok(bytes) => match number_of(&bytes) {
            Some(number) => number,
            None => return println!("torn: {} bytes", bytes.len()),
        },
        Err(_) => 0,
    };
    println!("begins with {number}");
    loop {
        number += 1;
        match save(saves, number) {
            Ok(()) => println!("saved {number}"),
            Err(error) => println!("failed: {error}"),
        }
        std::thread::sleep(Duration::from_millis(7));
    }
}

/// n1 is struck after 2 s, and starts again 100 ms later.
fn struck(seed: u64, main: Main, what: fn(Who) -> Fault) -> Vec<String> {
    let mut plan = plan_at(seed, Trigger::At { ms: 2_000.0 + seed as f64 }, Some(what(Who::Named("n1".to_owned()))));
    plan.duration_ms = 4_000;
    said(&plan, main, 0)
}

fn said(plan: &Plan, main: Main, node: u16) -> Vec<String> {
    let lines = run_main(plan, main).printed.into_iter();
    lines.filter(|line| line.node == NodeId(node)).map(|line| line.text).collect()
}

fn power_loss(node: Who) -> Fault {
    Fault::PowerLoss { node, restart_after_ms: Some(100.0) }
}

fn kill(node: Who) -> Fault {
    Fault::Kill { node, restart_after_ms: Some(100.0) }
}

/// Whether the process counted on from what it had said.
fn is_right(lines: &[String]) -> bool {
    let begins: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("begins with ")).collect();
    let [_, second] = begins[..] else { return false };
    let number = |line: &String| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    assert!(second > 100, "{lines:?}");
    let (before, after) = (number(&lines[second - 1]), number(&lines[second]));
    // The last number may have been saved, and not been said.
    after == before || after == before + 1
}

/// The first seed at which it goes wrong.
fn found(main: Main) -> Option<u64> {
    (0..20).find(|seed| !is_right(&struck(*seed, main, power_loss)))
}

#[test]
fn what_was_synced_survives_a_power_loss() {
    assert_eq!(found(main_of(|| count(Saves::Right))), None);
}

#[test]
fn what_was_not_synced_is_found_within_twenty_seeds() {
    let found = [
        ("never syncs", found(main_of(|| count(Saves::Unsynced)))),
        ("renames without syncing", found(main_of(|| count(Saves::RenamesUnsynced)))),
        ("does not sync the folder", found(main_of(|| count(Saves::FolderUnsynced)))),
        ("counts on a write in place", found(main_of(|| count(Saves::InPlace)))),
    ];
    println!("{found:?}");
    assert!(found.iter().all(|(_, seed)| seed.is_some()), "{found:?}");
}

/// A cache: an older state will do, and none at all will not.
fn overwrites() {
    fs::create_dir_all(Path::new(STATE).parent().unwrap()).unwrap();
    match fs::read(STATE) {
        Ok(bytes) => println!("found {} bytes", bytes.len()),
        Err(_) => {
            save(Saves::Right, 0).unwrap();
            File::open("/var/lib").unwrap().sync_all().unwrap();
        }
    }
    loop {
        // Always the same, which is first made empty.
        fs::write(STATE, bytes_of(0)).unwrap();
        std::thread::sleep(Duration::from_millis(7));
    }
}

#[test]
fn a_file_that_is_made_empty_and_written_anew_may_stay_empty() {
    let found: BTreeSet<String> = (0..20).flat_map(|seed| struck(seed, main_of(overwrites), power_loss)).collect();
    assert!(found.contains("found 0 bytes") && found.contains(&format!("found {ROOM} bytes")), "{found:?}");
}

/// Goes out of its folder by links, as far as it can.
fn escapes() {
    std::os::unix::fs::symlink("/", "/srv/root").unwrap();
    fs::create_dir_all("/srv/a/b").unwrap();
    std::os::unix::fs::symlink("../../../../../../..", "/srv/a/b/up").unwrap();
    fs::rename("/srv/a/b/up", "/up").unwrap();
    for (link, name) in [("/srv/root", "1"), ("/up", "2"), ("/srv/root/srv/root/up", "3")] {
        println!("{:?}", fs::write(format!("{link}/tmp/fencepost-escaped-{name}"), "out").map_err(|e| e.kind()));
    }
    let names = fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // A checkout in the temporary folder is there, too.
    println!("{:?}", names.filter(|name| name.starts_with("fencepost-escaped")).collect::<Vec<_>>());
    std::thread::sleep(Duration::from_secs(100));
}

#[test]
fn no_link_leads_out_of_a_disk() {
    let lines = said(&short(1), main_of(escapes), 0);
    let own = r#"["fencepost-escaped-1", "fencepost-escaped-2", "fencepost-escaped-3"]"#;
    assert_eq!(lines, ["Ok(())", "Ok(())", "Ok(())", own]);
    for folder in [Path::new("/tmp"), &std::env::temp_dir()] {
        assert!((1..=3).all(|name| !folder.join(format!("fencepost-escaped-{name}")).exists()));
    }
}

#[test]
fn a_kill_loses_nothing() {
    for seed in 0..5 {
        let lines = struck(seed, main_of(|| count(Saves::Unsynced)), kill);
        assert!(is_right(&lines), "{lines:?}");
    }
}

/// Writes who it is, and says what it finds.
fn alone() {
    let name = std::env::var("HOSTNAME").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    fs::create_dir_all("/var/lib/alone").unwrap();
    fs::write(format!("/var/lib/alone/{name}"), &name).unwrap();
    fs::write("relative", &name).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let mut names: Vec<_> = fs::read_dir("/var/lib/alone").unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    println!("{names:?} {}", fs::read_to_string("relative").unwrap());
    // Files of the machine are read, and never changed.
    println!("{}", fs::read_to_string("Cargo.toml").unwrap().contains("own-service"));
    println!("{:?}", fs::write("Cargo.toml", "").map_err(|e| e.raw_os_error()));
    println!("{:?}", fs::remove_file("Cargo.toml").map_err(|e| e.raw_os_error()));
    std::thread::sleep(Duration::from_secs(100));
}

#[test]
fn each_process_has_a_disk_of_its_own_and_nothing_is_left() {
    let plan = short(1);
    for (node, name) in ["n1", "n2", "n3"].into_iter().enumerate() {
        let lines = said(&plan, main_of(alone), node as u16);
        let lines: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.contains("only read")).collect();
        assert_eq!(lines, [&*format!("[\"{name}\"] {name}"), "true", "Err(Some(30))", "Err(Some(30))"]);
    }
    assert!(!Path::new("relative").exists() && !Path::new("/var/lib/alone").exists());
    assert!(fs::read_to_string("Cargo.toml").unwrap().contains("own-service"));
}

fn short(seed: u64) -> Plan {
    let mut plan = plan(seed, None);
    plan.duration_ms = 2_000;
    plan
}

fn left() -> BTreeSet<String> {
    let mine = format!("fencepost-files-{:08x}-", std::process::id());
    let names = fs::read_dir(std::env::temp_dir()).unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(&mine)).collect()
}

/// What a process sees of files, and what it and the others printed.
fn digest(plan: &Plan) -> String {
    let mut plan = plan.clone();
    plan.faults =
        vec![PlannedFault { when: Trigger::At { ms: 900.0 }, what: power_loss(Who::Named("n1".to_owned())), group: 0 }];
    let run = run_main(&plan, main_of(sees));
    let lines: Vec<String> =
        run.printed.iter().map(|line| format!("{} {:?} {}", line.now, line.node, line.text)).collect();
    assert!(lines.len() >= 12, "{lines:?}");
    format!("<{}>", lines.join("|"))
}

fn sees() {
    let folder = Path::new("/srv/many");
    drop(fs::create_dir(folder));
    for round in 0..4 {
        for number in (0..12).rev() {
            let mut file = OpenOptions::new().create(true).append(true).open(folder.join(format!("{number}"))).unwrap();
            file.write_all(&[round; 700]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(200));
        let all: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let (entry, mut bytes) = (entry.unwrap(), Vec::new());
                let metadata = entry.metadata().unwrap();
                File::open(entry.path()).unwrap().read_to_end(&mut bytes).unwrap();
                let sum = bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
                let (times, name) = ((metadata.mtime(), metadata.mtime_nsec()), entry.file_name());
                format!("{name:?} {} {} {times:?} {} {sum}", metadata.ino(), metadata.dev(), metadata.blocks())
            })
            .collect();
        println!("{}", all.join(", "));
    }
    println!("{:?} {:?}", &raw const *folder, fs::metadata(folder).unwrap().modified());
    std::thread::sleep(Duration::from_secs(100));
}

/// It runs itself once more, alone in a fresh process, where no other test's disks are beside its own.
#[test]
fn the_same_plan_gives_the_same_files_and_leaves_none_behind() {
    let mine = digest(&short(7));
    if std::env::var_os("FENCEPOST_ALONE").is_some() {
        assert_eq!(left(), BTreeSet::new());
        return println!("{mine}");
    }
    assert_eq!(mine, digest(&short(7)));
    let name = "files::the_same_plan_gives_the_same_files_and_leaves_none_behind";
    let mut again = Command::new(std::env::current_exe().unwrap());
    let again = again.args(["--exact", name, "--nocapture"]).env("FENCEPOST_ALONE", "1").output().unwrap();
    let said = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success(), "{said}{}", String::from_utf8_lossy(&again.stderr));
    assert!(said.contains(&mine), "{said}\nhas not\n{mine}");
}

/// How long 20 syncs take.
fn times_syncs() {
    let mut file = File::create("/tmp/a").unwrap();
    let begin = std::time::Instant::now();
    for _ in 0..20 {
        file.write_all(b"a").unwrap();
        if let Err(error) = file.sync_all() {
            println!("failed {}", error.raw_os_error().unwrap());
        }
    }
    println!("took {}", begin.elapsed().as_micros());
    std::thread::sleep(Duration::from_secs(100));
}

#[test]
fn syncs_take_what_the_disk_takes_and_fail_as_it_fails() {
    let run = |what: Option<Fault>| {
        let mut plan = short(3);
        let when = Trigger::At { ms: 0.0 };
        plan.faults = what.into_iter().map(|what| PlannedFault { when: when.clone(), what, group: 0 }).collect();
        said(&plan, main_of(times_syncs), 0)
    };
    let took = |lines: &[String]| lines.iter().find_map(|line| line.strip_prefix("took ")?.parse::<u64>().ok());
    let usual = took(&run(None)).unwrap();
    assert!((6_000..14_100).contains(&usual), "{usual} µs");
    let node = Who::Named("n1".to_owned());
    let slow = took(&run(Some(Fault::SlowDisk { node: node.clone(), extra_us: 10_000, for_ms: None }))).unwrap();
    assert!((206_000..214_100).contains(&slow), "{slow} µs");
    assert_eq!(took(&run(Some(Fault::SyncHang { node: node.clone(), for_ms: None }))), None);
    let failed = run(Some(Fault::SyncFail { node, silent: false, for_ms: None }));
    assert_eq!(failed.iter().filter(|line| *line == "failed 5").count(), 20, "{failed:?}");
}
