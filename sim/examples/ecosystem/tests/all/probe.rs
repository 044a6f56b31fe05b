use crate::world::*;

fn services() -> Vec<(&'static str, Service)> {
    vec![
        ("rslock", on_redis(fencepost_libc::main_of(ecosystem::rslock::main))),
        ("redlock", on_redis(fencepost_libc::main_of(ecosystem::redlock::main))),
        ("redsync", on_redis(fencepost_libc::main_of(ecosystem::redsync::main))),
        ("redis_lock", on_redis(fencepost_libc::main_of(ecosystem::redis_lock::main))),
        ("armature_lock", on_redis(fencepost_libc::main_of(ecosystem::armature_lock::main))),
        ("armature_leader", on_redis(fencepost_libc::main_of(ecosystem::armature_leader::main))),
        ("kube_leader_election", on_kubernetes(fencepost_libc::main_of(ecosystem::kube_leader_election::main))),
        ("kube_lease_manager", on_kubernetes(fencepost_libc::main_of(ecosystem::kube_lease_manager::main))),
        ("kube_coordinate", on_kubernetes(fencepost_libc::main_of(ecosystem::kube_coordinate::main))),
        ("kubert", on_kubernetes(fencepost_libc::main_of(ecosystem::kubert::main))),
    ]
}

fn show(what: &str, told: &Told) {
    println!("--- {what}: {} writes, violated {:?}, faults {}", told.writes.len(), told.violated, told.faults);
    println!("{}", told.log());
    let mut runs: Vec<(f64, f64, u16, usize)> = Vec::new();
    for (at, by) in &told.writes {
        match runs.last_mut() {
            Some(run) if run.2 == by.0 => { run.1 = *at; run.3 += 1 }
            _ => runs.push((*at, *at, by.0, 1)),
        }
    }
    for (from, to, by, count) in runs { println!("    n{} wrote {count} times from {from:.3} to {to:.3}", by + 1) }
}

#[test]
fn probe() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for (name, service) in services() {
        if !only.is_empty() && !only.split(',').any(|only| only == name) { continue }
        println!("====== {name}");
        let quiet = Story::quiet(seed);
        let told = tell(&service, &quiet);
        show("steady", &told);
        if told.writes.is_empty() { continue }
        let leader = named(told.leader(8.0));
        let mut story = quiet.clone().with(at(8.0), kill(leader.clone()));
        show("kill", &tell(&service, &story.lasting(40.0)));
        story = quiet.clone().with(at(8.0), cut_off(leader.clone(), 15.0));
        show("cut off", &tell(&service, &story.lasting(40.0)));
        story = quiet.clone().with(at(8.0), pause(leader.clone(), 6.0));
        show("pause", &tell(&service, &story.lasting(40.0)));
    }
}
