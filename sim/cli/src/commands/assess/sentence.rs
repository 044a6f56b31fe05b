//! The answer and what breaks first, in prose.

use reports::statistics::count;
use sim::assess::{Along, Answer, Assessment, Case, Event, Outcome, Why};

/// The answer and its reason.
pub(super) fn answer(case: &Case, seen: &Assessment) -> String {
    let word = match seen.answer {
        Answer::Safe => "SAFE",
        Answer::NotSafe => "NOT SAFE",
        Answer::Unknown if seen.interrupted => "INTERRUPTED",
        Answer::Unknown => "CANNOT BE SAID",
    };
    let unled = seen.asked.iter().filter(|outcome| outcome.unled).count();
    let unled = match unled {
        0 => String::new(),
        some => format!(" But nobody led in time in {some} of {}.", runs(&seen.asked)),
    };
    format!("{word}: {}.{unled}", because(case, seen))
}

/// The reason for the answer; a sentence without its full stop.
pub(super) fn because(case: &Case, seen: &Assessment) -> String {
    let along = case.along();
    let asked = value(along, case.asked() as f64);
    match seen.why {
        Why::Violated { at, seed } if at == case.asked() => {
            let unsafe_runs = seen.asked.iter().filter(|outcome| !outcome.violated.is_empty()).count();
            let violated = seen.asked.iter().find(|outcome| outcome.seed == seed).map(|o| &o.violated[..]);
            let violated = named(violated.unwrap_or_default());
            format!(
                "{}: {unsafe_runs} of {} at {asked} are unsafe, and seed {seed} violates {violated}",
                harm(case),
                runs(&seen.asked),
            )
        }
        Why::Violated { at, seed } => format!(
            "{} at {} already (seed {seed}), although in none of {} at {asked}",
            harm(case),
            value(along, at as f64),
            runs(&seen.asked)
        ),
        Why::NobodyTakesOver => {
            let waits = seen.clearance.waits_ms.map(|ms| time((ms / 100.0).round() * 100.0)).unwrap_or_default();
            let sure = match case.compares() {
                true => "; if it lasts longer, the store refuses the old leader's writes",
                false => "; nothing else keeps two leaders apart",
            };
            let kept = match case.protocol.service.gives_up {
                Some(_) => format!("its session is in no danger for {waits} after the last ping"),
                None => format!("the others wait {waits} after the last renewal that they see"),
            };
            format!(
                "nobody takes over within {asked}: {kept}, and that is at most {} old when the {} begins{sure}",
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
                "a replaced leader cannot write: the store compares tokens. Another node took over in {took} of {}, \
                 and the store refused {}",
                runs(&seen.asked),
                count(refused, "stale write")
            )
        }
        Why::StopsInTime(ms) => format!(
            "a leader that cannot renew stops believing {} before anybody else can be elected, by the timers, and no run \
             contradicts it",
            time(ms)
        ),
        Why::Promised => "the protocol keeps two leaders apart without the store's help, and no run contradicts it".to_owned(),
        Why::FarFromEdge => {
            format!("nobody takes over in runs at {asked}, nor at twice that, but this protocol's timers exclude nothing")
        }
        Why::NothingStruck => {
            format!("it struck no leader in any of {}: nobody led long enough", runs(&seen.asked))
        }
        Why::NotExcluded => not_excluded(case, seen, &asked),
        Why::Interrupted => format!("so far, {}", outcomes(case, case.asked(), &seen.asked)),
    }
}

fn not_excluded(case: &Case, seen: &Assessment, asked: &str) -> String {
    let none = format!("none of {} at {asked} is unsafe", runs(&seen.asked));
    match (case.along(), seen.belief_ms) {
        (Along::Pause, _) => match seen.clearance.pause_ms {
            Some(ms) if case.hazards.cut_ms.is_none() => {
                format!("{none}, but the timers exclude a change of leader only up to {}", time(ms))
            }
            _ => format!("{none}, but this protocol's timers exclude nothing"),
        },
        (_, None) => format!("{none}, but no clock ends the belief of a leader that is cut off"),
        (_, Some(ms)) if ms < 0.0 => {
            format!("{none}, but by the timers two nodes may believe for {} while one is cut off", time(-ms))
        }
        (_, Some(_)) => format!("{none}, but the protocol does not promise it"),
    }
}

