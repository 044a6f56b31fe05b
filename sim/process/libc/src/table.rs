//! Every call that this crate defines: simulated, or refused with which sentence. The code takes its sentences from here,
//! and so does the table in `docs/processes.md`.

/// What is simulated, by subject.
pub const SIMULATED: &[(&str, &[&str])] = &[
    (
        "clocks and sleeps",
        &[
            "clock",
            "clock_gettime",
            "clock_nanosleep",
            "getrusage",
            "gettimeofday",
            "nanosleep",
            "sched_yield",
            "sleep",
            "time",
            "usleep",
        ],
    ),
    ("entropy", &["arc4random", "arc4random_buf", "arc4random_uniform", "getentropy", "getrandom"]),
    ("who and where", &["getpid", "getppid", "gettid", "gethostname", "uname", "sched_getaffinity", "sysconf"]),
    ("names", &["getaddrinfo", "freeaddrinfo"]),
    (
        "sockets",
        &[
            "accept",
            "accept4",
            "bind",
            "connect",
            "getpeername",
            "getsockname",
            "getsockopt",
            "listen",
            "setsockopt",
            "shutdown",
            "socket",
            "socketpair",
        ],
    ),
    (
        "descriptors",
        &[
            "close", "dup", "dup2", "dup3", "eventfd", "fcntl", "fcntl64", "ioctl", "isatty", "open", "open64",
            "openat", "openat64", "pipe", "pipe2",
        ],
    ),
    ("bytes", &["read", "readv", "recv", "recvfrom", "recvmsg", "send", "sendmsg", "sendto", "write", "writev"]),
    (
        "readiness",
        &[
            "epoll_create",
            "epoll_create1",
            "epoll_ctl",
            "epoll_pwait",
            "epoll_pwait2",
            "epoll_wait",
            "poll",
            "ppoll",
            "pselect",
            "select",
        ],
    ),
    ("threads", &["pthread_create", "pthread_detach", "pthread_join", "syscall"]),
    (
        "glibc's locks",
        &[
            "pthread_barrier_init",
            "pthread_barrier_wait",
            "pthread_cond_broadcast",
            "pthread_cond_clockwait",
            "pthread_cond_init",
            "pthread_cond_signal",
            "pthread_cond_timedwait",
            "pthread_cond_wait",
            "pthread_mutex_clocklock",
            "pthread_mutex_lock",
            "pthread_mutex_timedlock",
            "pthread_mutex_unlock",
            "pthread_once",
            "pthread_rwlock_clockrdlock",
            "pthread_rwlock_clockwrlock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_timedrdlock",
            "pthread_rwlock_timedwrlock",
            "pthread_rwlock_unlock",
            "pthread_rwlock_wrlock",
            "sem_clockwait",
            "sem_post",
            "sem_timedwait",
            "sem_wait",
        ],
    ),
    (
        "signals, which never come",
        &["pause", "sigsuspend", "sigtimedwait", "pthread_sigmask", "sigprocmask", "sigwait", "sigwaitinfo"],
    ),
    ("the end", &["_Exit", "_exit", "abort"]),
];

/// System calls on files, which are simulated whoever makes them: the program, or one of libc's functions for it.
pub const FILES: &[&str] = &[
    "fchmodat2",
    "setxattrat",
    "removexattrat",
    "chdir",
    "chroot",
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "fdatasync",
    "flock",
    "faccessat",
    "faccessat2",
    "fallocate",
    "fremovexattr",
    "fsetxattr",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "getcwd",
    "getdents64",
    "getxattr",
    "lgetxattr",
    "linkat",
    "listxattr",
    "llistxattr",
    "lremovexattr",
    "lsetxattr",
    "mkdirat",
    "mknodat",
    "msync",
    "newfstatat",
    "openat",
    "openat2",
    "readlinkat",
    "removexattr",
    "renameat",
    "renameat2",
    "setxattr",
    "statfs",
    "statx",
    "symlinkat",
    "sync",
    "syncfs",
    "truncate",
    "unlinkat",
    "utimensat",
    "access",
    "chmod",
    "chown",
    "creat",
    "futimesat",
    "getdents",
    "lchown",
    "link",
    "lstat",
    "mkdir",
    "mknod",
    "open",
    "readlink",
    "rename",
    "rmdir",
    "stat",
    "symlink",
    "unlink",
    "utime",
    "utimes",
];

