//! What is refused: the sentence reaches the world, the call fails as the table says, and the book has the same table.

use crate::{
    disk::Disk,
    suite::unseen,
    world::{SECOND, World},
};
use fencepost_libc::{
    main_of,
    table::{self, REFUSED, SIMULATED},
};
use libc::{c_int, c_void};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    ptr::null_mut,
};

/// Calls a function of libc by its name, with zeros.
fn call(name: &str) -> i64 {
    type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize) -> i64;
    // As `dlsym` sees only what a program exports, each has its address here.
    macro_rules! addresses {
        ($($function:ident)*) => {{
            unsafe extern "C" { $(fn $function();)* }
            [$((stringify!($function), $function as *const ())),*]
        }};
    }
    let all = addresses! {
        fork vfork _Fork posix_spawn posix_spawnp system popen daemon execve execv execvp execvpe fexecve wait waitpid
        waitid wait3 wait4 kill killpg raise tgkill sigqueue pthread_kill pthread_sigqueue pthread_cancel alarm ualarm
        setitimer timer_create signalfd timerfd_create pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np
        inotify_init inotify_init1 fanotify_init sendmmsg recvmmsg gethostbyname gethostbyname2 gethostbyname_r
        gethostbyname2_r gethostbyaddr getifaddrs close_range closefrom
    };
    let (_, address) = all.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("call {name}, too"));
    // SAFETY: in a simulated process, none of these looks at its arguments.
    unsafe { std::mem::transmute::<*const (), Function>(*address)(0, 0, 0, 0, 0, 0, 0) }
}

/// One use of a call that is simulated else.
fn use_of(what: &str) -> i64 {
    // SAFETY: numbers.
    let socket = |domain, kind| i64::from(unsafe { libc::socket(domain, kind, 0) });
    let tcp = || socket(libc::AF_INET, libc::SOCK_STREAM) as c_int;
    // SAFETY: numbers, or addresses of what is asked for.
    unsafe {
        match what {
            "connect(an IPv6 address)" => {
                let mut to: libc::sockaddr_in6 = std::mem::zeroed();
                (to.sin6_family, to.sin6_addr.s6_addr[0]) = (libc::AF_INET6 as _, 0x20);
                let socket = socket(libc::AF_INET6, libc::SOCK_STREAM) as c_int;
                libc::connect(socket, (&raw const to).cast(), size_of_val(&to) as u32).into()
            }
            "socket(SOCK_DGRAM)" => socket(libc::AF_INET, libc::SOCK_DGRAM),
            "socket(AF_UNIX)" => socket(libc::AF_UNIX, libc::SOCK_STREAM),
            "socket(another family)" => socket(libc::AF_NETLINK, libc::SOCK_RAW),
            "socketpair(another family)" => {
                libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, [0; 2].as_mut_ptr()).into()
            }
            "sendmsg(control data)" => {
                let mut message: libc::msghdr = std::mem::zeroed();
                (message.msg_control, message.msg_controllen) = (null_mut::<c_void>(), 16);
                libc::sendmsg(tcp(), &message, 0) as i64
            }
            "send(MSG_OOB)" => libc::send(tcp(), [1u8].as_ptr().cast(), 1, libc::MSG_OOB) as i64,
            "recv(MSG_OOB)" => libc::recv(tcp(), [1u8].as_mut_ptr().cast(), 1, libc::MSG_OOB) as i64,
            "dup2(to a descriptor of the machine)" => libc::dup2(tcp(), 5).into(),
            "epoll_ctl(a descriptor of the machine)" => {
                let (epoll, mut event) = (libc::epoll_create1(0), libc::epoll_event { events: 1, u64: 0 });
                libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, 0, &mut event).into()
            }
            "select(descriptors)" => {
                let mut set: libc::fd_set = std::mem::zeroed();
                libc::select(1, &mut set, null_mut(), null_mut(), null_mut()).into()
            }
            "sendfile" => libc::sendfile(tcp(), 0, null_mut(), 1) as i64,
            "sendfile64" => libc::sendfile64(tcp(), 0, null_mut(), 1) as i64,
            "splice" => libc::splice(tcp(), null_mut(), 1, null_mut(), 1, 0) as i64,
            "futex(another operation)" => libc::syscall(libc::SYS_futex, &0u32, libc::FUTEX_LOCK_PI, 0, 0, 0, 0),
            "syscall(another number)" => match unseen::call(libc::SYS_io_uring_setup, [1, 0, 0, 0]) as i64 {
                // By hand, and through libc.
                error if error == -i64::from(libc::ENOSYS) => libc::syscall(libc::SYS_io_uring_setup, 1, 0),
                other => other,
            },
            "openat(a file of the machine, to change it)" => libc::open(c"/etc/passwd".as_ptr(), libc::O_RDWR).into(),
            "openat(a path that is not UTF-8)" => libc::mkdir(c"/tmp/\xff".as_ptr(), 0o700).into(),
            "openat(O_SYNC)" => {
                libc::open(c"/tmp/a".as_ptr(), libc::O_CREAT | libc::O_WRONLY | libc::O_SYNC, 0o600).into()
            }
            "mknodat(a special file)" => libc::mkfifo(c"/tmp/fifo".as_ptr(), 0o600).into(),
            "setxattr(anything)" => {
                libc::setxattr(c"/tmp".as_ptr(), c"user.a".as_ptr(), [1u8].as_ptr().cast(), 1, 0).into()
            }
            name => call(name),
        }
    }
}

