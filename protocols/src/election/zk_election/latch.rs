mod keeping;

use crate::{
    clock::Now,
    core::TimerId,
    election::{
        Setup,
        back_off::BackOff,
        zookeeper::{
            KEEPS_FLAG, Kind, REGAINS, RESETS, TOKEN_BY_SEQUENCE,
            place::{News, Place},
        },
    },
    elector::{self, Deposed, Elector},
    payload::Nothing,
    point::Point,
    service::zookeeper::{Api, Stat},
    types::Leadership,
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// The next attempt.
const AGAIN: TimerId = 2;
/// The next round.
const RENEW: TimerId = 3;
/// The end of a belief that has one.
const EXPIRE: TimerId = 4;
/// A round is overdue.
const OVERDUE: TimerId = 5;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Latch {
    setup: Setup,
    counting: Counting,
    place: Place,
    /// Whether its node's token has already led.
    used: bool,
    leads: bool,
    elected_at: u64,
    campaigning: bool,
    back_off: BackOff,
    /// Whether it has reconnected and reads its place before it starts over: [`KEEPS_FLAG`].
    resets: bool,
    /// Whether it stays away because the resource refuses its leaderships.
    away: bool,
    /// Its leadership's token.
    token: u64,
    /// Where a belief ends: when the round under way was sent, and the last one that was answered.
    asked: u64,
    confirmed: u64,
    /// Whether it has left the election.
    withdrawn: bool,
}

impl Latch {
    pub(super) fn new(setup: Setup, counting: Counting) -> Self {
        let place = Place::new(&setup, Kind::Latch);
        Latch {
            place: if counting == Counting::FromSending { place.patient() } else { place },
            setup,
            counting,
            used: false,
            leads: false,
            elected_at: 0,
            campaigning: false,
            back_off: BackOff::default(),
            resets: false,
            away: false,
            token: 0,
            asked: 0,
            confirmed: 0,
            withdrawn: false,
        }
    }

    fn depose(&mut self, why: Deposed, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.leads) {
            out.push(Output::Deposed(why));
            self.place.see(None, out);
        }
    }

    fn campaign(&mut self, out: &mut Vec<Output>) {
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
    }

    /// `LeaderLatch.reset`.
    fn reset(&mut self, why: Deposed, out: &mut Vec<Output>) {
        self.stop_asking(out);
        self.depose(why, out);
        self.campaign(out);
        self.used = false;
        self.place.enter_anew(out);
    }

    /// Its node is the first in the queue.
    fn in_front(&mut self, now: u64, stat: Stat, out: &mut Vec<Output>) {
        // An answer from a connection that is gone is checked again on the next one.
        if self.leads || !self.place.is_connected() {
            return;
        }
        let may_lead = !self.used || self.setup.bugs.has(&REGAINS) || self.resets;
        if stat.owner != self.place.session() || !may_lead {
            crate::mark!("zk-election: the node in front is of a session before");
            return self.reset(Deposed::Lost, out);
        }
        if self.counting == Counting::FromSending {
            // The round's answer makes it the leader.
            return self.ask(now, out);
        }
        let token = match self.setup.bugs.has(&TOKEN_BY_SEQUENCE) {
            true => self.place.sequence().map_or(0, |place| place + 1),
            false => u64::try_from(stat.czxid).unwrap_or(0),
        };
        // The flag stays set until it is cleared.
        self.lead(now, token, u64::MAX, out);
    }

    fn lead(&mut self, now: u64, token: u64, valid_until: u64, out: &mut Vec<Output>) {
        (self.used, self.leads, self.elected_at, self.campaigning) = (true, true, now, false);
        out.push(Output::Elected(Leadership { token, valid_until }));
        self.place.see(Some(self.setup.node), out);
    }

    fn news(&mut self, now: u64, news: News, out: &mut Vec<Output>) {
        match news {
            News::Connected { .. } if self.away => {}
            News::Connected { .. } if self.leads && self.counting == Counting::FromSending => self.ask(now, out),
            News::Connected { first: true } | News::Gone => self.reset(Deposed::Lost, out),
            News::Connected { .. } if self.setup.bugs.has(&RESETS) => self.reset(Deposed::Lost, out),
            News::Connected { .. } if self.setup.bugs.has(&KEEPS_FLAG) => {
                self.resets = true;
                self.place.list(out);
            }
            // A node that has led does not lead again.
            News::Connected { .. } if self.used && !self.setup.bugs.has(&REGAINS) => {
                crate::mark!("zk-election: a former leader comes back within its session");
                self.reset(Deposed::Lost, out);
            }
            News::Connected { .. } if self.place.is_entering() => {}
            News::Connected { .. } => self.place.list(out),
            // The session lives on, and the belief ends by the clock.
            News::Suspended if self.leads && self.counting == Counting::FromSending => {}
            News::Suspended => {
                self.depose(Deposed::Expired, out);
                self.campaign(out);
            }
            News::Behind if self.setup.bugs.has(&KEEPS_FLAG) => self.begin_anew(out),
            News::Lost | News::Behind => self.depose(Deposed::Lost, out),
            News::InFront(stat) => {
                self.in_front(now, stat, out);
                self.begin_anew(out);
            }
            News::Confirmed(stat) => self.confirmed(now, stat, out),
            News::Unconfirmed => self.unconfirmed(now, out),
        }
    }

    /// [`KEEPS_FLAG`]: the node is replaced, but the flag derived from it stays.
    fn begin_anew(&mut self, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.resets) {
            self.place.enter_anew(out);
        }
    }

    /// The resource refuses this leadership: gets a new node, after a back-off if refusals repeat.
    fn fenced(&mut self, now: u64, out: &mut Vec<Output>) {
        // Only its duration shows whether a leadership was sound.
        if now.saturating_sub(self.elected_at) >= self.setup.timings.renew_interval {
            self.back_off.confirmed();
        }
        match self.back_off.refused() {
            0 => self.reset(Deposed::Fenced, out),
            wait => {
                self.stop_asking(out);
                self.depose(Deposed::Fenced, out);
                self.place.leave(out);
                self.away = true;
                out.push(Output::SetTimer { id: AGAIN, at: now + wait });
            }
        }
    }
}

