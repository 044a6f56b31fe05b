//! How many descriptors may be open.

/// As many as a login usually has, in each process.
const DESCRIPTORS: libc::rlim_t = 1024;

fn set(to: impl FnOnce(&libc::rlimit) -> libc::rlim_t) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for a limit, and a limit.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = to(&limit);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// The same in every simulated process, whatever this machine's is.
pub fn lower() {
    set(|limit| DESCRIPTORS.min(limit.rlim_max));
}

/// Lets this process, which is the world's, hold as many files of its processes' disks as the system permits.
pub fn raise() {
    set(|limit| limit.rlim_max);
}
