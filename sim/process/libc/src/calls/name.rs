//! Names of hosts, which the world knows.

use crate::{
    baton::{inside, is_inside, wait},
    call,
    kernel::threads::On,
    system::real,
};
use libc::{addrinfo, c_char, c_int, sockaddr_in, socklen_t};
use std::{
    ffi::CStr,
    net::{Ipv4Addr, SocketAddrV4},
};

/// Services that have a name in every `/etc/services`, as far as anybody writes it.
const SERVICES: [(&str, u16); 4] = [("http", 80), ("https", 443), ("postgresql", 5432), ("redis", 6379)];

/// An answer and its address in one piece of memory.
#[repr(C)]
struct Found {
    info: addrinfo,
    address: sockaddr_in,
}

type Resolve = unsafe extern "C" fn(*const c_char, *const c_char, *const addrinfo, *mut *mut addrinfo) -> c_int;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    found: *mut *mut addrinfo,
) -> c_int {
    if !is_inside() {
        let real: Resolve =
            real!(fn getaddrinfo(*const c_char, *const c_char, *const addrinfo, *mut *mut addrinfo) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(node, service, hints, found) };
    }
    // SAFETY: the caller passes null or a C string.
    let text = |at: *const c_char| (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy());
    // SAFETY: the caller passes null or hints.
    let (family, flags, kind) =
        unsafe { hints.as_ref() }.map_or((0, 0, 0), |hints| (hints.ai_family, hints.ai_flags, hints.ai_socktype));
    if ![libc::AF_UNSPEC, libc::AF_INET].contains(&family) {
        return libc::EAI_NONAME;
    }
    let port = match text(service) {
        None => 0,
        Some(name) => match name.parse().ok().or(SERVICES.iter().find(|(known, _)| *known == name).map(|of| of.1)) {
            Some(port) => port,
            None => return libc::EAI_SERVICE,
        },
    };
    let Some(ips) = resolve(text(node).as_deref(), flags) else { return libc::EAI_NONAME };
    // SAFETY: the caller passes the address for the answer.
    unsafe { *found = list(&ips, port, kind) };
    0
}

fn resolve(name: Option<&str>, flags: c_int) -> Option<Vec<Ipv4Addr>> {
    match name {
        None if flags & libc::AI_PASSIVE != 0 => return Some(vec![Ipv4Addr::UNSPECIFIED]),
        None | Some("localhost") => return Some(vec![Ipv4Addr::LOCALHOST]),
        Some(name) if name.parse::<Ipv4Addr>().is_ok() => return name.parse().ok().map(|ip| vec![ip]),
        Some(_) if flags & libc::AI_NUMERICHOST != 0 => return None,
        Some(_) => {}
    }
    let query = inside(|kernel, _| kernel.ask(name.unwrap_or_default()))?;
    wait(On::Name(query), None);
    inside(|kernel, _| kernel.answer(query)).flatten().filter(|ips| !ips.is_empty())
}

/// Entries for these addresses, linked; `freeaddrinfo` frees them.
fn list(ips: &[Ipv4Addr], port: u16, kind: c_int) -> *mut addrinfo {
    let mut next = std::ptr::null_mut();
    for ip in ips.iter().rev() {
        // SAFETY: both parts may be zero.
        let mut found: Box<Found> = Box::new(unsafe { std::mem::zeroed() });
        let mut length = size_of::<sockaddr_in>() as socklen_t;
        // SAFETY: there is room for a whole address.
        unsafe { call::write(SocketAddrV4::new(*ip, port), false, (&raw mut found.address).cast(), &mut length) };
        found.info.ai_family = libc::AF_INET;
        found.info.ai_socktype = if kind == 0 { libc::SOCK_STREAM } else { kind };
        found.info.ai_protocol = libc::IPPROTO_TCP;
        found.info.ai_addrlen = length;
        found.info.ai_next = next;
        let found = Box::into_raw(found);
        // SAFETY: it was just made; the address is part of it, and is freed with it.
        unsafe { (*found).info.ai_addr = (&raw mut (*found).address).cast() };
        next = found.cast();
    }
    next
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn freeaddrinfo(first: *mut addrinfo) {
    if !is_inside() {
        // SAFETY: the caller's argument goes to the function that was called.
        return unsafe { real!(fn freeaddrinfo(*mut addrinfo) -> ())(first) };
    }
    let mut next = first;
    while !next.is_null() {
        // SAFETY: in a simulated process every list is one of `list`, each entry the first part of a box.
        let found = unsafe { Box::from_raw(next.cast::<Found>()) };
        next = found.info.ai_next;
    }
}
