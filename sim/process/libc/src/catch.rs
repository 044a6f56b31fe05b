//! System calls that do not go through libc: rustix's, a C library's own, an allocator's. The system is asked to send a
//! signal instead of carrying them out, and the signal's handler does what the function of libc would have done.
//!
//! What libc itself calls is carried out: whoever called libc's function was seen.

use crate::{
    baton::is_inside,
    calls::{
        files::machine::{FILES, OLDER_FILES},
        syscall::by_number,
    },
    system::{self, raw},
};
use libc::{
    BPF_ABS, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_RET_TRAP, c_int, c_long, c_void, sock_filter, ucontext_t,
};
use std::ops::Range;

/// Calls that are the world's, whatever their arguments.
const CAUGHT: &[c_long] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_close_range,
    libc::SYS_clone3,
    libc::SYS_connect,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpeername,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_inotify_init1,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_setup,
    libc::SYS_kill,
    libc::SYS_listen,
    libc::SYS_nanosleep,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_signalfd4,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_tgkill,
    libc::SYS_timerfd_create,
    libc::SYS_uname,
    libc::SYS_wait4,
    libc::SYS_waitid,
];

/// The same, of which ARM64 has only the newer ones.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_fork,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_time,
    libc::SYS_vfork,
];
#[cfg(target_arch = "aarch64")]
const OLDER: &[c_long] = &[];

/// Calls that are the world's for simulated descriptors.
const CAUGHT_FOR_OURS: &[c_long] = &[
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Where libc's own code lies.
pub fn code_of_libc() -> Option<Range<u64>> {
    let inside = system::somewhere_in_libc();
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let ranges = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        rest.starts_with("r-x").then_some(number(from)?..number(to)?)
    });
    let found = ranges.into_iter().find(|range| range.contains(&inside))?;
    // The filter compares halves of addresses.
    (found.start >> 32 == found.end >> 32).then_some(found)
}

/// The offsets of what the filter looks at, in `struct seccomp_data`.
mod at {
    pub const NUMBER: u32 = 0;
    pub const ARCHITECTURE: u32 = 4;
    pub const CALLER: u32 = 8;
    pub const FIRST_ARGUMENT: u32 = 16;
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The length of libc's `syscall`, in bytes, at most.
const SYSCALL: u32 = 64;

fn filter(libc: &Range<u64>, files: bool) -> Vec<sock_filter> {
    let one = |code: u32, k, jt, jf| sock_filter { code: code as u16, jt, jf, k };
    let load = |at| one(BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
    let end = |with| one(BPF_RET | BPF_K, with, 0, 0);
    // If it is so, on with the next; else over so many.
    let equal = |value, over| one(BPF_JMP | BPF_JEQ | BPF_K, value, 0, over);
    let at_least = |value, over| one(BPF_JMP | BPF_JGE | BPF_K, value, 0, over);
    let below = |value, over| one(BPF_JMP | BPF_JGE | BPF_K, value, over, 0);
    let mut program = vec![
        load(at::ARCHITECTURE),
        one(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        end(SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ];
    if files {
        // This crate's own calls come through libc's `syscall`.
        let own = system::somewhere_in_libc() as u32;
        let check = [
            load(at::CALLER + 4),
            equal((libc.start >> 32) as u32, 4),
            load(at::CALLER),
            at_least(own, 2),
            below(own + SYSCALL, 1),
            end(SECCOMP_RET_ALLOW),
            end(SECCOMP_RET_TRAP),
        ];
        program.push(load(at::NUMBER));
        // What is called most is none of them.
        let most = [libc::SYS_futex, libc::SYS_read, libc::SYS_write];
        let files = (FILES.len() + OLDER_FILES.len()) * (check.len() + 1);
        for (place, number) in most.into_iter().enumerate() {
            let over = files + 2 * (most.len() - place - 1);
            program.push(equal(number as u32, 1));
            program.push(one(BPF_JMP | BPF_JA, over as u32, 0, 0));
        }
        for number in FILES.iter().chain(OLDER_FILES) {
            program.push(equal(*number as u32, check.len() as u8));
            program.extend(check);
        }
    }
    program.extend([
        load(at::CALLER + 4),
        equal((libc.start >> 32) as u32, 4),
        load(at::CALLER),
        at_least(libc.start as u32, 2),
        below(libc.end as u32, 1),
        end(SECCOMP_RET_ALLOW),
        load(at::NUMBER),
    ]);
    for number in CAUGHT.iter().chain(OLDER) {
        program.extend([equal(*number as u32, 1), end(SECCOMP_RET_TRAP)]);
    }
    for number in CAUGHT_FOR_OURS {
        let first = crate::kernel::FIRST as u32;
        let ours = [load(at::FIRST_ARGUMENT), at_least(first, 1), end(SECCOMP_RET_TRAP), end(SECCOMP_RET_ALLOW)];
        program.push(equal(*number as u32, ours.len() as u8));
        program.extend(ours);
    }
    program.push(end(SECCOMP_RET_ALLOW));
    program
}

/// From now on, the calling process's system calls are caught; false if the system does not permit that.
pub fn install(libc: &Range<u64>, files: bool) -> bool {
    let mut program = filter(libc, files);
    let list = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: a handler of the type that the flags ask for; a program that lives as long as it is read.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = caught as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        // Whatever the handler calls may be caught again.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &list) == 0
    }
}

/// Does what the call was meant to do, in the world.
extern "C" fn caught(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes the state of the interrupted thread, which this handler alone may change.
    let registers = unsafe { registers(&mut *context.cast::<ucontext_t>()) };
    let (number, arguments) = registers.call();
    let before = system::errno();
    let result = match is_inside() {
        // SAFETY: the arguments that were meant for the system call.
        true => unsafe { by_number(number, arguments) },
        // SAFETY: as above; libc's `syscall` is not caught.
        false => unsafe { raw(number, arguments) },
    };
    // A system call returns its error's number, below zero.
    registers.set_result(if result == -1 { -c_long::from(system::errno()) } else { result });
    system::set_errno(before);
}

#[cfg(target_arch = "x86_64")]
struct Registers<'a>(&'a mut [i64; 23]);

#[cfg(target_arch = "x86_64")]
fn registers(context: &mut ucontext_t) -> Registers<'_> {
    Registers(&mut context.uc_mcontext.gregs)
}

#[cfg(target_arch = "x86_64")]
impl Registers<'_> {
    fn call(&self) -> (c_long, [usize; 6]) {
        let of = |register: c_int| self.0[register as usize];
        let order = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9];
        (of(libc::REG_RAX), order.map(|register| of(register) as usize))
    }

    fn set_result(self, result: c_long) {
        self.0[libc::REG_RAX as usize] = result;
    }
}

#[cfg(target_arch = "aarch64")]
struct Registers<'a>(&'a mut [u64; 31]);

#[cfg(target_arch = "aarch64")]
fn registers(context: &mut ucontext_t) -> Registers<'_> {
    Registers(&mut context.uc_mcontext.regs)
}

#[cfg(target_arch = "aarch64")]
impl Registers<'_> {
    fn call(&self) -> (c_long, [usize; 6]) {
        (self.0[8] as c_long, std::array::from_fn(|at| self.0[at] as usize))
    }

    fn set_result(self, result: c_long) {
        self.0[0] = result as u64;
    }
}
