//! Readiness: epoll, poll, and what is left of select.

use crate::{
    baton::{inside, is_inside, wait},
    call::{after, after_ms, answer, fail, is_ours, nanoseconds, on, refuse},
    kernel::{
        Kind,
        epoll::{ERR, Epoll, HUP},
        threads::{On, Until},
    },
    system::real,
};
use libc::{c_int, c_short, epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

#[unsafe(no_mangle)]
pub extern "C" fn epoll_create1(flags: c_int) -> c_int {
    let new = |cloexec| inside(|kernel, _| kernel.open(Kind::Epoll(Epoll::default()), false, cloexec));
    match new(flags & libc::EPOLL_CLOEXEC != 0) {
        Some(descriptor) => descriptor,
        // SAFETY: a number only.
        None => unsafe { real!(fn epoll_create1(c_int) -> c_int)(flags) },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn epoll_create(size: c_int) -> c_int {
    if size <= 0 { fail(libc::EINVAL) } else { epoll_create1(0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    if !is_ours(epoll) {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn epoll_ctl(c_int, c_int, c_int, *mut epoll_event) -> c_int)(epoll, op, fd, event) };
    }
    if !is_ours(fd) && fd >= 0 {
        return fail(refuse("epoll_ctl(a descriptor of the machine)"));
    }
    let (events, data) = match event.is_null() {
        true => (0, 0),
        false => {
            // SAFETY: the caller passes null or an event, which is packed on x86-64.
            let event = unsafe { event.read_unaligned() };
            (event.events, event.u64)
        }
    };
    let done = on(epoll, |kernel, object| kernel.watch(object, op, fd, events, data).map(|()| 0));
    answer(done.unwrap_or(Err(libc::EBADF)))
}

/// Waits until something is ready, and writes what is.
///
/// # Safety
/// `most` entries at `events` can be written.
unsafe fn wait_for_events(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    until: Option<Until>,
    poll: bool,
) -> c_int {
    let Some(most) = usize::try_from(most).ok().filter(|most| *most > 0) else { return fail(libc::EINVAL) };
    loop {
        let found = on(epoll, |kernel, object| Ok((object, kernel.collect(object, most)?)));
        let (object, found) = match found.unwrap_or(Err(libc::EBADF)) {
            Ok(found) => found,
            Err(error) => return fail(error),
        };
        for (at, (events_of, data)) in found.iter().enumerate() {
            // SAFETY: the caller's, and there are at most `most`.
            unsafe { events.add(at).write_unaligned(epoll_event { events: *events_of, u64: *data }) };
        }
        if !found.is_empty() || poll {
            return found.len() as c_int;
        }
        if !wait(On::Objects(vec![object]), until) {
            return 0;
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int {
    if !is_ours(epoll) {
        let real = real!(fn epoll_wait(c_int, *mut epoll_event, c_int, c_int) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(epoll, events, most, timeout) };
    }
    // SAFETY: the caller's arguments.
    unsafe { wait_for_events(epoll, events, most, after_ms(timeout), timeout == 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    if !is_ours(epoll) {
        let real = real!(fn epoll_pwait(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(epoll, events, most, timeout, mask) };
    }
    // SAFETY: the caller's arguments. Signals never come, so the mask changes nothing.
    unsafe { epoll_wait(epoll, events, most, timeout) }
}

/// The time after a duration, which may be null for ever; also whether it is no time at all.
///
/// # Safety
/// `time` is null or the address of a `timespec`.
unsafe fn until_after(time: *const timespec) -> Result<(Option<Until>, bool), c_int> {
    // SAFETY: the caller's.
    let time = unsafe { time.as_ref() }.map(nanoseconds).transpose()?;
    Ok((time.map(after), time == Some(0)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    if !is_ours(epoll) {
        let real = real!(fn epoll_pwait2(c_int, *mut epoll_event, c_int, *const timespec, *const sigset_t) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(epoll, events, most, time, mask) };
    }
    // SAFETY: the caller's arguments.
    match unsafe { until_after(time) } {
        // SAFETY: the caller's arguments.
        Ok((until, poll)) => unsafe { wait_for_events(epoll, events, most, until, poll) },
        Err(error) => fail(error),
    }
}

/// Fills in what each entry is ready for; returns how many are, and what there is to wait for.
fn look(entries: &mut [pollfd]) -> (c_int, Vec<usize>) {
    let (mut ready, mut objects) = (0, Vec::new());
    for entry in entries {
        // Entries below zero are left out.
        entry.revents = match on(entry.fd, |kernel, object| Ok((object, kernel.mask(object)))) {
            Some(Ok((object, mask))) => {
                objects.push(object);
                mask as c_short & (entry.events | (ERR | HUP) as c_short)
            }
            Some(Err(_)) => libc::POLLNVAL,
            None => look_at_the_machines(entry),
        };
        ready += c_int::from(entry.revents != 0);
    }
    (ready, objects)
}

/// A file is always ready; whatever else the machine has is ready now, or never.
fn look_at_the_machines(entry: &mut pollfd) -> c_short {
    // SAFETY: one entry, and no waiting.
    unsafe { real!(fn poll(*mut pollfd, nfds_t, c_int) -> c_int)(entry, 1, 0) };
    entry.revents
}

fn poll_until(entries: &mut [pollfd], until: Option<Until>, once: bool) -> c_int {
    loop {
        let (ready, objects) = look(entries);
        if ready > 0 || once {
            return ready;
        }
        let on = if objects.is_empty() { On::Time } else { On::Objects(objects) };
        if !wait(on, until) {
            // What came at the last moment counts.
            return look(entries).0;
        }
    }
}

/// # Safety
/// `count` entries at `entries` are the caller's.
unsafe fn slice<'a>(entries: *mut pollfd, count: nfds_t) -> &'a mut [pollfd] {
    match count {
        0 => &mut [],
        // SAFETY: the caller's.
        count => unsafe { std::slice::from_raw_parts_mut(entries, count as usize) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(entries: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the caller passes so many entries.
    let all = unsafe { slice(entries, count) };
    if !is_inside() {
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real!(fn poll(*mut pollfd, nfds_t, c_int) -> c_int)(entries, count, timeout) };
    }
    poll_until(all, after_ms(timeout), timeout == 0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    entries: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller passes so many entries.
    let all = unsafe { slice(entries, count) };
    if !is_inside() {
        let real = real!(fn ppoll(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(entries, count, time, mask) };
    }
    // SAFETY: the caller passes null or the address of a `timespec`.
    match unsafe { until_after(time) } {
        Ok((until, once)) => poll_until(all, until, once),
        Err(error) => fail(error),
    }
}

/// Without descriptors, `select` is a sleep.
fn only_sleeps(sets: [*mut fd_set; 3], time: Option<Result<u64, c_int>>) -> c_int {
    if sets.iter().any(|set| !set.is_null()) {
        return fail(refuse("select(descriptors)"));
    }
    match time.transpose() {
        Ok(time) => {
            wait(On::Time, time.map(after));
            0
        }
        Err(error) => fail(error),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    if !is_inside() {
        let real = real!(fn select(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(count, read, write, except, time) };
    }
    // SAFETY: the caller passes null or the address of a `timeval`.
    let time = unsafe { time.as_ref() };
    let time = time.map(|time| nanoseconds(&timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1_000 }));
    only_sleeps([read, write, except], time)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    if !is_inside() {
        type Sets = *mut fd_set;
        let real = real!(fn pselect(c_int, Sets, Sets, Sets, *const timespec, *const sigset_t) -> c_int);
        // SAFETY: the caller's arguments go to the function that was called.
        return unsafe { real(count, read, write, except, time, mask) };
    }
    // SAFETY: the caller passes null or the address of a `timespec`.
    only_sleeps([read, write, except], unsafe { time.as_ref() }.map(nanoseconds))
}
