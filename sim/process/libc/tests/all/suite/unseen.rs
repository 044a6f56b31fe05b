//! System calls that do not go through libc.

use super::Out;
use libc::c_long;

pub const CASES: &[super::Case] = &[("system calls by hand", by_hand), ("a connection by hand", tcp)];

/// A system call as assembly: its result, or its error's number below zero.
pub fn call(number: c_long, a: [usize; 4]) -> isize {
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the callers' arguments are numbers, or addresses of what the call wants.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a[0], in("rsi") a[1],
            in("rdx") a[2], in("r10") a[3], in("r8") 0, in("r9") 0, out("rcx") _, out("r11") _);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("svc 0", in("x8") number, inlateout("x0") a[0] as isize => result, in("x1") a[1],
            in("x2") a[2], in("x3") a[3], in("x4") 0, in("x5") 0);
    }
    result
}

fn by_hand(out: &mut Out) {
    let mut pair = [0i32; 2];
    let kind = (libc::SOCK_STREAM | libc::SOCK_NONBLOCK) as usize;
    out.say(call(libc::SYS_socketpair, [libc::AF_UNIX as usize, kind, 0, pair.as_mut_ptr() as usize]));
    let [a, b] = pair.map(|fd| fd as usize);
    let mut room = [0u8; 8];
    let place = room.as_mut_ptr() as usize;
    out.say(call(libc::SYS_read, [b, place, 8, 0]));
    out.say(call(libc::SYS_write, [a, b"hello".as_ptr() as usize, 5, 0]));
    out.say(call(libc::SYS_read, [b, place, 8, 0]));
    out.say(String::from_utf8_lossy(&room[..5]));
    let time = libc::timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    let began = std::time::Instant::now();
    out.say(call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0]));
    out.say(began.elapsed() >= std::time::Duration::from_millis(5));
    out.say(call(libc::SYS_getpid, [0; 4]) as u32 == std::process::id());
    out.say(call(libc::SYS_getrandom, [place, 8, 0, 0]));
    out.say(call(libc::SYS_ppoll, [0, 0, &raw const time as usize, 0]));
    [a, b].iter().for_each(|fd| out.say(call(libc::SYS_close, [*fd, 0, 0, 0])));
    // Whoever calls by hand keeps no `errno`.
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = libc::EDOM };
    out.say(call(libc::SYS_close, [a, 0, 0, 0]) == -(libc::EBADF as isize));
    out.result("errno", Err::<(), _>(std::io::Error::last_os_error()));
    // A library blocks all signals in its threads.
    let masked = std::thread::spawn(move || {
        // SAFETY: a set of signals.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        }
        call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0])
    });
    out.say(masked.join().unwrap());
}

/// A connection, as libraries that make their system calls themselves (rustix) open and use it.
fn tcp(out: &mut Out) {
    let socket = || call(libc::SYS_socket, [libc::AF_INET as usize, libc::SOCK_STREAM as usize, 0, 0]) as usize;
    // SAFETY: zeros are an address.
    let mut at: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    at.sin_family = libc::AF_INET as _;
    at.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
    let (address, mut length) = (&raw mut at as usize, size_of::<libc::sockaddr_in>() as u32);
    let listener = socket();
    out.say(call(libc::SYS_bind, [listener, address, length as usize, 0]));
    out.say(call(libc::SYS_listen, [listener, 4, 0, 0]));
    out.say(call(libc::SYS_getsockname, [listener, address, &raw mut length as usize, 0]));
    out.say(at.sin_port != 0);
    let answers = std::thread::spawn(move || {
        let stream = call(libc::SYS_accept4, [listener, 0, 0, 0]) as usize;
        let mut room = [0u8; 32];
        loop {
            let count = call(libc::SYS_recvfrom, [stream, room.as_mut_ptr() as usize, room.len(), 0]);
            if count <= 0 || call(libc::SYS_sendto, [stream, room.as_ptr() as usize, count as usize, 0]) != count {
                return (call(libc::SYS_close, [stream, 0, 0, 0]), call(libc::SYS_close, [listener, 0, 0, 0]));
            }
        }
    });
    let client = socket();
    out.say(call(libc::SYS_connect, [client, address, length as usize, 0]));
    out.say(call(libc::SYS_write, [client, b"by hand".as_ptr() as usize, 7, 0]));
    let mut entry = libc::pollfd { fd: client as i32, events: libc::POLLIN, revents: 0 };
    out.say(call(libc::SYS_ppoll, [&raw mut entry as usize, 1, 0, 0]));
    let (mut room, dont_wait) = ([0u8; 32], libc::MSG_DONTWAIT as usize);
    let mut receive = |flags| call(libc::SYS_recvfrom, [client, room.as_mut_ptr() as usize, 32, flags]);
    out.say(receive(dont_wait));
    out.say(receive(dont_wait) == -(libc::EAGAIN as isize));
    out.say(call(libc::SYS_shutdown, [client, libc::SHUT_WR as usize, 0, 0]));
    out.say(receive(0));
    out.say(format!("{:?}", answers.join().unwrap()));
    out.say(call(libc::SYS_connect, [socket(), address, length as usize, 0]) == -(libc::ECONNREFUSED as isize));
}
