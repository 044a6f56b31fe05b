//! The test that docs/seat.md shows, for the service here.

use fencepost::{World, database, etcd, scenarios};
use std::{fs, sync::LazyLock};

static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let invoices = vec!["(5)"; 1_000].join(", ");
    format!("{}; INSERT INTO invoices (amount) VALUES {invoices}", include_str!("../schema.sql"))
});

#[test]
fn at_most_one_leader_takes_effect() {
    World::new()
        .service(etcd())
        // Its rows have a column `token`, into which the work writes `lead.token() as i64`.
        .store(database("charges").token("token").schema(fencepost_seat::fence::postgres::MIGRATION).schema(&SCHEMA))
        .fleet(3, seat::on_etcd)
        .env("ETCD_URL", "http://etcd:2379")
        .env("DATABASE_URL", "postgres://service@store:5432/service")
        .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
        .seeds(0..10)
        .pause_before_every_send()
        .check();
}

#[test]
fn the_page_shows_it() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/one_leader.rs");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/seat.md");
    let [here, page] = [here, page].map(|file| fs::read_to_string(file).expect(file));
    let (_, test) = here.split_once("#[test]\n").expect("a test");
    let (test, _) = test.split_once("}\n\n").expect("its end");
    let test = test.replace("schema(&SCHEMA)", "schema(billing::SCHEMA)").replace("seat::on_etcd", "billing::main");
    assert!(page.contains(&test), "docs/seat.md does not have\n{test}");
}
