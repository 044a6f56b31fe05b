//! How a candidate keeps its lock, and how it leaves the election for good.

use super::{EXPIRE, Input, Lock, Output, RENEW, Stage, WATCH};
use crate::{
    election::consul::timing::{Counting, RENEWAL_NOT_RETRIED},
    elector::{Deposed, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    point::Point,
    service::consul::{Reads, Reply, Request},
    types::{Leadership, MILLISECOND, SECOND},
};

// The session's renewals, the belief that they carry, and the watch that must not fall silent.

/// The pause before a failed renewal is retried (`RenewPeriodic`).
const RENEW_RETRY: u64 = SECOND;

impl Lock {
    pub(super) fn session_ttl(&self) -> u64 {
        self.counting.session_ttl(&self.setup.timings)
    }

    /// When the belief ends.
    fn valid_until(&self) -> u64 {
        match self.counting {
            Counting::Nothing => u64::MAX,
            Counting::FromSending => self.confirmed.saturating_add(self.session_ttl()),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.counting == Counting::FromSending && self.now >= self.valid_until()
    }

    pub(super) fn leadership(&self, token: u64) -> Leadership {
        Leadership { token, valid_until: self.valid_until() }
    }

    /// Every step looks at the clock first, so the timer only has to cause one.
    pub(super) fn expire_in_time(&self, out: &mut Vec<Output>) {
        if self.counting == Counting::FromSending {
            out.push(Output::SetTimer { id: EXPIRE, at: self.valid_until() });
        }
    }

    /// `RenewPeriodic`, whose outcome reaches nobody.
    pub(super) fn renew(&mut self, out: &mut Vec<Output>) {
        let Some(session) = self.session.clone().filter(|_| self.renewal.is_none()) else { return };
        out.push(Output::Point(Point::BeforeRenew));
        self.renewal_sent = self.now;
        self.renewal = Some(self.send(Request::RenewSession { session }, out));
    }

    pub(super) fn renewed(&mut self, now: u64, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match reply {
            Ok(Reply::Renewed { alive: true }) => {
                self.renewed_at = now;
                self.confirmed = self.renewal_sent;
                out.push(Output::SetTimer { id: RENEW, at: now + self.setup.timings.renew_interval });
                if let Stage::Leading { token, .. } = self.stage {
                    self.back_off.confirmed();
                    out.push(Output::Point(Point::Renewed));
                    out.push(Output::Renewed(self.leadership(token)));
                    self.expire_in_time(out);
                }
            }
            Ok(_) if self.counting == Counting::FromSending => self.session_is_gone(now, out),
            Ok(_) => crate::mark!("consul-session: a renewal finds no session, and nobody is told"),
            Err(_) if self.counting == Counting::FromSending => {
                out.push(Output::SetTimer { id: RENEW, at: now + RENEW_RETRY });
            }
            Err(_)
                if now.saturating_sub(self.renewed_at) <= self.session_ttl()
                    && !self.setup.bugs.has(&RENEWAL_NOT_RETRIED) =>
            {
                out.push(Output::SetTimer { id: RENEW, at: now + RENEW_RETRY });
            }
            Err(_) => crate::mark!("consul-session: renewals have failed for a whole time to live, and end"),
        }
    }

    fn session_is_gone(&mut self, now: u64, out: &mut Vec<Output>) {
        match self.stage {
            Stage::Leading { .. } => self.depose(Deposed::Lost, out),
            Stage::Waiting(_) | Stage::Refused | Stage::Delayed => self.give_up(now, 0, out),
            // The request under way will say so.
            Stage::Idle | Stage::Creating | Stage::Acquiring | Stage::Reading | Stage::Releasing => {}
        }
    }

    /// How long a watch that is being opened shall wait for a change, milliseconds; the library's own time is `usual`.
    /// Whoever counts does not rely on TCP to notice that the connection has died.
    pub(super) fn watched_for(&self, usual: Option<u64>, out: &mut Vec<Output>) -> Option<u64> {
        match self.counting {
            Counting::Nothing => usual,
            Counting::FromSending => {
                self.expect_an_answer(out);
                Some(self.session_ttl() / 2 / MILLISECOND)
            }
        }
    }

    fn expect_an_answer(&self, out: &mut Vec<Output>) {
        let wait = self.session_ttl() / 2;
        // The server adds up to a sixteenth.
        let at = self.now + wait + wait / 16 + self.setup.timings.request_timeout;
        out.push(Output::SetTimer { id: WATCH, at });
    }

    /// A watch has answered.
    pub(super) fn heard(&self, number: StreamNumber, out: &mut Vec<Output>) {
        if self.counting == Counting::FromSending && self.watch() == Some(number) {
            self.expect_an_answer(out);
        }
    }

    /// A watch has failed. It is repeated: only the session's end, or another holder, costs the lock.
    pub(super) fn watch_failed(&self, number: StreamNumber, out: &mut Vec<Output>) {
        if self.watch() == Some(number) {
            out.push(Output::SetTimer { id: WATCH, at: self.now + RENEW_RETRY });
        }
    }

    pub(super) fn watch_again(&mut self, out: &mut Vec<Output>) {
        let Some(silent) = self.watch() else { return };
        out.push(Output::Service(ServiceOutput::Close(silent)));
        let reads = if matches!(self.stage, Stage::Leading { .. }) { Reads::Consistent } else { Reads::Default };
        let opened = self.open(reads, None, out);
        if let Stage::Waiting(watch) | Stage::Leading { watch, .. } = &mut self.stage {
            *watch = opened;
        }
    }

    fn watch(&self) -> Option<StreamNumber> {
        match self.stage {
            Stage::Waiting(watch) | Stage::Leading { watch, .. } => Some(watch),
            _ => None,
        }
    }
}

// How a candidate leaves the election for good. A lock is released before its session is destroyed: otherwise the
// server begins a lock-delay, and nobody can take the lock for as long.

impl Lock {
    /// What is being created or acquired is given back once it is answered.
    pub(super) fn withdraw(&mut self, out: &mut Vec<Output>) {
        self.withdrawn = true;
        if let Some(number) = self.renewal.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        match self.stage {
            Stage::Leading { .. } => self.depose(Deposed::Resigned, out),
            Stage::Reading => {
                if let Some(number) = self.pending.take() {
                    out.push(Output::Service(ServiceOutput::Cancel(number)));
                }
                self.release(out);
            }
            Stage::Creating | Stage::Acquiring | Stage::Releasing if self.pending.is_some() => {}
            _ => self.give_up(self.now, 0, out),
        }
    }

    /// After the withdrawal: the request that was under way then, or the release.
    pub(super) fn settle(&mut self, input: Input, out: &mut Vec<Output>) {
        let Input::Service(ServiceInput::Reply { number, reply }) = input else { return };
        if self.pending.take_if(|pending| *pending == number).is_none() {
            return;
        }
        match (&self.stage, reply) {
            (Stage::Creating, Ok(Reply::Session { id })) => {
                self.session = Some(id);
                self.give_up(self.now, 0, out);
            }
            // If there is a session, it has nothing, and ends by itself.
            (Stage::Creating, _) => {}
            (Stage::Acquiring, Ok(Reply::Done(true)) | Err(Failure::Unknown(_))) => self.release(out),
            _ => self.give_up(self.now, 0, out),
        }
    }
}
