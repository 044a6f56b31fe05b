//! The readings expected of probes, fault by fault.

use super::row::{AFTER, EDGE, LASTS, Read, Row, STRIKES, row};
use scenarios::{
    fault::{Fault, Who},
    plan::Network,
};

/// Candidates talk by datagrams, or over connections.
const DATAGRAMS: &str = "bully";
const CONNECTIONS: &str = "raft";

/// When a connection has recovered from a silence of [`LASTS`]: its fifth timeout ends 6.2 s after the silence began.
const MADE_UP: f64 = 10_000.0;

/// The usual range of a reading, by its name.
pub(super) fn usual(name: &str) -> (f64, f64) {
    match name.rsplit_once(' ').unwrap_or_default() {
        (_, "said/s") => (99.0, 101.0),
        (way, "ms") if way.ends_with(" late") || way.ends_with(" latest") => (1.0, 1.01),
        ("state n2", "/s") => (98.0, 100.5),
        ("stream n1>n2" | "stream n1>n2 back", "/s") => (99.0, 101.0),
        ("stream n1>n2", "ms") => (1.0, 1.01),
        ("stream n1>n2 back", "ms") => (2.0, 2.01),
        ("sync n1", "/s") => (18.5, 20.1),
        ("state n2" | "sync n1", "ms") => (0.3, 0.701),
        ("clock n1 gap", "ms") => (9.99, 10.01),
        _ => (0.0, 0.0),
    }
}

fn named(name: &str) -> Who {
    Who::Named(name.to_owned())
}

fn n1() -> Who {
    named("n1")
}

/// The fault that follows this one in the table. A match, so that a new kind of fault must be given its place.
fn next(fault: Option<&Fault>) -> Option<Fault> {
    let (from, to, for_ms) = (vec![n1()], vec![named("n2")], Some(LASTS));
    let restart_after_ms = Some(1_500.0);
    Some(match fault {
        None => Fault::Pause { node: n1(), for_ms: LASTS },
        Some(Fault::Pause { .. }) => Fault::Kill { node: n1(), restart_after_ms },
        Some(Fault::Kill { .. }) => Fault::PowerLoss { node: n1(), restart_after_ms },
        Some(Fault::PowerLoss { .. }) => Fault::Restart { node: n1() },
        Some(Fault::Restart { .. }) => Fault::Partition { from, to, one_way: false, for_ms },
        Some(Fault::Partition { one_way: false, .. }) => Fault::Partition { from, to, one_way: true, for_ms },
        Some(Fault::Partition { one_way: true, .. }) => Fault::Latency { from, to, extra_us: 20_000, for_ms },
        Some(Fault::Latency { .. }) => Fault::Loss { from, to, probability: 0.3, for_ms },
        Some(Fault::Loss { .. }) => Fault::Hang { from, to, for_ms },
        Some(Fault::Hang { .. }) => Fault::Bandwidth { node: n1(), kbps: 256, for_ms },
        Some(Fault::Bandwidth { .. }) => Fault::SlowDisk { node: Who::Candidates, extra_us: 70_000, for_ms },
        Some(Fault::SlowDisk { .. }) => Fault::SyncHang { node: Who::Candidates, for_ms },
        Some(Fault::SyncHang { .. }) => Fault::SyncFail { node: n1(), silent: false, for_ms },
        Some(Fault::SyncFail { silent: false, .. }) => Fault::SyncFail { node: n1(), silent: true, for_ms },
        Some(Fault::SyncFail { silent: true, .. }) => Fault::ClockStep { node: n1(), by_ms: -5_000 },
        Some(Fault::ClockStep { .. }) => Fault::ClockRate { node: n1(), ppm: 200_000, for_ms },
        Some(Fault::ClockRate { .. }) => Fault::Resign { node: n1() },
        Some(Fault::Resign { .. }) => Fault::Transfer { node: n1(), to: named("n2") },
        Some(Fault::Transfer { .. }) => Fault::LoseData { node: n1(), restart_after_ms },
        Some(Fault::LoseData { .. }) => Fault::RestoreCopy { node: n1(), copied_at_ms: 2_000.0, restart_after_ms },
        Some(Fault::RestoreCopy { .. }) => Fault::ForgeToken { node: n1() },
        Some(Fault::ForgeToken { .. }) => Fault::ForgeClaim { node: n1(), to: vec![Who::Candidates] },
        Some(Fault::ForgeClaim { .. }) => Fault::LyingDevice { node: n1(), for_ms },
        Some(Fault::LyingDevice { .. }) => {
            Fault::CloudDevice { node: n1(), stopping_ms: 100.0, throttle_ms: 100.0, for_ms }
        }
        // Faults of members, leases and fencing devices are covered by canaries, and by scenarios that must break.
        Some(
            Fault::CloudDevice { .. }
            | Fault::Join { .. }
            | Fault::Leave { .. }
            | Fault::DropLease { .. }
            | Fault::DropKey { .. }
            | Fault::RogueFence { .. },
        ) => return None,
    })
}

