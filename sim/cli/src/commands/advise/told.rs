//! The advice in prose and as JSON.

use crate::commands::advice_args::AdviseArgs;
use reports::statistics::{count, quantile};
use scenarios::{
    Params,
    units::{duration_text, percent_text},
};
use serde_json::{Value, json};
use sim::{
    advise::{self, Choice, Ladder, Situation, confidence, ratios, trial::Trial},
    repro,
};

const DAY_MS: f64 = 86_400_000.0;

/// With fewer pauses than this, the report states no confidence: one more pause longer than all of them would decide.
const FEW_PAUSES: usize = 20;

/// A choice and the result of its trial.
pub(super) struct Tried<'a> {
    pub choice: &'a Choice,
    pub trial: Option<Trial>,
}

/// The observed pauses, short ones included.
pub(super) struct Seen {
    /// Where they come from.
    pub sources: String,
    pub number: usize,
}

/// The content of the report.
pub(super) struct Told<'a> {
    pub args: &'a AdviseArgs,
    pub seen: &'a Seen,
    pub situation: &'a Situation,
    pub ladders: &'a [Ladder],
    pub tried: &'a [Tried<'a>],
    /// The current setup and the result of its trial.
    pub now: Option<&'a Tried<'a>>,
}

/// A share of time in percent, with the digits that matter.
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

/// The confidence in percent; the few drawn pasts cannot tell more than 99.5 % from certainty.
fn sure(confidence: f64) -> String {
    if confidence >= 0.995 { ">99".to_owned() } else { format!("{:.0}", confidence * 100.0) }
}