/// Calls that are refused: an error number, why, and the calls. `name(…)` is one use of a call that is simulated else.
pub const REFUSED: &[(i32, &str, &[&str])] = &[
    (
        libc::ENOSYS,
        "a simulated process cannot start another one; give the other one a name in the world",
        &["fork", "vfork", "_Fork", "posix_spawn", "posix_spawnp", "system", "popen", "daemon"],
    ),
    (
        libc::ENOSYS,
        "a simulated process cannot become another program",
        &["execve", "execv", "execvp", "execvpe", "fexecve"],
    ),
    (libc::ECHILD, "a simulated process has no children to wait for", &["wait", "waitpid", "waitid", "wait3", "wait4"]),
    (
        libc::ENOSYS,
        "signals are not simulated; the world stops and kills processes itself",
        &[
            "kill",
            "killpg",
            "raise",
            "tgkill",
            "sigqueue",
            "pthread_kill",
            "pthread_sigqueue",
            "pthread_cancel",
            "alarm",
            "ualarm",
            "setitimer",
            "timer_create",
            "signalfd",
        ],
    ),
    (
        libc::ENOSYS,
        "a timer as a descriptor is not simulated; sleep, or give epoll_wait a timeout",
        &["timerfd_create"],
    ),
    (
        libc::ENOSYS,
        "joining a thread by a time is not simulated",
        &["pthread_tryjoin_np", "pthread_timedjoin_np", "pthread_clockjoin_np"],
    ),
    (
        libc::ENOSYS,
        "changes of files are not watched in the world",
        &["inotify_init", "inotify_init1", "fanotify_init"],
    ),
    (
        libc::ENOSYS,
        "several messages in one call are not simulated; use sendmsg and recvmsg",
        &["sendmmsg", "recvmmsg"],
    ),
    (
        libc::ENOSYS,
        "the old look-up of names is not simulated; use getaddrinfo",
        &["gethostbyname", "gethostbyname2", "gethostbyname_r", "gethostbyname2_r", "gethostbyaddr"],
    ),
    (
        libc::EROFS,
        "the machine's own files are only read; a process's own are on its disk",
        &["openat(a file of the machine, to change it)"],
    ),
    (libc::EILSEQ, "paths on a process's disk are UTF-8", &["openat(a path that is not UTF-8)"]),
    (libc::EINVAL, "each write as a sync of its own is not simulated; use fsync", &["openat(O_SYNC)"]),
    (libc::EPERM, "special files are not simulated", &["mknodat(a special file)"]),
    (libc::EOPNOTSUPP, "extended attributes are not simulated", &["setxattr(anything)"]),
    (libc::ENOSYS, "a host's network interfaces are not simulated; its address is that of its name", &["getifaddrs"]),
    (
        libc::ENOSYS,
        "all descriptors at once are not closed; close those that were opened",
        &["close_range", "closefrom"],
    ),
    (
        libc::EINVAL,
        "files and the network are not connected; use read and write",
        &["sendfile", "sendfile64", "splice"],
    ),
    (libc::ENETUNREACH, "hosts of the world have IPv4 addresses", &["connect(an IPv6 address)"]),
    (libc::EAFNOSUPPORT, "datagrams are not simulated, TCP is", &["socket(SOCK_DGRAM)"]),
    (
        libc::EAFNOSUPPORT,
        "Unix sockets are not simulated, except as a socketpair within a process",
        &["socket(AF_UNIX)"],
    ),
    (
        libc::EAFNOSUPPORT,
        "of all sockets, only TCP is simulated",
        &["socket(another family)", "socketpair(another family)"],
    ),
    (libc::EOPNOTSUPP, "ancillary data is not simulated", &["sendmsg(control data)"]),
    (libc::EOPNOTSUPP, "urgent data is not simulated", &["send(MSG_OOB)", "recv(MSG_OOB)"]),
    (
        libc::EBADF,
        "a simulated descriptor cannot take the place of the machine's",
        &["dup2(to a descriptor of the machine)"],
    ),
    (
        libc::EPERM,
        "this descriptor is the machine's: nothing in the world makes it ready",
        &["epoll_ctl(a descriptor of the machine)"],
    ),
    (libc::EINVAL, "simulated descriptors are too large for its sets; use poll", &["select(descriptors)"]),
    (libc::ENOSYS, "this operation on a futex is not simulated", &["futex(another operation)"]),
    (libc::ENOSYS, "this system call is not simulated", &["syscall(another number)"]),
];

/// What is refused of this name: the error number, and the sentence.
pub fn refusal(call: &str) -> (i32, String) {
    let row = REFUSED.iter().find(|(.., calls)| calls.contains(&call));
    row.map_or((libc::ENOSYS, format!("{call} is not simulated")), |(error, why, _)| (*error, format!("{call}: {why}")))
}

/// The table in the book.
pub fn as_markdown() -> String {
    let mut text = "| simulated | calls |\n|---|---|\n".to_owned();
    let list = |calls: &[&str]| calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
    for (subject, calls) in SIMULATED {
        text += &format!("| {subject} | {} |\n", list(calls));
    }
    text += &format!("| files | {} |\n", list(FILES));
    text += "\n| refused | fails with | because |\n|---|---|---|\n";
    for (error, why, calls) in REFUSED {
        text += &format!("| {} | {} | {why} |\n", list(calls), name(*error));
    }
    text
}

/// An error number's name.
pub fn name(error: i32) -> &'static str {
    match error {
        libc::ENOSYS => "ENOSYS",
        libc::ECHILD => "ECHILD",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EBADF => "EBADF",
        libc::ENETUNREACH => "ENETUNREACH",
        libc::EPERM => "EPERM",
        libc::EROFS => "EROFS",
        libc::EILSEQ => "EILSEQ",
        libc::EINVAL => "EINVAL",
        _ => "another error",
    }
}
