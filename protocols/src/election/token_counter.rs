//! Protocols without a token, each with a token counter around it: whoever is elected draws a token first, and only then leads.
//!
//! ```text
//!  the inner elector is elected ──► draw ──► the counter, in the fenced store ──► token ──► lead with it, and seal
//!                                    ▲  no answer within the request timeout  │
//!                                    └────────────────────────────────────────┘
//! ```
//! **Where it comes from.** Reference text "Leader Election", exercise 3: "Add a fencing token: each leader gets a
//! monotonically increasing token", by a simulated counter. In production it is a sequence in the database that holds what is
//! protected.
//!
//! **Where the counter is.** In the fenced store, beside its ledgers, and as durable as they are. A counter somewhere else
//! could be lost or put back while the resource is not, and would have to be reached besides. Nobody can skip it: a token is
//! had only by drawing, a write without one is refused as soon as one was seen, and only the latest to draw and seal writes.
//!
//! **What if the counter does not answer.** Whoever was elected gives up after a time to live and stands aside, so that another
//! one draws: the counter is in the store, and who cannot draw could not write either. Each time in a row it tries for twice
//! as long, up to eight times.
//!
//! **What it gives.** No two take effect at once, whatever the inner elector thinks: safety by fencing rule 1, under every
//! hazard. **What it does not give.** The token is not allocated with the election (fencing rule 6), because there is nothing
//! that decides the election. It says who drew last, not who was elected last: one that was elected, stopped, and draws when
//! it wakes deposes its own successor. And where two are elected, on both sides of a cut, each deposes the other as often as
//! it stands again: one at a time takes effect, but leadership goes back and forth until the cut is healed. That takes a
//! quorum.
//!
//! **What shows it.** `isolate-leader` and `gc-pause`, beside the inner protocol: `dual_effect_ms` is above 0 there, and 0
//! here.

use super::{
    Bounds, Promise, Protocol, Setup, bully, lowest_id, lowest_id_phi, promise::UNCHECKED, ring_chang_roberts,
    ring_lelann, swim,
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, AnyElector, Elector, boxed},
    payload::{Opaque, Payload},
    point::Point,
    random::Random,
    service::{
        Erased,
        counter::{self, Message},
    },
    types::{Leadership, MILLISECOND},
};

type Input = elector::Input<Opaque>;
type Output = elector::Output<Opaque>;

macro_rules! fenced {
    ($($name:ident = $inner:ident, $called:literal, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $name: Protocol = Protocol {
                name: $called,
                about: $about,
                service: &counter::SERVICE,
                tokened: true,
                takeover_max: |timings, nodes| ($inner::PROTOCOL.takeover_max)(timings, nodes) + DRAW_MAX,
                elector: |setup| fenced(setup, $inner::PROTOCOL.elector),
                promise: |hazard, fencing| promised(($inner::PROTOCOL.promise)(hazard, fencing), fencing),
                bounds: |hazard| bounds(($inner::PROTOCOL.bounds)(hazard)),
                ..$inner::PROTOCOL
            };
        )*

        /// Each of them, and the protocol that it is made of. They can be asked for by name; lists of all protocols are of
        /// what there is without them.
        pub const FENCED: &[(&Protocol, &Protocol)] = &[$((&$inner::PROTOCOL, &$name)),*];
    };
}

fenced! {
    BULLY = bully, "bully-fenced", "bully, with a token from a counter in the store";
    RING_LELANN = ring_lelann, "ring-lelann-fenced", "ring-lelann, with a token from a counter in the store";
    RING_CHANG_ROBERTS = ring_chang_roberts, "ring-chang-roberts-fenced",
        "ring-chang-roberts, with a token from a counter in the store";
    LOWEST_ID = lowest_id, "lowest-id-fenced", "lowest-id, with a token from a counter in the store";
    LOWEST_ID_PHI = lowest_id_phi, "lowest-id-phi-fenced", "lowest-id-phi, with a token from a counter in the store";
    SWIM = swim, "swim-fenced", "swim, with a token from a counter in the store";
}

