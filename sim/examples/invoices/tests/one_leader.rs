//! The service as it is, whatever happens to it.

use fencepost::{World, database, etcd, scenarios};

#[test]
fn no_invoice_is_charged_by_two_leaders() {
    let invoices = "INSERT INTO invoices (amount) VALUES ".to_owned() + &vec!["(5)"; 1_000].join(", ");
    let schema = include_str!("../schema.sql").to_owned() + &invoices;
    World::new()
        .service(etcd())
        .store(database("charges").token("token").schema(&schema))
        .fleet(3, invoices::main)
        .env("ETCD_URL", "http://etcd:2379")
        .env("DATABASE_URL", "postgres://invoices@store/invoices")
        .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
        .seeds(0..5)
        .pause_before_every_send()
        .check();
}
