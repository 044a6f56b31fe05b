//! Redis under Sentinel when the primary is lost: it is replaced once enough sentinels consider it down, and
//! acknowledged writes that no replica has are lost.

use protocols::{
    election::redis_sentinel::PROTOCOL,
    fence::checks::Fencing,
    history::{Kind, json::Reader},
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario,
};
use sim::{
    determinism::Shared,
    run::{self, Options, Run},
    service::redis_sentinel::{
        Address,
        server::{ClientId, MinReplicas, Server},
    },
};

const SEEDS: u64 = 6;
/// When the trouble begins and how long it lasts, in milliseconds. By then the replicas have their full copies, and the
/// failover ends within the trouble: two leases of silence, the vote, the promotion.
const TROUBLE: (f64, f64) = (12_000.0, 20_000.0);

fn named(names: &[&str]) -> Vec<Who> {
    names.iter().map(|name| Who::from((*name).to_owned())).collect()
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what, group: 0 }
}

fn cut(from: Vec<Who>, to: Vec<Who>) -> PlannedFault {
    at(TROUBLE.0, Fault::Partition { from, to, one_way: false, for_ms: Some(TROUBLE.1) })
}

fn plan(seed: u64, fencing: Fencing, faults: Vec<PlannedFault>) -> Plan {
    let params = Params { rate: 50, fencing, duration_ms: Some(50_000), ..Params::default() };
    let mut plan = scenario::find("steady").expect("a scenario").compile(&params, &PROTOCOL, seed).expect("a plan");
    plan.faults = faults;
    // Nobody can lead until the primary is replaced, and two may believe while there are two primaries.
    (plan.liveness_bound_ms, plan.dual_belief_bound_ms) = (30_000, None);
    plan
}

/// The primary and the leader are cut off together from the other servers and all sentinels, and the primary from the
/// other candidates.
fn split(seed: u64, fencing: Fencing) -> Plan {
    let others = ["redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"];
    let mut far = named(&others);
    far.push(Who::Followers);
    plan(seed, fencing, vec![cut(named(&["redis-1"]), far), cut(vec![Who::Leader], named(&others))])
}

fn play(plan: &Plan) -> (Run, Vec<(u64, u64)>) {
    let text = Shared::default();
    let options = Options { history: Some(Box::new(text.clone())), ..Options::default() };
    let run = run::run(plan, options).expect("the run ends");
    let text = text.text();
    let events = Reader::new(text.as_bytes()).expect("a history").map(|event| event.expect("an event"));
    let elected = events.filter_map(|event| match event.kind {
        Kind::Elected(incarnation) => Some((event.t_us / 1_000, incarnation.token)),
        _ => None,
    });
    (run, elected.collect())
}

fn violated(run: &Run) -> Vec<&str> {
    run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect()
}

#[test]
fn a_dead_primary_is_replaced_and_the_tokens_go_on() {
    for seed in 0..SEEDS {
        let dies = Fault::Kill { node: named(&["redis-1"]).remove(0), restart_after_ms: Some(15_000.0) };
        let (run, elected) = play(&plan(seed, Fencing::On, vec![at(TROUBLE.0, dies)]));
        assert_eq!(violated(&run), Vec::<&str>::new(), "seed {seed}");
        // A new leader is elected before the former primary is back, with a token that the former leader did not have.
        let after: Vec<&(u64, u64)> = elected.iter().filter(|(ms, _)| *ms > TROUBLE.0 as u64).collect();
        assert!(after.first().is_some_and(|(ms, token)| *ms < 27_000 && *token > 1), "seed {seed}: {elected:?}");
    }
}

#[test]
fn a_cut_off_primary_goes_on_acknowledging_and_tokens_come_twice() {
    let mut twice = 0;
    for seed in 0..SEEDS {
        let (run, elected) = play(&split(seed, Fencing::On));
        let mut tokens: Vec<u64> = elected.iter().map(|(_, token)| *token).collect();
        let count = tokens.len();
        tokens.sort_unstable();
        tokens.dedup();
        twice += usize::from(tokens.len() < count);
        // The resource refuses a token that belongs to another node, and every lower one.
        assert!(violated(&run).iter().all(|name| *name == "elections"), "seed {seed}: {:?}", violated(&run));
        assert!(run.judgement.metrics.writes_fenced > 0, "seed {seed}");
    }
    assert_eq!(twice, SEEDS as usize);
}

#[test]
fn without_fencing_two_primaries_are_two_leaders() {
    for seed in 0..SEEDS {
        let (run, _) = play(&split(seed, Fencing::Off));
        let violated = violated(&run);
        assert!(violated.contains(&"leaders_acting_by_effect") && violated.contains(&"no_stale_write"), "{violated:?}");
    }
}

#[test]
fn a_minority_of_sentinels_promotes_nobody() {
    for seed in 0..SEEDS {
        // One sentinel sees both replicas but not the primary; the other two see only the primary, and miss nothing.
        let far = cut(named(&["redis-1"]), named(&["sentinel-1", "redis-2", "redis-3"]));
        let apart = cut(named(&["sentinel-1"]), named(&["sentinel-2", "sentinel-3"]));
        let (run, elected) = play(&plan(seed, Fencing::On, vec![far, apart]));
        assert_eq!((violated(&run), elected.len()), (Vec::new(), 1), "seed {seed}");
    }
}