/// Violated invariants: the first by its name, the others by their number.
fn named(violated: &[&str]) -> String {
    match violated {
        [one] => (*one).to_owned(),
        [first, others @ ..] => format!("{first} and {}", count(others.len() as u64, "other invariant")),
        [] => String::new(),
    }
}

/// What runs at one value of the hazard show.
pub(super) fn outcomes(case: &Case, at: u64, seen: &[Outcome]) -> String {
    let of = |shows: fn(&Outcome) -> bool| seen.iter().filter(|outcome| shows(outcome)).count();
    let (bad, took) = (of(|outcome| !outcome.violated.is_empty()), of(Outcome::took_over));
    format!(
        "of {} at {} {bad} are unsafe, and leadership changed in {took}",
        runs(seen),
        value(case.along(), at as f64)
    )
}

fn runs(outcomes: &[Outcome]) -> String {
    count(outcomes.len() as u64, "run")
}

/// The consequence of two leaders.
fn harm(case: &Case) -> &'static str {
    match (case.protocol.tokened, case.compares()) {
        (true, false) => "a former leader's write takes effect, since the store compares no tokens",
        (true, true) => "two leaders take effect although the store compares tokens",
        (false, _) => "a former leader's write takes effect, since no token tells it apart",
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
    let by_timers = match along {
        Along::Pause if case.hazards.cut_ms.is_none() => seen.clearance.pause_ms,
        Along::Cut => seen.clearance.cut_ms,
        Along::Drift => seen.drift_ppm.map(|ppm| ppm as f64),
        _ => None,
    };
    let changes = matches!(along, Along::Pause | Along::Cut);
    let events = Event::ALL.into_iter().filter(|event| changes || *event != Event::Takeover);
    let found = events.filter_map(|event| Some((seen.edge(event)?.at, event))).min_by_key(|(at, _)| *at);
    let Some((at, event)) = found else {
        let so_far = if seen.interrupted { "nothing so far of what" } else { "nothing that" };
        return format!("{so_far} was looked for, up to {}.", value(along, seen.most as f64));
    };
    let what = match event {
        Event::Takeover => "another takes over",
        Event::TwoBelieve => "two nodes believe that they lead",
        Event::Violation => "two leaders take effect",
        Event::Unled => "nobody leads in time",
    };
    let timers = by_timers.filter(|_| event != Event::Unled);
    let timers = timers.map(|ms| format!(", and from {} on by the timers", value(along, ms))).unwrap_or_default();
    let text = format!("{what} from {} on in runs{timers}.", value(along, at as f64));
    text + &if changes { then(case, seen) } else { String::new() }
}

/// The cost of a takeover, in runs of the largest value.
fn then(case: &Case, seen: &Assessment) -> String {
    let longest = |of: fn(&Outcome) -> Option<f64>| seen.at_most.iter().filter_map(of).max_by(f64::total_cmp);
    let taken = longest(|outcome| outcome.takeover_ms).map(|ms| {
        let begins = if case.along() == Along::Pause { "stopped" } else { "was cut off" };
        format!(" A new leader took effect within {} of the moment when the old one {begins}.", time(ms))
    });
    let awake = longest(|outcome| Some(outcome.awake_ms)).filter(|ms| *ms >= 1.0).map(|ms| {
        let store = match (case.protocol.tokened, case.compares()) {
            (true, true) => "the store refuses what the old one writes",
            (true, false) => "nothing refuses what the old one writes",
            (false, _) => "no store can tell which of them wrote",
        };
        format!(" Both then ran and believed for up to {}; {store}.", time(ms))
    });
    taken.unwrap_or_default() + &awake.unwrap_or_default()
}

/// A hazard's value with its unit.
pub(super) fn value(along: Along, value: f64) -> String {
    match along {
        Along::Pause | Along::Cut | Along::Skew => time(value),
        Along::Drift => format!("{value:.0} ppm"),
        Along::Latency => time(value / 1e3),
    }
}

/// Milliseconds; in hundredths of a second from one second on.
pub(super) fn time(ms: f64) -> String {
    match ms.abs() < 1_000.0 {
        true if ms.abs() < 10.0 && ms != ms.round() => format!("{ms:.1} ms"),
        true => format!("{ms:.0} ms"),
        false => {
            let seconds = format!("{:.2}", ms / 1e3);
            format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}
