//! This program before its `main`, if the environment says so: a copy of it becomes each simulated process.

use crate::{
    baton,
    calls::identity::say_goodbye,
    catch, entry,
    kernel::{Kernel, Link},
    limits, processor,
    system::{self, real},
    vdso,
};
use fencepost_process::{Ended, Hello, Order, Plain, Reply, Start, Then, VARIABLE, receive, send};
use libc::{c_char, c_int, c_void};
use std::{
    ffi::CString,
    fs::File,
    io::{self, Write},
    ops::Range,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    ptr,
};

/// The machine's descriptors that this crate itself needs are out of the program's way.
const OUT_OF_THE_WAY: libc::rlim_t = 900;

type CMain = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The C library begins here. All constructors have run when it calls `main`, and no other thread exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: CMain,
    count: c_int,
    arguments: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    loader: *mut c_void,
    stack: *mut c_void,
) -> c_int {
    type Begin = unsafe extern "C" fn(
        CMain,
        c_int,
        *mut *mut c_char,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int;
    let real: Begin = real!(fn __libc_start_main(
        CMain, c_int, *mut *mut c_char, *mut c_void, *mut c_void, *mut c_void, *mut c_void
    ) -> c_int);
    // SAFETY: the arguments of the function that was called; `zygote` has the type of a `main`.
    unsafe { real(if is_wanted() { zygote } else { main }, count, arguments, init, fini, loader, stack) }
}

fn is_wanted() -> bool {
    let Ok(name) = CString::new(VARIABLE) else { return false };
    // SAFETY: a C string; the environment does not change before `main`.
    !unsafe { libc::getenv(name.as_ptr()) }.is_null()
}

extern "C" fn zygote(_: c_int, arguments: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    same_addresses_each_time(arguments, environment);
    // A program in Rust ignores this signal from its beginning.
    // SAFETY: it sets what a signal does, and no thread exists yet that could care.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    match serve() {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("the program's copy that makes simulated processes fails: {why}");
            1
        }
    }
}

/// Executes the program once more without randomised addresses, if the system permits that.
fn same_addresses_each_time(arguments: *mut *mut c_char, environment: *mut *mut c_char) {
    let current = libc::c_ulong::from(u32::MAX);
    // SAFETY: numbers only; the first call changes nothing.
    let now = unsafe { libc::personality(current) };
    if now < 0 || now & libc::ADDR_NO_RANDOMIZE != 0 {
        return;
    }
    let wanted = (now | libc::ADDR_NO_RANDOMIZE).cast_unsigned() as libc::c_ulong;
    // SAFETY: a number only.
    if unsafe { libc::personality(wanted) } < 0 {
        return;
    }
    let real = real!(fn execve(*const c_char, *mut *mut c_char, *mut *mut c_char) -> c_int);
    // SAFETY: the lists are those that this program was given. If it returns, addresses stay random.
    unsafe { real(c"/proc/self/exe".as_ptr(), arguments, environment) };
}

/// Does what it is told until nobody is left to tell it anything.
fn serve() -> io::Result<()> {
    limits::lower();
    // What others left open would give the files of a process other numbers.
    // SAFETY: nothing but the standard descriptors is in use yet.
    unsafe { system::raw(libc::SYS_close_range, [3, c_int::MAX as usize, 0, 0, 0, 0]) };
    let mut world = UnixStream::from(take_over(0)?);
    let libc = catch::code_of_libc();
    if let Err(why) = vdso::asks_the_system() {
        eprintln!(
            "the kernel's vDSO cannot be changed ({why}): a library that reads the time there, such as rustix, sees real time"
        );
    }
    // Nothing is allocated from here on: in every process, memory looks as it does in the first one.
    let (mut sent, mut buffer) = (Vec::with_capacity(4096), Vec::new());
    send(&Hello { running_at: baton::RUNNING.as_ptr().addr() as u64 }, &mut world, &mut sent)?;
    while let Ok(bytes) = receive(&mut world, &mut buffer) {
        let order = Order::of(bytes).map_err(io::Error::other)?;
        let reply = match order {
            Order::Fork { main, world: of, thread, reads, writes } => {
                fork(main, (of, thread), (reads, writes), &world, libc.as_ref())
            }
            Order::Kill { pid } => kill(pid),
        };
        let reply = reply.unwrap_or_else(|e| Reply::Failed { errno: e.raw_os_error().unwrap_or(libc::EIO) });
        send(&reply, &mut world, &mut sent)?;
    }
    // With this process, those that it made end.
    Ok(())
}

