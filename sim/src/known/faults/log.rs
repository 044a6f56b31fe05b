//! The probes' log, and readings from it: figures over a time window, each with its minimum and maximum.

use protocols::types::{MILLISECOND, NodeId};
use std::collections::BTreeMap;

/// The interval at which every probe sends.
pub(super) const BEAT: u64 = 10 * MILLISECOND;

/// Nanoseconds since the start of the run, by the clock of the probe that logged them.
type At = u64;

/// Minimum and maximum by figure.
pub(super) type Readings = BTreeMap<String, (f64, f64)>;

#[derive(Default)]
pub(super) struct Log {
    /// Send times by source, destination, and whether it was data.
    pub said: BTreeMap<(NodeId, NodeId, bool), Vec<At>>,
    pub heard: Vec<Heard>,
    /// Start and end of each save of a core's state.
    pub saved: Vec<(At, At)>,
    /// Start and end of a task's syncs, and whether each succeeded.
    pub syncs: Vec<(At, At, bool)>,
    /// For frames on a client's connection: sent and arrived; and sent and returned.
    pub stream: Vec<(At, At)>,
    pub back: Vec<(At, At)>,
    pub stream_ended: Vec<At>,
    pub idle_ended: Vec<At>,
    pub starts: Vec<Started>,
    pub orders: Vec<(NodeId, At)>,
    pub resets: Vec<(NodeId, At)>,
    /// The length that the synced file must have.
    pub kept: usize,
    /// The length written to the unsynced file.
    pub loose: usize,
}

pub(super) struct Heard {
    pub from: NodeId,
    pub to: NodeId,
    pub data: bool,
    pub number: usize,
    pub at: At,
    /// The sender's clocks.
    pub mono: u64,
    pub wall: u64,
}

/// A start of the first candidate.
pub(super) struct Started {
    pub at: At,
    /// The bytes missing from each file.
    pub lost: [usize; 2],
}

fn ms(ns: u64) -> f64 {
    ns as f64 / MILLISECOND as f64
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range: Option<(f64, f64)>, value| {
        let (least, most) = range.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

impl Log {
    /// What happened, or began, from `from_ms` to `to_ms`.
    pub fn readings(&self, names: &[String], from_ms: f64, to_ms: f64) -> Readings {
        let within = |at: At| (from_ms..to_ms).contains(&ms(at));
        let (mut readings, seconds) = (Readings::new(), (to_ms - from_ms) / 1e3);
        let mut put = |name: String, range: Option<(f64, f64)>| {
            readings.extend(range.map(|range| (name, range)));
        };
        for ((from, to, data), said) in &self.said {
            let what = if *data { "data" } else { "votes" };
            let way = format!("{what} {}>{}", names[from.index()], names[to.index()]);
            let sent: Vec<usize> = (0..said.len()).filter(|number| within(said[*number])).collect();
            let mut times = vec![0_u32; said.len()];
            let heard = self.heard.iter().filter(|h| (h.from, h.to, h.data) == (*from, *to, *data));
            let (mut late, mut last, mut overtaken) = (Vec::new(), 0, 0);
            for h in heard {
                times[h.number] += 1;
                if within(said[h.number]) {
                    late.push(ms(h.at) - ms(said[h.number]));
                    overtaken += u32::from(h.number < last && times[h.number] == 1);
                }
                last = last.max(h.number);
            }
            let of_hundred = |many: usize| many as f64 * 100.0 / sent.len().max(1) as f64;
            let once = |value: f64| Some((value, value));
            let count = |is: fn(u32) -> bool| sent.iter().filter(|number| is(times[**number])).count();
            put(format!("{way} said/s"), once(sent.len() as f64 / seconds));
            put(format!("{way} lost %"), once(of_hundred(count(|times| times == 0))));
            put(format!("{way} twice %"), once(of_hundred(count(|times| times > 1))));
            put(format!("{way} overtaken %"), once(of_hundred(overtaken as usize)));
            let late = range(late.into_iter());
            put(format!("{way} latest ms"), late.map(|(_, most)| (most, most)));
            put(format!("{way} late ms"), late);
        }
        self.others(within, &mut put, seconds);
        self.clocks(names, within, &mut put);
        readings
    }

    fn others(&self, within: impl Fn(At) -> bool, put: &mut impl FnMut(String, Option<(f64, f64)>), seconds: f64) {
        let took = |all: &[(At, At)]| {
            let took = all.iter().filter(|(began, _)| within(*began)).map(|(began, ended)| ms(*ended) - ms(*began));
            (took.clone().count() as f64 / seconds, range(took))
        };
        let done: Vec<(At, At)> = self.syncs.iter().map(|(began, ended, _)| (*began, *ended)).collect();
        let all = [
            ("state n2", &self.saved),
            ("sync n1", &done),
            ("stream n1>n2", &self.stream),
            ("stream n1>n2 back", &self.back),
        ];
        for (name, all) in all {
            let (often, took) = took(all);
            put(format!("{name} /s"), Some((often, often)));
            put(format!("{name} ms"), took);
        }
        let count = |many: usize| Some((many as f64, many as f64));
        let ended = |all: &[At]| all.iter().filter(|at| within(**at)).count();
        put("sync n1 failed".to_owned(), count(self.syncs.iter().filter(|(at, _, done)| within(*at) && !done).count()));
        put("stream n1 ended".to_owned(), count(ended(&self.stream_ended)));
        put("idle n1 ended".to_owned(), count(ended(&self.idle_ended)));
        put(
            "idle n1 ended at ms".to_owned(),
            range(self.idle_ended.iter().filter(|at| within(**at)).map(|at| ms(*at))),
        );
        let starts = || self.starts.iter().filter(|start| within(start.at));
        put("starts n1".to_owned(), count(starts().count()));
        for (file, name) in ["synced", "loose"].into_iter().enumerate() {
            put(format!("{name} n1 lost"), count(starts().map(|start| start.lost[file]).sum()));
        }
        put("orders".to_owned(), count(self.orders.iter().filter(|(_, at)| within(*at)).count()));
        put("resets".to_owned(), count(self.resets.iter().filter(|(_, at)| within(*at)).count()));
    }

    /// The first candidate's clocks, as the second receives them.
    fn clocks(&self, names: &[String], within: impl Fn(At) -> bool, put: &mut impl FnMut(String, Option<(f64, f64)>)) {
        let is = |node: NodeId, name: &str| names[node.index()] == name;
        let heard: Vec<&Heard> =
            self.heard.iter().filter(|h| is(h.from, "n1") && is(h.to, "n3") && within(h.at)).collect();
        let ahead = |h: &&Heard| h.wall as f64 / 1e6 - h.mono as f64 / 1e6;
        let usual = self.heard.iter().find(|h| is(h.from, "n1") && is(h.to, "n3")).map(|h| ahead(&h));
        put(
            "clock n1 stepped ms".to_owned(),
            range(heard.iter().map(|h| (ahead(h) - usual.unwrap_or_default()).round())),
        );
        let pairs = || heard.iter().zip(heard.iter().skip(1));
        put("clock n1 gap ms".to_owned(), range(pairs().map(|(a, b)| ms(b.at) - ms(a.at))));
        if let (Some(first), Some(last)) = (heard.first(), heard.last()) {
            if last.at > first.at + BEAT {
                let rate = (last.mono - first.mono) as f64 / (last.at - first.at) as f64;
                let ppm = ((rate - 1.0) * 1e6).round();
                put("clock n1 rate ppm".to_owned(), Some((ppm, ppm)));
            }
        }
    }
}
