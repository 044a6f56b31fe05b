//! Descriptors: copies, flags, pipes, pairs.

use super::{Out, await_events, connection, fd, mask, receive, send};
use libc::{F_DUPFD, F_GETFD, F_GETFL, F_SETFD, F_SETFL, FD_CLOEXEC, O_NONBLOCK, POLLIN, c_int};
use std::{
    io::{Read, Write},
    os::{fd::RawFd, unix::net::UnixStream},
};

pub const CASES: &[super::Case] = &[
    ("copies of descriptors", copies),
    ("flags of descriptors", flags),
    ("what is no descriptor", bad),
    ("a pipe", pipe),
    ("a pipe without blocking", pipe_without_blocking),
    ("a pair of sockets", pair),
    ("a pair of sockets breaks", broken_pair),
    ("a thread waits for a pipe", waits_for_pipe),
    ("/dev/urandom", urandom),
];

fn write(fd: RawFd, bytes: &[u8]) -> isize {
    // SAFETY: a slice.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }
}

fn read(fd: RawFd, room: &mut [u8]) -> isize {
    // SAFETY: a slice.
    unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) }
}

fn close(fd: RawFd) -> c_int {
    // SAFETY: a number.
    unsafe { libc::close(fd) }
}

fn ends(flags: c_int) -> [RawFd; 2] {
    let mut ends = [0; 2];
    // SAFETY: room for two.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), flags) }, 0);
    ends
}

fn copies(out: &mut Out) {
    let (client, mut server) = connection();
    let it = fd(&client);
    // SAFETY: numbers.
    let (second, third) = unsafe { (libc::dup(it), libc::fcntl(it, F_DUPFD, it + 20)) };
    out.say(second != it && third >= it + 20);
    drop(client);
    server.write_all(b"abcdef").unwrap();
    await_events(second, POLLIN);
    out.call("recv", receive(second, &mut [0; 2]));
    out.call("recv", receive(third, &mut [0; 2]));
    out.call("close", close(second));
    out.call("recv", receive(third, &mut [0; 2]));
    out.call("recv of the closed one", receive(second, &mut [0; 2]));
    // SAFETY: numbers.
    out.say(unsafe { libc::dup2(third, third + 1) } == third + 1);
    // SAFETY: numbers.
    out.say(unsafe { libc::dup2(third, third) } == third);
    // SAFETY: numbers.
    out.call("dup3 onto itself", unsafe { libc::dup3(third, third, 0) });
    out.call("send", send(third + 1, b"x"));
    out.result("read", server.read(&mut [0; 8]));
    out.call("close", close(third));
    out.call("close", close(third + 1));
    out.result("read", server.read(&mut [0; 8]));
    // The lowest free number is used next.
    let [a, b] = ends(0);
    close(a);
    // SAFETY: a number.
    let c = unsafe { libc::dup(b) };
    out.say(a == c);
    close(b);
    close(c);
}

fn flags(out: &mut Out) {
    let (client, mut server) = connection();
    let it = fd(&client);
    // SAFETY: numbers, and the address of one.
    unsafe {
        out.say(libc::fcntl(it, F_GETFL) & O_NONBLOCK);
        out.call("set", libc::fcntl(it, F_SETFL, O_NONBLOCK));
        out.say(libc::fcntl(it, F_GETFL) & (O_NONBLOCK | libc::O_ACCMODE) == O_NONBLOCK | libc::O_RDWR);
        out.call("read", read(it, &mut [0; 2]));
        out.call("ioctl", libc::ioctl(it, libc::FIONBIO, &0));
        out.say(libc::fcntl(it, F_GETFL) & O_NONBLOCK);
        out.say(libc::fcntl(it, F_GETFD) == FD_CLOEXEC);
        out.call("set", libc::fcntl(it, F_SETFD, 0));
        out.say(libc::fcntl(it, F_GETFD));
        out.call("ioctl", libc::ioctl(it, libc::FIOCLEX));
        out.say(libc::fcntl(it, F_GETFD));
        server.write_all(b"seven..").unwrap();
        await_events(it, POLLIN);
        let mut unread = 0;
        out.call("ioctl", libc::ioctl(it, libc::FIONREAD, &mut unread));
        out.say(unread);
        out.call("terminal", libc::isatty(it));
        let copy = libc::dup(it);
        out.say(libc::fcntl(copy, F_GETFD));
        // The copy has the same flags of the object.
        libc::fcntl(copy, F_SETFL, O_NONBLOCK);
        out.say(libc::fcntl(it, F_GETFL) & O_NONBLOCK != 0);
        close(copy);
    }
}