/// The descriptor, moved out of the way; `/dev/null` takes its place.
fn take_over(descriptor: c_int) -> io::Result<OwnedFd> {
    let moved = out_of_the_way(descriptor)?;
    // SAFETY: a path that is a C string; the descriptor that `dup2` replaces is only known by its number.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if null < 0 || libc::dup2(null, descriptor) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::close(null);
    }
    Ok(moved)
}

fn out_of_the_way(descriptor: c_int) -> io::Result<OwnedFd> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for a limit; numbers only.
    let moved = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, (limit.rlim_cur / 2).min(OUT_OF_THE_WAY) as c_int)
    };
    if moved < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nobody else has its number.
    Ok(unsafe { OwnedFd::from_raw_fd(moved) })
}

/// Opens a descriptor of the world's process.
fn open_of(process: u32, descriptor: u32, flags: c_int) -> io::Result<File> {
    let mut path = [0; 64];
    write!(&mut path[..63], "/proc/{process}/fd/{descriptor}")?;
    // SAFETY: the path ends with a zero.
    let opened = unsafe { libc::open(path.as_ptr().cast(), flags | libc::O_CLOEXEC) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nobody else has its number.
    let opened = unsafe { OwnedFd::from_raw_fd(opened) };
    Ok(out_of_the_way(opened.as_raw_fd())?.into())
}

fn fork(
    main: u64,
    (of, thread): (u32, u32),
    (reads, writes): (u32, u32),
    world: &UnixStream,
    libc: Option<&Range<u64>>,
) -> io::Result<Reply> {
    let link = Link { from: open_of(of, reads, libc::O_RDONLY)?, to: open_of(of, writes, libc::O_WRONLY)? };
    // SAFETY: this process has one thread, so everything is as good in the copy as here.
    match unsafe { real!(fn fork() -> libc::pid_t)() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: a number only; the copy of `world` is never used again, as `become_process` does not return.
            unsafe {
                libc::close(world.as_raw_fd());
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            }
            if thread != 0 {
                processor::follow(thread);
            }
            become_process(main, link, libc)
        }
        pid => Ok(Reply::Forked { pid: pid.cast_unsigned() }),
    }
}

fn kill(pid: u32) -> io::Result<Reply> {
    let (pid, mut status) = (pid.cast_signed(), 0);
    // SAFETY: a process that was started here and not waited for yet, so the number is still its own.
    unsafe {
        real!(fn kill(libc::pid_t, c_int) -> c_int)(pid, libc::SIGKILL);
        if libc::waitpid(pid, &mut status, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Reply::Ended {
        how: match libc::WIFSIGNALED(status) {
            true => Ended::Signal { number: libc::WTERMSIG(status) },
            false => Ended::Exit { code: libc::WEXITSTATUS(status) },
        },
    })
}

/// This copy is a simulated process from now on: it waits to be told which, and runs the function.
fn become_process(main: u64, mut link: Link, libc: Option<&Range<u64>>) -> ! {
    let mut buffer = Vec::new();
    let start = match receive(&mut link.from, &mut buffer).map(Start::of) {
        Ok(Ok(start)) => start,
        Ok(Err(why)) => {
            eprintln!("a process cannot start: {why}");
            system::leave(127)
        }
        // It was thrown away before it began.
        Err(_) => system::leave(0),
    };
    set_environment(&start.env);
    // SAFETY: the world's side made this number in the same program, with `main_of`.
    let function = unsafe { entry::function_at(main) };
    // SAFETY: `on_exit` keeps the function, which has the type that it wants, until the process ends.
    unsafe { on_exit(last, ptr::null_mut()) };
    // SAFETY: a number only.
    unsafe { libc::umask(0o022) };
    let has_disk = !start.disk.is_empty();
    let kernel = Kernel::new(link, start);
    // Where the system does not permit it, what does not go through libc is not seen.
    let caught = libc.is_some_and(|libc| catch::install(libc, has_disk));
    if has_disk && !caught {
        system::die(b"fencepost-libc", b": files are not simulated: this system permits no seccomp filter\n");
    }
    baton::begin(kernel);
    let code = function();
    // SAFETY: what `exit` does to a program that is at its end is what the program expects.
    unsafe { libc::exit(code) }
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// What was registered first is called last: the program's own destructors have run.
extern "C" fn last(code: c_int, _: *mut c_void) {
    say_goodbye(Then::Exit { code: code & 0xff });
}

fn set_environment(variables: &[(String, String)]) {
    // SAFETY: no other thread exists that could read it.
    unsafe { libc::clearenv() };
    for (name, value) in variables {
        // SAFETY: as above.
        unsafe { std::env::set_var(name, value) };
    }
}
