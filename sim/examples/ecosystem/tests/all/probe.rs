use crate::world::*;
use fencepost_libc::main_of;

fn services() -> Vec<Service> {
    vec![
        on_redis("rslock", main_of(ecosystem::rslock::main)),
        on_redis("redlock", main_of(ecosystem::redlock::main)),
        on_redis("redsync", main_of(ecosystem::redsync::main)),
        on_redis("redis_lock", main_of(ecosystem::redis_lock::main)),
        on_redis("armature_lock", main_of(ecosystem::armature_lock::main)),
        on_redis("armature_leader", main_of(ecosystem::armature_leader::main)),
        on_kubernetes("kube_leader_election", main_of(ecosystem::kube_leader_election::main), 15.0),
        on_kubernetes("kube_lease_manager", main_of(ecosystem::kube_lease_manager::main), 30.0),
        on_kubernetes("kube_coordinate", main_of(ecosystem::kube_coordinate::main), 15.0),
        on_kubernetes("kubert", main_of(ecosystem::kubert::main), 30.0),
    ]
}

fn show(what: &str, told: &Told) {
    println!("--- {what}: {} writes, violated {:?}, faults {}", told.writes.len(), told.violated, told.faults);
    let log = told.log();
    let lines: Vec<&str> = log.lines().collect();
    for line in lines.iter().take(14) { println!("{line}") }
    if lines.len() > 14 { println!("… {} lines", lines.len()); for line in lines.iter().rev().take(5).rev() { println!("{line}") } }
    for node in 0..3 {
        let mut spans: Vec<(f64, f64, usize)> = Vec::new();
        for (at, by) in &told.writes {
            if by.0 != node { continue }
            match spans.last_mut() { Some(span) if at - span.1 < 1.0 => { span.1 = *at; span.2 += 1 } _ => spans.push((*at, *at, 1)) }
        }
        let n = spans.len();
        for (from, to, count) in spans.into_iter().take(8) { println!("    n{} wrote {count} times from {from:.3} to {to:.3}", node + 1) }
        if n > 8 { println!("    … {n} spans") }
    }
}

#[test]
fn probe() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let stories = std::env::var("STORY").unwrap_or("steady,kill,cut,pause,sends".into());
    let seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for service in services() {
        if !only.is_empty() && !only.split(',').any(|only| only == service.name) { continue }
        println!("====== {}", service.name);
        let lease = service.lease_s;
        let quiet = Story::quiet(seed).lasting(20.0 + 4.0 * lease);
        let told = tell(&service, &quiet);
        if stories.contains("steady") { show("steady", &told); }
        if told.writes.is_empty() { continue }
        let leader = named(told.leader(8.0));
        if stories.contains("kill") { show("kill", &tell(&service, &quiet.clone().with(at(8.0), kill(leader.clone())))); }
        if stories.contains("cut") { show("cut off", &tell(&service, &quiet.clone().with(at(8.0), cut_off(leader.clone(), 3.0 * lease)))); }
        if stories.contains("pause") { show("pause", &tell(&service, &quiet.clone().with(at(8.0), pause(leader.clone(), 2.0 * lease)))); }
        if stories.contains("restart") {
            show("restart", &tell(&service, &quiet.clone().with(at(8.0), scenarios::fault::Fault::Kill { node: scenarios::fault::Who::Service, restart_after_ms: Some(2.0 * lease * 1000.0) })));
        }
        if stories.contains("sends") {
            for nth in 1..=12 {
                let story = quiet.clone().with(before_send(&leader, nth, 5.0), pause(scenarios::fault::Who::Trigger, 2.0 * lease));
                let told = tell(&service, &story);
                println!("send {nth}: faults {} violated {:?}", told.faults, told.violated);
            }
        }
    }
}
