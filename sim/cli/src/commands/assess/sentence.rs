//! The answer, and what breaks first, in sentences.

use super::text::{time, value};
use reports::statistics::count;
use sim::assess::{Along, Answer, Assessment, Case, Event, SEEDS, Why};

/// Safe or not, and why.
pub(super) fn answer(case: &Case, seen: &Assessment) -> String {
    let word = match seen.answer {
        Answer::Safe => "SAFE",
        Answer::NotSafe => "NOT SAFE",
        Answer::Unknown => "CANNOT BE SAID",
    };
    format!("{word}: {}.", because(case, seen))
}

/// Why that is the answer; a sentence without its full stop.
pub(super) fn because(case: &Case, seen: &Assessment) -> String {
    let along = case.along();
    let asked = value(along, case.asked() as f64);
    match seen.why {
        Why::Violated { at, seed } if at == case.asked() => {
            let unsafe_runs = seen.asked.iter().filter(|outcome| !outcome.violated.is_empty()).count();
            let violated = seen.asked.iter().find(|outcome| outcome.seed == seed).map(|o| o.violated.join(", "));
            format!(
                "at {asked} two leaders take effect in {unsafe_runs} of {}; seed {seed} violates {}",
                count(SEEDS, "run"),
                violated.unwrap_or_default()
            )
        }
        Why::Violated { at, seed } => format!(
            "two leaders take effect at {} already (seed {seed}), and a {} of up to {asked} may be as long",
            value(along, at as f64),
            noun(along)
        ),
        Why::NobodyTakesOver => {
            let waits = seen.clearance.waits_ms.map(|ms| time(ms.round())).unwrap_or_default();
            let sure = match case.compares() {
                true => "; should one last longer, the store refuses what the old leader writes then",
                false => "; nothing else keeps two leaders apart",
            };
            format!(
                "nobody takes over within {asked}: the others wait {waits} after the last renewal that they see, and that is at \
                 most {} old when the {} begins{sure}",
                time(seen.clearance.renewed_ms.ceil()),
                noun(along)
            )
        }
        Why::Outlasts => {
            "the holder keeps its lock however long its process stops, as its connection lives on in the kernel; nobody takes \
             over unless somebody ends its session"
                .to_owned()
        }
        Why::Refused => {
            let took = seen.asked.iter().filter(|outcome| outcome.takeover_ms.is_some()).count();
            let refused: u64 = seen.asked.iter().map(|outcome| outcome.refused).sum();
            format!(
                "whoever is replaced cannot write: the store compares tokens. Somebody took over in {took} of {}, and the store \
                 refused {}",
                count(SEEDS, "run"),
                count(refused, "stale write")
            )
        }
        Why::StopsInTime(ms) => format!(
            "a leader that cannot renew stops believing {} before anybody else can be elected, by the timers, and no run \
             contradicts it",
            time(ms)
        ),
        Why::Promised => "the protocol keeps two leaders apart without the store's help, and no run contradicts it".to_owned(),
        Why::FarFromEdge => format!(
            "nobody took over in any of {}, nor at twice {asked} in those that looked for the edge; this protocol's timers \
             prove nothing here",
            count(SEEDS, "run")
        ),
        Why::NothingStruck => {
            format!("it struck no leader in any of {}: nobody led long enough", count(SEEDS, "run"))
        }
        Why::NotExcluded => not_excluded(case, seen, &asked),
    }
}

fn not_excluded(case: &Case, seen: &Assessment, asked: &str) -> String {
    let none = format!("none of {} at {asked} is unsafe", count(SEEDS, "run"));
    match (case.along(), seen.belief_ms) {
        (Along::Pause, _) => match seen.clearance.pause_ms {
            Some(ms) if case.hazards.cut_ms.is_none() => {
                format!("{none}, but the timers exclude a change of leader only up to {}", time(ms))
            }
            _ => format!("{none}, but this protocol's timers exclude nothing"),
        },
        (_, None) => format!("{none}, but no clock ends the belief of a leader that is cut off"),
        (_, Some(ms)) if ms < 0.0 => {
            format!("{none}, but by the timers two may believe for {} while one is cut off", time(-ms))
        }
        (_, Some(_)) => format!("{none}, but the protocol does not promise it"),
    }
}

fn noun(along: Along) -> &'static str {
    match along {
        Along::Pause => "pause",
        Along::Cut => "cut",
        Along::Drift => "drift",
        Along::Skew => "skew",
        Along::Latency => "latency",
    }
}

/// What breaks first as the hazard grows.
pub(super) fn first(case: &Case, seen: &Assessment) -> String {
    let along = case.along();
    let least = |event| seen.edge(event).map(|edge| edge.at);
    let takeover = least(Event::Takeover).filter(|_| matches!(along, Along::Pause | Along::Cut));
    let (what, at) = match (takeover, least(Event::TwoBelieve), least(Event::Violation)) {
        (Some(at), ..) => ("who leads", at),
        (None, Some(believe), violation) if violation.is_none_or(|at| believe <= at) => {
            ("the belief to lead alone", believe)
        }
        (None, _, Some(at)) => ("what the store holds", at),
        _ => {
            let most = value(along, seen.most as f64);
            return format!("nothing that was looked for, up to {most}.");
        }
    };
    let takes = seen.at_most.iter().filter_map(|outcome| outcome.takeover_ms).max_by(f64::total_cmp);
    let takes = takes.filter(|_| takeover.is_some());
    let takes = takes.map(|ms| format!("; until a successor takes effect up to {} pass", time(ms)));
    let awake = seen.at_most.iter().map(|outcome| outcome.awake_ms).max_by(f64::total_cmp).filter(|ms| *ms >= 1.0);
    let awake = awake.map(|ms| format!(". The old leader then believes beside the new one for up to {}", time(ms)));
    let store = match (case.protocol.tokened, case.compares()) {
        (true, true) => ", and the store refuses what it writes",
        (true, false) => ", and nothing refuses what it writes",
        (false, _) => ", and no store can tell what it writes from its successor's",
    };
    let store = awake.as_ref().map_or("", |_| store);
    let at = value(along, at as f64);
    format!("{what}, from {at} on{}{}{store}.", takes.unwrap_or_default(), awake.unwrap_or_default())
}
