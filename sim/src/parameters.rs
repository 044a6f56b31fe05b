//! A plan's parameters, for the head of a report.

use protocols::{
    address::Kind,
    copies::Copies,
    election::{
        Protocol, Timer, raft_core,
        rules::{Manner, Rules},
    },
    fence::checks::Fencing,
    point::Point,
    sharding::Placement,
    types::MILLISECOND,
    work::work_set::Asked,
};
use reports::statistics::{count, duration};
use scenarios::{
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::{Address, Given, Plan, Tenure},
    read_lease,
    units::duration_text,
};

/// The plan's parameters, for the head of a report. `protocol` is the plan's, if known; `time` names the kind of time
/// of its duration.
pub fn parameters(plan: &Plan, protocol: Option<&Protocol>, time: &str) -> Vec<(String, String)> {
    let span = |values: &mut dyn Iterator<Item = i64>| {
        let values: Vec<i64> = values.collect();
        let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
        format!("{low:+}…{high:+}")
    };
    let skew = span(&mut plan.candidates.iter().map(|c| c.wall_offset_ms));
    let drift = span(&mut plan.candidates.iter().map(|c| c.rate_ppm));
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let mut rows = vec![
        pair("protocol", plan.protocol.clone()),
        pair("fencing", fencing(plan.fencing).to_owned()),
        pair("seed", plan.seed.to_string()),
        pair("nodes", format!("{}, clocks off by {skew} ms and {drift} ppm", plan.candidates.len())),
        lease(plan, protocol),
    ];
    let own_ms = plan.timings.own_ms();
    let set = Timer::ALL.into_iter().filter_map(|timer| Some(format!("{} {} ms", timer.words(), own_ms.get(timer)?)));
    let set: Vec<String> = set.collect();
    if !set.is_empty() {
        rows.push(pair("timers", set.join(", ")));
    }
    if plan.load.clients > 0 {
        let clients = count(plan.load.clients.into(), "client");
        rows.push(pair("load", format!("{} requests/s from {clients}", plan.load.rate)));
    }
    rows.extend([
        pair("network", network_of(plan)),
        pair("duration", format!("{} s{time}", plan.duration_ms as f64 / 1e3)),
    ]);
    if !plan.timings.rules.are_usual() {
        rows.push(pair("rules", rules(plan.timings.rules)));
    }
    rows.extend(bandwidth(plan));
    rows.extend(plan.copies.map(|copies| pair("copies", when_acknowledged(copies).to_owned())));
    if plan.groups > 1 {
        rows.push(pair("groups", format!("{}, each with that load and its own clients", plan.groups)));
    }
    rows.extend(plan.placement.map(|placement| pair("placement", where_placed(placement).to_owned())));
    rows.extend(tenure(plan.tenure));
    rows.extend(plan.address.map(|address| pair("address", how_found(address))));
    if plan.load.reads_per_s > 0 {
        let how = if plan.read_lease { "answered from the leader's memory" } else { "answered through the store" };
        rows.push(pair("reads", format!("{} a second, {how}", plan.load.reads_per_s)));
    }
    rows.extend(plan.read_lease.then(|| pair("read lease", read_lease_of(plan, protocol))));
    rows.extend(plan.service_members.iter().map(|(service, count)| pair(service, format!("{count} members"))));
    rows.extend(works(plan));
    rows.extend(plan.bugs.iter().map(|bug| pair("bug", bug.clone())));
    for branch in &plan.branches {
        rows.push(pair(
            "branch",
            format!("drawn from seed {} from {:.6} s on", branch.seed, branch.at_us as f64 / 1e6),
        ));
    }
    for fault in &plan.faults {
        rows.push(pair("fault", describe(fault)));
    }
    rows
}

fn read_lease_of(plan: &Plan, protocol: Option<&Protocol>) -> String {
    if let Some((lease, bound)) = protocol.and_then(|protocol| raft_core::guard(&plan.resolved(protocol))) {
        let (lease, bound) = (lease / MILLISECOND, bound / MILLISECOND);
        return format!("LeaseGuard, {lease} ms from each committed entry; wall clocks at most {bound} ms wrong");
    }
    let words = protocol.and_then(|protocol| read_lease::of_plan(plan, protocol)).map(|bound| bound.words());
    words.unwrap_or_else(|| "never expires on its clock: nothing bounds it".to_owned())
}

fn network_of(plan: &Plan) -> String {
    let network = &plan.network;
    let lost = (network.loss * 1e6).round() / 1e4;
    let lost = if network.loss > 0.0 { format!(", {lost} % lost") } else { String::new() };
    let trip = between(network.latency_us, network.latency_us + network.jitter_us);
    format!("{}, {trip} one way{lost}", network.profile)
}

