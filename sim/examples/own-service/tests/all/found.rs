//! With a store that compares nothing, the test finds two leaders, and what it prints finds them again.

use fencepost::{Failure, Store, World, database, failure::Kind, quorum, redis, scenarios, store};
use std::{
    env,
    io::Read,
    net::{TcpListener, TcpStream},
    process::Command,
    thread,
    time::Duration,
};

fn unfenced() -> Result<fencepost::Checked, Failure> {
    World::new()
        .service(redis())
        .store(store().unfenced())
        .fleet(3, own_service::main)
        .env("REDIS_URL", "redis://redis:6379")
        .env("STORE_URL", "http://store")
        .leads_when("leads with token {token}")
        .stops_when("leads no more")
        .scenarios([scenarios::clean_kill()])
        .seeds(0..2)
        .pause_before_every_send()
        .try_check()
}

#[test]
fn without_fencing_two_take_effect_and_the_message_says_how_to_see_it_again() {
    let failure = unfenced().expect_err("nobody refuses a stale write");
    let said = failure.to_string();
    assert_eq!(failure.kind, Kind::Safety, "{said}");
    let broken = failure.broken.expect("a run failed");
    assert!(broken.violated.contains(&"leaders_acting_by_effect"), "{said}");
    assert!(said.contains("\n  It takes the pause before a send. It passes with fencing on.\n"), "{said}");
    // Repeated by its own command, this test finds the same.
    if std::env::var_os("FENCEPOST_PLAN").is_some() {
        return println!("<{}>", broken.violated.join(" "));
    }
    assert_eq!(broken.scenario, "every-send", "{said}");
    for file in ["timeline.html", "report.txt", "plan.json", "plan.min.json", "output.txt", "history.jsonl"] {
        assert!(broken.folder.join(file).is_file(), "{file} is missing: {said}");
    }
    let commands =
        said.lines().filter(|line| line.contains("FENCEPOST_PLAN=")).map(|line| &line[line.find('(').unwrap()..]);
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), 2, "{said}");
    // `sim/cli/tests/all/own_service.rs` has cargo run them; here the test is built already.
    let test = thread::current().name().expect("libtest names it").to_owned();
    for command in commands {
        let (_, plan) = command.split_once("FENCEPOST_PLAN=").expect("its plan");
        let (plan, cargo) = plan.split_once(' ').expect("what runs it");
        assert_eq!(cargo, format!("cargo test {test} -- --exact --nocapture)"), "{command}");
        let mut again = Command::new(env::current_exe().expect("this test"));
        let again =
            again.args([&*test, "--exact", "--nocapture"]).env("FENCEPOST_PLAN", plan).output().expect("it starts");
        let again = format!("{}{}", String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&again.stderr));
        assert!(again.contains(&format!("<{}>", broken.violated.join(" "))), "{command}: {again}");
    }
}

