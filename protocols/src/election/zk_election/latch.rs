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

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Latch {
    setup: Setup,
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
}

impl Latch {
    pub(super) fn new(setup: Setup) -> Self {
        Latch {
            place: Place::new(&setup, Kind::Latch),
            setup,
            used: false,
            leads: false,
            elected_at: 0,
            campaigning: false,
            back_off: BackOff::default(),
            resets: false,
            away: false,
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
        (self.used, self.leads, self.elected_at, self.campaigning) = (true, true, now, false);
        let token = match self.setup.bugs.has(&TOKEN_BY_SEQUENCE) {
            true => self.place.sequence().map_or(0, |place| place + 1),
            false => u64::try_from(stat.czxid).unwrap_or(0),
        };
        // The flag stays set until it is cleared.
        out.push(Output::Elected(Leadership { token, valid_until: u64::MAX }));
        self.place.see(Some(self.setup.node), out);
    }

    fn news(&mut self, now: u64, news: News, out: &mut Vec<Output>) {
        match news {
            News::Connected { .. } if self.away => {}
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
        let news = match input {
            Input::Start => {
                self.campaign(out);
                self.place.open(out);
                None
            }
            Input::Timer(AGAIN) if std::mem::take(&mut self.away) => {
                self.reset(Deposed::Lost, out);
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
