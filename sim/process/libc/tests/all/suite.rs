//! Each case is a plain program. It runs on this machine's kernel, over loopback, and in a simulated process; both must
//! say the same.

mod addresses;
mod clocks;
mod connections;
mod descriptors;
mod files;
mod links;
mod locks;
mod paths;
mod readiness;
mod streams;
mod threads;
pub mod unseen;

use crate::{
    disk::Disk,
    world::{SECOND, World},
};
use fencepost_libc::main_of;
use std::{
    io,
    net::{TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
};

/// What a program says of what it sees.
#[derive(Default)]
pub struct Out(Vec<String>);

impl Out {
    pub fn say(&mut self, what: impl std::fmt::Display) {
        self.0.push(what.to_string());
    }

    /// A call that returns -1 if it fails.
    pub fn call(&mut self, name: &str, result: impl TryInto<i64>) -> i64 {
        let error = io::Error::last_os_error();
        let result = result.try_into().unwrap_or(i64::MIN);
        self.say(if result == -1 { format!("{name}: {}", errno(&error)) } else { format!("{name}: {result}") });
        result
    }

    /// A call that returns an error number.
    pub fn code(&mut self, name: &str, result: i32) {
        let error = io::Error::from_raw_os_error(result);
        self.say(if result == 0 { format!("{name}: 0") } else { format!("{name}: {}", errno(&error)) });
    }

    pub fn result<T: std::fmt::Debug>(&mut self, name: &str, result: io::Result<T>) {
        match result {
            Ok(value) => self.say(format!("{name}: {value:?}")),
            Err(error) => self.say(format!("{name}: {}", errno(&error))),
        }
    }
}

fn errno(error: &io::Error) -> String {
    let names = [
        (libc::EAGAIN, "EAGAIN"),
        (libc::EBADF, "EBADF"),
        (libc::EINVAL, "EINVAL"),
        (libc::EPIPE, "EPIPE"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
        (libc::ECONNRESET, "ECONNRESET"),
        (libc::ENOTCONN, "ENOTCONN"),
        (libc::EINPROGRESS, "EINPROGRESS"),
        (libc::EALREADY, "EALREADY"),
        (libc::EISCONN, "EISCONN"),
        (libc::ECONNABORTED, "ECONNABORTED"),
        (libc::EADDRINUSE, "EADDRINUSE"),
        (libc::EEXIST, "EEXIST"),
        (libc::ENOTEMPTY, "ENOTEMPTY"),
        (libc::ENOTDIR, "ENOTDIR"),
        (libc::EISDIR, "EISDIR"),
        (libc::ELOOP, "ELOOP"),
        (libc::EACCES, "EACCES"),
        (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
        (libc::ENOENT, "ENOENT"),
        (libc::ENOTSOCK, "ENOTSOCK"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::EDEADLK, "EDEADLK"),
        (libc::EBUSY, "EBUSY"),
        (libc::EPERM, "EPERM"),
        (libc::ESRCH, "ESRCH"),
        (libc::ENOTTY, "ENOTTY"),
        (libc::EDOM, "EDOM"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::ECHILD, "ECHILD"),
    ];
    let known = error.raw_os_error().and_then(|code| names.iter().find(|(number, _)| *number == code));
    known.map_or_else(|| error.to_string(), |(_, name)| (*name).to_owned())
}

/// Both ends of a connection: who connected, and who accepted.
pub fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    (client, server)
}

/// Waits until `poll` reports all of these events, and says what it reports.
pub fn await_events(fd: RawFd, events: i16) -> i16 {
    loop {
        let mut entry = libc::pollfd { fd, events, revents: 0 };
        // SAFETY: one entry.
        let ready = unsafe { libc::poll(&mut entry, 1, 20_000) };
        assert!(ready > 0, "nothing in 20 s: wanted {events:#x}, has {:#x}", entry.revents);
        if entry.revents & events == events {
            return entry.revents;
        }
        std::thread::yield_now();
    }
}

/// What `poll` says of everything there is to say.
pub fn mask(fd: RawFd) -> String {
    let all = [
        (libc::POLLIN, "IN"),
        (libc::POLLOUT, "OUT"),
        (libc::POLLERR, "ERR"),
        (libc::POLLHUP, "HUP"),
        (libc::POLLRDHUP, "RDHUP"),
        (libc::POLLNVAL, "NVAL"),
    ];
    let mut entry = libc::pollfd { fd, events: libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP, revents: 0 };
    // SAFETY: one entry.
    unsafe { libc::poll(&mut entry, 1, 0) };
    all.iter().filter(|(bit, _)| entry.revents & bit != 0).map(|(_, name)| *name).collect::<Vec<_>>().join("|")
}

/// The pending error of a socket.
pub fn pending(fd: RawFd) -> String {
    let (mut error, mut length) = (0, 4);
    // SAFETY: room for a number.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &mut length) };
    if error == 0 { "none".to_owned() } else { errno(&io::Error::from_raw_os_error(error)) }
}

pub fn set_option(fd: RawFd, level: i32, name: i32, value: i32) -> i32 {
    // SAFETY: a number of four bytes.
    unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), 4) }
}

