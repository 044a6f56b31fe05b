//! Dangerous ratios of lease, renew deadline and retry period.

use protocols::election::Protocol;
use scenarios::{
    Params,
    units::{duration_text, duration_us_text},
};

/// client-go's `JitterFactor`: a retry may come this many times later.
const JITTER: f64 = 1.2;

/// One sentence for each danger in these timers, whatever the target.
pub fn warnings(params: &Params, protocol: &Protocol) -> Vec<String> {
    let mut warnings = Vec::new();
    let granted_ms = params.granted_ttl_ms(protocol);
    let timings = params.timings(protocol);
    let (renew_ms, own) = (timings.renew_interval_ms, timings.own_ms());
    let text = duration_text;
    if 2 * renew_ms > granted_ms {
        warnings.push(format!(
            "the lease of {} has room for one renewal (every {}): a single lost or late one changes the leader; renew at \
             least every {}",
            text(granted_ms),
            text(renew_ms),
            text(granted_ms / 3)
        ));
    }
    if let Some(deadline_ms) = own.renew_deadline {
        if deadline_ms >= granted_ms {
            warnings.push(format!(
                "the renew deadline of {} is not shorter than the lease of {}: a leader whose clock is slow by any amount \
                 still believes when its successor is elected (Flink's default has this)",
                text(deadline_ms),
                text(granted_ms)
            ));
        }
        if let Some(retry_ms) = own.retry_period
            && deadline_ms as f64 <= JITTER * retry_ms as f64
        {
            warnings.push(format!(
                "the renew deadline of {} leaves no time for a second attempt after {}: client-go refuses anything below \
                 {JITTER} times the retry period",
                text(deadline_ms),
                text(retry_ms)
            ));
        }
    }
    if timings.request_timeout_ms >= granted_ms {
        warnings.push(format!(
            "a request may take {}, as long as the lease of {}: one that hangs is the last of this leader",
            text(timings.request_timeout_ms),
            text(granted_ms)
        ));
    }
    let round_trip_us = 2 * params.network().one_way_max_us();
    if round_trip_us > granted_ms * 1_000 / 10 {
        warnings.push(format!(
            "a round trip takes up to {}, more than a tenth of the lease of {}",
            duration_us_text(round_trip_us),
            text(granted_ms)
        ));
    }
    warnings
}
