//! System calls that do not go through libc.

use super::Out;
use libc::c_long;

pub const CASES: &[super::Case] = &[("system calls by hand", by_hand), ("rustix", by_rustix)];

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

/// rustix makes its system calls itself.
fn by_rustix(out: &mut Out) {
    use rustix::{
        event::{PollFd, PollFlags, poll},
        net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketType},
    };
    let any = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
    let listener = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    net::bind(&listener, &any).unwrap();
    net::listen(&listener, 4).unwrap();
    let at: std::net::SocketAddrV4 = net::getsockname(&listener).unwrap().try_into().unwrap();
    out.say(at.port() > 0);
    let answers = std::thread::spawn(move || {
        let stream = net::accept(&listener).unwrap();
        let mut room = [0u8; 32];
        while let Ok((count @ 1.., _)) = net::recv(&stream, &mut room[..], RecvFlags::empty()) {
            net::send(&stream, &room[..count], SendFlags::NOSIGNAL).unwrap();
        }
    });
    let client = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    out.say(format!("{:?}", net::connect(&client, &at)));
    out.say(format!("{:?}", net::send(&client, b"by hand", SendFlags::NOSIGNAL)));
    let mut entries = [PollFd::new(&client, PollFlags::IN)];
    out.say(format!("{:?}", poll(&mut entries, None)));
    let mut room = [0u8; 32];
    out.say(format!("{:?}", net::recv(&client, &mut room[..], RecvFlags::DONTWAIT)));
    out.say(format!("{:?}", net::recv(&client, &mut room[..], RecvFlags::DONTWAIT)));
    net::shutdown(&client, Shutdown::Write).unwrap();
    out.say(format!("{:?}", net::recv(&client, &mut room[..], RecvFlags::empty())));
    answers.join().unwrap();
    let other = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    out.say(format!("{:?}", net::connect(&other, &at)));
}
