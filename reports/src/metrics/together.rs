//! The combined figures of several groups.

use super::Metrics;

impl Metrics {
    /// Combines the figures with another group's: adds counts, and takes the worse of durations and fractions. Figures
    /// that were counted for the whole run stay as they are.
    pub(crate) fn and(mut self, other: &Metrics) -> Metrics {
        let counts: [(&mut u64, u64); 16] = [
            (&mut self.writes_accepted, other.writes_accepted),
            (&mut self.writes_fenced, other.writes_fenced),
            (&mut self.writes_duplicate, other.writes_duplicate),
            (&mut self.writes_failed, other.writes_failed),
            (&mut self.writes_unknown, other.writes_unknown),
            (&mut self.seq_gaps, other.seq_gaps),
            (&mut self.seq_reused, other.seq_reused),
            (&mut self.reads_answered, other.reads_answered),
            (&mut self.reads_stale, other.reads_stale),
            (&mut self.elections, other.elections),
            (&mut self.contested_elections, other.contested_elections),
            (&mut self.false_failovers, other.false_failovers),
            (&mut self.avoidable_failovers, other.avoidable_failovers),
            (&mut self.failover_censored, other.failover_censored),
            (&mut self.requests_invoked, other.requests_invoked),
            (&mut self.requests_answered, other.requests_answered),
        ];
        self.by_turns |= other.by_turns;
        counts.into_iter().for_each(|(sum, more)| *sum += more);
        let lists: [(&mut Vec<f64>, &Vec<f64>); 6] = [
            (&mut self.failover_ms, &other.failover_ms),
            (&mut self.election_time_ms, &other.election_time_ms),
            (&mut self.election_latency_ms, &other.election_latency_ms),
            (&mut self.handoff_effect_gap_ms, &other.handoff_effect_gap_ms),
            (&mut self.handoff_intent_gap_ms, &other.handoff_intent_gap_ms),
            (&mut self.stop_after_loss_ms, &other.stop_after_loss_ms),
        ];
        lists.into_iter().for_each(|(all, more)| all.extend(more));
        for (sum, more) in [
            (&mut self.work_done, other.work_done),
            (&mut self.work_redone, other.work_redone),
            (&mut self.work_skipped, other.work_skipped),
            (&mut self.effects_done, other.effects_done),
            (&mut self.effects_repeated, other.effects_repeated),
            (&mut self.effects_left_out, other.effects_left_out),
        ] {
            *sum = sum.zip(more).map(|(a, b)| a + b).or(*sum).or(more);
        }
        self.work_stalled_ms_max = either(self.work_stalled_ms_max, other.work_stalled_ms_max, f64::max);
        self.leaders_acting_by_effect_max = self.leaders_acting_by_effect_max.max(other.leaders_acting_by_effect_max);
        self.dual_effect_ms = self.dual_effect_ms.max(other.dual_effect_ms);
        self.leaders_believing_max = self.leaders_believing_max.max(other.leaders_believing_max);
        self.dual_belief_ms = self.dual_belief_ms.max(other.dual_belief_ms);
        self.dual_belief_awake_ms = self.dual_belief_awake_ms.max(other.dual_belief_awake_ms);
        self.dual_belief_longest_ms = self.dual_belief_longest_ms.max(other.dual_belief_longest_ms);
        self.cache_stale_ms = either(self.cache_stale_ms, other.cache_stale_ms, f64::max);
        self.dark_ms = either(self.dark_ms, other.dark_ms, f64::max);
        self.startup_dark_ms = either(self.startup_dark_ms, other.startup_dark_ms, f64::max);
        self.availability = either(self.availability, other.availability, f64::min);
        self.served_after_ms = either(self.served_after_ms, other.served_after_ms, f64::max);
        self
    }
}

fn either(a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64) -> Option<f64> {
    a.zip(b).map(|(a, b)| of(a, b)).or(a).or(b)
}