pub(super) fn rows() -> Vec<Row> {
    let faults = std::iter::successors(next(None), |fault| next(Some(fault)));
    let mut rows: Vec<Row> = faults.flat_map(|fault| of_fault(&fault)).collect();
    rows.extend(twice());
    rows.extend(in_turn());
    rows.extend(networks());
    rows
}

/// What a fault does that lasts three seconds or ends at once.
fn of_fault(fault: &Fault) -> Vec<Row> {
    let [datagrams, connections] = [DATAGRAMS, CONNECTIONS].map(|protocol| row(fault, protocol));
    // A forged token is shown to two resources, a claim is made to two, and a device's manner ends with an order to be
    // honest.
    let orders = match fault {
        Fault::Resign { .. } | Fault::Transfer { .. } => 1.0,
        Fault::LyingDevice { .. } | Fault::CloudDevice { .. } => 3.0,
        _ => 2.0,
    };
    match fault {
        Fault::Partition { .. } | Fault::Loss { .. } | Fault::Latency { .. } | Fault::Hang { .. } => {
            vec![of_link(fault, datagrams), of_link(fault, connections)]
        }
        Fault::Pause { .. } | Fault::Kill { .. } | Fault::PowerLoss { .. } | Fault::Restart { .. } => {
            vec![of_process(fault, datagrams)]
        }
        Fault::SlowDisk { .. } | Fault::SyncHang { .. } | Fault::SyncFail { .. } => of_disk(fault, datagrams),
        Fault::ClockStep { .. } | Fault::ClockRate { .. } => vec![of_clock(fault, datagrams)],
        Fault::Bandwidth { .. } => vec![of_bandwidth(datagrams)],
        // The order arrives once, and nothing else happens.
        Fault::LoseData { .. } | Fault::RestoreCopy { .. } => vec![of_data(fault, datagrams)],
        _ => vec![Row { window: (STRIKES - EDGE, AFTER), ..datagrams }.reads(&[("orders", orders, orders)])],
    }
}

/// Messages that wait for the end of a fault wait this long: they were sent from [`EDGE`] after its beginning to
/// [`EDGE`] before its end.
const UNTIL_OVER: (f64, f64) = (EDGE - 15.0, LASTS - EDGE + 15.0);
/// The same with TCP's resends, 200 ms after the send and then at doubling intervals: a segment sent up to 1.6 s after
/// the beginning arrives 3 s later, and later segments wait for it.
const UNTIL_AGAIN: (f64, f64) = (1_640.0, 3_010.0);

fn of_link(fault: &Fault, row: Row) -> Row {
    let datagrams = row.protocol == DATAGRAMS;
    let (over, again) = (UNTIL_OVER, UNTIL_AGAIN);
    match fault {
        Fault::Partition { one_way, .. } => {
            let back = if *one_way { 0.0 } else { 100.0 };
            let mut reads = vec![
                ("stream n1>n2 ms", again.0, again.1),
                ("stream n1>n2 back ms", again.0, again.1 + 5.0),
                ("idle n1 ended", 1.0, 1.0),
                ("idle n1 ended at ms", 4_780.0, 5_050.0),
            ];
            if datagrams {
                let ways = [("votes n1>n2 lost %", 100.0), ("data n1>n2 lost %", 100.0), ("votes n2>n1 lost %", back)];
                reads.extend(ways.map(|(way, lost)| (way, lost, lost)));
            }
            // The candidates' transport closes a connection that is silent for longer than a request may take.
            row.reads(&reads).but(if datagrams { &[] } else { &["n1>n2", "n2>n1", "resets"] }).over(MADE_UP)
        }
        Fault::Latency { .. } => row.reads(&[
            ("votes n1>n2 late ms", 21.0, 21.01),
            ("data n1>n2 late ms", 21.0, 21.01),
            ("stream n1>n2 ms", 21.0, 21.01),
            ("stream n1>n2 back ms", 22.0, 22.01),
        ]),
        Fault::Loss { .. } => {
            let row = row.over(MADE_UP);
            match datagrams {
                true => row
                    .reads(&[("votes n1>n2 lost %", 20.0, 40.0), ("data n1>n2 lost %", 20.0, 40.0)])
                    .but(&["stream n1>n2 ms", "stream n1>n2 back ms"]),
                false => row.but(&["n1>n2"]),
            }
        }
        _ => row.reads(&[("stream n1>n2 ms", over.0, over.1), ("stream n1>n2 back ms", over.0, over.1 + 2.0)]),
    }
}