#[test]
fn sends_with_a_text_in_them_are_fewer_and_one_of_them_is_the_place() {
    let sends = |store: Store, text| service(store).seeds(0..1).pause_before_sends(text).try_check();
    let every = service(store()).seeds(0..1).pause_before_every_send().check();
    let writes = sends(store(), "PUT /sequence").expect("stale writes are refused");
    let renewals = sends(store(), "PEXPIRE").expect("stale writes are refused");
    assert!(writes.sends > 1 && renewals.sends > 1 && writes.sends + renewals.sends < every.sends, "{every}");
    // Between the look at the lease and the write is the send of the write, and no renewal.
    let failure = service(store().unfenced())
        .leads_when("leads with token {token}")
        .shrink_runs(60)
        .pause_before_sends("PUT /sequence")
        .try_check()
        .expect_err("a stale write");
    let said = failure.to_string();
    assert_eq!(failure.kind, Kind::Safety, "{said}");
    assert!(said.contains(r#" with "PUT /sequence" in it: n"#), "{said}");
    let failure = sends(store(), "FLUSHALL").expect_err("it never says that");
    assert_eq!(failure.kind, Kind::Inconclusive);
    assert!(failure.to_string().contains(r#"none of its sends has "FLUSHALL" in its first 512 bytes"#), "{failure}");
}

#[test]
fn every_pause_before_every_send_of_every_process_and_a_hundred_second_ones() {
    let checked = service(store()).seeds(0..1).exhaustive(100).check();
    let exhausted = checked.exhausted.clone().expect("it was asked for");
    println!("{exhausted}");
    assert!(exhausted.sends == exhausted.of_sends && exhausted.lengths == 5 && exhausted.pairs == 100, "{checked}");
    // Followers send as well, and most of what was planned struck.
    let of_leader = service(store()).seeds(0..1).pause_before_every_send().check().all_sends;
    assert!(exhausted.sends > of_leader && exhausted.succeeded > 0, "{checked}");
    assert!(exhausted.struck > 4 * exhausted.sends, "{checked}");
}

/// The first leads, and the second one once the first one's process has ended: no pause makes it lead.
fn follows_a_connection() {
    let is_first = env::var("HOSTNAME").is_ok_and(|name| name == "n1");
    let wait = || thread::sleep(Duration::from_millis(100));
    if is_first {
        let listener = TcpListener::bind("0.0.0.0:7000").expect("the port is free");
        thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    } else {
        let mut first = loop {
            match TcpStream::connect("n1:7000") {
                Ok(first) => break first,
                Err(_) => wait(),
            }
        };
        let _ = first.read(&mut [0]);
    }
    let token = if is_first { "1" } else { "2" };
    loop {
        let _ = ureq::put("http://store/sequence").header("fencing-token", token).send_empty();
        wait();
    }
}

#[test]
fn where_no_pause_leads_to_another_leader_an_exhaustive_search_shows_nothing() {
    let world = World::new().store(store()).fleet(2, follows_a_connection).seeds(0..1).shrink_runs(0);
    let failure = world.exhaustive(10).try_check().expect_err("it shows nothing");
    assert_eq!(failure.kind, Kind::Inconclusive, "{failure}");
    assert!(failure.to_string().contains("no pause of the leader led to another"), "{failure}");
}

fn service(store: Store) -> World {
    let world = World::new().service(redis()).store(store).fleet(3, own_service::main);
    world.env("REDIS_URL", "redis://redis:6379").env("STORE_URL", "http://store").shrink_runs(0)
}

fn wrong(world: World) -> String {
    let failure = world.try_check().expect_err("it cannot be run");
    assert!(matches!(failure.kind, Kind::Wrong | Kind::NobodyWrites), "{failure}");
    failure.to_string()
}

#[test]
fn what_cannot_be_run_is_said_in_one_sentence() {
    assert_eq!(wrong(World::new()), "there is no fleet; name the processes with `fleet(3, my_service::main)`");
    let world = || World::new().fleet(3, idle);
    assert_eq!(wrong(world()), "nothing happens; name `scenarios`, or `pause_before_every_send`");
    assert_eq!(wrong(world().pause_before_every_send().seeds(3..3)), "there are no seeds in 3..3");
    for own in [quorum().members(5), quorum().leader_key("leader")] {
        let said = wrong(world().pause_before_every_send().service(own));
        assert!(said.starts_with("`quorum()` has neither members nor a key"), "{said}");
    }
    let said = wrong(world().pause_before_sends(""));
    assert_eq!(said, "every send has an empty text in it; use `pause_before_every_send`");
    let said = wrong(service(store()).swarm(3..3));
    assert_eq!(said, "there is nothing to run: no seed, no send and no scenario that applies");
    let said = wrong(world().pause_before_every_send().leads_when("{token}"));
    assert!(said.contains("it needs some text before {token}"), "{said}");
    // Each schema is carried out after those before it, and the last asks for what no other has made.
    let first = database("t").schema("CREATE TABLE t (id bigint PRIMARY KEY) -- and no semicolon");
    let schema = first.schema("CREATE TABLE u (id bigint PRIMARY KEY);").schema("SELECT id FROM t; SELECT gone FROM u");
    let said = wrong(world().pause_before_every_send().store(schema));
    assert!(said.contains("gone"), "{said}");
    let said = wrong(world().pause_before_every_send());
    assert!(
        said.starts_with("nobody wrote to the store in 180 virtual seconds without any fault; it refuses"),
        "{said}"
    );
    assert!(said.contains("n1 I do nothing"), "{said}");
}

fn idle() {
    println!("I do nothing");
    loop {
        std::thread::sleep(std::time::Duration::from_secs(3_600));
    }
}

#[test]
fn the_page_shows_the_test_that_runs() {
    let (page, test) = (include_str!("../../../../../docs/your-test.md"), include_str!("../one_leader.rs"));
    let (_, code) = test.split_once("\n\n").expect("a comment comes first");
    assert!(page.contains(code), "docs/your-test.md has not\n{code}");
}
