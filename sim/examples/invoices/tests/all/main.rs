//! The same test of services that are not right.

mod before;
mod untold;

use fencepost::{World, database, etcd};

/// What `tests/one_leader.rs` has, but for the fleet and what happens to it.
fn world() -> World {
    let invoices = "INSERT INTO invoices (amount) VALUES ".to_owned() + &vec!["(5)"; 1_000].join(", ");
    let schema = include_str!("../../schema.sql").to_owned() + &invoices;
    World::new()
        .service(etcd())
        .store(database("charges").token("token").schema(&schema))
        .env("ETCD_URL", "http://etcd:2379")
        .env("DATABASE_URL", "postgres://invoices@store/invoices")
}
