//! A belief that ends by the clock, and what keeps it.

use super::{Counting, EXPIRE, Latch, OVERDUE, Output, RENEW};
use crate::{elector::Deposed, point::Point, service::zookeeper::Stat, types::Leadership};

impl Latch {
    /// When the belief ends: two thirds of the granted timeout after the round was sent. The remaining third covers what the
    /// ensemble's leader does not know yet: its members tell it every half tick who has been heard from.
    fn valid_until(&self) -> u64 {
        self.confirmed.saturating_add(self.place.granted() / 3 * 2)
    }

    /// The interval between rounds, shorter if the server has granted less than was asked for.
    fn pace(&self) -> u64 {
        self.setup.timings.renew_interval.min(self.place.granted() / 6)
    }

    /// Begins a round.
    pub(super) fn ask(&mut self, now: u64, out: &mut Vec<Output>) {
        self.asked = now;
        out.push(Output::CancelTimer(RENEW));
        self.place.confirm(out);
        out.push(Output::SetTimer { id: OVERDUE, at: now.saturating_add(self.pace()) });
    }

    /// The time for the next round has come. Without a connection, it begins when there is one again.
    pub(super) fn ask_again(&mut self, now: u64, out: &mut Vec<Output>) {
        match (self.place.is_connected(), self.leads) {
            (false, _) => {}
            (true, true) => self.ask(now, out),
            (true, false) => self.place.list(out),
        }
    }

    /// A round was answered.
    pub(super) fn confirmed(&mut self, now: u64, stat: Stat, out: &mut Vec<Output>) {
        out.push(Output::CancelTimer(OVERDUE));
        let token = u64::try_from(stat.czxid).unwrap_or(0);
        if stat.owner != self.place.session() || (self.used && token != self.token) {
            return self.reset(Deposed::Lost, out);
        }
        if self.used && !self.leads {
            return;
        }
        self.confirmed = self.asked;
        let valid_until = self.valid_until();
        if self.leads {
            self.back_off.confirmed();
            out.push(Output::Point(Point::Renewed));
            out.push(Output::Renewed(Leadership { token, valid_until }));
        } else if now < valid_until {
            self.token = token;
            self.lead(now, token, valid_until, out);
        }
        // An answer that came too late to lead by is followed by another round, too.
        out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
        out.push(Output::SetTimer { id: RENEW, at: now.max(self.asked + self.pace()) });
    }

    pub(super) fn unconfirmed(&mut self, now: u64, out: &mut Vec<Output>) {
        out.push(Output::CancelTimer(OVERDUE));
        out.push(Output::SetTimer { id: RENEW, at: now.saturating_add(self.pace()) });
    }

    /// Before it starts over: it is not in front any more, whatever is still on its way.
    pub(super) fn stop_asking(&self, out: &mut Vec<Output>) {
        if self.counting == Counting::FromSending {
            out.extend([RENEW, OVERDUE].map(Output::CancelTimer));
        }
    }

    /// Ends a belief whose time is up.
    pub(super) fn expire(&mut self, now: u64, out: &mut Vec<Output>) {
        if !self.leads || now < self.valid_until() {
            return;
        }
        self.stop_asking(out);
        if self.place.is_connected() {
            return self.reset(Deposed::Expired, out);
        }
        // It enters anew on reconnection.
        self.depose(Deposed::Expired, out);
        self.campaign(out);
    }

    /// Leaves the election.
    pub(super) fn withdraw(&mut self, out: &mut Vec<Output>) {
        self.withdrawn = true;
        self.depose(Deposed::Resigned, out);
        self.place.withdraw(out);
    }
}