/// Sends without blocking; what comes back, or -1.
pub fn send(fd: RawFd, bytes: &[u8]) -> isize {
    // SAFETY: a slice.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) }
}

/// Receives without blocking; what comes back, or -1.
pub fn receive(fd: RawFd, room: &mut [u8]) -> isize {
    // SAFETY: a slice.
    unsafe { libc::recv(fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT) }
}

pub fn fd(of: &impl AsRawFd) -> RawFd {
    of.as_raw_fd()
}

type Case = (&'static str, fn(&mut Out));

pub fn cases() -> Vec<Case> {
    [
        addresses::CASES,
        clocks::CASES,
        connections::CASES,
        descriptors::CASES,
        files::CASES,
        links::CASES,
        locks::CASES,
        paths::CASES,
        readiness::CASES,
        streams::CASES,
        threads::CASES,
        unseen::CASES,
    ]
    .concat()
}

fn run(name: &str) -> String {
    let (_, case) = cases().into_iter().find(|(known, _)| *known == name).expect("a case of this name");
    let mut out = Out::default();
    case(&mut out);
    out.0.join("\n")
}

fn case() {
    println!("{}", run(&std::env::var("CASE").expect("the environment is the world's")));
}

fn simulated(name: &str, seed: u64) -> (String, Vec<String>) {
    let mut world = World::new(seed);
    world.env.push(("CASE".to_owned(), name.to_owned()));
    let disk = Disk::new();
    disk.path().clone_into(&mut world.disk);
    world.process("p", main_of(case));
    world.run_until(1_000 * SECOND).unwrap_or_else(|e| panic!("{name}: {e}"));
    (world.said("p"), world.log)
}

#[test]
fn both_worlds_say_the_same() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let six = std::fs::read_to_string("/proc/net/if_inet6").is_ok_and(|text| text.contains("00000001 "));
    for (name, _) in cases().into_iter().filter(|(name, _)| name.contains(&only)) {
        if name.starts_with("IPv6") && !six {
            eprintln!("SKIPPED: {name}: this machine has no IPv6 to compare with");
            continue;
        }
        let real = run(name);
        for seed in 1..=3 {
            let (simulated, log) = simulated(name, seed);
            if simulated != real {
                wrong.push(differences(name, &real, &simulated, &log));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn differences(name: &str, real: &str, simulated: &str, log: &[String]) -> String {
    let (real, simulated): (Vec<_>, Vec<_>) = (real.lines().collect(), simulated.lines().collect());
    if simulated.is_empty() {
        return format!("{name}: says nothing in the world: {}", log.join("\n"));
    }
    let lines = real.len().max(simulated.len());
    let line = |of: &[&str], at: usize| of.get(at).map_or("(nothing)", |line| line).to_owned();
    let both = |at| match (line(&real, at), line(&simulated, at)) {
        (a, b) if a == b => format!("    {a}"),
        (a, b) => format!("  ! {a}   in the world: {b}"),
    };
    format!("{name}:\n{}", (0..lines).map(both).collect::<Vec<_>>().join("\n"))
}
