//! What the calls have in common: answers, times, descriptors, addresses, waiting.

use crate::{
    baton::{inside, wait},
    kernel::{
        FIRST, Kernel, Kind,
        socket::LOOPBACK_V6,
        threads::{On, Until},
    },
    system::set_errno,
};
use libc::{c_int, sockaddr, sockaddr_in, sockaddr_in6, socklen_t, timespec};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// What libc's functions return: the result, or -1 and `errno`.
pub fn answer<T: From<i8>>(result: Result<T, i32>) -> T {
    result.unwrap_or_else(fail)
}

pub fn fail<T: From<i8>>(error: c_int) -> T {
    set_errno(error);
    T::from(-1)
}

/// Is it a simulated descriptor, by its number?
#[inline]
pub fn is_ours(descriptor: c_int) -> bool {
    descriptor >= FIRST
}

/// Works on the object of a simulated descriptor; `None` if it is none.
pub fn on<T>(descriptor: c_int, work: impl FnOnce(&mut Kernel, usize) -> Result<T, i32>) -> Option<Result<T, i32>> {
    if !is_ours(descriptor) {
        return None;
    }
    inside(|kernel, _| kernel.find(descriptor).and_then(|object| work(kernel, object))).or(Some(Err(libc::EBADF)))
}

/// How long a call may wait.
#[derive(Clone, Copy)]
pub enum Patience {
    None,
    /// As the socket's option says.
    Receives,
    Sends,
}

/// The same; where there is nothing yet (`EAGAIN`) and the descriptor may block, it waits and tries again.
pub fn blocking<T>(
    descriptor: c_int,
    patience: Patience,
    mut work: impl FnMut(&mut Kernel, usize) -> Result<T, i32>,
) -> Option<Result<T, i32>> {
    let mut until = None;
    loop {
        let mut found = None;
        let result = on(descriptor, |kernel, object| {
            let result = work(kernel, object);
            found = Some((object, patience_of(kernel, object, patience)));
            result
        })?;
        let Some((object, Some(timeout))) = found.filter(|_| matches!(result, Err(libc::EAGAIN))) else {
            return Some(result);
        };
        until = until.or_else(|| timeout.map(after));
        if !wait(On::Objects(vec![object]), until) {
            return Some(Err(libc::EAGAIN));
        }
    }
}

/// How long to wait for an object, if at all.
fn patience_of(kernel: &Kernel, object: usize, patience: Patience) -> Option<Option<u64>> {
    let object = kernel.object(object);
    let timeout = match (&object.kind, patience) {
        (_, Patience::None) => return None,
        (Kind::Socket(socket), Patience::Receives) => socket.options.receive_timeout,
        (Kind::Socket(socket), Patience::Sends) => socket.options.send_timeout,
        _ => None,
    };
    (!object.nonblocking).then_some(timeout)
}

/// The time in so many nanoseconds.
pub fn after(nanoseconds: u64) -> Until {
    Until::Mono(inside(|kernel, _| kernel.mono).unwrap_or(0).saturating_add(nanoseconds))
}

/// The time after so many milliseconds; `None` for ever.
pub fn after_ms(milliseconds: c_int) -> Option<Until> {
    u64::try_from(milliseconds).ok().map(|ms| after(ms * 1_000_000))
}