/// The fenced one of that name.
pub fn find(name: &str) -> Option<&'static Protocol> {
    FENCED.iter().map(|(_, fenced)| *fenced).find(|fenced| fenced.name == name)
}

/// A draw takes no longer on a quiet network, nanoseconds.
const DRAW_MAX: u64 = 10 * MILLISECOND;
/// Time to draw again. The inner electors' timers are below.
const DRAW: TimerId = 10;
/// How much longer than at first a draw goes unanswered at most, after it did so again and again, before it is given up.
const TRIES_MAX: u32 = 8;
/// Whoever gave up a draw stands aside for so many times as long as it had tried.
const ASIDE: u64 = 10;

/// With fencing the token holds what the inner protocol breaks; without, its writes come with old tokens besides.
fn promised(inner: Promise, fencing: bool) -> Promise {
    match inner {
        _ if fencing => Promise::Holds,
        Promise::Breaks(_) => UNCHECKED,
        inner => inner,
    }
}

/// Whoever is replaced while it writes is refused, where the inner protocol lets it write.
fn bounds(inner: Bounds) -> Bounds {
    Bounds { writes_fenced: None, writes_duplicate: None, ..inner }
}

fn fenced(setup: Setup, inner: fn(Setup) -> Box<AnyElector>) -> Box<AnyElector> {
    let inner = inner(setup.clone());
    let random = Random::new(setup.nonce);
    boxed(Fenced { random, setup, inner, role: Role::Follows, given_up: 0, scratch: Vec::new() })
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    /// The inner elector follows.
    Follows,
    /// It was elected, and there is no token yet.
    Draws { request: u64, valid_until: u64, since: u64 },
    /// It leads.
    Leads { token: u64 },
}

/// An elector with a token counter around it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Fenced {
    setup: Setup,
    inner: Box<AnyElector>,
    role: Role,
    /// How many draws in a row it has given up.
    given_up: u32,
    /// Names draws.
    random: Random,
    scratch: Vec<elector::Output>,
}

impl Fenced {
    fn inner(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.inner.step(now, input, &mut scratch);
        for output in scratch.drain(..) {
            match (output, self.role) {
                (Output::Elected(Leadership { valid_until, .. }), _) => {
                    self.role = Role::Draws { request: self.random.next_u64(), valid_until, since: now.mono };
                    self.draw(now, out);
                }
                (Output::Renewed(Leadership { valid_until, .. }), Role::Draws { request, since, .. }) => {
                    self.role = Role::Draws { request, valid_until, since };
                }
                (Output::Renewed(leadership), Role::Leads { token }) => {
                    out.push(Output::Renewed(Leadership { token, ..leadership }));
                }
                (Output::Deposed(why), role) => {
                    out.push(Output::CancelTimer(DRAW));
                    self.role = Role::Follows;
                    if let Role::Leads { .. } = role {
                        out.push(Output::Deposed(why));
                    }
                }
                (Output::Point(Point::BeforeRenew | Point::Renewed), Role::Follows | Role::Draws { .. }) => {}
                (output, _) => out.push(output),
            }
        }
        self.scratch = scratch;
    }

    /// Asks for a token, as long as one is needed.
    fn draw(&mut self, now: Now, out: &mut Vec<Output>) {
        let (Role::Draws { request, .. }, Some(counter)) = (self.role, self.setup.service.first().copied()) else {
            return;
        };
        out.push(Output::Send { to: counter, message: Message::Draw { request }.erase() });
        out.push(Output::SetTimer { id: DRAW, at: now.mono + self.setup.timings.request_timeout });
    }

    /// Draws again, or gives up and lets another one try.
    fn draw_again(&mut self, now: Now, out: &mut Vec<Output>) {
        let Role::Draws { since, .. } = self.role else { return };
        let patience = self.setup.timings.lease_ttl << self.given_up.min(TRIES_MAX.ilog2());
        if now.mono - since < patience {
            return self.draw(now, out);
        }
        self.given_up += 1;
        self.inner(now, Input::Resign, out);
        self.inner(now, Input::StandAside(ASIDE * patience), out);
    }

