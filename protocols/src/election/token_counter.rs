//! Protocols without tokens, wrapped in a token counter: an elected node first draws a token, and leads only with it.
//!
//! ```text
//!  the inner elector is elected ──► draw ──► the counter, in the fenced store ──► token ──► lead with it, and seal
//!                                    ▲  no answer within the request timeout  │
//!                                    └────────────────────────────────────────┘
//! ```
//! **Where it comes from.** The article "Leader Election", exercise 3: "Add a fencing token: each leader gets a
//! monotonically increasing token", by a simulated counter. In production it would be a sequence in the database that
//! holds the protected data.
//!
//! **Where the counter is.** In the fenced store, beside its ledgers, and as durable as they are. A counter elsewhere
//! could be lost or reset while the resource is not, and would be another dependency. Nobody can bypass it: the only
//! way to a token is to draw it, a write without one is refused once any token was seen, and only the latest node to
//! draw and seal can write.
//!
//! **If the counter does not answer,** the elected node gives up after a TTL and stands aside, so that another one can
//! draw: the counter is in the store, so a node that cannot draw could not write either. With each failure in a row it
//! tries for twice as long, up to eight times.
//!
//! **What it guarantees.** No two leaders take effect at once, whatever the inner elector believes: safety by fencing
//! rule 1, under every hazard. **What it does not.** The token is not allocated with the election (fencing rule 6),
//! since no single place decides the election. It tells who drew last, not who was elected last: a node that is
//! elected, pauses, and draws after waking up deposes its own successor. And if two nodes are elected, on both sides of
//! a partition, each deposes the other whenever it campaigns again: only one at a time takes effect, but leadership
//! alternates until the partition heals. Preventing that takes a quorum.
//!
//! **What shows it.** `isolate-leader` and `gc-pause`, beside the inner protocol: `dual_effect_ms` is above 0 with
//! that, and 0 with this.

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

        /// All of them, each after the protocol that it wraps. They can be selected by name; lists of all protocols
        /// leave them out.
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

/// The fenced protocol called `name`.
pub fn find(name: &str) -> Option<&'static Protocol> {
    FENCED.iter().map(|(_, fenced)| *fenced).find(|fenced| fenced.name == name)
}

/// The longest duration of a draw on a quiet network, nanoseconds.
const DRAW_MAX: u64 = 10 * MILLISECOND;
/// The next draw. The inner electors' timer ids are lower.
const DRAW: TimerId = 10;
/// The longest time before an unanswered draw is given up, after repeated failures, as a multiple of the first.
const TRIES_MAX: u32 = 8;
/// How long a node stands aside after giving up a draw, as a multiple of the time it had tried.
const ASIDE: u64 = 10;

/// With fencing, the token upholds what the inner protocol breaks; without it, writes with old tokens are accepted in
/// addition.
fn promised(inner: Promise, fencing: bool) -> Promise {
    match inner {
        _ if fencing => Promise::Holds,
        Promise::Breaks(_) => UNCHECKED,
        inner => inner,
    }
}

/// A leader replaced while it writes is refused, where the inner protocol lets it write.
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
    /// The inner elector was elected, and a token is being drawn.
    Draws {
        request: u64,
        valid_until: u64,
        since: u64,
    },
    Leads {
        token: u64,
    },
}

/// An elector wrapped in a token counter.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Fenced {
    setup: Setup,
    inner: Box<AnyElector>,
    role: Role,
    /// How many draws in a row it has given up.
    given_up: u32,
    /// Numbers the draws.
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

    /// Requests a token, if one is needed.
    fn draw(&mut self, now: Now, out: &mut Vec<Output>) {
        let (Role::Draws { request, .. }, Some(counter)) = (self.role, self.setup.service.first().copied()) else {
            return;
        };
        out.push(Output::Send { to: counter, message: Message::Draw { request }.erase() });
        out.push(Output::SetTimer { id: DRAW, at: now.mono + self.setup.timings.request_timeout });
    }

    /// Repeats the draw, or gives up so that another node can try.
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

    /// Leads with the token, if it belongs to the current draw and not to an earlier election.
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
        (LOWEST_ID.elector)(Setup { node, group: 0, seat: None, names, timings, nonce: 1, stored: None, service, bugs })
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
