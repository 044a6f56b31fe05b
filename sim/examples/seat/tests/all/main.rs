//! The seat as it is, in a service around it, whatever happens to them.

mod again;
mod dropping;
mod fencing;
mod interrupted;
mod letting_go;
mod losing;
mod world;

use fencepost::{World, database, etcd, postgres, redis};

fn world() -> World {
    let invoices = "INSERT INTO invoices (amount) VALUES ".to_owned() + &vec!["(5)"; 1_000].join(", ");
    let schema = include_str!("../../schema.sql").to_owned() + fencepost_seat::fence::postgres::MIGRATION + &invoices;
    let world = World::new()
        .store(database("charges").token("token").schema(&schema))
        .env("DATABASE_URL", "postgres://invoices@store/invoices")
        .leads_when("leads with token {token}")
        .stops_when("leads no more")
        .every_scenario()
        .seeds(0..2)
        .swarm(0..30)
        .pause_before_every_send();
    world::defect().into_iter().fold(world, |world, (name, value)| world.env(name, &value))
}

#[test]
fn swept_on_etcd() {
    println!("{:?}", world().service(etcd()).fleet(3, seat::on_etcd).check());
}

#[test]
fn swept_on_redis() {
    println!("{:?}", world().service(redis()).fleet(3, seat::on_redis).check());
}

#[test]
fn swept_on_postgres() {
    println!("{:?}", world().service(postgres()).fleet(3, seat::on_postgres).check());
}