/// Three leaders step down, and then `redis-1` loses its disk and is back after `back_ms`.
fn loses_data(back_ms: f64) -> Vec<PlannedFault> {
    let resigns = [6_000.0, 8_000.0, 10_000.0].map(|ms| at(ms, Fault::Resign { node: Who::Leader }));
    let node = named(&["redis-1"]).remove(0);
    let loss = at(TROUBLE.0, Fault::LoseData { node, restart_after_ms: Some(back_ms) });
    resigns.into_iter().chain([loss]).collect()
}

#[test]
fn a_primary_that_comes_back_empty_empties_its_replicas() {
    for seed in 0..SEEDS {
        // Nobody has missed the primary, and its later replacement has no data either.
        let mut faults = loses_data(300.0);
        faults.push(at(25_000.0, Fault::Kill { node: named(&["redis-1"]).remove(0), restart_after_ms: None }));
        let (_, elected) = play(&plan(seed, Fencing::On, faults));
        let before = elected.iter().filter(|(ms, _)| *ms < TROUBLE.0 as u64).map(|(_, token)| *token).max();
        let promoted = elected.iter().filter(|(ms, _)| *ms > 30_000).map(|(_, token)| *token).next();
        assert_eq!(before, Some(4), "seed {seed}: {elected:?}");
        assert!(elected.iter().any(|(ms, token)| *ms > TROUBLE.0 as u64 && *token == 1), "seed {seed}: {elected:?}");
        // Without the restart, the token would be the one after those.
        assert!(promoted.is_some_and(|token| token < elected.len() as u64), "seed {seed}: {elected:?}");
    }
}

#[test]
fn a_primary_that_is_missed_before_it_comes_back_empty_empties_nobody() {
    for seed in 0..SEEDS {
        let (run, elected) = play(&plan(seed, Fencing::On, loses_data(20_000.0)));
        assert_eq!(violated(&run), Vec::<&str>::new(), "seed {seed}");
        let tokens: Vec<u64> = elected.iter().map(|(_, token)| *token).collect();
        assert!(tokens.len() > 4 && tokens.is_sorted(), "seed {seed}: {elected:?}");
    }
}

#[test]
fn what_replicas_are_told_late_is_lost_with_the_primary() {
    for seed in 0..SEEDS {
        let resigns = at(11_000.0, Fault::Resign { node: Who::Leader });
        let dies = at(TROUBLE.0, Fault::Kill { node: named(&["redis-1"]).remove(0), restart_after_ms: None });
        let with_lag = |replica_lag_ms| {
            let mut plan = plan(seed, Fencing::On, vec![resigns.clone(), dies.clone()]);
            plan.timings.replica_lag_ms = replica_lag_ms;
            play(&plan).1.iter().map(|(_, token)| *token).collect::<Vec<u64>>()
        };
        assert_eq!(with_lag(None), [1, 2, 3], "seed {seed}");
        // The second token was drawn a second before, and no replica has it.
        assert!(with_lag(Some(3_000)).starts_with(&[1, 2, 2]), "seed {seed}: {:?}", with_lag(Some(3_000)));
    }
}

fn say(server: &mut Server, client: ClientId, now_ms: i64, command: &str) -> String {
    let words: Vec<Vec<u8>> = command.split(' ').map(|word| word.as_bytes().to_vec()).collect();
    server.command(client, now_ms, &words);
    String::from_utf8_lossy(&server.take(client).0).into_owned()
}

#[test]
fn min_replicas_to_write_refuses_what_no_replica_acknowledges_lately() {
    let address = Address { host: "redis-1".to_owned(), port: 6379 };
    let min_replicas = MinReplicas { to_write: 1, max_lag_ms: 10_000 };
    let mut server = Server::new(address, None, 1).with_min_replicas(min_replicas);
    let (client, replica) = (server.open(), server.open());
    let refused = "-NOREPLICAS Not enough good replicas to write.\r\n";
    assert_eq!(say(&mut server, client, 1_000, "SET a 1"), refused);
    assert_eq!(say(&mut server, replica, 1_000, "REPLCONF listening-port 6379"), "+OK\r\n");
    say(&mut server, replica, 1_000, "PSYNC ? -1");
    // The replica has not been sent anything yet.
    assert_eq!(say(&mut server, client, 2_000, "SET a 1"), refused);
    server.tick(6_000);
    assert!(String::from_utf8_lossy(&server.take(replica).0).starts_with("+FULLRESYNC "));
    assert_eq!(say(&mut server, client, 6_500, "SET a 1"), "+OK\r\n");
    assert_eq!(say(&mut server, client, 11_500, "SET a 2"), refused);
    assert_eq!(say(&mut server, client, 11_500, "GET a"), "$1\r\n1\r\n");
    say(&mut server, replica, 11_500, "REPLCONF ACK 50");
    assert_eq!(say(&mut server, client, 11_600, "SET a 2"), "+OK\r\n");
}
