//! Bytes, in and out.

use crate::{
    baton::{inside, is_inside},
    call::{Patience, answer, blocking, fail, is_ours, on, refuse},
    system::real,
};
use fencepost_process::Op;
use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

/// Reads into the slices, the first of which must be filled before the second; none if the descriptor is not ours.
fn get(fd: c_int, slices: &mut [&mut [u8]], flags: c_int) -> Option<Result<usize, i32>> {
    if !is_ours(fd) {
        return None;
    }
    if flags & libc::MSG_OOB != 0 {
        return Some(Err(refuse("recv(MSG_OOB)")));
    }
    let patience = if flags & libc::MSG_DONTWAIT != 0 { Patience::None } else { Patience::Receives };
    let (all, peek) = (flags & libc::MSG_WAITALL != 0, flags & libc::MSG_PEEK != 0);
    let mut got = 0;
    let nothing = slices.iter().all(|slice| slice.is_empty());
    for slice in slices.iter_mut().filter(|slice| nothing || !slice.is_empty()) {
        let mut at = 0;
        loop {
            // What follows the first bytes is taken if it is there.
            let patience = if got > 0 && !all { Patience::None } else { patience };
            match blocking(fd, patience, |kernel, object| kernel.receive(object, &mut slice[at..], peek))? {
                Err(error) if got == 0 => return Some(Err(error)),
                Err(_) | Ok(0) => return Some(Ok(got)),
                Ok(count) => (at, got) = (at + count, got + count),
            }
            if at == slice.len() || peek || !all {
                break;
            }
        }
        if at < slice.len() || peek {
            break;
        }
    }
    Some(Ok(got))
}

/// Writes the bytes, all of them if the descriptor may block; none if it is not ours.
fn put(fd: c_int, bytes: &[u8], flags: c_int) -> Option<Result<usize, i32>> {
    if !is_ours(fd) {
        return None;
    }
    if flags & libc::MSG_OOB != 0 {
        return Some(Err(refuse("send(MSG_OOB)")));
    }
    let patience = if flags & libc::MSG_DONTWAIT != 0 { Patience::None } else { Patience::Sends };
    let nonblocking = on(fd, |kernel, object| Ok(kernel.object(object).nonblocking))?;
    let mut sent = 0;
    loop {
        let rest = &bytes[sent..];
        match blocking(fd, patience, |kernel, object| kernel.transmit(object, rest, sent > 0))? {
            Err(error) if sent == 0 => return Some(Err(error)),
            Err(_) => return Some(Ok(sent)),
            Ok(count) => sent += count,
        }
        if sent >= bytes.len() || nonblocking == Ok(true) || flags & libc::MSG_DONTWAIT != 0 {
            return Some(Ok(sent));
        }
    }
}

/// Standard output and standard error go to the world.
fn say(fd: c_int, bytes: &[u8]) -> Option<usize> {
    if fd != 1 && fd != 2 {
        return None;
    }
    inside(|kernel, _| kernel.tell(Op::Say { descriptor: fd as u8, bytes: bytes.to_vec() }))?;
    Some(bytes.len())
}

fn count(result: Result<usize, i32>) -> ssize_t {
    answer(result.map(|count| count as ssize_t))
}

/// # Safety
/// `count` bytes at `from` can be read as long as the slice is used.
unsafe fn slice<'a>(from: *const c_void, count: size_t) -> &'a [u8] {
    match count {
        0 => &[],
        // SAFETY: the caller's.
        count => unsafe { std::slice::from_raw_parts(from.cast(), count) },
    }
}

/// # Safety
/// `count` bytes at `to` can be written as long as the slice is used, by nobody else.
unsafe fn slice_mut<'a>(to: *mut c_void, count: size_t) -> &'a mut [u8] {
    match count {
        0 => &mut [],
        // SAFETY: the caller's.
        count => unsafe { std::slice::from_raw_parts_mut(to.cast(), count) },
    }
}

