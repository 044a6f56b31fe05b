//! Addresses as libc has them. Those of IPv6 stand for IPv4: mapped ones, any, and the loopback.

use crate::kernel::socket::LOOPBACK_V6;
use libc::{sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

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