    /// Leads with the token, if that is the one which it waits for: not with one of an earlier election.
    fn drawn(&mut self, now: Now, drawn: u64, token: u64, out: &mut Vec<Output>) {
        let Role::Draws { request, valid_until, .. } = self.role else { return };
        if request == drawn && now.mono < valid_until {
            (self.role, self.given_up) = (Role::Leads { token }, 0);
            out.push(Output::CancelTimer(DRAW));
            out.push(Output::Elected(Leadership { token, valid_until }));
        }
    }
}

impl Elector for Fenced {
    type Peer = Opaque;
    /// The inner elector's.
    type Service = Erased;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Timer(DRAW) => self.draw_again(now, out),
            Input::Peer { from, message } if self.setup.service.contains(&from) => {
                if let Ok(Message::Drawn { request, token }) = Message::restore(message) {
                    self.drawn(now, request, token, out);
                }
            }
            input => self.inner(now, input, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{elector::Deposed, types::NodeId};

    const COUNTER: NodeId = NodeId(9);

    fn alone() -> Box<AnyElector> {
        let timings = lowest_id::PROTOCOL.default_timings();
        let names = vec!["n1".to_owned(), "n2".to_owned()];
        let (node, service, bugs) = (NodeId(0), vec![COUNTER], Default::default());
        (LOWEST_ID.elector)(Setup { node, group: 0, names, timings, nonce: 1, stored: None, service, bugs })
    }

    fn step(elector: &mut Box<AnyElector>, at: u64, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        elector.step(Now { mono: at, wall: at }, input, &mut out);
        out
    }

    fn request(out: &[Output]) -> u64 {
        let draws = out.iter().filter_map(|output| match output {
            Output::Send { to: COUNTER, message } => message.get::<Message>(),
            _ => None,
        });
        match draws.copied().collect::<Vec<_>>()[..] {
            [Message::Draw { request }] => request,
            ref other => panic!("{other:?}"),
        }
    }

    fn elected(out: &[Output]) -> Vec<u64> {
        out.iter().filter_map(|o| if let Output::Elected(l) = o { Some(l.token) } else { None }).collect()
    }

    fn drawn(request: u64, token: u64) -> Input {
        Input::Peer { from: COUNTER, message: Message::Drawn { request, token }.erase() }
    }

    #[test]
    fn nobody_leads_before_it_has_drawn_and_a_late_answer_is_no_token() {
        let (mut elector, second) = (alone(), 1_000 * MILLISECOND);
        step(&mut elector, 0, Input::Start);
        let out = step(&mut elector, 10 * second, Input::Timer(1));
        assert!(elected(&out).is_empty(), "it has no token yet");
        let first = request(&out);
        let again = step(&mut elector, 11 * second, Input::Timer(DRAW));
        assert_eq!(request(&again), first, "the same draw, sent again");
        assert_eq!(elected(&step(&mut elector, 12 * second, drawn(first, 5))), [5]);
        assert!(elected(&step(&mut elector, 12 * second, drawn(first, 6))).is_empty(), "once is enough");
        let out = step(&mut elector, 13 * second, Input::Fenced);
        assert!(out.contains(&Output::Deposed(Deposed::Fenced)));
        let out = step(&mut elector, 30 * second, Input::Timer(1));
        let second_draw = request(&out);
        assert_ne!(first, second_draw);
        assert!(elected(&step(&mut elector, 31 * second, drawn(first, 7))).is_empty(), "that was for another election");
        assert_eq!(elected(&step(&mut elector, 31 * second, drawn(second_draw, 8))), [8]);
    }

    #[test]
    fn every_protocol_without_tokens_that_elects_alone_has_one_with_a_counter() {
        for protocol in super::super::ALL {
            let alone = protocol.service.is_none() && !protocol.tokened;
            let fenced = find(&format!("{}-fenced", protocol.name)).filter(|_| alone);
            assert_eq!(fenced.is_some(), alone, "{protocol:?}");
            let of = FENCED.iter().any(|(inner, fenced)| inner.name == protocol.name && fenced.tokened);
            assert_eq!(of, alone, "{protocol:?}");
        }
    }
}