/// # Safety
/// As `readv`.
unsafe fn slices<'a>(list: *const iovec, count: usize) -> Vec<&'a mut [u8]> {
    // SAFETY: the caller's: so many entries, each of which names memory of its own.
    unsafe { (0..count).map(|at| &*list.add(at)).map(|one| slice_mut(one.iov_base, one.iov_len)).collect() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, to: *mut c_void, room: size_t) -> ssize_t {
    if !is_ours(fd) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn read(c_int, *mut c_void, size_t) -> ssize_t)(fd, to, room) };
    }
    // SAFETY: the caller passes a buffer of this length.
    count(get(fd, &mut [unsafe { slice_mut(to, room) }], 0).unwrap_or(Err(libc::EBADF)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(fd: c_int, to: *mut c_void, room: size_t, flags: c_int) -> ssize_t {
    if !is_ours(fd) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn recv(c_int, *mut c_void, size_t, c_int) -> ssize_t)(fd, to, room, flags) };
    }
    // SAFETY: the caller passes a buffer of this length.
    count(get(fd, &mut [unsafe { slice_mut(to, room) }], flags).unwrap_or(Err(libc::EBADF)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    room: size_t,
    flags: c_int,
    peer: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    if !is_ours(fd) {
        let real = real!(fn recvfrom(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(fd, to, room, flags, peer, length) };
    }
    if !length.is_null() {
        // A connection's bytes come from nowhere else: no address.
        // SAFETY: the caller passes null or an address.
        unsafe { *length = 0 };
    }
    // SAFETY: the caller's arguments.
    unsafe { recv(fd, to, room, flags) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, list: *const iovec, entries: c_int) -> ssize_t {
    if !is_ours(fd) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn readv(c_int, *const iovec, c_int) -> ssize_t)(fd, list, entries) };
    }
    // SAFETY: the caller passes so many entries.
    count(get(fd, &mut unsafe { slices(list, entries.max(0) as usize) }, 0).unwrap_or(Err(libc::EBADF)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    if !is_ours(fd) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn recvmsg(c_int, *mut msghdr, c_int) -> ssize_t)(fd, message, flags) };
    }
    // SAFETY: the caller passes a message with a list of slices, room for nothing else being needed.
    let mut slices = unsafe {
        ((*message).msg_controllen, (*message).msg_namelen, (*message).msg_flags) = (0, 0, 0);
        slices((*message).msg_iov, (*message).msg_iovlen)
    };
    count(get(fd, &mut slices, flags).unwrap_or(Err(libc::EBADF)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller passes a buffer of this length.
    let bytes = || unsafe { slice(from, length) };
    if is_ours(fd) {
        return count(put(fd, bytes(), 0).unwrap_or(Err(libc::EBADF)));
    }
    match is_inside().then(|| say(fd, bytes())).flatten() {
        Some(said) => said as ssize_t,
        // SAFETY: the caller's arguments go to the function that was called.
        None => unsafe { real!(fn write(c_int, *const c_void, size_t) -> ssize_t)(fd, from, length) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    if !is_ours(fd) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn send(c_int, *const c_void, size_t, c_int) -> ssize_t)(fd, from, length, flags) };
    }
    // SAFETY: the caller passes a buffer of this length.
    count(put(fd, unsafe { slice(from, length) }, flags).unwrap_or(Err(libc::EBADF)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    room: socklen_t,
) -> ssize_t {
    if !is_ours(fd) {
        let real = real!(fn sendto(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(fd, from, length, flags, to, room) };
    }
    // On a stream, the address is not looked at.
    // SAFETY: the caller's arguments.
    unsafe { send(fd, from, length, flags) }
}

/// All slices as one, as they leave together.
///
/// # Safety
/// As `writev`.
unsafe fn gathered(list: *const iovec, entries: usize) -> Vec<u8> {
    // SAFETY: the caller's: so many entries, each of which names memory that can be read.
    unsafe { (0..entries).map(|at| &*list.add(at)).flat_map(|one| slice(one.iov_base, one.iov_len)).copied().collect() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, list: *const iovec, entries: c_int) -> ssize_t {
    // SAFETY: the caller passes so many entries.
    let bytes = || unsafe { gathered(list, entries.max(0) as usize) };
    if is_ours(fd) {
        return count(put(fd, &bytes(), 0).unwrap_or(Err(libc::EBADF)));
    }
    match is_inside().then(|| say(fd, &bytes())).flatten() {
        Some(said) => said as ssize_t,
        // SAFETY: the caller's arguments go to the function that was called.
        None => unsafe { real!(fn writev(c_int, *const iovec, c_int) -> ssize_t)(fd, list, entries) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    if !is_ours(fd) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn sendmsg(c_int, *const msghdr, c_int) -> ssize_t)(fd, message, flags) };
    }
    // SAFETY: the caller passes a message with a list of slices.
    let (control, bytes) = unsafe { ((*message).msg_controllen, gathered((*message).msg_iov, (*message).msg_iovlen)) };
    if control > 0 {
        return fail(refuse("sendmsg(control data)"));
    }
    count(put(fd, &bytes, flags).unwrap_or(Err(libc::EBADF)))
}