fn of_process(fault: &Fault, row: Row) -> Row {
    let (paused, others) = (UNTIL_OVER, &["n1", "resets"][..]);
    let from = (STRIKES - 10.0, STRIKES + LASTS - EDGE);
    let started = |row: Row, said: f64, resets: (f64, f64), loose: (f64, f64)| {
        let reads = [
            ("starts n1", 1.0, 1.0),
            ("votes n1>n3 said/s", said - 1.0, said + 1.0),
            ("synced n1 lost", 0.0, 0.0),
            ("loose n1 lost", loose.0, loose.1),
            ("resets", resets.0, resets.1),
        ];
        Row { window: from, ..row }.reads(&reads).but(others).over(MADE_UP)
    };
    match fault {
        Fault::Pause { .. } => row
            .reads(&[
                ("votes n1>n3 said/s", 0.0, 0.0),
                ("sync n1 /s", 0.0, 0.0),
                ("stream n1>n2 /s", 0.0, 0.0),
                ("starts n1", 0.0, 0.0),
                ("votes n2>n1 late ms", paused.0, paused.1),
                ("votes n2>n1 lost %", 0.0, 0.0),
                ("data c1>n1 late ms", paused.0, paused.1),
                ("data c1>n1 lost %", 0.0, 0.0),
            ])
            .but(others),
        Fault::Kill { .. } => started(row, 49.7, (149.0, 151.0), (0.0, 0.0)),
        // The peers are not told, and some unsynced data is gone.
        Fault::PowerLoss { .. } => started(row, 49.7, (0.0, 0.0), (1.0, 300.0)),
        _ => {
            let kill = (STRIKES, Fault::Kill { node: n1(), restart_after_ms: None });
            let row = Row { faults: vec![kill, (STRIKES + 2_000.0, fault.clone())], ..row };
            started(row, 32.8, (199.0, 201.0), (0.0, 0.0))
        }
    }
}

/// The disk is new, or restored as of 2 s; nothing else has changed.
fn of_data(fault: &Fault, row: Row) -> Row {
    let gone = if matches!(fault, Fault::LoseData { .. }) { (57.0, 61.0) } else { (18.0, 21.0) };
    let reads = [("starts n1", 1.0, 1.0), ("synced n1 lost", gone.0, gone.1), ("votes n1>n3 said/s", 48.7, 50.7)];
    Row { window: (STRIKES - 10.0, STRIKES + LASTS - EDGE), ..row }.reads(&reads).but(&["n1", "resets"]).over(MADE_UP)
}

