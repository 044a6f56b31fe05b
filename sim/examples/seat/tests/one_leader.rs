//! Whatever happens to this service, at most one of its processes leads.

use fencepost::{World, database, etcd, scenarios};

#[test]
fn at_most_one_leader_takes_effect() {
    World::new()
        .service(etcd())
        // Its rows have a column `token`, into which the work writes `lead.token() as i64`.
        .store(
            database("charges")
                .token("token")
                .schema(fencepost_seat::fence::postgres::MIGRATION)
                .schema(include_str!("../migrations/1_tables.sql"))
                .schema(include_str!("../migrations/2_invoices.sql")),
        )
        .fleet(3, seat::main)
        .env("DATABASE_URL", "postgres://service@store:5432/service")
        .env("ETCD_URL", "http://etcd:2379")
        .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
        .seeds(0..10)
        .pause_before_every_send()
        .check();
}
