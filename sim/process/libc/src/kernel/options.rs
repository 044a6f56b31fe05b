//! Options of sockets: a few mean something, the others are kept and read back.

use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub struct Options {
    pub reuse_address: bool,
    pub reuse_port: bool,
    /// `SO_LINGER` with no time.
    pub reset_on_close: bool,
    /// In nanoseconds.
    pub receive_timeout: Option<u64>,
    pub send_timeout: Option<u64>,
    /// Those that were set, by level and name.
    pub(super) numbers: BTreeMap<(i32, i32), i32>,
}

/// Until somebody sets them.
const DEFAULTS: [((i32, i32), i32); 7] = [
    ((libc::SOL_SOCKET, libc::SO_RCVBUF), 131_072),
    ((libc::SOL_SOCKET, libc::SO_SNDBUF), 131_072),
    ((libc::IPPROTO_IP, libc::IP_TTL), 64),
    ((libc::IPPROTO_TCP, libc::TCP_KEEPIDLE), 7_200),
    ((libc::IPPROTO_TCP, libc::TCP_KEEPINTVL), 75),
    ((libc::IPPROTO_TCP, libc::TCP_KEEPCNT), 9),
    ((libc::IPPROTO_TCP, libc::TCP_MAXSEG), 32_768),
];

impl Options {
    pub(super) fn is_only_v6(&self) -> bool {
        self.number((libc::IPPROTO_IPV6, libc::IPV6_V6ONLY)) != 0
    }

    pub(super) fn number(&self, option: (i32, i32)) -> i32 {
        let default = || DEFAULTS.iter().find(|(of, _)| *of == option).map_or(0, |(_, value)| *value);
        self.numbers.get(&option).copied().unwrap_or_else(default)
    }

    pub(super) fn set(&mut self, option: (i32, i32), value: i32) {
        match option {
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => self.reuse_address = value != 0,
            (libc::SOL_SOCKET, libc::SO_REUSEPORT) => self.reuse_port = value != 0,
            _ => {}
        }
        let value = match option {
            // The kernel counts its own bookkeeping in.
            (libc::SOL_SOCKET, libc::SO_RCVBUF | libc::SO_SNDBUF) => value.saturating_mul(2),
            _ => value,
        };
        self.numbers.insert(option, value);
    }
}
