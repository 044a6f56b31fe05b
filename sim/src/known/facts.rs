//! Constants of what is modelled, as in their sources. Bounds computed from a constant move with it, so that no run
//! shows a changed default: `facts.txt` records the constants, and sweeps compare them.
//!
//! To change one on purpose, look it up in the source that its file names, and run `FENCEPOST_UPDATE=1 cargo nextest
//! run --workspace -E 'test(constants_are_as_their_sources_have_them)'`.

#[cfg(feature = "etcd")]
use crate::service::etcd::model as etcd_model;
use crate::{
    service::{cluster, consul::model as consul},
    world::{keepalive, retransmit},
};
use protocols::{
    election::{self, Conditions, Protocol, Timer, stonith, zab_fle},
    fence::power,
    service::zookeeper,
    sharding,
    types::{MILLISECOND, SECOND},
};

const EXPECTED: &str = include_str!("facts.txt");

/// The constants that differ: name, and what is wrong.
pub(super) fn wrong() -> impl Iterator<Item = (String, String)> {
    let is: Vec<String> = all();
    let of_model = |line: &&str| line.starts_with("etcd lease") || line.starts_with("etcd watch");
    let expected: Vec<&str> = EXPECTED.lines().filter(|line| cfg!(feature = "etcd") || !of_model(line)).collect();
    let name = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
    let differs = |(is, was): (&String, &&str)| {
        (is != was).then(|| (format!("constant: {}", name(is)), format!("it is “{is}”, and its source has “{was}”")))
    };
    let mut wrong: Vec<_> = is.iter().zip(&expected).filter_map(differs).collect();
    if is.len() != expected.len() {
        let why = format!("there are {}, and facts.txt has {}", is.len(), expected.len());
        wrong.push(("constant: how many there are".to_owned(), why));
    }
    wrong.into_iter()
}

/// All constants, one per line.
fn all() -> Vec<String> {
    election::ALL.into_iter().flat_map(of_protocol).chain(of_services()).chain(of_the_world()).collect()
}

fn ms(ns: u64) -> String {
    format!("{} ms", ns as f64 / MILLISECOND as f64)
}

/// What follows from a protocol's defaults, and from a lease of 7 s, which no default uses.
fn of_protocol(protocol: &'static Protocol) -> Vec<String> {
    let name = protocol.name;
    let usual = protocol.default_timings();
    let mut odd = usual;
    odd.lease_ttl = (protocol.granted_ttl)(7 * SECOND);
    odd.renew_interval = (protocol.renew_interval)(odd.lease_ttl);
    odd.own = protocol.timers.defaults(odd.lease_ttl);
    let mut lines = vec![
        format!("{name} lease asked for = {}", ms(protocol.default_lease_ttl)),
        format!("{name} election timeout = {:?} ns", protocol.election_timeout),
    ];
    let worst = Conditions {
        candidates: 3,
        slow_ppm: 50_000,
        fast_ppm: 20_000,
        travel: 40 * MILLISECOND,
        unread: 20 * MILLISECOND,
        ..Conditions::default()
    };
    for (which, timings) in [("by default", &usual), ("at 7 s", &odd)] {
        let own = Timer::ALL.into_iter().filter_map(|timer| Some((timer.words(), ms(timings.own.get(timer)?))));
        let own: Vec<String> = own.map(|(words, value)| format!("{words} {value}")).collect();
        let (lease, renew) = (ms(timings.lease_ttl), ms(timings.renew_interval));
        let timeout = ms(timings.request_timeout);
        lines.push(format!("{name} timers {which} = lease {lease}, renewals {renew}, requests {timeout}, {own:?}"));
        let takeover = [3, 5].map(|nodes| ms((protocol.takeover_max)(timings, nodes)));
        lines.push(format!("{name} takeover {which} = {takeover:?}"));
        let read = protocol.read_lease.map(|of| of(timings)).map(|(believes, waits)| [ms(believes), ms(waits)]);
        lines.push(format!("{name} believes, others wait {which} = {read:?}"));
        let overlap = [Conditions { candidates: 3, ..Conditions::default() }, worst];
        let overlap = overlap.map(|conditions| (protocol.belief_overlap)(timings, &conditions).map(ms));
        lines.push(format!("{name} two believe for {which} = {overlap:?}"));
    }
    lines
}

fn of_services() -> Vec<String> {
    let (shortest, longest) = (zookeeper::granted(1), zookeeper::granted(1 << 60));
    Vec::from([
        format!("etcd members = {:?}", cluster::ETCD),
        format!("zookeeper members = {:?}", cluster::ZOOKEEPER),
        format!("consul members = {:?}", cluster::CONSUL),
        format!("member patience = {}", ms(cluster::member::PATIENCE)),
        #[cfg(feature = "etcd")]
        format!(
            "etcd lease min, scan, promotion = {} s, {}, {}",
            etcd_model::MIN_TTL_S,
            ms(etcd_model::EXPIRY_SCAN),
            ms(etcd_model::PROMOTION)
        ),
        #[cfg(feature = "etcd")]
        format!("etcd watch resync = {}", ms(etcd_model::RESYNC)),
        format!("zookeeper tick, sessions = {}, {} to {}", ms(zookeeper::TICK), ms(shortest), ms(longest)),
        format!(
            "consul session ttl = {} to {}, times {}",
            ms(consul::TTL_MIN),
            ms(consul::TTL_MAX),
            consul::TTL_MULTIPLIER
        ),
        format!("consul lock-delay = {}, at most {}", ms(consul::LOCK_DELAY), ms(consul::LOCK_DELAY_MAX)),
        format!("power device takes = {}", ms(power::ACTION_DELAY)),
        format!("stonith delays = {}, {}, {}", ms(stonith::DELAY_BASE), ms(stonith::DELAY_RANDOM), ms(stonith::SETTLE)),
        format!("zab drift, finalize wait = 1/{}, {}", zab_fle::DRIFT_PART, ms(zab_fle::FINALIZE_WAIT)),
        format!(
            "shards beat, silence, settled = {}, {}, {}",
            ms(sharding::BEAT),
            ms(sharding::SILENCE),
            ms(sharding::SETTLED_WITHIN)
        ),
        format!("hash ring points = {}", sharding::POINTS),
    ])
}

fn of_the_world() -> Vec<String> {
    let (first, most, syn) =
        (retransmit::RETRANSMIT_FIRST, retransmit::RETRANSMIT_MAX, retransmit::SYN_RETRANSMIT_FIRST);
    vec![
        format!("retransmissions after = {}, at most {}, of a connection {}", ms(first), ms(most), ms(syn)),
        format!("losses in a row = {}", retransmit::LOST_MAX),
        format!("keepalive probes = {}", keepalive::PROBES),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_as_their_sources_have_them() {
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/known/facts.txt");
            std::fs::write(file, all().join("\n") + "\n").expect("facts.txt can be written");
            return;
        }
        assert_eq!(wrong().collect::<Vec<_>>(), []);
    }
}
