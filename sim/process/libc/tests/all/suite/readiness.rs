//! epoll and poll.

use super::{Out, await_events, connection, fd, receive, send};
use libc::{
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, EPOLLONESHOT, EPOLLOUT,
    EPOLLRDHUP, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, c_int, epoll_event,
};
use std::{io::Write, net::Shutdown, os::fd::RawFd, time::Duration};

pub const CASES: &[super::Case] = &[
    ("epoll by level", level),
    ("epoll by edge", edge),
    ("epoll by edge for writing", edge_for_writing),
    ("epoll once", once),
    ("epoll sees hang-ups", hang_ups),
    ("epoll takes and refuses", takes_and_refuses),
    ("epoll keeps what was copied", copies),
    ("epoll with little room", little_room),
    ("epoll is woken", woken),
    ("epoll gives up", gives_up),
    ("eventfd", events),
    ("poll", polls),
];

struct Epoll(RawFd);

impl Epoll {
    fn new() -> Epoll {
        // SAFETY: a number.
        Epoll(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
    }

    fn set(&self, op: c_int, fd: RawFd, events: c_int) -> c_int {
        let mut event = epoll_event { events: events as u32, u64: fd as u64 ^ 0xabc };
        // SAFETY: an event.
        unsafe { libc::epoll_ctl(self.0, op, fd, &mut event) }
    }

    /// What is ready of these descriptors, by their place; waits at most so many milliseconds.
    fn wait(&self, of: &[RawFd], room: usize, timeout: c_int) -> String {
        let mut events = vec![epoll_event { events: 0, u64: 0 }; room];
        // SAFETY: room for so many events.
        let count = unsafe { libc::epoll_wait(self.0, events.as_mut_ptr(), room as c_int, timeout) };
        let bits = [(EPOLLIN, "IN"), (EPOLLOUT, "OUT"), (EPOLLERR, "ERR"), (EPOLLHUP, "HUP"), (EPOLLRDHUP, "RDHUP")];
        let mut all: Vec<String> = events[..count.max(0) as usize]
            .iter()
            .map(|event| {
                let (mask, data) = (event.events, event.u64);
                let place = of.iter().position(|fd| *fd as u64 ^ 0xabc == data);
                let names: Vec<_> = bits.iter().filter(|(bit, _)| mask & *bit as u32 != 0).map(|(_, n)| *n).collect();
                format!("{place:?} {}", names.join("|"))
            })
            .collect();
        all.sort();
        if all.is_empty() { format!("nothing ({count})") } else { all.join(", ") }
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        // SAFETY: a number.
        unsafe { libc::close(self.0) };
    }
}

fn level(out: &mut Out) {
    let ((client, mut server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client)];
    out.call("add", epoll.set(EPOLL_CTL_ADD, it[0], EPOLLIN));
    out.say(epoll.wait(&it, 8, 0));
    server.write_all(b"four").unwrap();
    out.say(epoll.wait(&it, 8, 5_000));
    out.call("recv", receive(it[0], &mut [0; 2]));
    out.say(epoll.wait(&it, 8, 0));
    out.say(epoll.wait(&it, 8, 0));
    out.call("recv", receive(it[0], &mut [0; 2]));
    out.say(epoll.wait(&it, 8, 0));
    out.call("mod", epoll.set(EPOLL_CTL_MOD, it[0], EPOLLOUT));
    out.say(epoll.wait(&it, 8, 0));
    out.say(epoll.wait(&it, 8, 0));
}

fn edge(out: &mut Out) {
    let ((client, mut server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client)];
    epoll.set(EPOLL_CTL_ADD, it[0], EPOLLIN | EPOLLOUT | EPOLLET);
    out.say(epoll.wait(&it, 8, 0));
    out.say(epoll.wait(&it, 8, 0));
    server.write_all(b"four").unwrap();
    out.say(epoll.wait(&it, 8, 5_000));
    out.say(epoll.wait(&it, 8, 0));
    out.call("recv", receive(it[0], &mut [0; 2]));
    out.say(epoll.wait(&it, 8, 0));
    // Another edge, although there was something before.
    server.write_all(b"more").unwrap();
    out.say(epoll.wait(&it, 8, 5_000));
    out.call("mod", epoll.set(EPOLL_CTL_MOD, it[0], EPOLLIN | EPOLLET));
    out.say(epoll.wait(&it, 8, 0));
    out.say(epoll.wait(&it, 8, 0));
    server.shutdown(Shutdown::Write).unwrap();
    out.say(epoll.wait(&it, 8, 5_000));
    out.say(epoll.wait(&it, 8, 0));
}

fn edge_for_writing(out: &mut Out) {
    let ((client, server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client)];
    epoll.set(EPOLL_CTL_ADD, it[0], EPOLLOUT | EPOLLET);
    out.say(epoll.wait(&it, 8, 0));
    let mut sent = 0;
    loop {
        match send(it[0], &[1; 64 * 1024]) {
            -1 => break,
            count => sent += count as usize,
        }
    }
    out.say(epoll.wait(&it, 8, 0));
    let mut room = vec![0; 1 << 20];
    while sent > 0 {
        await_events(fd(&server), POLLIN);
        sent -= receive(fd(&server), &mut room) as usize;
    }
    out.say(epoll.wait(&it, 8, 5_000));
    out.call("send", send(it[0], b"x"));
}

fn once(out: &mut Out) {
    let ((client, mut server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client)];
    epoll.set(EPOLL_CTL_ADD, it[0], EPOLLIN | EPOLLRDHUP | EPOLLONESHOT);
    server.write_all(b"a").unwrap();
    out.say(epoll.wait(&it, 8, 5_000));
    server.write_all(b"b").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    await_events(it[0], POLLRDHUP);
    out.say(epoll.wait(&it, 8, 0));
    out.call("mod", epoll.set(EPOLL_CTL_MOD, it[0], EPOLLIN | EPOLLRDHUP | EPOLLONESHOT));
    out.say(epoll.wait(&it, 8, 0));
    out.say(epoll.wait(&it, 8, 0));
}

fn hang_ups(out: &mut Out) {
    let ((client, server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client)];
    epoll.set(EPOLL_CTL_ADD, it[0], EPOLLRDHUP);
    out.say(epoll.wait(&it, 8, 0));
    drop(server);
    out.say(epoll.wait(&it, 8, 5_000));
    send(it[0], b"x");
    await_events(it[0], POLLHUP);
    out.say(epoll.wait(&it, 8, 0));
    epoll.set(EPOLL_CTL_MOD, it[0], 0);
    out.say(epoll.wait(&it, 8, 0));
    let (client, mut server) = connection();
    let it = [fd(&server)];
    epoll.set(EPOLL_CTL_ADD, it[0], 0);
    out.say(epoll.wait(&it, 8, 0));
    server.write_all(b"unread").unwrap();
    await_events(fd(&client), POLLIN);
    drop(client);
    await_events(it[0], POLLHUP);
    out.say(epoll.wait(&it, 8, 5_000));
}

fn takes_and_refuses(out: &mut Out) {
    let ((client, server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client), fd(&server)];
    out.call("mod of what is not there", epoll.set(EPOLL_CTL_MOD, it[0], EPOLLIN));
    out.call("del of what is not there", epoll.set(EPOLL_CTL_DEL, it[0], EPOLLIN));
    out.call("add", epoll.set(EPOLL_CTL_ADD, it[0], EPOLLOUT));
    out.call("add again", epoll.set(EPOLL_CTL_ADD, it[0], EPOLLIN));
    out.call("add of a bad descriptor", epoll.set(EPOLL_CTL_ADD, -1, EPOLLIN));
    out.call("add to what is no epoll", Epoll(it[1]).set(EPOLL_CTL_ADD, it[0], EPOLLIN));
    let it = [it[0]];
    out.call("add of itself", epoll.set(EPOLL_CTL_ADD, epoll.0, EPOLLIN));
    out.call("another operation", epoll.set(77, it[0], EPOLLIN));
    out.say(epoll.wait(&it, 8, 0));
    out.call("del", epoll.set(EPOLL_CTL_DEL, it[0], 0));
    out.say(epoll.wait(&it, 8, 0));
    epoll.set(EPOLL_CTL_ADD, it[0], EPOLLOUT);
    drop(client);
    out.say(epoll.wait(&it, 8, 0));
    // SAFETY: no room for events is asked for.
    out.call("wait for none", unsafe { libc::epoll_wait(epoll.0, std::ptr::null_mut(), 0, 0) });
    std::mem::forget(server);
}

fn copies(out: &mut Out) {
    let ((client, mut server), epoll) = (connection(), Epoll::new());
    let copy = client.try_clone().unwrap();
    let it = [fd(&client), fd(&copy)];
    out.call("add", epoll.set(EPOLL_CTL_ADD, it[0], EPOLLIN));
    out.call("add the copy", epoll.set(EPOLL_CTL_ADD, it[1], EPOLLIN));
    server.write_all(b"x").unwrap();
    await_events(it[0], POLLIN);
    out.say(epoll.wait(&it, 8, 0));
    // As long as a copy is open, the closed descriptor is reported.
    drop(client);
    out.say(epoll.wait(&it, 8, 0));
    drop(copy);
    out.say(epoll.wait(&it, 8, 0));
}

fn little_room(out: &mut Out) {
    let epoll = Epoll::new();
    let all: Vec<_> = (0..3).map(|_| connection()).collect();
    let it: Vec<_> = all.iter().map(|(client, _)| fd(client)).collect();
    for fd in &it {
        epoll.set(EPOLL_CTL_ADD, *fd, EPOLLOUT);
    }
    // Who was not reported comes before who was.
    for _ in 0..6 {
        out.say(epoll.wait(&it, 1, 0));
    }
    out.say(epoll.wait(&it, 2, 0));
    out.say(epoll.wait(&it, 8, 0));
}

fn woken(out: &mut Out) {
    let ((client, mut server), epoll) = (connection(), Epoll::new());
    let it = [fd(&client)];
    epoll.set(EPOLL_CTL_ADD, it[0], EPOLLIN | EPOLLET);
    let ep = epoll.0;
    let waits = std::thread::spawn(move || {
        let epoll = std::mem::ManuallyDrop::new(Epoll(ep));
        epoll.wait(&it, 8, 20_000)
    });
    server.write_all(b"x").unwrap();
    out.say(waits.join().unwrap());
}

fn gives_up(out: &mut Out) {
    let epoll = Epoll::new();
    let began = std::time::Instant::now();
    out.say(epoll.wait(&[], 8, 20));
    out.say(began.elapsed() >= Duration::from_millis(20));
    // SAFETY: no entry.
    out.call("poll of nothing", unsafe { libc::poll(std::ptr::null_mut(), 0, 1) });
}

fn events(out: &mut Out) {
    let put = |fd: RawFd, n: u64| {
        // SAFETY: eight bytes.
        unsafe { libc::write(fd, (&raw const n).cast(), 8) }
    };
    let get = |fd: RawFd| {
        let mut n = 0u64;
        // SAFETY: eight bytes.
        let got = unsafe { libc::read(fd, (&raw mut n).cast(), 8) };
        (got, n)
    };
    // SAFETY: numbers.
    let plain = unsafe { libc::eventfd(3, libc::EFD_NONBLOCK) };
    // SAFETY: numbers.
    let semaphore = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE) };
    let epoll = Epoll::new();
    epoll.set(EPOLL_CTL_ADD, plain, EPOLLIN | EPOLLET);
    out.say(epoll.wait(&[plain], 8, 0));
    out.say(epoll.wait(&[plain], 8, 0));
    out.call("write", put(plain, 4));
    out.say(epoll.wait(&[plain], 8, 0));
    out.say(format!("{:?}", get(plain)));
    out.call("read", get(plain).0);
    out.say(super::mask(plain));
    out.call("write too much", put(plain, u64::MAX));
    out.call("write much", put(plain, u64::MAX - 1));
    out.say(super::mask(plain));
    out.call("write more", put(plain, 1));
    out.call("write twice", put(semaphore, 2));
    out.say(format!("{:?} {:?}", get(semaphore), get(semaphore)));
    out.call("read", get(semaphore).0);
    // SAFETY: four bytes, which are too few.
    out.call("read four", unsafe { libc::read(plain, [0u8; 4].as_mut_ptr().cast(), 4) });
    // SAFETY: numbers.
    let blocking = unsafe { libc::eventfd(0, 0) };
    let waits = std::thread::spawn(move || get(blocking));
    put(blocking, 9);
    out.say(format!("{:?}", waits.join().unwrap()));
    for fd in [plain, semaphore, blocking] {
        // SAFETY: a number.
        unsafe { libc::close(fd) };
    }
}