impl Elector for Latch {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        if self.counting == Counting::FromSending {
            // First of all: after a pause, answers and timers come in any order.
            self.expire(now.mono, out);
        }
        if self.withdrawn {
            return self.place.left(now, input, out);
        }
        let news = match input {
            Input::Withdraw => {
                self.withdraw(out);
                None
            }
            Input::Start => {
                self.campaign(out);
                self.place.open(out);
                None
            }
            Input::Timer(AGAIN) if std::mem::take(&mut self.away) => {
                self.reset(Deposed::Lost, out);
                None
            }
            Input::Timer(RENEW) => {
                self.ask_again(now.mono, out);
                None
            }
            Input::Timer(OVERDUE) => {
                // The connection hangs, or the member is cut off from the ensemble's leader.
                self.place.reconnect(out);
                None
            }
            Input::Timer(id) => self.place.timer(now, id, out),
            Input::Service(input) => self.place.input(now, input, out),
            // One latch is closed, and another one started.
            Input::Resign if self.leads => {
                out.push(Output::Point(Point::BeforeRelease));
                self.reset(Deposed::Resigned, out);
                None
            }
            Input::Fenced if self.leads => {
                self.fenced(now.mono, out);
                None
            }
            _ => None,
        };
        if let Some(news) = news {
            self.news(now.mono, news, out);
        }
    }
}

/// What ends a belief besides the client's events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Counting {
    /// No clock, as in the library.
    Nothing,
    /// Two thirds of the session timeout after the last confirmed round was sent.
    FromSending,
}
