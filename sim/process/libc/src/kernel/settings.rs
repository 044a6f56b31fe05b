//! Options as `setsockopt` and `getsockopt` have them, and what the world is told of them.

use super::{
    Kernel, Kind,
    local::End,
    socket::{Socket, State},
};
use fencepost_process::Op;

/// A time as `struct timeval`.
fn nanoseconds(time: &[u8]) -> Result<Option<u64>, i32> {
    let word = |at: usize| time.get(at..at + 8).and_then(|eight| Some(i64::from_ne_bytes(eight.try_into().ok()?)));
    let (seconds, micros) = word(0).zip(word(8)).ok_or(libc::EINVAL)?;
    if !(0..1_000_000).contains(&micros) {
        return Err(libc::EDOM);
    }
    let time = (seconds.max(0) as u64).saturating_mul(1_000_000_000) + micros as u64 * 1_000;
    Ok((time > 0).then_some(time))
}

fn timeval(time: Option<u64>) -> Vec<u8> {
    let time = time.unwrap_or(0);
    [(time / 1_000_000_000).to_ne_bytes(), (time % 1_000_000_000 / 1_000).to_ne_bytes()].concat()
}

impl Kernel {
    /// # Errors
    /// `EINVAL`, `EDOM`, `ENOTSOCK`.
    pub fn set_option(&mut self, object: usize, level: i32, name: i32, value: &[u8]) -> Result<(), i32> {
        if matches!(&self.object(object).kind, Kind::Local(local) if local.end == End::Pair) {
            return Ok(());
        }
        let options = &mut self.socket(object)?.options;
        let number = || value.first_chunk().map(|four| i32::from_ne_bytes(*four)).ok_or(libc::EINVAL);
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => options.receive_timeout = nanoseconds(value)?,
            (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => options.send_timeout = nanoseconds(value)?,
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let after = value.get(4..8).map(|four| four.iter().any(|byte| *byte != 0)).ok_or(libc::EINVAL)?;
                options.reset_on_close = number()? != 0 && !after;
            }
            _ => options.set((level, name), number()?),
        }
        let told = [
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
        ];
        if told.contains(&(level, name)) {
            self.tell_options(object);
        }
        Ok(())
    }

    /// # Errors
    /// `ENOTSOCK`.
    pub fn option(&mut self, object: usize, level: i32, name: i32) -> Result<Vec<u8>, i32> {
        let number = |value: i32| value.to_ne_bytes().to_vec();
        if let Kind::Local(local) = &mut self.object_mut(object).kind {
            return match (local.end, level, name) {
                (End::Pair, libc::SOL_SOCKET, libc::SO_ERROR) => Ok(number(local.take_error())),
                (End::Pair, libc::SOL_SOCKET, libc::SO_TYPE) => Ok(number(libc::SOCK_STREAM)),
                (End::Pair, libc::SOL_SOCKET, libc::SO_DOMAIN) => Ok(number(libc::AF_UNIX)),
                (End::Pair, ..) => Ok(number(0)),
                _ => Err(libc::ENOTSOCK),
            };
        }
        let Socket { options, error, state, v6, .. } = self.socket(object)?;
        Ok(match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => number(std::mem::take(error)),
            (libc::SOL_SOCKET, libc::SO_TYPE) => number(libc::SOCK_STREAM),
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => number(if *v6 { libc::AF_INET6 } else { libc::AF_INET }),
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => number(libc::IPPROTO_TCP),
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => number(i32::from(matches!(state, State::Listening { .. }))),
            (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => timeval(options.receive_timeout),
            (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => timeval(options.send_timeout),
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                [i32::from(options.reset_on_close), 0].iter().flat_map(|n| n.to_ne_bytes()).collect()
            }
            option => number(options.number(option)),
        })
    }

    /// Tells the world what a connection's options mean for it.
    pub(super) fn tell_options(&mut self, object: usize) {
        let Ok(Socket { options, state: State::Connecting { conn } | State::Open { conn, .. }, .. }) =
            self.socket(object)
        else {
            return;
        };
        let conn = *conn;
        let tcp = |name| options.number((libc::IPPROTO_TCP, name)).max(0) as u32;
        let set = |level, name| options.numbers.contains_key(&(level, name));
        let on = options.number((libc::SOL_SOCKET, libc::SO_KEEPALIVE)) != 0;
        let keep_alive = Op::KeepAlive {
            conn,
            idle_s: tcp(libc::TCP_KEEPIDLE),
            interval_s: tcp(libc::TCP_KEEPINTVL),
            probes: if on { tcp(libc::TCP_KEEPCNT) } else { 0 },
        };
        let user = Op::UserTimeout { conn, milliseconds: tcp(libc::TCP_USER_TIMEOUT) };
        let tells = [
            set(libc::SOL_SOCKET, libc::SO_KEEPALIVE).then_some(keep_alive),
            set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT).then_some(user),
        ];
        tells.into_iter().flatten().for_each(|op| self.tell(op));
    }
}
