//! `advise`: which lease serves an availability target, with what was seen of pauses and crashes.

use super::{
    advise_args::AdviseArgs,
    args::jobs_or_cores,
    exit::{INCONCLUSIVE, Stop},
    output::{Show, print},
    parse,
};
use indicatif::{ProgressBar, ProgressDrawTarget};
use protocols::election::Protocol;
use reports::statistics::quantile;
use scenarios::{
    Params,
    pauses::{self, Pauses},
    sense,
    units::{duration_text, percent_text},
};
use serde_json::{Value, json};
use sim::{
    advise::{
        self, Choice, Ladder, Situation, confidence, ratios,
        trial::{self, Trial},
    },
    registry::Registry,
    repro,
};
use std::{fs, io::Read, path::Path};

/// Milliseconds of a day.
const DAY_MS: f64 = 86_400_000.0;

/// A choice and what trying it came to.
struct Tried<'a> {
    choice: &'a Choice,
    trial: Option<Trial>,
}

/// Advises; the exit code is 0 with an advice that its trial confirms, and 2 without.
///
/// # Errors
/// The arguments make no sense, a log cannot be read, or a run could not be finished.
pub fn run(registry: &Registry, args: &AdviseArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let (seen, situation) = situation(args)?;
    let own_ms = args.own.given_ms();
    let given = Params { nodes: args.nodes, renew_interval_ms: args.renew_interval, own_ms, ..Params::default() };
    let params = args.network.params(given);
    sense::options(&params).map_err(Stop::usage)?;
    let wanted = f64::from(args.confidence) / 1e6;
    let ladders: Vec<Ladder> = protocols(registry, args)?
        .into_iter()
        .map(|protocol| advise::ladder(&situation, protocol, &params, &args.lease_ttl, wanted))
        .collect();
    if ladders.iter().all(|ladder| ladder.steps.is_empty()) {
        return Err(Stop::usage("none of these protocols takes any of these leases; give others with --lease-ttl"));
    }
    let best = advise::best(&ladders);
    let mut tried = Vec::new();
    if let Some((ladder, choice)) = best {
        let shorter = ladder.advised.and_then(|place| ladder.steps.get(place.checked_sub(1)?));
        let choices: Vec<&Choice> = [Some(choice), shorter].into_iter().flatten().collect();
        let bar = ProgressBar::new(trial::RUNS_MAX * choices.len() as u64);
        let shown = show.progress() && !args.no_trial;
        bar.set_draw_target(if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() });
        for choice in choices {
            let trial = || trial::of(registry, &situation, choice, jobs_or_cores(args.jobs), || bar.inc(1));
            let trial = (!args.no_trial).then(trial).transpose().map_err(Stop::usage)?;
            tried.push(Tried { choice, trial });
        }
        bar.finish_and_clear();
    }
    let told = Told { args, seen: &seen, situation: &situation, ladders: &ladders, tried: &tried };
    match (show.json, show.quiet) {
        (true, _) => print(&reports::json::pretty(&told.json())),
        (false, true) => print(&told.advice()),
        (false, false) => print(&told.text()),
    }
    let confirmed =
        tried.first().is_some_and(|tried| tried.trial.is_none_or(|trial| trial.dark <= situation.may_be_dark));
    Ok(if confirmed { 0 } else { INCONCLUSIVE })
}

/// The pauses that were seen, short ones too.
struct Seen {
    /// Where.
    sources: String,
    number: usize,
}