/// The parameters of the protocol and of works that have no field of their own, by owner.
fn own_values(plan: &Plan) -> impl Iterator<Item = (String, String)> {
    let value = |(field, given): (&String, &Given)| match given {
        Given::Switch(on) => format!("{field} {}", if *on { "on" } else { "off" }),
        Given::Number(number) => format!("{field} {number}"),
        Given::Word(word) => format!("{field} {word}"),
    };
    plan.set.iter().map(move |(owner, values)| (owner.clone(), values.iter().map(value).collect::<Vec<_>>().join(", ")))
}

/// What may happen to leaders.
fn tenure(tenure: Tenure) -> impl Iterator<Item = (String, String)> {
    let Tenure { warm_up_ms, hold_down_ms, check_errors_ppm, step_down_after_ms } = tenure;
    let parts = [
        (warm_up_ms > 0, format!("serve nobody for {} after their election", duration_text(warm_up_ms))),
        (
            check_errors_ppm > 0,
            format!("resign at one health check in {:.0} (one a second)", 1e6 / f64::from(check_errors_ppm)),
        ),
        (
            step_down_after_ms > 0,
            format!("resign when the store has owed an answer for {}", duration_text(step_down_after_ms)),
        ),
        (hold_down_ms > 0, format!("but not within {} after their election", duration_text(hold_down_ms))),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(told, _)| *told).map(|(_, part)| part).collect();
    (!parts.is_empty()).then(|| ("leaders".to_owned(), parts.join(", "))).into_iter()
}

/// How clients find the leader.
fn how_found(address: Address) -> String {
    let what = match address.kind {
        Kind::Vip => "a virtual IP that the leader announces",
        Kind::Dns => "a DNS record that the leader overwrites",
        Kind::Label => "a label that each node sets and removes for itself",
    };
    format!("clients go by {what}, and keep it for {}", duration_text(address.ttl_ms))
}

/// The leaders' works, unless they are the usual ones, and the parameters of works and the protocol.
fn works(plan: &Plan) -> impl Iterator<Item = (String, String)> {
    let works = (!plan.works.is_empty()).then(|| ("work".to_owned(), plan.works.join(", ")));
    let asked = (!plan.work_set.is_nothing()).then(|| ("work-set".to_owned(), work_set(plan.work_set)));
    let check = plan.charge_check.map(|check| ("charge check".to_owned(), check.about().to_owned()));
    works.into_iter().chain(asked).chain(check).chain(own_values(plan))
}

/// The parameters of the work-set.
fn work_set(asked: Asked) -> String {
    let Asked { items, item_ms, checkpoint_every, load_ms } = asked;
    let cursor = checkpoint_every.map(|every| match every {
        0 => "no cursor".to_owned(),
        1 => "cursor after each".to_owned(),
        every => format!("cursor after every {every}"),
    });
    let parts = [
        items.map(|items| format!("{items} items")),
        item_ms.map(|ms| format!("{} each", duration_text(ms))),
        cursor,
        load_ms.map(|ms| format!("loaded in {}", duration_text(ms))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How fast processes can send, if that is limited or separate.
fn bandwidth(plan: &Plan) -> Vec<(String, String)> {
    let network = &plan.network;
    let limit = format!("{} Mbit/s from each process", network.bandwidth_mbps);
    let apart = "heartbeats, votes and requests to the service on a link of their own".to_owned();
    let rows = [(network.bandwidth_mbps > 0, "bandwidth", limit), (network.control_apart, "control", apart)];
    rows.into_iter().filter(|(told, ..)| *told).map(|(_, name, value)| (name.to_owned(), value)).collect()
}

/// The timers of the election.
fn lease(plan: &Plan, protocol: Option<&Protocol>) -> (String, String) {
    let timings = &plan.timings;
    let renewed = timings.renew_interval_ms;
    if protocol.is_some_and(Protocol::is_program) {
        return ("takeover".to_owned(), format!("{} ms after a leader's death, as measured", timings.lease_ttl_ms));
    }
    match (timings.election_timeout_ms, protocol.is_some_and(Protocol::elects_among_peers)) {
        (Some((min_ms, max_ms)), _) => {
            ("timeout".to_owned(), format!("{min_ms} to {max_ms} ms until others stand; heartbeat every {renewed} ms"))
        }
        (None, true) => (
            "silence".to_owned(),
            format!("{} ms until others stand; heartbeat every {renewed} ms", timings.lease_ttl_ms),
        ),
        (None, false) => {
            let asked_ms = timings.lease_ttl_ms;
            let granted = |p: &Protocol| (p.granted_ttl)(plan.resolved(p).lease_ttl) / MILLISECOND;
            let granted_ms = protocol.map_or(asked_ms, granted);
            let asked = if granted_ms == asked_ms { String::new() } else { format!(" ({asked_ms} ms asked for)") };
            ("lease".to_owned(), format!("{granted_ms} ms{asked}, renewed every {renewed} ms"))
        }
    }
}

/// The rules that differ from the usual.
fn rules(rules: Rules) -> String {
    let off = [
        ("pre-vote off", !rules.pre_vote),
        ("check-quorum off", !rules.check_quorum),
        ("leader-lease off", !rules.leader_lease),
        ("timers as in hashicorp/raft", rules.manner == Manner::Hashicorp),
    ];
    off.into_iter().filter(|(_, is)| *is).map(|(words, _)| words).collect::<Vec<_>>().join(", ")
}

/// When a leader's copy acknowledges.
fn when_acknowledged(copies: Copies) -> &'static str {
    match copies {
        Copies::Async => "one on each node, which acknowledges at once",
        Copies::Majority => "one on each node, which acknowledges what a majority has",
    }
}

/// Which node should lead which group.
fn where_placed(placement: Placement) -> &'static str {
    match placement {
        Placement::Ring => "each group is led by the next on a consistent hash ring of those that live",
        Placement::Modulo => "each group is led by its number modulo how many live",
    }
}

fn fencing(fencing: Fencing) -> &'static str {
    match fencing {
        Fencing::On => "on",
        Fencing::Off => "off: the store accepts anything",
        Fencing::Token => "only the token is checked",
        Fencing::Order => "only the order of numbers is checked",
        Fencing::Memory => "only repeated requests are recognised",
    }
}