/// A time in the unit that suits it.
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
    pub fn text(&self) -> String {
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

    /// A row per protocol: its advised lease, or the nearest one.
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
            text += &self.row(
                ladder.protocol.name,
                step,
                if ladder.advised.is_some() { "" } else { self.falls_short(step) },
            );
        }
        if let Some(Tried { choice, .. }) = self.now {
            text += &self.row("now:", choice, if self.meets(choice) { "" } else { self.falls_short(choice) });
        }
        text
    }

    fn row(&self, name: &str, step: &Choice, meets: &str) -> String {
        let Choice { dark, confidence, granted_ms, renew_ms, .. } = step;
        let sure = match self.seen.number {
            1..FEW_PAUSES => "–".to_owned(),
            _ => format!("{} %", sure(*confidence)),
        };
        format!(
            "  {name:20} {:>7} {:>8} {:>11} {:>11} {:>11} {:>11} {:>9.2} {sure:>5}{meets}\n",
            duration_text(*granted_ms),
            duration_text(*renew_ms),
            percent(dark.share()),
            percent(dark.pauses),
            percent(dark.crashes),
            percent(dark.warm_up),
            dark.changes_a_day,
        )
    }

    /// Why a choice is not advised.
    fn falls_short(&self, choice: &Choice) -> &'static str {
        if choice.dark.share() <= self.situation.may_be_dark { "  not sure enough" } else { "  misses" }
    }

    /// True if it meets the target with the required confidence.
    fn meets(&self, choice: &Choice) -> bool {
        choice.confidence >= f64::from(self.args.confidence) / 1e6
    }

    /// The current setup, compared with the advice.
    fn present(&self, target: &str) -> String {
        let Some(now) = self.now else { return String::new() };
        let Choice { protocol, granted_ms, dark, .. } = now.choice;
        let verb = match (self.meets(now.choice), dark.share() <= self.situation.may_be_dark) {
            (true, _) => "meets".to_owned(),
            (false, true) => format!(
                "{} % sure, where {} is wanted, to meet",
                sure(now.choice.confidence),
                percent_text(self.args.confidence)
            ),
            (false, false) => "misses".to_owned(),
        };
        let unsafe_one = match advise::is_safe(protocol) {
            true => "",
            false => "; and two leaders may take effect when one is paused, whatever the lease",
        };
        let mut text = format!(
            "Now: {} with a lease of {}: {} dark, {:.2} changes of leader a day; {verb} {target}{unsafe_one}.\n",
            protocol.name,
            duration_text(*granted_ms),
            percent(dark.share()),
            dark.changes_a_day
        );
        text += &self.tried_text(now, "Tried", target);
        text
    }

    fn tried_text(&self, tried: &Tried, which: &str, target: &str) -> String {
        let Some(trial) = tried.trial else { return String::new() };
        let mut text = format!(
            "  {which}, {}: {} pauses struck, {} changed the leader, and {} kills: {} dark, {} {target}\n",
            duration_text(tried.choice.granted_ms),
            trial.pauses,
            trial.changes,
            trial.kills,
            percent(trial.dark),
            if trial.dark <= self.situation.may_be_dark { "meets" } else { "misses" }
        );
        if trial.pauses == 0 {
            text += "  No observed pause is long enough to be noticed, so the trial confirms nothing about pauses.\n";
        }
        text
    }

    /// The confidence, as far as the observations allow.
    fn how_sure(&self, choice: &Choice, target: &str) -> String {
        match self.seen.number {
            0 => format!(
                "{} % sure to meet {target} if nothing ever pauses, as no pause was given",
                sure(choice.confidence)
            ),
            number @ 1..FEW_PAUSES => {
                let (least, most) = confidence::interval(number as u64);
                let dark = self.at_most(choice);
                let still = if dark <= self.situation.may_be_dark { "still meets" } else { "misses" };
                format!(
                    "too few to say how sure: {} in {} is what {least:.1} to {most:.1} a time would show (90 % confidence), and \
                     at {most:.1} of them it is {} dark, which {still} {target}",
                    count(number as u64, "pause"),
                    time(self.situation.pauses_over_ms),
                    percent(dark)
                )
            }
            _ => format!("{} % sure to meet {target}", sure(choice.confidence)),
        }
    }

    /// The share of dark time with as many pauses as the observed number allows for.
    fn at_most(&self, choice: &Choice) -> f64 {
        let number = self.seen.number.max(1) as u64;
        let more = confidence::interval(number).1 / number as f64;
        let Situation { crashes, crashes_over_ms, warm_up_ms, .. } = self.situation;
        let by_crashes = *crashes as f64 / crashes_over_ms * warm_up_ms;
        choice.dark.crashes + by_crashes + more * (choice.dark.pauses + (choice.dark.warm_up - by_crashes).max(0.0))
    }

    pub fn advice(&self) -> String {
        let target = percent_text(1_000_000 - self.args.slo);
        let Some(advised) = self.tried.first() else {
            let alone: f64 = self.situation.pauses_ms.iter().sum::<f64>() / self.situation.pauses_over_ms;
            let all = self.ladders.iter().flat_map(|ladder| &ladder.steps);
            let surest = all.max_by(|one, other| one.confidence.total_cmp(&other.confidence));
            let why = match (alone > self.situation.may_be_dark, surest) {
                (true, _) => format!("a paused leader serves nobody, and pauses alone take {}", percent(alone)),
                (false, Some(step)) if step.dark.share() <= self.situation.may_be_dark => format!(
                    "the surest is {} with {}: {} dark is below the target, but since few pauses were seen, that is \
                     only {} % sure",
                    step.protocol.name,
                    duration_text(step.granted_ms),
                    percent(step.dark.share()),
                    sure(step.confidence)
                ),
                (false, _) => "crashes, pauses and warm-ups together leave more time dark than that".to_owned(),
            };
            let none = format!(
                "No advice: none of these leases meets {target} with {} confidence; {why}.\n",
                percent_text(self.args.confidence)
            );
            return self.present(&target) + &none;
        };
        let Choice { protocol, params, granted_ms, renew_ms, dark, .. } = advised.choice;
        let mut text = self.present(&target);
        text += &format!(
            "Advice: {} with a lease of {}, renewed every {}: {} dark, {:.2} changes of leader a day; {}.\n",
            protocol.name,
            duration_text(*granted_ms),
            duration_text(*renew_ms),
            percent(dark.share()),
            dark.changes_a_day,
            self.how_sure(advised.choice, &target)
        );
        for (tried, which) in self.tried.iter().zip(["Tried", "One step shorter"]) {
            text += &self.tried_text(tried, which, &target);
        }
        // The longest pause if it outlasts the lease; otherwise a crash.
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
                    "the longest pause, {}, outlasts the lease: a leader that wakes from it may still send a write, \
                     and only the token gets it refused",
                    time(*longest)
                ));
            }
            warnings.extend(ratios::warnings(params, protocol));
        }
        let number = self.seen.number;
        if number == 0 {
            let none = "no pauses were given, so none are assumed, but every process is paused now and then: pass \
                        those that were seen with --pauses or --pause";
            warnings.push(none.to_owned());
        }
        if (1..3_000).contains(&number) {
            warnings.push(format!(
                "{number} pauses say nothing about longer ones: up to {:.1} % of all may be longer than the longest \
                 seen (95 % confidence)",
                confidence::unseen(number) * 100.0
            ));
        }
        warnings.iter().map(|warning| format!("Warning: {warning}.\n")).collect()
    }

    pub fn json(&self) -> Value {
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
                    "protocol": tried.choice.protocol.name,
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
            "now": self.now.map(|now| step(now.choice)),
            "now_meets": self.now.map(|now| self.meets(now.choice)),
            "dark_at_most": self.tried.first().filter(|_| self.seen.number > 0).map(|tried| rounded(self.at_most(tried.choice))),
            "advice": self.tried.first().map(|tried| step(tried.choice)),
            "trials": self.tried.iter().chain(self.now).filter_map(trial).collect::<Vec<_>>(),
            "protocols": self.ladders.iter().map(|ladder| json!({
                "protocol": ladder.protocol.name,
                "advised": ladder.advised.map(|place| ladder.steps[place].granted_ms),
                "steps": ladder.steps.iter().map(step).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "warnings": self.warnings().lines().map(|line| line.trim_start_matches("Warning: ").to_owned()).collect::<Vec<_>>(),
        })
    }
}

/// Nothing here is known to more than nine decimals.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}