/// What was seen, and what it comes to.
fn situation(args: &AdviseArgs) -> Result<(Seen, Situation), Stop> {
    let (mut lengths_ms, mut seen, mut over_ms) = (Vec::new(), Vec::new(), None);
    if let Some(path) = &args.pauses {
        let text = read(path)?;
        let Pauses { lengths_ms: logged, over_ms: span_ms, form } =
            pauses::read(&text).map_err(|why| Stop::usage(format!("{}: {why}", path.display())))?;
        seen.push(format!("{form}, {}", path.display()));
        lengths_ms = logged;
        over_ms = span_ms;
    }
    for entry in &args.pause {
        let by_hand = pauses::read(entry).map_err(|_| {
            Stop::usage(format!("--pause is `{entry}`; write a duration, such as 1.2s, or several of it, as 3x 1.2s"))
        })?;
        lengths_ms.extend(by_hand.lengths_ms);
    }
    if !args.pause.is_empty() {
        seen.push("by hand".to_owned());
    }
    lengths_ms.sort_by(f64::total_cmp);
    let pauses_over_ms = match (args.over.map(|ms| ms as f64).or(over_ms), lengths_ms.is_empty()) {
        (Some(ms), _) => ms,
        (None, true) => DAY_MS,
        (None, false) => {
            return Err(Stop::usage("in what time were these pauses seen? Say it with --over, as --over 7d"));
        }
    };
    let paused_ms: f64 = lengths_ms.iter().sum();
    if paused_ms >= pauses_over_ms {
        let text = "the pauses together are longer than the time in which they were seen; is --over right?";
        return Err(Stop::usage(text));
    }
    let (crashes, crashes_over_ms) = args.crashes;
    let number = lengths_ms.len();
    lengths_ms.retain(|length_ms| *length_ms >= args.unnoticed as f64);
    let situation = Situation {
        pauses_ms: lengths_ms,
        pauses_over_ms,
        crashes,
        crashes_over_ms: crashes_over_ms as f64,
        warm_up_ms: args.warm_up as f64,
        may_be_dark: f64::from(args.slo) / 1e6,
    };
    Ok((Seen { sources: seen.join("; "), number }, situation))
}

fn read(path: &Path) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ()),
        _ => fs::read(path).map(|content| bytes = content),
    };
    read.map_err(|e| Stop::usage(format!("cannot read {}: {e}", path.display())))?;
    // A log may have anything in it; what is no text is no pause.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn protocols(registry: &Registry, args: &AdviseArgs) -> Result<Vec<&'static Protocol>, Stop> {
    match &args.protocol {
        None => {
            let all = registry.plans.protocols.iter().copied();
            Ok(all.filter(|protocol| advise::is_safe(protocol) && advise::is_deployable(protocol)).collect())
        }
        Some(names) => {
            let asked = parse::protocols(names).map_err(Stop::usage)?;
            match asked.iter().find(|protocol| !advise::is_safe(protocol)) {
                Some(unsafe_one) => Err(Stop::usage(format!(
                    "`{}` lets two leaders take effect when one is paused, whatever its lease; choose a protocol with a \
                     fencing token",
                    unsafe_one.name
                ))),
                None => Ok(asked),
            }
        }
    }
}

/// All that is told.
struct Told<'a> {
    args: &'a AdviseArgs,
    seen: &'a Seen,
    situation: &'a Situation,
    ladders: &'a [Ladder],
    tried: &'a [Tried<'a>],
}

/// A share of time in percent, with as many digits as matter.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 1.0 {
        2
    } else if percent >= 0.01 {
        4
    } else {
        5
    };
    format!("{percent:.digits$} %")
}

/// A time in words, as long as it is.
fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 2.0 * DAY_MS => format!("{:.0} d", ms / DAY_MS),
        ms if ms >= 7_200_000.0 => format!("{:.1} h", ms / 3_600_000.0),
        ms if ms >= 120_000.0 => format!("{:.1} min", ms / 60_000.0),
        ms if ms >= 1_000.0 => format!("{:.2} s", ms / 1e3),
        ms => format!("{ms:.0} ms"),
    }
}

