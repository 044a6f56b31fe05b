//! Who the process is, on what machine, and its end.

use crate::{
    baton::{inside, is_inside},
    call::fail,
    system::{leave, real},
};
use fencepost_process::Then;
use libc::{c_char, c_int, c_long, pid_t, size_t};

#[unsafe(no_mangle)]
pub extern "C" fn getpid() -> pid_t {
    match inside(|kernel, _| kernel.pid as pid_t) {
        Some(pid) => pid,
        // SAFETY: it takes nothing.
        None => unsafe { real!(fn getpid() -> pid_t)() },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn getppid() -> pid_t {
    match is_inside() {
        true => 1,
        // SAFETY: it takes nothing.
        false => unsafe { real!(fn getppid() -> pid_t)() },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn gettid() -> pid_t {
    match inside(|kernel, me| kernel.threads[me].number as pid_t) {
        Some(number) => number,
        // SAFETY: it takes nothing.
        None => unsafe { real!(fn gettid() -> pid_t)() },
    }
}

/// Writes the host's name and a zero; false if there is no room.
///
/// # Safety
/// `room` bytes at `to` are the caller's to write.
unsafe fn put_name(name: &str, to: *mut c_char, room: size_t) -> bool {
    if name.len() >= room {
        return false;
    }
    // SAFETY: the caller's, and there is room for the name and a zero.
    unsafe {
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), to, name.len());
        *to.add(name.len()) = 0;
    }
    true
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostname(to: *mut c_char, room: size_t) -> c_int {
    // SAFETY: the caller passes a buffer of this length.
    match inside(|kernel, _| unsafe { put_name(&kernel.name, to, room) }) {
        Some(true) => 0,
        Some(false) => fail(libc::ENAMETOOLONG),
        // SAFETY: the caller's arguments go to the function that was called.
        None => unsafe { real!(fn gethostname(*mut c_char, size_t) -> c_int)(to, room) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uname(to: *mut libc::utsname) -> c_int {
    // SAFETY: the caller's argument goes to the function that was called.
    let result = unsafe { real!(fn uname(*mut libc::utsname) -> c_int)(to) };
    if result == 0 {
        // The kernel's release is the machine's; the name is the simulated host's.
        // SAFETY: the caller passes the address of a `utsname`.
        inside(|kernel, _| unsafe { put_name(&kernel.name, (*to).nodename.as_mut_ptr(), (*to).nodename.len()) });
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(pid: pid_t, size: size_t, set: *mut libc::cpu_set_t) -> c_int {
    let Some(cpus) = inside(|kernel, _| kernel.cpus) else {
        let real = real!(fn sched_getaffinity(pid_t, size_t, *mut libc::cpu_set_t) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(pid, size, set) };
    };
    // SAFETY: the caller passes a set of this size in bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(set.cast::<u8>(), size) };
    bytes.fill(0);
    for cpu in 0..usize::from(cpus).min(size * 8) {
        bytes[cpu / 8] |= 1 << (cpu % 8);
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn sysconf(name: c_int) -> c_long {
    let processors = [libc::_SC_NPROCESSORS_ONLN, libc::_SC_NPROCESSORS_CONF].contains(&name);
    match inside(|kernel, _| c_long::from(kernel.cpus)).filter(|_| processors) {
        Some(cpus) => cpus,
        // SAFETY: a number only.
        None => unsafe { real!(fn sysconf(c_int) -> c_long)(name) },
    }
}

// The end of a process.

/// Tells the world that the process ends; false in any other process.
pub fn say_goodbye(then: Then) -> bool {
    let told = inside(|kernel, _| {
        // Without a world, nobody wants to know.
        let _: std::io::Result<()> = kernel.exchange(then);
    });
    if told.is_some() {
        crate::baton::end();
    }
    told.is_some()
}

#[unsafe(no_mangle)]
pub extern "C" fn _exit(code: c_int) -> ! {
    say_goodbye(Then::Exit { code: code & 0xff });
    leave(code)
}

#[unsafe(no_mangle)]
pub extern "C" fn _Exit(code: c_int) -> ! {
    _exit(code)
}

#[unsafe(no_mangle)]
pub extern "C" fn abort() -> ! {
    say_goodbye(Then::Died { signal: libc::SIGABRT });
    // SAFETY: it takes nothing, and does not return.
    unsafe { real!(fn abort() -> !)() }
}
