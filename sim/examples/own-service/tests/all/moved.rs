//! What has a durable name, or was synced before it had one, is not lost with the power.

use crate::world::{plan_at, run_main};
use fencepost_libc::main_of;
use fencepost_process::Main;
use protocols::types::NodeId;
use rustix::fs::{AtFlags, CWD, linkat};
use scenarios::fault::{Fault, Trigger, Who};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::Write,
    os::{
        fd::AsRawFd,
        unix::fs::{OpenOptionsExt, PermissionsExt},
    },
    path::Path,
    time::Duration,
};

/// The files' contents, and what is said of a file that is not there.
const FULL: &str = "all of it";
const NONE: &str = "-";

fn sync(path: &str) {
    File::open(path).unwrap().sync_all().unwrap();
}

/// Does `first` in the process that starts first, and afterwards says what these files have.
fn then_tells(first: fn(), files: &[&str]) {
    if Path::new("/srv/started").exists() {
        let of = |path: &&str| fs::read_to_string(path).unwrap_or_else(|_| NONE.to_owned());
        println!("{}", files.iter().map(of).collect::<Vec<_>>().join(", "));
    } else {
        fs::write("/srv/started", "").unwrap();
        sync("/srv");
        first();
    }
    std::thread::sleep(Duration::from_secs(100));
}

fn makes(path: &str) {
    fs::write(path, FULL).unwrap();
    sync(path);
    sync(Path::new(path).parent().unwrap().to_str().unwrap());
}

/// What n1 says after a power loss, in twenty seeds.
fn found(main: Main) -> BTreeSet<String> {
    let lines = (0..20).flat_map(|seed| {
        let what = Fault::PowerLoss { node: Who::Named("n1".to_owned()), restart_after_ms: Some(100.0) };
        let mut plan = plan_at(seed, Trigger::At { ms: 500.0 }, Some(what));
        plan.duration_ms = 1_000;
        run_main(&plan, main).printed
    });
    lines.filter(|line| line.node == NodeId(0)).map(|line| line.text).collect()
}

fn moves_to_new_folder() {
    let first = || {
        makes("/data/f");
        fs::create_dir("/data/new").unwrap();
        fs::rename("/data/f", "/data/new/f").unwrap();
    };
    then_tells(first, &["/data/f", "/data/new/f"]);
}

fn moves_out_of_gone_folder() {
    let first = || {
        fs::create_dir("/data/old").unwrap();
        makes("/data/old/f");
        sync("/data");
        fs::rename("/data/old/f", "/data/f").unwrap();
        fs::remove_dir("/data/old").unwrap();
    };
    then_tells(first, &["/data/old/f", "/data/f"]);
}

fn moves_and_syncs_the_old_folder() {
    let first = || {
        makes("/data/f");
        fs::rename("/data/f", "/srv/f").unwrap();
        sync("/data");
    };
    then_tells(first, &["/data/f", "/srv/f"]);
}

#[test]
fn a_file_that_is_moved_is_under_its_old_or_its_new_name() {
    let both: BTreeSet<String> = [format!("{FULL}, {NONE}"), format!("{NONE}, {FULL}")].into();
    assert_eq!(found(main_of(moves_to_new_folder)), both);
    assert_eq!(found(main_of(moves_out_of_gone_folder)), both);
    assert_eq!(found(main_of(moves_and_syncs_the_old_folder)), [format!("{NONE}, {FULL}")].into());
}

fn names_it_last() {
    let first = || {
        const O_TMPFILE: i32 = 0o20_200_000;
        let mut file = OpenOptions::new().write(true).custom_flags(O_TMPFILE).open("/data").unwrap();
        file.write_all(FULL.as_bytes()).unwrap();
        file.sync_all().unwrap();
        let old = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, old, CWD, "/data/f", AtFlags::SYMLINK_FOLLOW).unwrap();
        sync("/data");
    };
    then_tells(first, &["/data/f"]);
}

#[test]
fn what_was_synced_before_it_had_a_name_survives() {
    assert_eq!(found(main_of(names_it_last)), [FULL.to_owned()].into());
}

fn takes_permissions_away() {
    let first = || {
        let mode = |path: &str, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir("/data/d").unwrap();
        makes("/data/d/f");
        let only_written = OpenOptions::new().write(true).create_new(true).mode(0o200).open("/data/d/w").unwrap();
        only_written.sync_all().unwrap();
        sync("/data");
        mode("/data/d", 0o555);
    };
    then_tells(first, &["/data/d/f"]);
}

/// Only told apart if the tests are not root's.
#[test]
fn what_a_program_may_not_change_survives_too() {
    assert_eq!(found(main_of(takes_permissions_away)), [FULL.to_owned()].into());
}

fn makes_folder() {
    let path = Path::new("/tmp/fencepost-given");
    if Path::new("/srv/started").exists() {
        println!("{}", path.is_dir());
    }
    then_tells(|| fs::create_dir("/tmp/fencepost-given").unwrap(), &[]);
}

/// What survives does not depend on what this machine has at the same path.
#[test]
fn a_new_folder_may_be_lost_whatever_the_machine_has() {
    fs::create_dir_all("/tmp/fencepost-given").unwrap();
    let found = found(main_of(makes_folder));
    // The machine has it, too.
    fs::remove_dir("/tmp/fencepost-given").unwrap();
    assert!(found.contains("false") && found.contains("true"), "{found:?}");
}

/// Saves a new state, and keeps the old one under another name: in two steps, between which there is none, or by a link.
fn keeps_the_old(by_link: bool) {
    if Path::new("/srv/started").exists() {
        println!("{}", if Path::new("/srv/state").exists() { "there" } else { "gone" });
        return std::thread::sleep(Duration::from_secs(100));
    }
    makes("/srv/started");
    makes("/srv/state");
    loop {
        fs::write("/srv/new", FULL).unwrap();
        sync("/srv/new");
        if by_link {
            drop(fs::remove_file("/srv/old"));
            fs::hard_link("/srv/state", "/srv/old").unwrap();
        } else {
            fs::rename("/srv/state", "/srv/old").unwrap();
        }
        fs::rename("/srv/new", "/srv/state").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        sync("/srv");
    }
}

#[test]
fn between_two_renamings_a_name_may_be_free() {
    let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(found(main_of(|| keeps_the_old(false))), set(&["gone", "there"]));
    assert_eq!(found(main_of(|| keeps_the_old(true))), set(&["there"]));
}

/// Makes its file empty by its descriptor, and then writes it anew, without a sync.
fn empties_an_open_file() {
    let first = || {
        makes("/srv/f");
        let file = File::open("/srv/f").unwrap();
        fs::write(format!("/proc/self/fd/{}", file.as_raw_fd()), FULL).unwrap();
    };
    then_tells(first, &["/srv/f"]);
}

#[test]
fn a_file_that_is_made_empty_by_its_descriptor_may_stay_empty() {
    assert_eq!(found(main_of(empties_an_open_file)), [String::new(), FULL.to_owned()].into());
}