fn of_disk(fault: &Fault, row: Row) -> Vec<Row> {
    let dark = |ms| (ms, Fault::PowerLoss { node: n1(), restart_after_ms: Some(200.0) });
    match fault {
        Fault::SlowDisk { .. } => vec![row.reads(&[
            ("sync n1 ms", 70.3, 70.701),
            ("sync n1 /s", 7.5, 9.0),
            ("state n2 ms", 70.3, 70.701),
            ("state n2 /s", 11.5, 12.8),
        ])],
        Fault::SyncHang { .. } => {
            let none = [("sync n1 /s", 0.0, 0.0), ("state n2 /s", 0.0, 0.0)];
            vec![Row { window: (STRIKES + 2.0 * EDGE, STRIKES + LASTS - EDGE), ..row }.reads(&none)]
        }
        Fault::SyncFail { silent: false, .. } => {
            let failed = row.reads(&[("sync n1 failed", 55.0, 59.0)]);
            // What a failed sync did not save, no later sync saves.
            let after = [("synced n1 lost", 57.0, 61.0), ("starts n1", 1.0, 1.0), ("loose n1 lost", 1.0, 800.0)];
            let mut lost = self_like(&failed, fault, vec![dark(8_000.0)]).then(&after);
            lost.name = "a loss of power after syncs that failed".to_owned();
            (lost.over, lost.skips_after) = (7_900.0, &["n1", "resets"]);
            vec![failed, lost, one_by_one(dark(8_000.0))]
        }
        _ => {
            let read = |lost: (f64, f64)| [("synced n1 lost", lost.0, lost.1), ("starts n1", 1.0, 1.0)];
            let with = |ms: f64, lost, name: &str| {
                let mut row = self_like(&row_of(fault), fault, vec![dark(ms)]).reads(&read(lost)).over(MADE_UP);
                row.window = (ms - 10.0, ms + 1_000.0);
                (row.skips, row.name) = (&["n1", "resets"], name.to_owned());
                row
            };
            let early = with(5_000.0, (37.0, 41.0), "a loss of power on a disk that lies");
            vec![row, early, with(8_000.0, (0.0, 0.0), "a loss of power on a disk that has lied")]
        }
    }
}

fn row_of(fault: &Fault) -> Row {
    row(fault, DATAGRAMS)
}

/// Single failed syncs, each followed by a successful one, and then a power loss. In about half the cases the unsaved
/// data stays readable until then, so that it is gone only if it was never saved.
fn one_by_one(dark: (f64, Fault)) -> Row {
    const TIMES: u32 = 20;
    let fault = Fault::SyncFail { node: n1(), silent: false, for_ms: Some(52.0) };
    let fails = |number| (STRIKES + f64::from(number) * 150.0, fault.clone());
    let many = (f64::from(TIMES), f64::from(TIMES) + 5.0);
    let row = row(&fault, DATAGRAMS).reads(&[("sync n1 failed", many.0, many.1)]);
    let after = [("synced n1 lost", many.0, many.1), ("starts n1", 1.0, 1.0), ("loose n1 lost", 1.0, 800.0)];
    Row {
        name: "a loss of power after single syncs that failed".to_owned(),
        faults: (0..TIMES).map(fails).chain([dark]).collect(),
        over: 7_900.0,
        skips_after: &["n1", "resets"],
        ..row.then(&after)
    }
}

/// The same fault followed by more.
fn self_like(like: &Row, fault: &Fault, more: Vec<(f64, Fault)>) -> Row {
    let faults = std::iter::once((STRIKES, fault.clone())).chain(more).collect();
    Row { faults, during: like.during.clone(), ..row(fault, DATAGRAMS) }
}

fn of_clock(fault: &Fault, row: Row) -> Row {
    let row = Row { skips: &["n1"], skips_after: &["n1"], ..row };
    match fault {
        Fault::ClockStep { .. } => {
            let stepped = [("clock n1 stepped ms", -5_000.0, -5_000.0)];
            Row { skips: &[], skips_after: &[], ..row }.reads(&stepped).then(&stepped)
        }
        _ => row
            .reads(&[("clock n1 rate ppm", 199_900.0, 200_100.0), ("clock n1 gap ms", 8.32, 8.35)])
            .then(&[("clock n1 rate ppm", 0.0, 0.0), ("clock n1 gap ms", 9.99, 10.01)]),
    }
}

/// Three messages of 160 bytes are sent every 10 ms and take 15 ms: the queue grows, and drains when the fault ends.
/// Election messages have their own link, and do not overtake data on its way.
fn of_bandwidth(row: Row) -> Row {
    row.reads(&[
        ("data n1>n2 late ms", 28.0, 1_006.0),
        ("data n1>n2 latest ms", 990.0, 1_006.0),
        ("votes n1>n2 late ms", 14.0, 996.0),
        ("data n1>store late ms", 33.0, 1_011.0),
        ("data n1>c1 late ms", 36.0, 1_015.0),
        ("data store>n1 said/s", 65.0, 68.0),
    ])
}

