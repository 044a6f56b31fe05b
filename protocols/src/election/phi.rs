//! An adaptive failure detector: its patience follows the history of a sender's heartbeats.
//!
//! Hayashibara, Défago, Yared and Katayama, "The φ Accrual Failure Detector" (SRDS 2004): suspicion is φ = −log₁₀(P(a
//! heartbeat comes later than this)), assuming that the observed intervals are normally distributed. Implemented as in
//! Akka and Apache Pekko (apache/pekko, `remote/…/PhiAccrualFailureDetector.scala`): a logistic approximation of that
//! distribution, a standard deviation of at least a tenth of the interval, two initial samples a quarter off it, a
//! window of 1000 per sender, no samples of suspected silences, and a threshold of 8 (`cluster/…/reference.conf`).
//! Cassandra's detector assumes exponentially distributed intervals, with the same threshold.
//!
//! The threshold is fixed, so φ need not be computed: it is reached when the silence exceeds mean + pause + y·σ, where
//! y is the point at which the approximation yields 10⁻⁸. Arithmetic in whole microseconds gives the same results on
//! all machines.
//!
//! The additional pause is Akka's `acceptable-heartbeat-pause`. It is chosen so that on a link without losses the
//! patience equals a fixed detector's, and both detect a death after the same time.

use crate::types::{MICROSECOND, NodeId};
use std::collections::{BTreeMap, VecDeque};

/// The number of intervals kept.
const SAMPLES: usize = 1_000;
/// y with y·(1.5976 + 0.070566·y²) = ln(10⁸ − 1), in thousandths.
const DEVIATIONS: u64 = 5_226;

/// The heartbeat history of all senders.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Phi {
    /// The nominal interval, and a fixed detector's patience; microseconds.
    interval: u64,
    usual: u64,
    /// The sender of the latest heartbeat.
    sender: Option<NodeId>,
    windows: BTreeMap<NodeId, Window>,
}

/// One sender's heartbeats; microseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Window {
    last: Option<u64>,
    intervals: VecDeque<u64>,
    sum: u64,
    squares: u128,
}

impl Phi {
    /// For heartbeats every `interval` nanoseconds, whose silence a fixed detector would suspect after `usual`
    /// nanoseconds.
    pub fn new(interval: u64, usual: u64) -> Self {
        let (interval, usual) = (interval / MICROSECOND, usual / MICROSECOND);
        Phi { interval, usual, sender: None, windows: BTreeMap::new() }
    }

    /// Records a heartbeat at `now` nanoseconds.
    pub fn heard(&mut self, from: NodeId, now: u64) {
        let now = now / MICROSECOND;
        self.sender = Some(from);
        let patience = self.patience() / MICROSECOND;
        let interval = self.interval;
        let window = self.windows.entry(from).or_insert_with(|| Window::begun(interval));
        let silence = now.saturating_sub(window.last.replace(now).unwrap_or(now));
        if (1..patience).contains(&silence) {
            window.sample(silence);
        }
    }

    /// The silence after which the latest sender is suspected, nanoseconds.
    pub fn patience(&self) -> u64 {
        let floor = self.interval / 10;
        let pause = self.usual.saturating_sub(self.interval + beyond(floor));
        let window = self.sender.and_then(|sender| self.windows.get(&sender));
        let patience = window.map_or(self.usual, |window| {
            let (mean, deviation) = window.mean_and_deviation();
            mean + pause + beyond(deviation.max(floor))
        });
        patience * MICROSECOND
    }
}

/// The threshold's distance from the mean, for this standard deviation.
fn beyond(deviation: u64) -> u64 {
    deviation * DEVIATIONS / 1_000
}

impl Window {
    fn begun(interval: u64) -> Window {
        let mut window = Window::default();
        window.sample(interval * 3 / 4);
        window.sample(interval * 5 / 4);
        window
    }

    fn sample(&mut self, interval: u64) {
        if self.intervals.len() == SAMPLES
            && let Some(oldest) = self.intervals.pop_front()
        {
            self.sum -= oldest;
            self.squares -= u128::from(oldest).pow(2);
        }
        self.intervals.push_back(interval);
        self.sum += interval;
        self.squares += u128::from(interval).pow(2);
    }

