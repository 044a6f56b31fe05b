//! What the calls have in common: answers, times, descriptors, waiting.

pub mod address;

use crate::{
    baton::{inside, wait},
    kernel::{
        FIRST, Kernel, Kind,
        threads::{On, Until},
    },
    system::set_errno,
};
use libc::{c_int, timespec};

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