impl Told<'_> {
    fn text(&self) -> String {
        [self.given(), self.table(), self.advice(), self.warnings()].join("\n")
    }

    fn given(&self) -> String {
        let Situation { pauses_ms, pauses_over_ms, crashes, crashes_over_ms, warm_up_ms, may_be_dark } = self.situation;
        let target = percent_text(1_000_000 - self.args.slo);
        let at = |q| quantile(pauses_ms, q).map_or("–".to_owned(), time);
        let shorter = match self.seen.number - pauses_ms.len() {
            0 => String::new(),
            number => format!(", and {number} below {}", duration_text(self.args.unnoticed)),
        };
        let pauses = match pauses_ms.len() {
            0 if self.seen.number == 0 => "none".to_owned(),
            0 => format!("none{shorter}"),
            number => format!(
                "{number} in {} ({}){shorter}: median {}, 99th percentile {}, longest {}",
                time(*pauses_over_ms),
                self.seen.sources,
                at(0.5),
                at(0.99),
                at(1.0)
            ),
        };
        format!(
            "Target {target}: of 30 days, {} may be without a leader.\n\n\
             \x20 pauses   {pauses}\n  crashes  {crashes} in {}\n  warm-up  {} after every change of leader\n",
            time(may_be_dark * 30.0 * DAY_MS),
            time(*crashes_over_ms),
            time(*warm_up_ms)
        )
    }

    /// A line for each protocol: its advised lease, or the one that comes nearest.
    fn table(&self) -> String {
        let mut text = format!(
            "  {:20} {:>7} {:>8} {:>11} {:>11} {:>11} {:>11} {:>9} {:>5}\n",
            "protocol", "lease", "renewed", "dark", "by pauses", "by crashes", "by warm-up", "changes/d", "sure"
        );
        for ladder in self.ladders {
            let nearest = || ladder.steps.iter().max_by(|a, b| b.dark.share().total_cmp(&a.dark.share()));
            let Some(step) = ladder.advised.map(|place| &ladder.steps[place]).or_else(nearest) else {
                text += &format!("  {:20} takes none of these leases\n", ladder.protocol.name);
                continue;
            };
            let Choice { dark, confidence, granted_ms, renew_ms, .. } = step;
            let meets = if ladder.advised.is_some() { "" } else { "  misses" };
            text += &format!(
                "  {:20} {:>7} {:>8} {:>11} {:>11} {:>11} {:>11} {:>9.2} {:>3.0} %{meets}\n",
                ladder.protocol.name,
                duration_text(*granted_ms),
                duration_text(*renew_ms),
                percent(dark.share()),
                percent(dark.pauses),
                percent(dark.crashes),
                percent(dark.warm_up),
                dark.changes_a_day,
                confidence * 100.0
            );
        }
        text
    }

    fn advice(&self) -> String {
        let target = percent_text(1_000_000 - self.args.slo);
        let Some(advised) = self.tried.first() else {
            let alone: f64 = self.situation.pauses_ms.iter().sum::<f64>() / self.situation.pauses_over_ms;
            let why = match alone > self.situation.may_be_dark {
                true => format!("a leader that is paused leads nobody, and pauses alone take {}", percent(alone)),
                false => "crashes, pauses and warm-ups together leave more time dark than that".to_owned(),
            };
            return format!(
                "No advice: none of these leases meets {target} with {} confidence; {why}.\n",
                percent_text(self.args.confidence)
            );
        };
        let Choice { protocol, params, granted_ms, renew_ms, confidence, dark } = advised.choice;
        let mut text = format!(
            "Advice: {} with a lease of {}, renewed every {}: {} dark, {:.2} changes of leader a day, {:.0} % sure to meet {target}.\n",
            protocol.name,
            duration_text(*granted_ms),
            duration_text(*renew_ms),
            percent(dark.share()),
            dark.changes_a_day,
            confidence * 100.0
        );
        for (tried, which) in self.tried.iter().zip(["Tried", "One step shorter"]) {
            let Some(trial) = tried.trial else { continue };
            text += &format!(
                "  {which}, {}: {} pauses struck, {} changed the leader, and {} kills: {} dark, {} {target}\n",
                duration_text(tried.choice.granted_ms),
                trial.pauses,
                trial.changes,
                trial.kills,
                percent(trial.dark),
                if trial.dark <= self.situation.may_be_dark { "meets" } else { "misses" }
            );
            if trial.pauses == 0 {
                text += "  No pause that was seen is long enough to strike this lease: about pauses the trial confirms nothing.\n";
            }
        }
        // The longest pause, if it outlasts the lease; what no pause does, a crash does.
        let longest_ms = self.situation.pauses_ms.last().filter(|longest_ms| **longest_ms > *granted_ms as f64);
        let (scenario, pause_ms) = match longest_ms {
            Some(longest_ms) => ("gc-pause", Some(longest_ms.round() as u64)),
            None => ("clean-kill", None),
        };
        let params = Params { pause_ms, ..params.clone() };
        text + &format!("  See it:  {}\n", repro::of_run(scenario, protocol.name, &params, 1))
    }

    fn warnings(&self) -> String {
        let mut warnings = Vec::new();
        if let Some(advised) = self.tried.first() {
            let Choice { params, protocol, granted_ms, .. } = advised.choice;
            if let Some(longest) = self.situation.pauses_ms.last().filter(|longest| **longest > *granted_ms as f64) {
                warnings.push(format!(
                    "the longest pause, {}, outlasts the lease: whoever wakes from it may have a write in its hands, and only \
                     the token refuses it",
                    time(*longest)
                ));
            }
            warnings.extend(ratios::warnings(params, protocol));
        }
        let number = self.seen.number;
        if number == 0 {
            let none = "no pauses were given, so this counts on none: every process is paused now and then; give what was seen \
                        with --pauses or --pause";
            warnings.push(none.to_owned());
        }
        if (1..3_000).contains(&number) {
            warnings.push(format!(
                "of {number} pauses none tells of longer ones: up to {:.1} % of all may be longer than the longest that was \
                 seen (95 % confidence)",
                confidence::unseen(number) * 100.0
            ));
        }
        warnings.iter().map(|warning| format!("Warning: {warning}.\n")).collect()
    }

    fn json(&self) -> Value {
        let step = |choice: &Choice| {
            json!({
                "protocol": choice.protocol.name,
                "lease_ttl_ms": choice.granted_ms,
                "renew_interval_ms": choice.renew_ms,
                "dark": rounded(choice.dark.share()),
                "dark_by_pauses": rounded(choice.dark.pauses),
                "dark_by_crashes": rounded(choice.dark.crashes),
                "dark_by_warm_up": rounded(choice.dark.warm_up),
                "changes_a_day": rounded(choice.dark.changes_a_day),
                "confidence": rounded(choice.confidence),
            })
        };
        let trial = |tried: &Tried| {
            tried.trial.map(|trial| {
                json!({
                    "lease_ttl_ms": tried.choice.granted_ms,
                    "pauses": trial.pauses,
                    "changes": trial.changes,
                    "kills": trial.kills,
                    "dark": rounded(trial.dark),
                    "meets": trial.dark <= self.situation.may_be_dark,
                    "leaders_acting_by_effect_max": trial.leaders_acting,
                })
            })
        };
        json!({
            "schema": 1,
            "may_be_dark": rounded(self.situation.may_be_dark),
            "pauses": self.seen.number,
            "pauses_noticed": self.situation.pauses_ms.len(),
            "pauses_over_ms": self.situation.pauses_over_ms.round(),
            "crashes": self.situation.crashes,
            "crashes_over_ms": self.situation.crashes_over_ms,
            "warm_up_ms": self.situation.warm_up_ms,
            "advice": self.tried.first().map(|tried| step(tried.choice)),
            "trials": self.tried.iter().filter_map(trial).collect::<Vec<_>>(),
            "protocols": self.ladders.iter().map(|ladder| json!({
                "protocol": ladder.protocol.name,
                "advised": ladder.advised.map(|place| ladder.steps[place].granted_ms),
                "steps": ladder.steps.iter().map(step).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "warnings": self.warnings().lines().map(|line| line.trim_start_matches("Warning: ").to_owned()).collect::<Vec<_>>(),
        })
    }
}

/// Nine significant decimals are more than anything here is known to.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}