/// A range of latencies, in the unit that suits its upper end.
fn between(low_us: u64, high_us: u64) -> String {
    match high_us {
        ..1_000 => format!("{low_us}–{high_us} µs"),
        _ => format!("{}–{} ms", low_us as f64 / 1e3, high_us as f64 / 1e3),
    }
}

/// `the leader cut off from the service and the followers`: the smaller group from the larger.
fn cut_off(one: &[String], other: &[String]) -> String {
    let (few, many) = if other.len() < one.len() { (other, one) } else { (one, other) };
    format!("{} cut off from {}", listed(few), listed(many))
}

/// `the leader, n2 and the store`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A fault in words: what it does to whom, and when.
pub fn describe(fault: &PlannedFault) -> String {
    let (from, to) = fault.what.groups();
    let names = |group: &[Who]| -> Vec<String> {
        let name = |who: &Who| match who {
            Who::Trigger if let Trigger::Passage { node: Who::Named(name), .. } = &fault.when => name.clone(),
            Who::Leader | Who::Trigger => "the leader".to_owned(),
            Who::Followers | Who::Clients => format!("the {who}"),
            Who::Service => "the service".to_owned(),
            Who::ServiceLeader => "the leader of the service".to_owned(),
            Who::Candidates => "all nodes".to_owned(),
            Who::Store => "the store".to_owned(),
            who => who.to_string(),
        };
        group.iter().map(name).collect()
    };
    let of_group = if fault.group > 0 { format!(" (of group {})", fault.group) } else { String::new() };
    let (from, to) = (names(from), names(to));
    let what = match &fault.what {
        Fault::Partition { one_way: false, for_ms, .. } => {
            let lasts = for_ms.map(|ms| format!(" for {}", duration(ms * 1e3)));
            cut_off(&from, &to) + &lasts.unwrap_or_default()
        }
        what => what.describe(&listed(&from), &listed(&to)),
    };
    let when = match &fault.when {
        Trigger::At { ms } => format!("at {:.3} s", ms / 1e3),
        Trigger::Passage { point, node, nth, matching, after, .. } if point == Point::BeforeSend.name() => {
            let from = match after.as_deref() {
                Some(Trigger::At { ms }) if *ms > 0.0 => format!(" from {:.3} s on", ms / 1e3),
                Some(Trigger::Passage { .. }) => ", counted from an earlier one".to_owned(),
                _ => String::new(),
            };
            let with = matching.as_ref().map(|text| format!(" with {text:?} in it")).unwrap_or_default();
            format!("before send {nth} of {}{with}{from}", names(std::slice::from_ref(node)).join(", "))
        }
        Trigger::Passage { point, nth, after: None, .. } => format!("at passage {nth} of `{point}`"),
        Trigger::Passage { point, delay_ms, after: Some(after), .. } => match &**after {
            Trigger::Passage { point: before, nth, .. } => {
                format!("at `{point}`, {delay_ms:.0} ms after passage {nth} of `{before}`")
            }
            Trigger::At { ms } => format!("at the next `{point}` after {:.3} s", ms / 1e3),
        },
    };
    format!("{when}: {what}{of_group}")
}
