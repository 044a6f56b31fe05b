//! The service as it is, whatever happens to it.

use fencepost::{World, redis, scenarios, store};

#[test]
fn at_most_one_leader_takes_effect() {
    World::new()
        .service(redis())
        .store(store())
        .fleet(3, own_service::main)
        .env("REDIS_URL", "redis://redis:6379")
        .env("STORE_URL", "http://store")
        .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
        .seeds(0..10)
        .pause_before_every_send()
        .check();
}
