//! Metrics for Prometheus, by the crate `prometheus-client`. They have the names and meanings of Fencepost's nodes, and the
//! label `seat`; what a node's store tells, no seat can. The alerts (`protocols/real/monitoring/`) that nobody acts, that
//! leadership oscillates, that renewals fail and that a leader was refused serve both.

use crate::{
    backend::Backend,
    counts::{BUCKETS_MS, Counts},
    ended::Ended,
    seat::Seat,
    watch::Watch,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet},
    metrics::MetricType,
};
use std::{collections::BTreeMap, fmt, sync::atomic::Ordering::Relaxed};

/// The metrics of one or several seats of a process. Register them together: a registry has each name once.
///
/// ```no_run
/// # #[cfg(feature = "etcd")]
/// # fn example(invoices: &fencepost_seat::Seat<fencepost_seat::Etcd>) {
/// let mut registry = prometheus_client::registry::Registry::default();
/// registry.register_collector(Box::new(fencepost_seat::Metrics::default().with(invoices)));
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Metrics {
    seats: Vec<Watch>,
}

impl Metrics {
    /// Those of this seat, too.
    #[must_use]
    pub fn with<B: Backend>(mut self, seat: &Seat<B>) -> Self {
        self.seats.push(seat.watch());
        self
    }
}

/// A counter's name, what it counts, and where that is.
type Counted = (&'static str, &'static str, fn(&Counts) -> u64);
type Labels = Vec<(&'static str, String)>;

impl Metrics {
    /// A metric with samples of each seat.
    fn each<S: EncodeLabelSet>(
        &self,
        encoder: &mut DescriptorEncoder,
        (name, help, kind): (&str, &str, MetricType),
        samples: impl Fn(&Watch) -> Vec<(S, f64)>,
    ) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in self.seats.iter().flat_map(samples) {
            let mut sample: MetricEncoder = metric.encode_family(&labels)?;
            match kind {
                MetricType::Counter => sample.encode_counter::<NoLabelSet, f64, f64>(&value, None)?,
                _ => sample.encode_gauge(&value)?,
            }
        }
        Ok(())
    }

    /// One with one sample of each seat.
    fn one(
        &self,
        encoder: &mut DescriptorEncoder,
        described: (&str, &str, MetricType),
        value: impl Fn(&Watch) -> f64,
    ) -> fmt::Result {
        self.each(encoder, described, |seat| vec![(name(seat), value(seat))])
    }

    fn standing(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        use MetricType::{Counter, Gauge};
        let role = ("fencepost_node_role", "1 for this member's role, 0 for the others", Gauge);
        self.each(to, role, |seat| {
            let leads = seat.status().leads;
            let role = |role: &str, has| (labels(seat, [("role", role)]), f64::from(u8::from(has)));
            vec![role("leader", leads), role("candidate", !leads)]
        })?;
        let transitions = ("fencepost_transitions", "Times that this member's role changed", Counter);
        self.each(to, transitions, |seat| {
            let endings = seat.counts.endings.iter().map(|ending| ending.load(Relaxed)).sum::<u64>();
            let change = |from, to, times: u64| (labels(seat, [("from", from), ("to", to)]), times as f64);
            vec![
                change("candidate", "leader", seat.counts.elections.load(Relaxed)),
                change("leader", "candidate", endings),
            ]
        })?;
        let endings = ("fencepost_leaderships_ended", "Leaderships that have ended, by why", Counter);
        self.each(to, endings, |seat| {
            let each = Ended::ALL.iter().zip(&seat.counts.endings);
            each.map(|(why, times)| (labels(seat, [("why", why.label())]), times.load(Relaxed) as f64)).collect()
        })?;
        let acting = ("fencepost_node_acting", "1 while this member leads by its own belief", Gauge);
        self.one(to, acting, |seat| f64::from(u8::from(!seat.remaining().is_zero())))?;
        let master =
            ("leader_election_master_status", "Is this member the master of the election: 1 if so, else 0", Gauge);
        let mut leads = BTreeMap::new();
        for seat in &self.seats {
            // Two members of one seat may be in one process.
            *leads.entry(&*seat.seat).or_insert(false) |= !seat.remaining().is_zero();
        }
        let mut metric = to.encode_descriptor(master.0, master.1, None, master.2)?;
        for (name, leads) in leads {
            metric.encode_family(&[("name", name)])?.encode_gauge(&f64::from(u8::from(leads)))?;
        }
        let remaining = (
            "fencepost_lease_remaining_seconds",
            "How much longer this member believes that it leads; 0 when it does not",
            Gauge,
        );
        self.one(to, remaining, |seat| seat.remaining().as_secs_f64())
    }

    fn service(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        use MetricType::{Counter, Gauge};
        let renewed = (
            "fencepost_last_renewal_timestamp_seconds",
            "When the lease was last renewed, by this machine's wall clock; 0 before the first time",
            Gauge,
        );
        self.one(to, renewed, |seat| seat.counts.renewed_at_ms.load(Relaxed) as f64 / 1e3)?;
        let counters: [Counted; 4] = [
            ("fencepost_renewals", "Renewals that were confirmed", |counts| counts.renewals.load(Relaxed)),
            ("fencepost_renewal_failures", "Renewals that failed while this member led", |counts| {
                counts.renewal_failures.load(Relaxed)
            }),
            ("fencepost_service_failures", "Requests to the coordination service that failed", |counts| {
                counts.service_failures.load(Relaxed)
            }),
            ("fencepost_fencing_rejections", "Leaderships that a resource has refused for their token", |counts| {
                counts.rejections.load(Relaxed)
            }),
        ];
        for (name, help, count) in counters {
            self.one(to, (name, help, Counter), |seat| count(&seat.counts) as f64)?;
        }
        let up =
            ("fencepost_service_up", "0 from the coordination service's last failure until it answers again", Gauge);
        self.one(to, up, |seat| f64::from(u8::from(seat.status().failing.is_none())))
    }

    fn answers(&self, to: &mut DescriptorEncoder) -> fmt::Result {
        let (name_, help) = ("fencepost_service_seconds", "From a request to the coordination service to its answer");
        let mut metric = to.encode_descriptor(name_, help, None, MetricType::Histogram)?;
        for seat in &self.seats {
            let counts = seat.counts.answers.each_ref().map(|class| class.load(Relaxed));
            let ends = BUCKETS_MS.iter().map(|end_ms| *end_ms as f64 / 1e3).chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = ends.zip(counts).collect();
            let took = seat.counts.answers_took.load(Relaxed) as f64 / 1e9;
            let labels = name(seat);
            let mut sample = metric.encode_family(&labels)?;
            sample.encode_histogram::<NoLabelSet>(took, counts.iter().sum(), &buckets, None)?;
        }
        Ok(())
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.standing(&mut encoder)?;
        self.service(&mut encoder)?;
        self.answers(&mut encoder)
    }
}

fn name(seat: &Watch) -> Labels {
    vec![("seat", seat.seat.to_string()), ("node", seat.member.to_string())]
}

fn labels<const N: usize>(seat: &Watch, more: [(&'static str, &str); N]) -> Labels {
    let mut labels = name(seat);
    labels.extend(more.map(|(name, value)| (name, value.to_owned())));
    labels
}
