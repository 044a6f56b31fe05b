//! What the outside promises: stops before sends, ends, a watchdog, no process left behind, no panic about garbage.

use crate::{
    disk::Disk,
    programs,
    world::{MS, SECOND, World, zygote},
};
use fencepost_libc::main_of;
use fencepost_process::{Error, Event, Go, Plain, Start, Then, Turn};
use std::{
    cell::RefCell,
    net::{Ipv4Addr, TcpStream},
    os::fd::AsRawFd,
    path::Path,
    rc::Rc,
    time::Duration,
};

#[test]
fn a_process_can_be_stopped_before_each_send() {
    let places = Rc::new(RefCell::new(Vec::new()));
    let seen = places.clone();
    let mut world = programs::redis::fleet(1);
    world.before_sends(move |_, name, number, what, head| {
        let words = String::from_utf8_lossy(head).replace("\r\n", " ");
        seen.borrow_mut().push(format!("{name}@{number}: {what}: {words}"));
    });
    world.run_until(5 * SECOND).unwrap();
    let places = places.take();
    assert!(places.len() > 10, "{places:?}");
    assert!(places.iter().any(|place| place.starts_with("n1@1: ")), "{places:?}");
    let renewal = places.iter().find(|place| place.contains("PEXPIRE")).expect("somebody leads");
    assert!(renewal.contains(": 39 bytes to redis:6379: *3 $7 PEXPIRE $6 leader $4 3000"), "{renewal}");
    let who = renewal[..2].to_owned();
    let number: u64 = renewal[3..].split_once(':').unwrap().0.parse().unwrap();
    // Paused right there, it loses its lease; killed there, its last words are never heard.
    for kills in [false, true] {
        let (mut world, leader) = (programs::redis::fleet(1), who.clone());
        world.before_sends(move |world, name, at, _, _| {
            if (name, at) == (&leader, number) {
                match kills {
                    true => world.kill(name),
                    false => world.pause(name, 10 * SECOND),
                }
            }
        });
        world.run_until(15 * SECOND).unwrap();
        let leaders = world.log.iter().filter(|line| line.contains("leads as")).count();
        assert_eq!(leaders, 2, "{:?}", world.log);
        assert_eq!(world.log.iter().any(|line| line.contains("leads no more")), !kills, "{:?}", world.log);
    }
}

/// Changes three pages of a file through memory, and syncs the middle one.
fn syncs_one_page() {
    let file = std::fs::File::options().read(true).write(true).create_new(true).open("/tmp/pages").unwrap();
    file.set_len(3 * 4096).unwrap();
    // SAFETY: the file is as long, and nobody else has this memory.
    unsafe {
        let (access, descriptor) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        let at = libc::mmap(std::ptr::null_mut(), 3 * 4096, access, libc::MAP_SHARED, descriptor, 0).cast::<u8>();
        (0..3).for_each(|page| at.add(page * 4096).write(1));
        assert_eq!(libc::msync(at.add(4096).cast(), 4096, libc::MS_SYNC), 0);
    }
}

#[test]
fn msync_syncs_the_part_that_it_is_asked_to_sync() {
    let (mut world, disk) = (World::new(1), Disk::new());
    disk.path().clone_into(&mut world.disk);
    world.process("n1", main_of(syncs_one_page));
    world.run_until(SECOND).unwrap();
    assert!(world.log.iter().any(|line| line == "n1 syncs 4096..8192"), "{:?}", world.log);
}

fn crashes() {
    // SAFETY: on purpose, the address is nobody's.
    unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
}

#[test]
fn how_a_process_ends_is_known() {
    let ends: [(&str, fencepost_process::Main, Then); 6] = [
        ("returns", main_of(|| println!("last words")), Then::Exit { code: 0 }),
        ("fails", main_of(|| Err::<(), _>("it cannot")), Then::Exit { code: 1 }),
        (
            "panics",
            main_of(|| {
                if std::process::id() > 0 {
                    panic!("on purpose")
                }
            }),
            Then::Exit { code: 101 },
        ),
        ("exits", main_of(|| std::thread::spawn(|| std::process::exit(7)).join().unwrap()), Then::Exit { code: 7 }),
        (
            "aborts",
            main_of(|| {
                println!("last words");
                std::process::abort()
            }),
            Then::Died { signal: 6 },
        ),
        ("crashes", main_of(crashes), Then::Died { signal: 11 }),
    ];
    for (name, main, then) in ends {
        let mut world = World::new(1);
        world.process(name, main);
        world.run_until(SECOND).unwrap();
        assert_eq!(world.find(name).ended, Some(then), "{name}");
        assert_eq!(
            world.said(name),
            match name {
                "returns" | "aborts" => "last words".to_owned(),
                "fails" => "Error: \"it cannot\"".to_owned(),
                "panics" => world.said(name),
                _ => String::new(),
            }
        );
    }
}

fn start(name: &str) -> Start {
    let go = Go { mono: 0, wall: 0, stop_at: u64::MAX, quiet_until: 0, events: Vec::new() };
    let (ip, env, disk) = (Ipv4Addr::new(10, 0, 0, 1), Vec::new(), String::new());
    Start { name: name.to_owned(), pid: 7, ip, seed: 1, cpus: 1, env, disk, go }
}