fn polls(out: &mut Out) {
    let (client, mut server) = connection();
    let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
    let mut all = [entry(fd(&client), POLLIN), entry(fd(&server), POLLOUT), entry(-1, POLLIN)];
    // SAFETY: three entries.
    out.call("poll", unsafe { libc::poll(all.as_mut_ptr(), 3, 0) });
    out.say(format!("{:?}", all.map(|entry| entry.revents)));
    let mut all = [entry(fd(&client), POLLIN), entry(fd(&client), POLLOUT)];
    server.write_all(b"x").unwrap();
    await_events(fd(&client), POLLIN);
    // SAFETY: two entries.
    out.call("poll", unsafe { libc::poll(all.as_mut_ptr(), 2, -1) });
    out.say(format!("{:?}", all.map(|entry| entry.revents)));
    let both = connection();
    let mut all = [entry(fd(&both.0), POLLIN), entry(fd(&both.1), POLLIN)];
    let time = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    // SAFETY: two entries and a time.
    out.call("ppoll", unsafe { libc::ppoll(all.as_mut_ptr(), 2, &time, std::ptr::null()) });
    let (mut first, second) = both;
    let waits = std::thread::spawn(move || {
        // SAFETY: two entries.
        let ready = unsafe { libc::poll(all.as_mut_ptr(), 2, 20_000) };
        (ready, all.map(|entry| entry.revents))
    });
    first.write_all(b"to the second").unwrap();
    out.say(format!("{:?}", waits.join().unwrap()));
    drop(second);
    // A file is ready, whatever it is polled with.
    let file = std::fs::File::open("/dev/null").unwrap();
    let mut all = [entry(fd(&client), 0), entry(fd(&file), POLLIN | POLLOUT)];
    // SAFETY: two entries.
    out.call("poll with a file", unsafe { libc::poll(all.as_mut_ptr(), 2, -1) });
    out.say(format!("{:?}", all.map(|entry| entry.revents)));
}
