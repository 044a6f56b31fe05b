//! Descriptors: opened, copied, closed, and their flags.

use crate::{
    baton::{inside, is_inside},
    call::{answer, fail, is_ours, on, refuse},
    calls::files::{has_disk, patiently},
    kernel::{FIRST, Kind, local::End},
    system::{errno, real},
};
use libc::{c_char, c_int, c_uint, c_ulong, mode_t};
use std::ffi::CStr;

#[unsafe(no_mangle)]
pub extern "C" fn close(fd: c_int) -> c_int {
    if !is_ours(fd) {
        // Programs that close whatever they find would close the way to the world.
        if inside(|kernel, _| kernel.needs(fd)) == Some(true) {
            return fail(libc::EBADF);
        }
        inside(|kernel, _| {
            let wall = kernel.wall;
            kernel.files.as_mut().map(|files| files.close(fd, wall))
        });
        // SAFETY: a number only.
        return unsafe { real!(fn close(c_int) -> c_int)(fd) };
    }
    match inside(|kernel, _| kernel.close(fd).map(|()| 0)) {
        Some(result) => answer(result),
        None => fail(libc::EBADF),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn dup(fd: c_int) -> c_int {
    match on(fd, |kernel, object| Ok(kernel.describe(object, FIRST, false))) {
        Some(result) => answer(result),
        // SAFETY: a number only.
        None => copied(fd, unsafe { real!(fn dup(c_int) -> c_int)(fd) }),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    if !is_inside() || !is_ours(old) && !is_ours(new) {
        // SAFETY: numbers only.
        return copied(old, unsafe { real!(fn dup3(c_int, c_int, c_int) -> c_int)(old, new, flags) });
    }
    match (is_ours(old), is_ours(new)) {
        (true, true) if old == new => fail(libc::EINVAL),
        (true, true) => {
            let copied = inside(|kernel, _| kernel.describe_as(old, new, flags & libc::O_CLOEXEC != 0));
            answer(copied.unwrap_or(Err(libc::EBADF)))
        }
        _ => fail(refuse("dup2(to a descriptor of the machine)")),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    if is_inside() && is_ours(old) && old == new {
        return answer(on(old, |_, _| Ok(new)).unwrap_or(Err(libc::EBADF)));
    }
    match is_inside() {
        true => dup3(old, new, 0),
        // SAFETY: numbers only.
        false => unsafe { real!(fn dup2(c_int, c_int) -> c_int)(old, new) },
    }
}

/// A copy of the machine's descriptor, whose file may be written through it.
fn copied(from: c_int, to: c_int) -> c_int {
    inside(|kernel, _| {
        let wall = kernel.wall;
        kernel.files.as_mut().map(|files| files.copied(from, to, wall))
    });
    to
}

fn patient(take: impl Fn() -> c_int) -> c_int {
    let locked = patiently(|| match take() {
        -1 => Err(errno()),
        result => Ok(result.into()),
    });
    answer(locked.map(|result| result as c_int))
}

/// `fcntl`, whose last argument is a word or missing: then it is not looked at.
fn control(fd: c_int, command: c_int, word: usize) -> Option<Result<c_int, c_int>> {
    on(fd, |kernel, object| match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC if word > i32::MAX as usize => Err(libc::EINVAL),
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            Ok(kernel.describe(object, word as c_int, command == libc::F_DUPFD_CLOEXEC))
        }
        libc::F_GETFD => {
            let flag = kernel.close_on_exec(fd).is_some_and(|flag| *flag);
            Ok(if flag { libc::FD_CLOEXEC } else { 0 })
        }
        libc::F_SETFD => {
            if let Some(flag) = kernel.close_on_exec(fd) {
                *flag = word as c_int & libc::FD_CLOEXEC != 0;
            }
            Ok(0)
        }
        libc::F_GETFL => {
            let object = kernel.object(object);
            let way = match &object.kind {
                Kind::Local(local) if local.end == End::Reads => libc::O_RDONLY,
                Kind::Local(local) if local.end == End::Writes => libc::O_WRONLY,
                _ => libc::O_RDWR,
            };
            Ok(way | if object.nonblocking { libc::O_NONBLOCK } else { 0 })
        }
        libc::F_SETFL => {
            kernel.object_mut(object).nonblocking = word as c_int & libc::O_NONBLOCK != 0;
            Ok(0)
        }
        _ => Err(libc::EINVAL),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, word: usize) -> c_int {
    match control(fd, command, word) {
        Some(result) => answer(result),
        None => {
            // SAFETY: the caller's arguments go to the function that was called, variadic ones as words.
            let call = |command| unsafe { real!(fn fcntl(c_int, c_int, usize) -> c_int)(fd, command, word) };
            match command {
                libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, call(command)),
                // Who waits for a lock of a file lets the others run.
                libc::F_SETLKW if has_disk() => patient(|| call(libc::F_SETLK)),
                libc::F_OFD_SETLKW if has_disk() => patient(|| call(libc::F_OFD_SETLK)),
                _ => call(command),
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, word: usize) -> c_int {
    // SAFETY: on 64 bits, both are the same.
    unsafe { fcntl(fd, command, word) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, word: usize) -> c_int {
    let done = on(fd, |kernel, object| {
        match request {
            // SAFETY: the caller passes the address of a number.
            libc::FIONBIO => kernel.object_mut(object).nonblocking = unsafe { *(word as *const c_int) } != 0,
            libc::FIONREAD => {
                let unread = kernel.unread(object) as c_int;
                // SAFETY: the caller passes the address of a number.
                unsafe { *(word as *mut c_int) = unread };
            }
            libc::FIOCLEX | libc::FIONCLEX => {
                if let Some(flag) = kernel.close_on_exec(fd) {
                    *flag = request == libc::FIOCLEX;
                }
            }
            _ => return Err(libc::ENOTTY),
        }
        Ok(0)
    });
    match done {
        Some(result) => answer(result),
        // SAFETY: the caller's arguments go to the function that was called, variadic ones as words.
        None => unsafe { real!(fn ioctl(c_int, c_ulong, usize) -> c_int)(fd, request, word) },
    }
}

/// Nothing in the world is a terminal.
#[unsafe(no_mangle)]
pub extern "C" fn isatty(fd: c_int) -> c_int {
    if is_inside() {
        crate::system::set_errno(libc::ENOTTY);
        return 0;
    }
    // SAFETY: a number only.
    unsafe { real!(fn isatty(c_int) -> c_int)(fd) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    let made = inside(|kernel, _| {
        let (reads, writes) = kernel.add_pair(End::Reads, End::Writes, flags & libc::O_NONBLOCK != 0);
        [reads, writes].map(|end| kernel.describe(end, FIRST, flags & libc::O_CLOEXEC != 0))
    });
    let Some(made) = made else {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn pipe2(*mut c_int, c_int) -> c_int)(ends, flags) };
    };
    // SAFETY: the caller passes the address of two numbers.
    unsafe { ends.cast::<[c_int; 2]>().write(made) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the caller's argument; without flags both are the same.
    unsafe { pipe2(ends, 0) }
}

#[unsafe(no_mangle)]
pub extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    let event = Kind::Event { count: u64::from(count), semaphore: flags & libc::EFD_SEMAPHORE != 0 };
    let (nonblocking, cloexec) = (flags & libc::EFD_NONBLOCK != 0, flags & libc::EFD_CLOEXEC != 0);
    match inside(|kernel, _| kernel.open(event, nonblocking, cloexec)) {
        Some(descriptor) => descriptor,
        // SAFETY: numbers only.
        None => unsafe { real!(fn eventfd(c_uint, c_int) -> c_int)(count, flags) },
    }
}

/// What a process sees at this path instead of what the machine has there.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn instead(path: *const c_char) -> Option<c_int> {
    if !is_inside() || path.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    match unsafe { CStr::from_ptr(path) }.to_bytes() {
        b"/dev/urandom" | b"/dev/random" => inside(|kernel, _| kernel.open(Kind::Random, false, true)),
        // The number of processors is what the world says, whatever limits this machine has.
        b"/proc/self/cgroup" => Some(fail(libc::ENOENT)),
        _ => None,
    }
}

macro_rules! open {
    ($open:ident, $openat:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the caller passes a path; variadic arguments go on as words.
            unsafe {
                instead(path)
                    .unwrap_or_else(|| real!(fn $open(*const c_char, c_int, mode_t) -> c_int)(path, flags, mode))
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the caller passes a path; variadic arguments go on as words.
            unsafe {
                instead(path).unwrap_or_else(|| {
                    real!(fn $openat(c_int, *const c_char, c_int, mode_t) -> c_int)(folder, path, flags, mode)
                })
            }
        }
    };
}
open!(open, openat);
open!(open64, openat64);