/// Files are the machine's, so that whoever waits for one waits outside of the world.
fn waits_outside() {
    let thread = std::thread::Builder::new().name("a worker".to_owned());
    let thread = thread.spawn(|| {
        std::thread::sleep(Duration::from_millis(3));
        std::fs::File::open(std::env::var("FIFO").unwrap()).map(drop)
    });
    // The other one runs in between.
    std::thread::sleep(Duration::from_millis(2));
    thread.unwrap().join().unwrap().unwrap();
}

fn computes() {
    // Another thread ran before.
    std::thread::spawn(|| std::thread::sleep(Duration::from_millis(3)));
    std::thread::sleep(Duration::from_millis(4));
    let mut number = std::process::id();
    while number > 0 {
        number = std::hint::black_box(number) | 1;
    }
}

#[test]
fn who_does_not_come_back_is_named() {
    let fifo = std::env::temp_dir().join(format!("fencepost-fifo-{}", std::process::id()));
    let path = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: a path.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    for (main, doing) in [
        (main_of(waits_outside), "its thread \"a worker\" waits in openat(2), outside of the world"),
        (main_of(computes), "its thread \"exe\" computes without a system call"),
    ] {
        let mut child = zygote().fork("n1", main).unwrap();
        let pid = child.pid();
        child.set_patience(Duration::from_millis(300));
        let mut start = start("n1");
        start.env = vec![("FIFO".to_owned(), fifo.to_str().unwrap().to_owned())];
        let mut turn = child.begin(&start);
        while let Ok(Turn { then: Then::Wait { until }, .. }) = turn {
            turn = child.go(&Go { mono: until.unwrap(), ..start.go.clone() });
        }
        let error = turn.expect_err("it does not come back");
        assert!(matches!(error, Error::Stuck { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("n1 has not come back for 0.3 s of real time: "), "{text}");
        assert!(text.contains(doing), "{text}");
        drop(child);
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "it is killed");
    }
    std::fs::remove_file(fifo).unwrap();
}

fn parks() {
    std::thread::spawn(|| TcpStream::connect("10.9.9.9:1")).join().unwrap().unwrap_err();
}

#[test]
fn nothing_is_left_behind() {
    let mut world = World::new(1);
    for name in ["a", "b", "c"] {
        world.process(name, main_of(parks));
    }
    world.at(MS, |world| world.kill("a"));
    world.run_until(SECOND).unwrap();
    let pids = ["b", "c"].map(|name| world.pid(name));
    assert!(pids.iter().all(|pid| Path::new(&format!("/proc/{pid}")).exists()));
    drop(world);
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
}

#[test]
fn a_process_cannot_close_the_way_to_its_world() {
    let closes = || {
        // SAFETY: numbers; nobody else uses them.
        let closed = (3..2_000).filter(|fd| unsafe { libc::close(*fd) } == 0).count();
        println!("{closed} closed");
    };
    let mut world = World::new(1);
    world.process("p", main_of(closes)).run_until(SECOND).unwrap();
    assert_eq!(world.said("p"), "0 closed");
}

#[test]
fn a_step_of_the_wall_clock_wakes_who_waits_for_it() {
    fn waits() {
        let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: room for a time, and that time.
        unsafe {
            libc::clock_gettime(libc::CLOCK_REALTIME, &mut at);
            at.tv_sec += 100;
            libc::clock_nanosleep(libc::CLOCK_REALTIME, libc::TIMER_ABSTIME, &at, std::ptr::null_mut());
        }
        println!("woken");
    }
    let run = |step: i64| {
        let mut world = World::new(1);
        world.process("p", main_of(waits)).at(SECOND, move |world| world.step_wall("p", step * SECOND as i64));
        world.run_until(1_000 * SECOND).unwrap();
        world.log[0].clone()
    };
    assert_eq!([run(60), run(200), run(-60)], ["40.000000 p: woken", "1.000000 p: woken", "160.000000 p: woken"]);
}

#[test]
fn garbage_is_an_error_and_no_panic() {
    let mut whole = Vec::new();
    let turn = Turn {
        mono: 12,
        ops: vec![
            fencepost_process::Op::Connect { conn: 300, from_port: 40_000, to: Ipv4Addr::LOCALHOST, port: 80 },
            fencepost_process::Op::Send { conn: 300, bytes: vec![7; 200] },
            fencepost_process::Op::Resolve { query: 1, name: "redis".to_owned() },
        ],
        then: Then::Wait { until: Some(u64::MAX) },
    };
    turn.put(&mut whole);
    assert_eq!(Turn::of(&whole), Ok(turn));
    for length in 0..whole.len() {
        assert!(Turn::of(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
    }
    // Whatever bytes come: an error, or a message that is not the one that was sent.
    let mut state = 1u64;
    for round in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = (state >> 24) as u8;
        }
        let _: (Result<Turn, _>, Result<Go, _>) = (Turn::of(&bytes), Go::of(&bytes));
    }
    assert_eq!(Turn::of(&[0, 1, 99]).unwrap_err().to_string(), "a message has an unknown Op, number 99");
    let long = Event::of(&[6, 1, 0]).unwrap_err();
    assert_eq!(long.to_string(), "1 bytes follow after a message's end");
}
