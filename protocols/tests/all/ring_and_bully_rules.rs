//! Single rules of bully and the rings, one elector at a time: what goes in, and what comes out, as words.

use protocols::{
    clock::Now,
    election::{
        Setup, Timers, Timings, bully, ring::Body, ring::Lap, ring::Message as Ring, ring_chang_roberts, ring_lelann,
    },
    elector::{AnyElector, Input, Output},
    payload::{Opaque, Payload},
    types::{MILLISECOND, NodeId, SECOND},
};

/// With the defaults of a 3 s lease.
const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: SECOND,
    request_timeout: SECOND,
    election_timeout: None,
    rules: protocols::election::rules::Rules::USUAL,
    own: Timers::NONE,
};
const NONCE: u64 = 100;

/// One elector. Nodes are counted from 0.
struct One {
    elector: Box<AnyElector>,
    /// The number of the next frame from each of the others.
    frames: [u64; 4],
}

impl One {
    fn new(make: fn(Setup) -> Box<AnyElector>, node: u16, count: usize) -> One {
        let names = (0..count).map(|n| format!("n{n}")).collect();
        let setup = Setup {
            group: 0,
            seat: None,
            node: NodeId(node),
            names,
            timings: TIMINGS,
            nonce: NONCE,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        let mut one = One { elector: make(setup), frames: [0; 4] };
        one.step(0, Input::Start);
        one
    }

    /// What comes out, but for timers and points.
    fn step(&mut self, ms: u64, input: Input) -> Vec<String> {
        let mono = ms * MILLISECOND;
        let mut out = Vec::new();
        self.elector.step(Now { mono, wall: mono }, input, &mut out);
        out.iter().filter_map(words).collect()
    }

    fn timer(&mut self, ms: u64, id: u16) -> Vec<String> {
        self.step(ms, Input::Timer(id))
    }

    fn hears(&mut self, ms: u64, from: u16, message: Opaque) -> Vec<String> {
        self.step(ms, Input::Peer { from: NodeId(from), message })
    }

    fn bully(&mut self, ms: u64, from: u16, message: bully::Message) -> Vec<String> {
        self.hears(ms, from, message.erase())
    }

    /// The next frame from `from`; the acknowledgement is left out.
    fn lap(&mut self, ms: u64, from: u16, origin: u16, hops: u16, body: Body) -> Vec<String> {
        let number = self.frames[usize::from(from)];
        self.frames[usize::from(from)] += 1;
        let mut words = self.frame(ms, from, number, Lap { origin: NodeId(origin), hops, body });
        assert_eq!(words.remove(0), format!("to {from}: awaits frame {}", number + 1));
        words
    }

    fn frame(&mut self, ms: u64, from: u16, number: u64, lap: Lap) -> Vec<String> {
        self.hears(ms, from, Ring::Frame { session: 7, first: number.min(1), number, lap }.erase())
    }
}

fn words(output: &Output) -> Option<String> {
    Some(match output {
        Output::Send { to, message } => match message.get() {
            Some(Ring::Frame { lap, .. }) => {
                format!("to {}: {} of {}, {} more", to.0, message.kind(), lap.origin.0, lap.hops)
            }
            Some(Ring::Acknowledgement { number, .. }) => format!("to {}: awaits frame {number}", to.0),
            _ => format!("to {}: {}", to.0, message.kind()),
        },
        Output::Elected(_) => "elected".to_owned(),
        Output::Deposed(why) => format!("deposed: {}", why.name()),
        Output::Campaign => "campaign".to_owned(),
        Output::Observed(Some(leader)) => format!("follows {}", leader.0),
        _ => return None,
    })
}

const SILENCE: u16 = 0;
const BEAT: u16 = 1;
const RESEND: u16 = 2;
const PROBE: u16 = 3;
const NOTHING: [&str; 0] = [];

fn candidate() -> Body {
    Body::Candidate { attempt: 9 }
}

fn heartbeat(number: u64) -> Body {
    Body::Heartbeat { reign: 5, number }
}

/// Node 1 of 3, elected after three seconds with its id home in its first attempt.
fn ring_leader(make: fn(Setup) -> Box<AnyElector>) -> One {
    let mut one = One::new(make, 1, 3);
    assert_eq!(one.timer(3_000, SILENCE), ["campaign", "to 2: election of 1, 2 more"]);
    let elected = one.lap(3_001, 0, 1, 0, Body::Candidate { attempt: NONCE + 1 });
    assert_eq!(elected.last().map(String::as_str), Some("elected"));
    one.hears(3_002, 2, Ring::Acknowledgement { session: NONCE, number: 2 }.erase());
    one
}

#[test]
fn the_winner_announces_itself_with_chang_and_roberts_only() {
    let mut one = One::new(ring_chang_roberts::PROTOCOL.elector, 1, 3);
    one.timer(3_000, SILENCE);
    let home = Body::Candidate { attempt: NONCE + 1 };
    assert_eq!(one.lap(3_001, 0, 1, 0, home), ["to 2: coordinator of 1, 2 more", "elected"]);
    let mut one = One::new(ring_lelann::PROTOCOL.elector, 1, 3);
    one.timer(3_000, SILENCE);
    assert_eq!(one.lap(3_001, 0, 1, 0, home), ["to 2: heartbeat of 1, 2 more", "elected"]);
}

#[test]
fn an_id_from_an_earlier_attempt_decides_nothing() {
    let mut one = One::new(ring_chang_roberts::PROTOCOL.elector, 1, 3);
    one.timer(3_000, SILENCE);
    one.timer(6_000, SILENCE);
    assert_eq!(one.lap(6_001, 0, 1, 0, Body::Candidate { attempt: NONCE + 1 }), NOTHING);
    assert_eq!(one.lap(6_002, 0, 1, 0, Body::Candidate { attempt: NONCE + 2 }).last().unwrap(), "elected");
}

#[test]
fn le_lann_passes_on_what_chang_and_roberts_swallow() {
    for (make, swallows) in [(ring_chang_roberts::PROTOCOL.elector, true), (ring_lelann::PROTOCOL.elector, false)] {
        let mut one = One::new(make, 1, 3);
        // The better one stands first, so that its id is ahead of the other's.
        let mut expected = vec!["campaign", "to 2: election of 1, 2 more", "to 2: election of 0, 1 more"];
        expected.truncate(if swallows { 2 } else { 3 });
        assert_eq!(one.lap(10, 0, 0, 2, candidate()), expected);
        // Once in an election it does not stand for another lower id; a higher one it lets pass.
        let again: &[&str] = if swallows { &[] } else { &["to 2: election of 0, 1 more"] };
        assert_eq!(one.lap(11, 0, 0, 2, candidate()), again);
        assert_eq!(one.lap(12, 0, 2, 1, candidate()), ["to 2: election of 2, 0 more"]);
    }
}

/// With links first in first out, every candidate of Le Lann's knows the winner when its own id is home.
#[test]
fn le_lann_decides_by_the_ids_that_came_by() {
    let mut one = One::new(ring_lelann::PROTOCOL.elector, 1, 3);
    one.timer(3_000, SILENCE);
    one.lap(3_001, 0, 2, 1, candidate());
    assert_eq!(one.lap(3_002, 0, 1, 0, Body::Candidate { attempt: NONCE + 1 }), ["follows 2"]);
}

#[test]
fn frames_are_taken_once_and_in_order() {
    let mut one = One::new(ring_lelann::PROTOCOL.elector, 1, 3);
    let lap = |origin, number| Lap { origin: NodeId(origin), hops: 1, body: heartbeat(number) };
    assert_eq!(one.frame(1, 0, 0, lap(2, 1))[0], "to 0: awaits frame 1");
    assert_eq!(one.frame(2, 0, 2, lap(2, 3)), ["to 0: awaits frame 1"]);
    assert_eq!(one.frame(3, 0, 1, lap(2, 2)), ["to 0: awaits frame 2", "follows 2", "to 2: heartbeat of 2, 0 more"]);
    assert_eq!(one.frame(4, 0, 1, lap(2, 2)), ["to 0: awaits frame 2"]);
    assert_eq!(one.frame(5, 0, 2, lap(2, 3))[0], "to 0: awaits frame 3");
}

#[test]
fn a_lap_whose_origin_is_gone_ends() {
    let mut one = One::new(ring_lelann::PROTOCOL.elector, 1, 3);
    // It has been everywhere.
    assert_eq!(one.lap(1, 0, 2, 0, candidate()), NOTHING);
    // It has been here, and came back past its origin.
    assert_eq!(one.lap(2, 0, 2, 2, heartbeat(4)), ["follows 2", "to 2: heartbeat of 2, 1 more"]);
    assert_eq!(one.lap(3, 0, 2, 2, heartbeat(4)), NOTHING);
    assert_eq!(one.lap(4, 0, 2, 2, heartbeat(5)), ["follows 2", "to 2: heartbeat of 2, 1 more"]);
}

/// corosync's ratio: four times within the second, then the next one; and back as soon as the dead one is heard of.
#[test]
fn a_dead_successor_is_skipped_and_found_again() {
    let mut one = One::new(ring_lelann::PROTOCOL.elector, 0, 3);
    let mut out = Vec::new();
    let (mut mono, mut times, mut to) = (3 * SECOND, Vec::new(), Vec::new());
    one.elector.step(Now { mono, wall: mono }, Input::Timer(SILENCE), &mut out);
    while to.last() != Some(&2) {
        let timer = out.iter().find_map(|o| match o {
            Output::SetTimer { id: RESEND, at } => Some(*at),
            _ => None,
        });
        mono = timer.unwrap();
        out.clear();
        one.elector.step(Now { mono, wall: mono }, Input::Timer(RESEND), &mut out);
        times.push((mono - 3 * SECOND) / MILLISECOND);
        to.extend(out.iter().filter_map(|o| if let Output::Send { to, .. } = o { Some(to.0) } else { None }));
    }
    assert_eq!((times, to), (vec![238, 476, 714, 952, 999], vec![1, 1, 1, 1, 2]));
    assert_eq!(one.timer(5_000, PROBE), ["to 1: probe"]);
    let found = one.hears(5_001, 1, Ring::Present.erase());
    assert_eq!(found, ["to 1: election of 0, 2 more"]);
    assert_eq!(one.timer(6_000, PROBE), NOTHING);
}

#[test]
fn a_ring_leader_takes_lower_ids_off_the_ring_and_yields_to_higher_ones() {
    for make in [ring_chang_roberts::PROTOCOL.elector, ring_lelann::PROTOCOL.elector] {
        let mut one = ring_leader(make);
        assert_eq!(one.lap(3_100, 0, 0, 2, candidate()), ["to 2: heartbeat of 1, 2 more"]);
        assert_eq!(one.lap(3_200, 0, 2, 1, candidate()), ["deposed: lost", "to 2: election of 2, 0 more"]);
    }
}

#[test]
fn of_two_ring_leaders_the_lower_follows_and_the_higher_stands_anew() {
    for make in [ring_chang_roberts::PROTOCOL.elector, ring_lelann::PROTOCOL.elector] {
        let mut one = ring_leader(make);
        let follows = ["deposed: lost", "follows 2", "to 2: heartbeat of 2, 0 more"];
        assert_eq!(one.lap(3_100, 0, 2, 1, heartbeat(1)), follows);
        let mut one = ring_leader(make);
        let stands = ["deposed: lost", "campaign", "to 2: election of 1, 2 more"];
        assert_eq!(one.lap(3_100, 0, 0, 2, heartbeat(1)), stands);
    }
}

#[test]
fn a_ring_leader_whose_laps_do_not_come_home_stands_anew() {
    let mut one = ring_leader(ring_chang_roberts::PROTOCOL.elector);
    assert_eq!(one.timer(4_001, BEAT), ["to 2: heartbeat of 1, 2 more"]);
    assert_eq!(one.lap(4_002, 0, 1, 0, Body::Heartbeat { reign: NONCE + 2, number: 1 }), NOTHING);
    assert_eq!(one.timer(7_002, BEAT).len(), 1);
    assert_eq!(one.timer(7_003, BEAT), ["deposed: lost", "campaign", "to 2: election of 1, 2 more"]);
}

#[test]
fn who_resigned_on_a_ring_only_passes_on_until_nobody_leads() {
    let mut one = ring_leader(ring_chang_roberts::PROTOCOL.elector);
    assert_eq!(one.step(3_500, Input::Resign), ["deposed: resigned", "to 2: resignation of 1, 2 more"]);
    assert_eq!(one.lap(3_501, 0, 0, 2, candidate()), ["to 2: election of 0, 1 more"]);
    assert_eq!(one.lap(3_502, 0, 0, 2, heartbeat(1)), ["follows 0", "to 2: heartbeat of 0, 1 more"]);
    assert_eq!(one.timer(6_502, SILENCE), ["campaign", "to 2: election of 1, 2 more"]);
    // Who sees a resignation of its leader stands; of another, it does not.
    let mut one = One::new(ring_chang_roberts::PROTOCOL.elector, 1, 3);
    one.lap(1, 0, 0, 2, heartbeat(1));
    assert_eq!(one.lap(2, 0, 2, 1, Body::Resigned), ["to 2: resignation of 2, 0 more"]);
    let stands = ["to 2: resignation of 0, 1 more", "campaign", "to 2: election of 1, 2 more"];
    assert_eq!(one.lap(3, 0, 0, 2, Body::Resigned), stands);
}

/// The bully's one timer for whatever it waits for.
const WAIT: u16 = 0;

fn bully_of(node: u16, count: usize) -> One {
    One::new(bully::PROTOCOL.elector, node, count)
}

#[test]
fn a_bully_asks_the_higher_and_leads_when_none_answers() {
    let mut one = bully_of(1, 4);
    assert_eq!(one.timer(0, WAIT), ["campaign", "to 2: election", "to 3: election"]);
    assert_eq!(one.timer(1_000, WAIT), ["to 0: coordinator", "elected"]);
    assert_eq!(one.timer(2_000, BEAT), ["to 0: heartbeat", "to 2: heartbeat", "to 3: heartbeat"]);
}

#[test]
fn a_bully_that_was_answered_waits_and_begins_anew() {
    let mut one = bully_of(1, 3);
    one.timer(0, WAIT);
    assert_eq!(one.bully(1, 2, bully::Message::Ok), NOTHING);
    // One vacancy, one campaign.
    assert_eq!(one.timer(2_001, WAIT), ["to 2: election"]);
    one.bully(2_002, 2, bully::Message::Ok);
    assert_eq!(one.bully(2_003, 2, bully::Message::Coordinator), ["follows 2"]);
}

#[test]
fn a_bully_that_is_asked_answers_and_holds_its_own_election() {
    let mut one = bully_of(1, 3);
    assert_eq!(one.bully(1, 0, bully::Message::Election), ["to 0: ok", "campaign", "to 2: election"]);
    assert_eq!(one.bully(2, 0, bully::Message::Election), ["to 0: ok"]);
}

#[test]
fn a_bully_takes_leadership_from_a_lower_one() {
    let mut one = bully_of(2, 3);
    let bullies = ["campaign", "to 0: coordinator", "to 1: coordinator", "elected"];
    assert_eq!(one.bully(1, 1, bully::Message::Heartbeat), bullies);
    // What was under way when it took over says nothing yet; what comes later says that it has been away.
    assert_eq!(one.bully(900, 1, bully::Message::Heartbeat), ["to 1: coordinator"]);
    let anew = ["deposed: lost", "campaign", "to 0: coordinator", "to 1: coordinator", "elected"];
    assert_eq!(one.bully(1_001, 1, bully::Message::Heartbeat), anew);
    // A leader that is asked announces itself again, unless it has just done so.
    assert_eq!(one.bully(1_500, 0, bully::Message::Election), ["to 0: ok"]);
    assert_eq!(one.bully(2_500, 0, bully::Message::Election), ["to 0: ok", "to 0: coordinator"]);
}

#[test]
fn a_bully_that_has_been_away_does_not_go_on() {
    let mut one = bully_of(2, 3);
    one.timer(0, WAIT);
    one.timer(1_000, BEAT);
    assert_eq!(one.timer(4_000, BEAT), ["to 0: heartbeat", "to 1: heartbeat"]);
    assert_eq!(one.timer(7_001, BEAT)[..2], ["deposed: lost", "campaign"]);
}

#[test]
fn a_bully_that_resigned_lets_a_lower_one_lead_until_nobody_does() {
    let mut one = bully_of(2, 3);
    one.timer(0, WAIT);
    assert_eq!(one.step(500, Input::Resign), ["deposed: resigned", "to 0: resignation", "to 1: resignation"]);
    assert_eq!(one.bully(501, 0, bully::Message::Election), NOTHING);
    assert_eq!(one.bully(502, 1, bully::Message::Coordinator), ["follows 1"]);
    assert_eq!(one.timer(3_502, WAIT)[0], "campaign");
    // The others do not ask who has resigned, and tell it nevertheless who leads.
    let mut other = bully_of(1, 3);
    other.bully(1, 2, bully::Message::Heartbeat);
    let leads = ["campaign", "to 0: coordinator", "elected", "to 2: coordinator"];
    assert_eq!(other.bully(2, 2, bully::Message::Resigned), leads);
    // News of an earlier leader is no news.
    let mut other = bully_of(0, 3);
    other.bully(1, 1, bully::Message::Coordinator);
    assert_eq!(other.bully(2, 2, bully::Message::Resigned), NOTHING);
}
