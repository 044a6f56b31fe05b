//! Addresses as libc has them.

use libc::{sockaddr, sockaddr_in, socklen_t};
use std::net::{Ipv4Addr, SocketAddrV4};

/// # Errors
/// `EAFNOSUPPORT`, `EINVAL`: it is no IPv4 address.
///
/// # Safety
/// `length` bytes at `address` can be read.
pub unsafe fn read(address: *const sockaddr, length: socklen_t) -> Result<SocketAddrV4, i32> {
    if (length as usize) < size_of::<sockaddr_in>() {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's, and there are enough bytes for both types.
    let found = unsafe {
        if i32::from((*address).sa_family) != libc::AF_INET {
            return Err(libc::EAFNOSUPPORT);
        }
        address.cast::<sockaddr_in>().read_unaligned()
    };
    Ok(SocketAddrV4::new(Ipv4Addr::from(u32::from_be(found.sin_addr.s_addr)), u16::from_be(found.sin_port)))
}

/// The same; none for `AF_UNSPEC`, with which `connect` takes a connection back.
///
/// # Errors
/// As for [`read`].
///
/// # Safety
/// As for [`read`].
pub unsafe fn read_or_none(address: *const sockaddr, length: socklen_t) -> Result<Option<SocketAddrV4>, i32> {
    // SAFETY: the caller's, and there are enough bytes for the family.
    if length >= 2 && i32::from(unsafe { (*address).sa_family }) == libc::AF_UNSPEC {
        return Ok(None);
    }
    // SAFETY: the caller's.
    unsafe { read(address, length) }.map(Some)
}

/// Writes as much of it as there is room for, and its whole length.
///
/// # Safety
/// `to` is null, or `*length` bytes at it can be written.
pub unsafe fn write(address: SocketAddrV4, to: *mut sockaddr, length: *mut socklen_t) {
    if to.is_null() || length.is_null() {
        return;
    }
    // SAFETY: zeros are a value of this type.
    let mut found: sockaddr_in = unsafe { std::mem::zeroed() };
    found.sin_family = libc::AF_INET as _;
    found.sin_port = address.port().to_be();
    found.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
    let whole = size_of::<sockaddr_in>();
    // SAFETY: the caller's, and no more is written than there is room for.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const found).cast::<u8>(), to.cast::<u8>(), whole.min(*length as usize));
        *length = whole as socklen_t;
    }
}
