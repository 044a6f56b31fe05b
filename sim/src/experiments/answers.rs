//! For how long nobody is answered after a fault.

use protocols::history::{Event, Kind, Outcome};

/// For reads and for writes: the longest time from the first fault on in which no client was answered, milliseconds.
/// Nothing if the events have no fault.
pub(super) fn longest_gaps(events: &[Event], end_us: u64) -> Vec<(&'static str, Vec<f64>)> {
    let Some(from_us) = events.iter().find(|event| matches!(event.kind, Kind::Fault { .. })).map(|event| event.t_us)
    else {
        return Vec::new();
    };
    let longest = |is_answer: fn(&Kind) -> bool| {
        let answered = events.iter().filter(|event| event.t_us >= from_us && is_answer(&event.kind));
        let (mut last_us, mut longest_us) = (from_us, 0);
        for t_us in answered.map(|event| event.t_us).chain([end_us]) {
            longest_us = longest_us.max(t_us.saturating_sub(last_us));
            last_us = t_us;
        }
        vec![longest_us as f64 / 1e3]
    };
    let read = |kind: &Kind| matches!(kind, Kind::ReadReply { outcome: Outcome::Ok { .. }, .. });
    let write = |kind: &Kind| matches!(kind, Kind::Reply { outcome: Outcome::Ok { .. }, .. });
    vec![("reads_dark_ms", longest(read)), ("writes_dark_ms", longest(write))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{
        history::{FaultEvent, FaultKind, Phase},
        types::{NodeId, RequestId},
    };

    #[test]
    fn a_gap_lasts_from_one_answer_to_the_next_and_refusals_are_none() {
        let request = RequestId { client: NodeId(4), number: 1 };
        let node = NodeId(0);
        let ok = Outcome::Ok { token: 1, seq: 1 };
        let read = |t_us, outcome| Event { t_us, group: 0, kind: Kind::ReadReply { request, node, outcome } };
        let fault = FaultEvent {
            index: 0,
            kind: FaultKind::Kill,
            phase: Phase::Once,
            on: vec![node],
            to: Vec::new(),
            sides: Default::default(),
            one_way: false,
            strength: 0,
            point: None,
            detail: "".into(),
        };
        let fault = Event { t_us: 10_000, group: 0, kind: Kind::Fault(Box::new(fault)) };
        let events = [read(1_000, ok), fault, read(12_000, ok), read(13_000, Outcome::Rejected), read(17_500, ok)];
        let gaps = longest_gaps(&events, 20_000);
        assert_eq!(gaps, [("reads_dark_ms", vec![5.5]), ("writes_dark_ms", vec![10.0])]);
        assert!(longest_gaps(&events[..1], 20_000).is_empty());
    }
}