/// # Errors
/// `EINVAL`: it is no time.
pub fn nanoseconds(time: &timespec) -> Result<u64, i32> {
    if !(0..1_000_000_000).contains(&time.tv_nsec) || time.tv_sec < 0 {
        return Err(libc::EINVAL);
    }
    Ok((time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}

/// A time on this clock.
pub fn on_clock(clock: libc::clockid_t, nanoseconds: u64) -> Until {
    match clock {
        libc::CLOCK_REALTIME => Until::Wall(nanoseconds),
        _ => Until::Mono(nanoseconds),
    }
}

/// Tells the world that this is not simulated, with the sentence from the table; returns the error number.
pub fn refuse(call: &str) -> c_int {
    let (error, sentence) = crate::table::refusal(call);
    inside(|kernel, _| kernel.refuse(call, &sentence));
    error
}

// Addresses as libc has them. Those of IPv6 stand for IPv4: mapped ones, any, and the loopback.

/// The address; none if no host of the world can have it.
///
/// # Errors
/// `EAFNOSUPPORT`, `EINVAL`: it is no address of the socket's family.
///
/// # Safety
/// `length` bytes at `address` can be read.
pub unsafe fn read(address: *const sockaddr, length: socklen_t, v6: bool) -> Result<Option<SocketAddrV4>, i32> {
    let whole = if v6 { size_of::<sockaddr_in6>() } else { size_of::<sockaddr_in>() };
    if (length as usize) < whole {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's, and there are enough bytes for a family.
    let family = i32::from(unsafe { (*address).sa_family });
    match (family, v6) {
        (libc::AF_INET, false) => {
            // SAFETY: the caller's, and there are enough bytes.
            let found = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(found.sin_addr.s_addr));
            Ok(Some(SocketAddrV4::new(ip, u16::from_be(found.sin_port))))
        }
        (libc::AF_INET6, true) => {
            // SAFETY: the caller's, and there are enough bytes.
            let found = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(found.sin6_addr.s6_addr);
            let ip = match ip {
                Ipv6Addr::UNSPECIFIED => Some(Ipv4Addr::UNSPECIFIED),
                Ipv6Addr::LOCALHOST => Some(LOOPBACK_V6),
                ip => ip.to_ipv4_mapped(),
            };
            Ok(ip.map(|ip| SocketAddrV4::new(ip, u16::from_be(found.sin6_port))))
        }
        _ => Err(libc::EAFNOSUPPORT),
    }
}

/// Is it `AF_UNSPEC`, with which `connect` takes a connection back?
///
/// # Safety
/// As for [`read`].
pub unsafe fn is_none(address: *const sockaddr, length: socklen_t) -> bool {
    // SAFETY: the caller's, and there are enough bytes for the family.
    length >= 2 && i32::from(unsafe { (*address).sa_family }) == libc::AF_UNSPEC
}

/// Writes as much of it as there is room for, and its whole length.
///
/// # Safety
/// `to` is null, or `*length` bytes at it can be written.
pub unsafe fn write(address: SocketAddrV4, v6: bool, to: *mut sockaddr, length: *mut socklen_t) {
    if to.is_null() || length.is_null() {
        return;
    }
    if v6 {
        // SAFETY: zeros are a value of this type.
        let mut found: sockaddr_in6 = unsafe { std::mem::zeroed() };
        found.sin6_family = libc::AF_INET6 as _;
        found.sin6_port = address.port().to_be();
        found.sin6_addr.s6_addr = match *address.ip() {
            Ipv4Addr::UNSPECIFIED => Ipv6Addr::UNSPECIFIED,
            LOOPBACK_V6 => Ipv6Addr::LOCALHOST,
            ip => ip.to_ipv6_mapped(),
        }
        .octets();
        // SAFETY: the caller's.
        return unsafe { put(&found, to, length) };
    }
    // SAFETY: zeros are a value of this type.
    let mut found: sockaddr_in = unsafe { std::mem::zeroed() };
    found.sin_family = libc::AF_INET as _;
    found.sin_port = address.port().to_be();
    found.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
    // SAFETY: the caller's.
    unsafe { put(&found, to, length) };
}

/// # Safety
/// As for [`write`].
unsafe fn put<T>(found: &T, to: *mut sockaddr, length: *mut socklen_t) {
    // SAFETY: the caller's, and no more is written than there is room for.
    unsafe {
        let room = size_of::<T>().min(*length as usize);
        std::ptr::copy_nonoverlapping((&raw const *found).cast::<u8>(), to.cast::<u8>(), room);
        *length = size_of::<T>() as socklen_t;
    }
}
