//! Sockets: made, named, connected, ended.

use crate::{
    baton::{inside, is_inside},
    call::{self, Patience, answer, blocking, fail, on, refuse},
    kernel::{
        FIRST, Kernel, Kind,
        local::End,
        socket::{Socket, State},
    },
    system::real,
};
use libc::{c_int, c_void, sockaddr, socklen_t};

const NONBLOCK: c_int = libc::SOCK_NONBLOCK;
const CLOEXEC: c_int = libc::SOCK_CLOEXEC;

/// What is refused of this kind of socket, if anything.
fn refused(domain: c_int, kind: c_int) -> Option<&'static str> {
    match (domain, kind & !(NONBLOCK | CLOEXEC)) {
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) => None,
        (libc::AF_INET | libc::AF_INET6, _) => Some("socket(SOCK_DGRAM)"),
        (libc::AF_UNIX, _) => Some("socket(AF_UNIX)"),
        _ => Some("socket(another family)"),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if !is_inside() {
        // SAFETY: numbers only.
        return unsafe { real!(fn socket(c_int, c_int, c_int) -> c_int)(domain, kind, protocol) };
    }
    if let Some(what) = refused(domain, kind) {
        return fail(refuse(what));
    }
    let new = Kind::Socket(Box::new(Socket::new(domain == libc::AF_INET6)));
    inside(|kernel, _| kernel.open(new, kind & NONBLOCK != 0, kind & CLOEXEC != 0)).unwrap_or(-1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int {
    if !is_inside() {
        let real = real!(fn socketpair(c_int, c_int, c_int, *mut c_int) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(domain, kind, protocol, pair) };
    }
    if domain != libc::AF_UNIX || kind & !(NONBLOCK | CLOEXEC) != libc::SOCK_STREAM {
        return fail(refuse("socketpair(another family)"));
    }
    let ends = inside(|kernel, _| {
        let (a, b) = kernel.add_pair(End::Pair, End::Pair, kind & NONBLOCK != 0);
        [a, b].map(|end| kernel.describe(end, FIRST, kind & CLOEXEC != 0))
    });
    // SAFETY: the caller passes the address of two numbers.
    unsafe { pair.cast::<[c_int; 2]>().write(ends.unwrap_or([-1; 2])) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn bind(fd: c_int, at: *const sockaddr, length: socklen_t) -> c_int {
    let bound = on(fd, |kernel, object| {
        let v6 = kernel.socket(object)?.v6;
        // SAFETY: the caller passes an address of this length.
        let at = unsafe { call::read(at, length, v6) }?.ok_or(libc::EADDRNOTAVAIL)?;
        kernel.bind(object, at).map(|()| 0)
    });
    match bound {
        Some(result) => answer(result),
        // SAFETY: the caller's arguments go to the function that was called.
        None => unsafe { real!(fn bind(c_int, *const sockaddr, socklen_t) -> c_int)(fd, at, length) },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    match on(fd, |kernel, object| kernel.listen(object).map(|()| 0)) {
        Some(result) => answer(result),
        // SAFETY: numbers only.
        None => unsafe { real!(fn listen(c_int, c_int) -> c_int)(fd, backlog) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(fd: c_int, peer: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    let accepted = blocking(fd, Patience::Receives, |kernel, object| {
        let (accepted, from) = kernel.accept(object)?;
        kernel.object_mut(accepted).nonblocking = flags & NONBLOCK != 0;
        let v6 = kernel.socket(accepted)?.v6;
        Ok((kernel.describe(accepted, FIRST, flags & CLOEXEC != 0), from, v6))
    });
    match accepted {
        Some(Ok((new, from, v6))) => {
            // SAFETY: the caller passes null, or room for an address of this length.
            unsafe { call::write(from, v6, peer, length) };
            new
        }
        Some(Err(error)) => fail(error),
        None => {
            let real = real!(fn accept4(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
            // SAFETY: the caller's arguments go to the function that was called.
            unsafe { real(fd, peer, length, flags) }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(fd: c_int, peer: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's arguments, with which `accept4` without flags is the same.
    unsafe { accept4(fd, peer, length, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    let (mut begun, mut foreign) = (false, false);
    let connected = blocking(fd, Patience::Sends, |kernel, object| {
        if begun {
            return outcome(kernel, object);
        }
        // SAFETY: the caller passes an address of this length.
        if unsafe { call::is_none(to, length) } {
            return kernel.disconnect(object).map(|()| 0);
        }
        let v6 = kernel.socket(object)?.v6;
        // SAFETY: as above.
        let Some(to) = unsafe { call::read(to, length, v6) }? else {
            foreign = true;
            return Err(libc::ENETUNREACH);
        };
        let result = kernel.connect(object, to);
        begun = matches!(result, Err(libc::EINPROGRESS));
        // As nothing has happened yet, a socket that blocks waits.
        result.map(|()| 0).map_err(|error| if begun { libc::EAGAIN } else { error })
    });
    if foreign {
        return fail(refuse("connect(an IPv6 address)"));
    }
    match connected {
        // It has not been decided: at once, or within the socket's own timeout.
        Some(Err(libc::EAGAIN)) => fail(libc::EINPROGRESS),
        Some(result) => answer(result),
        // SAFETY: the caller's arguments go to the function that was called.
        None => unsafe { real!(fn connect(c_int, *const sockaddr, socklen_t) -> c_int)(fd, to, length) },
    }
}

/// How an attempt to connect went; `EAGAIN` if it goes on.
fn outcome(kernel: &mut Kernel, object: usize) -> Result<c_int, c_int> {
    let socket = kernel.socket(object)?;
    match &mut socket.state {
        State::Connecting { .. } => Err(libc::EAGAIN),
        State::Open { told, .. } => {
            *told = true;
            Ok(0)
        }
        _ => Err(kernel.give_up(object)?),
    }
}

/// Writes the address of one end.
///
/// # Safety
/// As `getsockname`.
unsafe fn name(fd: c_int, to: *mut sockaddr, length: *mut socklen_t, peer: bool) -> Option<c_int> {
    let found = on(fd, |kernel, object| {
        let socket = kernel.socket(object)?;
        let v6 = socket.v6;
        if peer { socket.peer() } else { Ok(socket.local) }.map(|address| (address, v6))
    })?;
    Some(answer(found.map(|(address, v6)| {
        // SAFETY: the caller's.
        unsafe { call::write(address, v6, to, length) };
        0
    })))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockname(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's arguments, or they go to the function that was called.
    unsafe {
        name(fd, to, length, false)
            .unwrap_or_else(|| real!(fn getsockname(c_int, *mut sockaddr, *mut socklen_t) -> c_int)(fd, to, length))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpeername(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's arguments, or they go to the function that was called.
    unsafe {
        name(fd, to, length, true)
            .unwrap_or_else(|| real!(fn getpeername(c_int, *mut sockaddr, *mut socklen_t) -> c_int)(fd, to, length))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let set = on(fd, |kernel, object| {
        if value.is_null() {
            return Err(libc::EFAULT);
        }
        // SAFETY: the caller passes a value of this length.
        let value = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), length as usize) };
        kernel.set_option(object, level, option, value).map(|()| 0)
    });
    match set {
        Some(result) => answer(result),
        None => {
            let real = real!(fn setsockopt(c_int, c_int, c_int, *const c_void, socklen_t) -> c_int);
            // SAFETY: the caller's arguments go to the function that was called.
            unsafe { real(fd, level, option, value, length) }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    match on(fd, |kernel, object| kernel.option(object, level, option)) {
        Some(result) => answer(result.map(|found| {
            // SAFETY: the caller passes room of this length; no more is written.
            unsafe {
                let room = found.len().min(*length as usize);
                std::ptr::copy_nonoverlapping(found.as_ptr(), value.cast::<u8>(), room);
                *length = room as socklen_t;
            }
            0
        })),
        None => {
            let real = real!(fn getsockopt(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int);
            // SAFETY: the caller's arguments go to the function that was called.
            unsafe { real(fd, level, option, value, length) }
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    match on(fd, |kernel, object| kernel.shutdown(object, how).map(|()| 0)) {
        Some(result) => answer(result),
        // SAFETY: numbers only.
        None => unsafe { real!(fn shutdown(c_int, c_int) -> c_int)(fd, how) },
    }
}
