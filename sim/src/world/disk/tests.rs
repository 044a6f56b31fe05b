//! What a disk keeps, and what it may lose.

use super::*;
use scenarios::streams;

/// A disk with `first` synced, and `second` not.
fn half_synced(seed: u64) -> Folder {
    let mut disk = Folder::new(streams::stream(seed, "disk/n1"));
    disk.append("log", b"first");
    disk.begin(0, "log", What::Sync(5), false, 1);
    disk.finish();
    disk.append("log", b"second");
    disk
}

#[test]
fn a_loss_of_power_keeps_what_was_synced_and_any_part_of_the_rest() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let mut disk = half_synced(seed);
        disk.lose_power();
        let left = disk.read("log").unwrap();
        assert!(b"firstsecond".starts_with(&left) && left.len() >= 5, "{left:?}");
        lengths.insert(left.len());
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), (5..=11).collect::<Vec<_>>());
}

#[test]
fn a_crash_keeps_all_that_was_appended() {
    let mut disk = half_synced(1);
    disk.lose_process();
    assert_eq!(disk.read("log").as_deref(), Some(&b"firstsecond"[..]));
}

#[test]
fn what_is_being_replaced_is_the_old_or_the_new() {
    for lose in [Folder::lose_power, Folder::lose_process] {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let mut disk = half_synced(seed);
            disk.begin(0, "state", What::Replace(b"old".to_vec()), true, 1);
            disk.finish();
            disk.begin(0, "state", What::Replace(b"new".to_vec()), true, 1);
            lose(&mut disk);
            seen.insert(disk.read("state").unwrap());
            assert!(disk.under_way.is_empty());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [b"new".to_vec(), b"old".to_vec()]);
    }
}

#[test]
fn a_sync_covers_what_was_there_when_it_began_and_goes_on_after_a_crash() {
    let mut disk = half_synced(1);
    disk.begin(0, "log", What::Sync(11), false, 1);
    disk.append("log", b"third");
    disk.lose_process();
    assert!(disk.finish().is_some());
    assert_eq!(disk.files["log"].durable, 11);
}

#[test]
fn what_a_sync_failed_to_save_is_a_hole_after_a_loss_of_power_although_later_syncs_succeed() {
    let mut seen_in_memory = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let mut disk = half_synced(seed);
        disk.fail_syncs(false, true);
        let (number, _) = disk.begin(0, "log", What::Sync(11), false, 1);
        assert!(disk.finish().is_some_and(|(_, done)| !done) && disk.take_failure(number));
        disk.fail_syncs(false, false);
        disk.append("log", b"third");
        disk.begin(0, "log", What::Sync(16), false, 1);
        assert!(disk.finish().is_some_and(|(_, done)| done));
        seen_in_memory.insert(disk.read("log").unwrap());
        disk.lose_power();
        assert_eq!(disk.read("log").as_deref(), Some(&b"first\0\0\0\0\0\0third"[..]));
    }
    let both = [b"first\0\0\0\0\0\0third".to_vec(), b"firstsecondthird".to_vec()];
    assert_eq!(seen_in_memory.into_iter().collect::<Vec<_>>(), both);
}

#[test]
fn a_replacement_that_fails_leaves_the_old() {
    let mut disk = half_synced(1);
    disk.fail_syncs(false, true);
    disk.begin(0, "log", What::Replace(b"new".to_vec()), true, 1);
    assert!(disk.finish().is_some_and(|(_, done)| !done));
    assert_eq!(disk.read("log").as_deref(), Some(&b"firstsecond"[..]));
}

#[test]
fn a_disk_that_hangs_does_nothing_and_everything_in_order_afterwards() {
    let mut disk = half_synced(1);
    disk.hang();
    disk.hang();
    let (first, due) = disk.begin(0, "log", What::Sync(11), false, 1);
    let (second, _) = disk.begin(0, "state", What::Replace(b"new".to_vec()), true, 1);
    assert!(disk.finish().is_none() && disk.end_hang(due).is_empty() && disk.finish().is_none());
    let over = due + 1_000_000_000;
    let [(one, at), (other, later)] = disk.end_hang(over)[..] else { panic!("two operations were waiting") };
    assert_eq!([one, other], [first, second]);
    assert!(over < at && at < later);
    assert!(disk.finish().is_some_and(|(operation, done)| operation.number == first && done));
}

#[test]
fn a_slow_disk_takes_longer_and_does_one_thing_after_the_other() {
    let mut disk = Folder::new(streams::stream(1, "disk/n1"));
    disk.slow(1_000_000, true);
    let (_, first) = disk.begin(0, "a", What::Sync(0), false, 1);
    let (_, second) = disk.begin(0, "b", What::Sync(0), false, 1);
    assert!(first >= 1_000_000 + SYNC_MIN && second >= first + 1_000_000 + SYNC_MIN);
    disk.slow(1_000_000, false);
    let (_, third) = disk.begin(second, "c", What::Sync(0), false, 1);
    assert!(third <= second + SYNC_MIN + SYNC_JITTER);
}

#[test]
fn a_disk_that_lies_loses_with_the_power_what_it_said_was_saved_and_nothing_in_a_crash() {
    for replaces in [false, true] {
        let mut disk = half_synced(1);
        disk.fail_syncs(true, true);
        let what = if replaces { What::Replace(b"new".to_vec()) } else { What::Sync(11) };
        disk.begin(0, "log", what, false, 1);
        assert!(disk.finish().is_some_and(|(_, done)| done), "nobody is told");
        disk.append("log", b"third");
        disk.begin(0, "log", What::Sync(16), false, 1);
        disk.finish();
        let seen = if replaces { &b"newthird"[..] } else { &b"firstsecondthird"[..] };
        disk.lose_process();
        assert_eq!(disk.read("log").as_deref(), Some(seen));
        disk.lose_power();
        assert_eq!(disk.read("log").as_deref(), Some(&b"first"[..]));
        disk.begin(0, "state", What::Replace(b"never was".to_vec()), true, 1);
        disk.finish();
        disk.lose_power();
        assert_eq!(disk.read("state"), None);
    }
}

#[test]
fn what_is_saved_once_a_disk_lies_no_more_is_saved() {
    let mut disk = half_synced(1);
    disk.fail_syncs(true, true);
    disk.begin(0, "log", What::Sync(11), false, 1);
    disk.finish();
    disk.fail_syncs(true, false);
    disk.begin(0, "log", What::Sync(11), false, 1);
    disk.finish();
    disk.lose_power();
    assert_eq!(disk.read("log").as_deref(), Some(&b"firstsecond"[..]));
}