    /// There is always a sample.
    fn mean_and_deviation(&self) -> (u64, u64) {
        let count = self.intervals.len().max(1) as u64;
        let mean = self.sum / count;
        let variance = (self.squares / u128::from(count)).saturating_sub(u128::from(mean).pow(2));
        (mean, variance.isqrt() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::Random,
        types::{MILLISECOND, SECOND},
    };

    const ONE: NodeId = NodeId(1);

    /// A detector after `count` heartbeats, of which `lost` per thousand were lost; and the time of the last one.
    fn heard(count: u64, lost: u64, random: &mut Random) -> (Phi, u64) {
        let mut phi = Phi::new(SECOND, 3 * SECOND);
        let mut last = 0;
        for number in 1..=count {
            if random.next_u64() % 1_000 >= lost {
                last = number * SECOND + random.next_u64() % MILLISECOND;
                phi.heard(ONE, last);
            }
        }
        (phi, last)
    }

    #[test]
    fn where_nothing_is_lost_it_is_as_patient_as_a_fixed_one() {
        let mut random = Random::new(1);
        let (phi, _) = heard(1_000, 0, &mut random);
        assert!((2_990 * MILLISECOND..3_010 * MILLISECOND).contains(&phi.patience()), "{}", phi.patience());
        assert_eq!(Phi::new(SECOND, 3 * SECOND).patience(), 3 * SECOND);
    }

    #[test]
    fn the_approximation_gives_the_threshold_at_that_many_deviations() {
        let y = DEVIATIONS as f64 / 1e3;
        let e = (-y * (1.5976 + 0.070566 * y * y)).exp();
        let phi = -(e / (1.0 + e)).log10();
        assert!((phi - 8.0).abs() < 0.01, "{phi}");
    }

    #[test]
    fn the_more_is_lost_the_longer_it_waits_and_it_forgets_the_past() {
        let mut random = Random::new(2);
        let patience: Vec<u64> = [0, 50, 150, 300].map(|lost| heard(2_000, lost, &mut random).0.patience()).to_vec();
        assert!(patience.windows(2).all(|pair| pair[0] < pair[1]), "{patience:?}");
        assert!((6 * SECOND..8 * SECOND).contains(&patience[3]), "{patience:?}");
        let (mut phi, last) = heard(2_000, 300, &mut random);
        (1..1_100).for_each(|number| phi.heard(ONE, last + number * SECOND));
        assert!(phi.patience() < 3_100 * MILLISECOND, "{}", phi.patience());
        phi.heard(NodeId(2), last + 2_000 * SECOND);
        assert_eq!(phi.windows[&NodeId(2)].intervals.len(), 2, "another sender is another link");
    }

    #[test]
    fn a_silence_that_was_suspected_teaches_nothing() {
        let mut random = Random::new(3);
        let (mut phi, last) = heard(100, 0, &mut random);
        let before = phi.patience();
        phi.heard(ONE, last + 60 * SECOND);
        assert_eq!(phi.patience(), before);
    }

    /// False suspicions by a fixed and an adaptive detector on links that lose 5 to 30 %. The fixed one's patience is
    /// the adaptive one's average, so both detect a death equally fast.
    #[test]
    fn as_soon_as_a_fixed_one_it_suspects_fewer_that_live() {
        let links: Vec<u64> = (1..=6).map(|step| 50 * step).collect();
        let mut random = Random::new(4);
        let patience = |lost: &u64| heard(5_000, *lost, &mut Random::new(5)).0.patience();
        let fixed = links.iter().map(patience).sum::<u64>() / links.len() as u64;
        let (mut by_fixed, mut by_phi) = (0, 0);
        for lost in &links {
            let (mut phi, mut last) = heard(200, *lost, &mut random);
            for number in 201..200_000_u64 {
                if random.next_u64() % 1_000 >= *lost {
                    let now = number * SECOND;
                    by_fixed += u32::from(now - last > fixed);
                    by_phi += u32::from(now - last > phi.patience());
                    phi.heard(ONE, now);
                    last = now;
                }
            }
        }
        assert!(by_phi * 2 < by_fixed, "{by_phi} and {by_fixed}, patience {fixed}");
    }
}