fn bad(out: &mut Out) {
    let (client, _server) = connection();
    let it = fd(&client) + 100;
    out.call("read", read(it, &mut [0; 2]));
    out.call("write", write(it, b"x"));
    out.call("close", close(it));
    out.say(mask(it));
    // SAFETY: numbers.
    unsafe {
        out.call("dup", libc::dup(it));
        out.call("fcntl", libc::fcntl(it, F_GETFL));
        out.call("listen", libc::listen(it, 1));
        out.call("shutdown", libc::shutdown(it, 0));
        out.call("close of the least number", libc::close(i32::MIN));
        out.call("copy to below zero", libc::fcntl(fd(&client), F_DUPFD, -1));
        out.call("copy to far above", libc::dup2(fd(&client), i32::MAX));
        let mut event = libc::epoll_event { events: 1, u64: 0 };
        let epoll = libc::epoll_create1(0);
        out.call("watch the least number", libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, i32::MIN, &mut event));
        out.call("watch the greatest", libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, i32::MAX, &mut event));
        libc::close(epoll);
    }
    let [reads, writes] = ends(0);
    // SAFETY: numbers.
    unsafe {
        out.call("listen on a pipe", libc::listen(reads, 1));
        out.call("shutdown of a pipe", libc::shutdown(reads, 0));
        out.call("shutdown as nobody knows it", libc::shutdown(fd(&client), 9));
    }
    out.call("read from the wrong end", read(writes, &mut [0; 2]));
    out.call("write to the wrong end", write(reads, b"x"));
    close(reads);
    close(writes);
}

fn pipe(out: &mut Out) {
    let [reads, writes] = ends(0);
    out.say(mask(reads) + " " + &mask(writes));
    out.call("write", write(writes, b"hello"));
    out.say(mask(reads));
    out.call("read", read(reads, &mut [0; 3]));
    close(writes);
    out.say(mask(reads));
    out.call("read", read(reads, &mut [0; 3]));
    out.call("read", read(reads, &mut [0; 3]));
    out.say(mask(reads));
    close(reads);
    let [reads, writes] = ends(0);
    close(reads);
    out.say(mask(writes));
    out.call("write", write(writes, b"x"));
    close(writes);
}

fn pipe_without_blocking(out: &mut Out) {
    let [reads, writes] = ends(O_NONBLOCK);
    out.call("read", read(reads, &mut [0; 3]));
    out.call("write", write(writes, &[1; 61_440]));
    out.call("write", write(writes, &[1; 8_192]));
    out.call("write", write(writes, b"x"));
    out.say(mask(writes));
    out.call("read", read(reads, &mut [0; 100]));
    // As long as not a page is free, there is no room.
    out.call("write", write(writes, &[1; 50]));
    out.call("read", read(reads, &mut [0; 65_536]));
    out.say(mask(reads) + " " + &mask(writes));
    // A page is written wholly or not at all; more may be written in part.
    out.call("write", write(writes, &[1; 61_440]));
    out.call("write", write(writes, &[1; 1_000]));
    out.call("write", write(writes, &[1; 4_096]));
    close(reads);
    close(writes);
}

fn pair(out: &mut Out) {
    let (mut a, mut b) = UnixStream::pair().unwrap();
    out.say(mask(fd(&a)));
    out.result("write", a.write(b"hello"));
    out.say(mask(fd(&b)));
    out.result("read", b.read(&mut [0; 9]));
    b.set_nonblocking(true).unwrap();
    out.result("read", b.read(&mut [0; 9]));
    a.shutdown(std::net::Shutdown::Write).unwrap();
    out.say(mask(fd(&a)) + " " + &mask(fd(&b)));
    out.result("read", b.read(&mut [0; 9]));
    out.result("write", a.write(b"x"));
    out.result("write", b.write(b"y"));
    out.result("read", a.read(&mut [0; 9]));
    drop(b);
    out.say(mask(fd(&a)));
    out.result("read", a.read(&mut [0; 9]));
}

fn broken_pair(out: &mut Out) {
    let (mut a, b) = UnixStream::pair().unwrap();
    a.write_all(b"unread").unwrap();
    drop(b);
    out.say(mask(fd(&a)));
    out.result("read", a.read(&mut [0; 9]));
    out.result("read", a.read(&mut [0; 9]));
    out.result("write", a.write(b"x"));
}

fn waits_for_pipe(out: &mut Out) {
    let [reads, writes] = ends(0);
    let reader = std::thread::spawn(move || {
        let mut all = [0; 5];
        (read(reads, &mut all), all)
    });
    out.call("write", write(writes, b"later"));
    out.say(format!("{:?}", reader.join().unwrap()));
    let writer = std::thread::spawn(move || write(writes, &[2; 200_000]));
    let mut got = 0;
    while got < 200_000 {
        got += read(reads, &mut [0; 50_000]);
    }
    out.say(got);
    out.call("write", writer.join().unwrap());
    close(reads);
    close(writes);
}

fn urandom(out: &mut Out) {
    let mut file = std::fs::File::open("/dev/urandom").unwrap();
    let mut bytes = [0; 32];
    out.result("read", file.read_exact(&mut bytes));
    out.say(bytes.iter().any(|byte| *byte != 0));
}