/// A fault that overlaps another of its kind and ends first ends only itself.
fn twice() -> Vec<Row> {
    let faults = std::iter::successors(next(None), |fault| next(Some(fault))).filter(|fault| {
        let of_device = matches!(fault, Fault::LyingDevice { .. } | Fault::CloudDevice { .. });
        fault.for_ms().is_some() && !of_device
    });
    let with_another = |fault: Fault| {
        let second = lasting(&fault, 1_000.0);
        let mut row = of_fault(&fault).swap_remove(0);
        row.name += ", and a shorter one beside it";
        row.faults.push((STRIKES + 1_000.0, second));
        row.window.0 = STRIKES + 2_000.0 + EDGE;
        // Waits are shorter, and counts cover less time.
        let shorter = |read: Read| match read {
            (name, least, _) if name == "sync n1 failed" => (name, least / 4.0, least / 2.0),
            read => read,
        };
        let counts = |(name, ..): &Read| !name.starts_with("idle") && !name.ends_with(" latest ms");
        row.during = row.during.into_iter().map(shorter).filter(counts).collect();
        row
    };
    faults.map(with_another).collect()
}

/// A fault that begins during another of its kind and outlasts it: afterwards nothing of either remains.
fn in_turn() -> Vec<Row> {
    let from_to = |(from, for_ms): (f64, f64), ppm| (from, Fault::ClockRate { node: n1(), ppm, for_ms: Some(for_ms) });
    let fault = Fault::ClockRate { node: n1(), ppm: 200_000, for_ms: Some(2_000.0) };
    let mut rates = of_clock(&fault, row(&fault, DATAGRAMS));
    rates.name = "two rates of one clock in turn".to_owned();
    rates.faults = vec![from_to((3_000.0, 2_000.0), 200_000), from_to((4_000.0, 2_000.0), -100_000)];
    rates.window = (5_050.0, 5_950.0);
    vec![rates.reads(&[("clock n1 rate ppm", -100_100.0, -99_900.0), ("clock n1 gap ms", 11.1, 11.13)])]
}

fn lasting(fault: &Fault, ms: f64) -> Fault {
    let mut fault = fault.clone();
    match &mut fault {
        Fault::Pause { for_ms, .. } => *for_ms = ms,
        Fault::Partition { for_ms, .. }
        | Fault::Latency { for_ms, .. }
        | Fault::Loss { for_ms, .. }
        | Fault::Hang { for_ms, .. }
        | Fault::Bandwidth { for_ms, .. }
        | Fault::SlowDisk { for_ms, .. }
        | Fault::SyncHang { for_ms, .. }
        | Fault::SyncFail { for_ms, .. }
        | Fault::ClockRate { for_ms, .. } => *for_ms = Some(ms),
        _ => {}
    }
    fault
}

/// The effects of a network without faults.
fn networks() -> Vec<Row> {
    let of = |name: &str, network: fn(&mut Network), reads: &[Read], skips| {
        let mut row = row(&Fault::Resign { node: n1() }, DATAGRAMS);
        (row.name, row.faults, row.network) = (format!("network: {name}"), Vec::new(), network);
        (row.before, row.window, row.over) = (false, (1_000.0, 9_000.0), f64::MAX);
        row.reads(reads).but(skips)
    };
    vec![
        of("latency", |n| n.latency_us = 7_000, &[("votes n1>n2 late ms", 7.0, 7.01)], &[" late", "stream"]),
        of(
            "jitter",
            |n| n.jitter_us = 4_000,
            &[("votes n1>n2 late ms", 1.0, 5.01), ("votes n1>n2 latest ms", 4.8, 5.01)],
            &["ms", "clock"],
        ),
        of("loss", |n| n.loss = 0.1, &[("votes n1>n2 lost %", 6.0, 14.0), ("votes n2>n1 lost %", 6.0, 14.0)], LOSSY),
        of("duplicates", |n| n.duplicate = 0.1, &[("votes n1>n2 twice %", 6.0, 14.0)], &["twice", "late", "clock"]),
        of("reordering", |n| n.reorder = 0.1, &[("votes n1>n2 late ms", 1.0, 3.01)], &["late", "overtaken", "clock"]),
        of("bandwidth", |n| n.bandwidth_mbps = 1, &[("data n1>n2 late ms", 2.0, 6.0)], &[" late", "stream"]),
    ]
}

const LOSSY: &[&str] = &["lost", "late", "stream", "clock", "ms"];
