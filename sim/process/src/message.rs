//! What a simulated process and its world say to each other.

use crate::wire::plain;
use std::net::Ipv4Addr;

/// The most bytes of a connection that wait at one end: those that the world has not credited to the sender yet, and
/// those that the receiver has not read yet. The world keeps to the second: it sends no more than what was consumed.
pub const ROOM: usize = 256 * 1024;

plain! {
    /// What a process is told before it runs.
    struct Start {
        /// Its host's name, too.
        name: String,
        pid: u32,
        ip: Ipv4Addr,
        /// What its entropy and the order of its threads are drawn from.
        seed: u64,
        /// How many processors it sees.
        cpus: u16,
        /// All of its environment.
        env: Vec<(String, String)>,
        /// The folder of the machine that is its disk; empty if its files are the machine's.
        disk: String,
        go: Go,
    }
}

plain! {
    /// The world's answer: the process runs again, and this is what has happened meanwhile.
    struct Go {
        /// What the process's monotonic clock shows, in nanoseconds. Never less than before.
        mono: u64,
        /// What its wall clock shows, in nanoseconds since 1970.
        wall: u64,
        /// Before the send of this number, counted from 1 since its start, and before every later one, it stops with
        /// [`Then::Send`]. `u64::MAX` is never, 0 is every send.
        stop_at: u64,
        /// Before its monotonic clock shows this, nothing of the world reaches it, and it matters to nobody when it
        /// waits: so it may let its own timers go off without asking. 0 if the world does not say.
        quiet_until: u64,
        events: Vec<Event>,
    }
}

plain! {
    /// What happened to a process. The process numbers the connections that it opens 0, 2, 4 …, the world those that
    /// the process accepts 1, 3, 5 …
    enum Event {
        1 Connected { conn: u32 },
        /// The connection could not be opened, or it was open and broke. Nothing follows for it.
        2 Broken { conn: u32, why: Broken },
        /// Somebody connected to a port on which the process listens.
        3 Accepted {
            conn: u32,
            /// The address and port that were asked for.
            at: Ipv4Addr,
            port: u16,
            from: Ipv4Addr,
            from_port: u16,
        },
        4 Bytes { conn: u32, bytes: Vec<u8> },
        /// So many more of the bytes that the process has sent are under way: it may send as many again.
        5 Credit { conn: u32, bytes: u64 },
        /// The other end will send nothing more.
        6 Eof { conn: u32 },
        /// The answer to [`Op::Resolve`]; no address if no host has that name.
        7 Resolved { query: u32, ips: Vec<Ipv4Addr> },
        /// The answer to [`Op::Sync`]: 0, or the number of the error.
        8 Synced { sync: u32, error: i32 },
    }
}

plain! {
    /// Why there is no connection (any more).
    enum Broken {
        1 Refused,
        2 Reset,
        /// Nothing came for too long, as keep-alive or the world judges.
        3 TimedOut,
        4 HostUnreachable,
        5 NetUnreachable,
    }
}

plain! {
    /// What a process did until it could do nothing more.
    struct Turn {
        /// What its monotonic clock shows: more than it was told, if the world was quiet until then.
        mono: u64,
        ops: Vec<Op>,
        then: Then,
    }
}

plain! {
    /// What a process did. All of it happens at the turn's instant, in this order.
    enum Op {
        /// At this address of its own; `0.0.0.0` is each.
        1 Listen { at: Ipv4Addr, port: u16 },
        2 Unlisten { at: Ipv4Addr, port: u16 },
        3 Connect { conn: u32, from_port: u16, to: Ipv4Addr, port: u16 },
        4 Send { conn: u32, bytes: Vec<u8> },
        /// It has read so many bytes: as many more may come.
        5 Consumed { conn: u32, bytes: u64 },
        /// It will send nothing more.
        6 Shutdown { conn: u32 },
        /// Nothing follows for this connection, from either side. With `reset`, the other end finds it broken: bytes
        /// were unread, or the process wished so (`SO_LINGER`).
        7 Close { conn: u32, reset: bool },
        /// Keep-alive as `SO_KEEPALIVE` has it; 0 probes are none.
        8 KeepAlive { conn: u32, idle_s: u32, interval_s: u32, probes: u32 },
        9 Resolve { query: u32, name: String },
        /// Written to standard output (1) or standard error (2).
        10 Say { descriptor: u8, bytes: Vec<u8> },
        /// It called what is not simulated; once for each sentence.
        11 Refused { call: String, sentence: String },
        /// `TCP_USER_TIMEOUT`: how long sent bytes may wait for their acknowledgement; 0 is the system's own way.
        12 UserTimeout { conn: u32, milliseconds: u32 },
        /// `fsync` of this descriptor of its own: what the file or folder has now is to survive a power loss; of a file,
        /// what lies between these places, in bytes.
        13 Sync { sync: u32, descriptor: i32, from: u64, to: u64 },
        /// The file with this number on the machine was longer, and has this length now, in bytes.
        14 Cut { file: u64, length: u64 },
        /// The file with this number on the machine had the first name, and has the second one now, each in a folder by its
        /// number.
        15 Moved { file: u64, from_folder: u64, from: String, to_folder: u64, to: String },
    }
}

plain! {
    /// Why a process stopped.
    enum Then {
        /// No thread can run until an event comes, or the monotonic clock shows `until`, or the wall clock is stepped.
        1 Wait { until: Option<u64> },
        /// It is about to send for the `number`th time since its start. The answer lets it.
        2 Send {
            number: u64,
            conn: u32,
            /// How many bytes it wants to send.
            length: u64,
            /// The first 512 of them.
            head: Vec<u8>,
        },
        /// It ended; it gets no answer.
        3 Exit { code: i32 },
        /// It ended without a word, by a signal: a crash, or somebody's kill. The world finds this out by itself.
        4 Died { signal: i32 },
    }
}