fn tries() {
    let what = std::env::var("CALL").unwrap();
    let result = use_of(&what);
    let error = std::io::Error::last_os_error().raw_os_error().unwrap();
    // Some return the error's number, some null, some -1.
    let number = if (1..4096).contains(&(result as c_int)) { result as c_int } else { error };
    println!("{number}");
}

#[test]
fn each_refusal_is_one_sentence_that_names_the_call() {
    for (error, why, calls) in REFUSED {
        for call in *calls {
            let (mut world, disk) = (World::new(1), Disk::new());
            disk.path().clone_into(&mut world.disk);
            world.env.push(("CALL".to_owned(), (*call).to_owned()));
            world.process("p", main_of(tries)).run_until(SECOND).unwrap();
            assert_eq!(world.said("p"), error.to_string(), "{call}: {:?}", world.log);
            let told = world.log.iter().find_map(|line| line.split_once("p? ")).map(|(_, sentence)| sentence);
            let named = if *call == "syscall(another number)" { "syscall(425)" } else { call };
            assert_eq!(told, Some(&*format!("{named}: {why}")), "{:?}", world.log);
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("three folders up").to_owned()
}

/// The functions that the crate defines, as its source has them.
fn defined() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/calls")).unwrap() {
        let path = file.unwrap().path();
        // Below are system calls, which have a list of their own.
        let Some(text) = path.is_file().then(|| std::fs::read_to_string(path).unwrap()) else { continue };
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        found.extend(text.split("extern \"C\" fn ").skip(1).map(word).filter(|name| !name.is_empty()));
        for block in ["refused! {", "between! {"] {
            let rows =
                text.split_once(&format!("\n{block}\n")).map_or("", |(_, rest)| rest.split("\n}").next().unwrap());
            found.extend(rows.lines().map(|row| word(row.trim())).filter(|name| !name.is_empty()));
        }
        let masks = text.split_once("\nmasks! { ").map_or("", |(_, rest)| rest.split('}').next().unwrap());
        found.extend(masks.split_whitespace().map(str::to_owned));
        for invoked in ["\nopen!(", "\nrwlock!("] {
            for (_, rest) in text.match_indices(invoked).map(|(at, _)| text.split_at(at + invoked.len())) {
                let names = rest.split(')').next().unwrap().split(',').map(|name| name.trim().to_owned());
                // What a lock tries itself is libc's.
                found.extend(names.filter(|name| !name.contains("_try")));
            }
        }
    }
    found
}

#[test]
fn the_table_has_what_the_code_has() {
    let refused = REFUSED.iter().flat_map(|(.., calls)| *calls).filter(|call| !call.contains('('));
    let all = SIMULATED.iter().flat_map(|(_, calls)| *calls).chain(refused);
    let table: BTreeSet<String> = all.map(|call| (*call).to_owned()).collect();
    let defined = defined();
    assert!(defined.len() > 100, "{defined:?}");
    assert_eq!(&defined - &table, BTreeSet::new(), "is in no row of the table");
    assert_eq!(&table - &defined, BTreeSet::new(), "is in the table only");
}

/// Also the system calls on files: the filter catches those that the table names.
#[test]
fn the_table_has_the_calls_on_files() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/calls/files/machine.rs")).unwrap();
    let lists = text.split("FILES: &[c_long] = &[").skip(1).map(|list| list.split(']').next().unwrap());
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let caught: BTreeSet<String> =
        lists.flat_map(|list| list.split("SYS_").skip(1)).map(word).map(|name| name.to_lowercase()).collect();
    let table: BTreeSet<String> = table::FILES.iter().map(|name| (*name).to_owned()).collect();
    assert!(caught.len() > 40, "{caught:?}");
    assert_eq!(caught, table);
}

#[test]
fn the_book_says_how_many_programs_both_worlds_run() {
    let text = std::fs::read_to_string(repository().join("docs/processes.md")).expect("docs/processes.md");
    let says = format!("runs each of {} small programs", crate::suite::cases().len());
    assert!(text.contains(&says), "it does not say that it {says}");
}

#[test]
fn the_book_has_the_table() {
    let (begin, end) = ("<!-- calls -->\n", "<!-- end of calls -->\n");
    let file = repository().join("docs/processes.md");
    let text = std::fs::read_to_string(&file).expect("docs/processes.md");
    let (before, rest) = text.split_once(begin).expect("where the table begins");
    let (_, after) = rest.split_once(end).expect("where the table ends");
    let now = format!("{before}{begin}{}{end}{after}", table::as_markdown());
    if std::env::var_os("FENCEPOST_UPDATE").is_some_and(|v| v == "1") {
        std::fs::write(&file, &now).unwrap();
    }
    assert!(text == now || std::fs::read_to_string(&file).unwrap() == now, "FENCEPOST_UPDATE=1 writes the table anew");
}
