//! What elections cost in messages, against the closed formulas of the literature. Nodes are counted from 0 here, as
//! [`NodeId`]s are; on the ring, ids rise in the direction of travel unless a test says otherwise.

use protocols::{
    bench::silent::{self, Election, Group},
    election::{self, Protocol, Setup, bully, lowest_id, ring_chang_roberts, ring_lelann},
    elector::AnyElector,
    types::NodeId,
};

const SIZES: std::ops::RangeInclusive<u16> = 3..=9;

fn nodes(of: impl IntoIterator<Item = u16>) -> Vec<NodeId> {
    of.into_iter().map(NodeId).collect()
}

/// The counts, after what every count has to satisfy: the highest of all leads.
fn count(protocol: &Protocol, n: u16, initiators: &[NodeId]) -> Election {
    let election = silent::messages(protocol, n, initiators).unwrap();
    assert_eq!(election.leader, NodeId(n - 1), "{} of {n} from {initiators:?}", protocol.name);
    election
}

#[track_caller]
fn assert_counts<const N: usize>(election: &Election, expected: [(&'static str, u64); N]) {
    let expected = expected.into_iter().filter(|(_, n)| *n > 0).collect();
    assert_eq!(election.messages, expected);
}

/// Garcia-Molina 1982, section III; Tanenbaum and van Steen, 6.5.1: the initiator and every node above it ask each node
/// above them, each is answered, and the winner tells all below. From the lowest that is n(n-1)/2 of both: O(n²).
#[test]
fn bully_costs_what_the_textbooks_say() {
    for n in SIZES {
        let others = u64::from(n) - 1;
        for initiator in 0..n {
            let stand = u64::from(n - initiator);
            let asked = stand * (stand - 1) / 2;
            let election = count(&bully::PROTOCOL, n, &nodes([initiator]));
            assert_counts(&election, [("election", asked), ("ok", asked), ("coordinator", others)]);
            // Asked, the highest knows at once that it wins.
            assert_eq!(election.rounds, if stand == 1 { 1 } else { 2 }, "{n} from {initiator}");
        }
        // All at once cost no more than the lowest alone, which makes all stand.
        let all = count(&bully::PROTOCOL, n, &nodes(0..n));
        let lowest = count(&bully::PROTOCOL, n, &nodes([0]));
        assert_eq!(all.messages, lowest.messages);
    }
}

/// Coulouris et al., 15.3: in the best case the second highest notices, and needs n-2 announcements (n counts the dead one,
/// which it asks in vain here); in the worst case the lowest does, and all live ones stand.
#[test]
fn bully_asks_a_dead_coordinator_too() {
    for n in SIZES {
        let dead = nodes([n - 1]);
        let elect = |initiator| {
            let group = Group { candidates: n, initiators: &nodes([initiator]), down: &dead };
            silent::elect(&bully::PROTOCOL, bully::PROTOCOL.elector, group).unwrap()
        };
        let live = u64::from(n) - 1;
        assert_counts(&elect(n - 2), [("election", 1), ("coordinator", live - 1)]);
        let answered = live * (live - 1) / 2;
        assert_counts(&elect(0), [("election", answered + live), ("ok", answered), ("coordinator", live - 1)]);
    }
}

/// Tel, 7.2.1 (theorem 7.5): the id of each who stands makes n hops, so n² when all do. Who stands: the initiators, and here
/// also every better node that hears of them. The winner's first heartbeat lap tells those who did not; every hop of both is
/// acknowledged, which the literature does not count.
#[test]
fn le_lann_costs_n_for_each_who_stands() {
    for n in SIZES {
        let ring = u64::from(n);
        for initiator in 0..n {
            let hops = ring * u64::from(n - initiator);
            let election = count(&ring_lelann::PROTOCOL, n, &nodes([initiator]));
            assert_counts(&election, [("election", hops), ("heartbeat", ring), ("acknowledgement", hops + ring)]);
        }
        let all = count(&ring_lelann::PROTOCOL, n, &nodes(0..n));
        assert_counts(&all, [("election", ring * ring), ("heartbeat", ring), ("acknowledgement", ring * ring + ring)]);
        // Everybody has decided by itself when its id is home; the heartbeats tell nobody anything new.
        assert_eq!(all.rounds, ring);
    }
}

/// Coulouris et al., 15.3: a lone initiator's id is replaced on its way until the highest's travels, which goes all around,
/// and so does the announcement: 3n-1 from right behind the highest, the worst, 2n from the highest itself, the best.
#[test]
fn chang_roberts_with_one_initiator() {
    for n in SIZES {
        let ring = u64::from(n);
        for initiator in 0..n {
            let hops = 2 * ring - 1 - u64::from(initiator);
            let election = count(&ring_chang_roberts::PROTOCOL, n, &nodes([initiator]));
            assert_counts(&election, [("election", hops), ("coordinator", ring), ("acknowledgement", hops + ring)]);
            let (worst, best) = (3 * ring - 1, 2 * ring);
            let total = hops + ring;
            assert!((initiator > 0 || total == worst) && (initiator < n - 1 || total == best), "{total}");
        }
    }
}

fn chang_roberts_in(order: &[u16]) -> Election {
    let order = nodes(order.iter().copied());
    let along = order.clone();
    let make = move |setup: Setup| -> Box<AnyElector> { ring_chang_roberts::elector(setup, &along) };
    let group = Group { candidates: order.len() as u16, initiators: &order, down: &[] };
    let election = silent::elect(&ring_chang_roberts::PROTOCOL, make, group).unwrap();
    assert_eq!(election.leader.index(), order.len() - 1);
    election
}

/// Chang and Roberts 1979: with all standing, 2n-1 when ids rise along the ring, since each lower id meets a higher at once
/// (this is the order of the registry's protocol); n(n+1)/2 when they fall, since id k goes k hops (counted from 1).
#[test]
fn chang_roberts_at_best_and_at_worst() {
    for n in SIZES {
        let ring = u64::from(n);
        let best = chang_roberts_in(&(0..n).collect::<Vec<_>>());
        assert_eq!(best.messages["election"], 2 * ring - 1);
        assert_eq!(best, count(&ring_chang_roberts::PROTOCOL, n, &nodes(0..n)));
        let worst = chang_roberts_in(&(0..n).rev().collect::<Vec<_>>());
        assert_eq!(worst.messages["election"], ring * (ring + 1) / 2);
        assert_eq!((best.messages["coordinator"], worst.messages["coordinator"]), (ring, ring));
    }
}

/// Chang and Roberts 1979: on average over all orders, n·Hₙ with Hₙ = 1 + 1/2 + … + 1/n; exactly, in whole numbers.
#[test]
fn chang_roberts_on_average() {
    for n in 3..=6 {
        let mut orders = Vec::new();
        permute(&mut (0..n).collect(), 0, &mut orders);
        let all = orders.len() as u64;
        let total: u64 = orders.iter().map(|order| chang_roberts_in(order).messages["election"]).sum();
        let harmonic: u64 = (1..=u64::from(n)).map(|k| all / k).sum();
        assert_eq!(all, (1..=u64::from(n)).product::<u64>());
        assert_eq!(total, u64::from(n) * harmonic, "{n} nodes");
    }
}

fn permute(order: &mut Vec<u16>, from: usize, into: &mut Vec<Vec<u16>>) {
    if from == order.len() {
        return into.push(order.clone());
    }
    for index in from..order.len() {
        order.swap(from, index);
        permute(order, from + 1, into);
        order.swap(from, index);
    }
}

/// What a dead successor costs: the frame that finds it dead goes out five times in vain, once and four times again, and
/// once more to the next; whatever follows is skipped at no cost.
#[test]
fn a_dead_successor_costs_five_frames() {
    for n in 4..=9 {
        let dead = nodes([n - 1]);
        let group = Group { candidates: n, initiators: &nodes([n - 2]), down: &dead };
        let election =
            silent::elect(&ring_chang_roberts::PROTOCOL, ring_chang_roberts::PROTOCOL.elector, group).unwrap();
        let live = u64::from(n) - 1;
        assert_eq!(election.leader, NodeId(n - 2));
        assert_counts(&election, [("election", live + 5), ("coordinator", live), ("acknowledgement", 2 * live)]);
    }
}

/// Every protocol of the registry is counted, or says in a sentence why not.
#[test]
fn any_protocol_is_counted_or_refused() {
    for protocol in election::ALL {
        let counted = silent::messages(protocol, 3, &nodes(0..3));
        let applies = protocol.service.is_none();
        assert_eq!(counted.is_ok(), applies, "{}: {counted:?}", protocol.name);
    }
    // The first who misses the leader says once to all that it leads.
    let election = silent::messages(&lowest_id::PROTOCOL, 5, &nodes([3])).unwrap();
    assert_eq!(election.leader, NodeId(3));
    assert_counts(&election, [("advertisement", 4)]);
    let refused = silent::messages(&bully::PROTOCOL, 3, &nodes([3]));
    assert_eq!(refused.unwrap_err().to_string(), "candidate 3 cannot begin: it is down, or there are fewer candidates");
}
