//! What a log's words mean for a write. An ambiguous word is asked about, not guessed.

use super::{
    called::{CHANGED, VERDICTS},
    columns::Column,
    values::plain,
};

/// Prefixes of words that report the result of a write.
const OK: [&str; 24] = [
    "accept",
    "appl",
    "commit",
    "succe",
    "written",
    "wrote",
    "done",
    "ok",
    "okay",
    "acked",
    "acknowledged",
    "stored",
    "persisted",
    "saved",
    "complet",
    "granted",
    "sent",
    "inserted",
    "updated",
    "created",
    "allowed",
    "published",
    "processed",
    "delivered",
];
const FENCED: [&str; 12] = [
    "fenc",
    "reject",
    "refus",
    "stale",
    "denied",
    "deny",
    "conflict",
    "outdated",
    "expired",
    "superseded",
    "forbidden",
    "precondition",
];
/// A write that failed for one of these reasons was fenced.
const OF_A_FENCE: [&str; 5] = ["fenc", "stale", "outdated", "superseded", "precondition"];
const DUPLICATE: [&str; 5] = ["duplicat", "dup", "replay", "repeated", "already"];
const FAILED: [&str; 10] =
    ["fail", "error", "abort", "rolled", "rollback", "timeout", "timed", "unavailable", "cancel", "exception"];
/// Words that negate others.
const NOT: [&str; 8] = ["not", "no", "never", "cannot", "t", "without", "non", "although"];

/// Words beside them that do not change the meaning.
const NEUTRAL: [&str; 46] = [
    "write",
    "writes",
    "request",
    "record",
    "row",
    "rows",
    "entry",
    "the",
    "a",
    "an",
    "to",
    "in",
    "by",
    "of",
    "with",
    "for",
    "was",
    "is",
    "been",
    "has",
    "on",
    "and",
    "store",
    "database",
    "db",
    "token",
    "epoch",
    "term",
    "leader",
    "fence",
    "fencing",
    "lock",
    "lease",
    "version",
    "too",
    "old",
    "http",
    "status",
    "successfully",
    "newer",
    "controller",
    "producer",
    "primary",
    "owner",
    "writer",
    "generation",
];

/// Names of fields that are true if a write was accepted, and of those that are true if it was not.
const TRUE_IS_OK: [&str; 12] = [
    "accepted",
    "applied",
    "success",
    "succeeded",
    "ok",
    "committed",
    "written",
    "acked",
    "allowed",
    "result",
    "outcome",
    "verdict",
];
const TRUE_IS_FENCED: [&str; 7] = ["fenced", "rejected", "refused", "stale", "denied", "conflict", "conflicted"];

/// The verdict that a value of the field means, if that is unambiguous.
pub fn meaning(column: &Column, word: &str) -> Option<&'static str> {
    let (small, joined) = (word.trim().to_lowercase(), column.joined());
    let truth = match small.as_str() {
        "true" | "t" | "yes" | "1" => Some(true),
        "false" | "f" | "no" | "0" => Some(false),
        _ => None,
    };
    if counts_changes(column) {
        return small.parse::<u64>().ok().map(|changed| if changed > 0 { "ok" } else { "fenced" });
    }
    if column.has_word(&["error", "err"]) && ["none", "0", "no_error", "ok"].contains(&small.as_str()) {
        return Some("ok");
    }
    if let Some(truth) = truth {
        return match (TRUE_IS_OK.contains(&joined.as_str()), TRUE_IS_FENCED.contains(&joined.as_str())) {
            (true, _) if truth => Some("ok"),
            (true, _) => Some("fenced"),
            (_, true) if truth => Some("fenced"),
            (_, true) => Some("ok"),
            _ => None,
        };
    }
    if let Ok(number) = small.parse::<u64>() {
        return match number {
            200..=299 => Some("ok"),
            403 | 409 | 412 => Some("fenced"),
            500..=599 => Some("failed"),
            _ => None,
        };
    }
    let whole = VERDICTS.iter().find(|(_, called)| called.contains(&small.as_str()));
    whole.map(|(ours, _)| *ours).or_else(|| of_words(&small))
}

fn of_words(small: &str) -> Option<&'static str> {
    let words: Vec<&str> = small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let says = |of: &[&str]| words.iter().any(|word| of.iter().any(|begin| word.starts_with(begin)));
    if words.iter().any(|word| NOT.contains(word) || word.starts_with("un")) {
        return None;
    }
    // An unknown word may reverse the meaning: `apply skipped`, `overwrote stale`.
    let known = |word: &&str| {
        let begins = |of: &[&str]| of.iter().any(|begin| word.starts_with(begin));
        begins(&OK)
            || begins(&FENCED)
            || begins(&DUPLICATE)
            || begins(&FAILED)
            || NEUTRAL.contains(word)
            || word.parse::<u64>().is_ok()
    };
    // `success=0` means the opposite of its first word.
    if !words.iter().all(known) || words.iter().any(|word| ["0", "1"].contains(word)) {
        return None;
    }
    match (says(&OK), says(&FENCED), says(&DUPLICATE), says(&FAILED)) {
        (true, false, false, false) => Some("ok"),
        (false, true, false, false) => Some("fenced"),
        (false, true, false, true) if says(&OF_A_FENCE) => Some("fenced"),
        (false, false, true, false) => Some("duplicate"),
        (false, false, false, true) => Some("failed"),
        _ => None,
    }
}

/// Does it give the number of rows that an update changed?
pub fn counts_changes(column: &Column) -> bool {
    let none = || column.values.iter().any(|value| plain(value) == "0");
    column.is_numbers()
        && (none() || !column.is_called(&["rows", "updated"]))
        && CHANGED.iter().any(|name| column.joined() == name.replace('_', ""))
}

/// Is the meaning of each of its values unambiguous?
pub fn is_verdict(column: &Column) -> bool {
    // A value about leadership is not about a write.
    if column.values.iter().any(|value| tells_of_leading(&plain(value))) {
        return false;
    }
    let few = column.is_few_words() || column.is_numbers() && column.values.len() <= 12;
    few && column.lines > 0 && column.values.iter().all(|value| meaning(column, &plain(value)).is_some())
}

/// Is it about leadership?
pub fn tells_of_leading(text: &str) -> bool {
    election(text).is_some()
        || text.contains(' ') && ["lease", "leader"].iter().any(|word| text.to_lowercase().contains(word))
}

/// Does one of its values say that a write was not accepted?
pub fn refuses(column: &Column) -> bool {
    column.values.iter().any(|value| meaning(column, &plain(value)).is_some_and(|ours| ours != "ok"))
}

/// What a node's change to this state means, if it is a word for leading or following.
pub fn state(text: &str) -> Option<&'static str> {
    match text.trim().to_lowercase().as_str() {
        "primary" | "master" | "active" | "leader" => Some("elected"),
        "secondary" | "slave" | "standby" | "backup" | "passive" | "follower" | "replica" => Some("deposed"),
        _ => None,
    }
}

const LEADING: [&str; 8] = ["leader", "leadership", "leading", "master", "primary", "active", "lease", "lock"];
const FOLLOWING: [&str; 6] = ["follower", "secondary", "slave", "standby", "candidate", "backup"];
const BEGINNING: [&str; 12] = [
    "became", "acquired", "elected", "won", "promoted", "gained", "started", "entering", "take", "took", "becoming",
    "granted",
];
const ENDING: [&str; 17] = [
    "lost",
    "stopped",
    "resigned",
    "deposed",
    "demoted",
    "released",
    "stepped",
    "longer",
    "expired",
    "stepping",
    "demoting",
    "resigning",
    "releasing",
    "relinquished",
    "losing",
    "stopping",
    "revoked",
];

/// A word of one text about leadership in whose place another has another name, and the place: `x` in `acquired lock x` beside
/// `acquired lock y`.
pub fn name_in(text: &str, other: &str) -> Option<(usize, String)> {
    election(text).filter(|event| election(other) == Some(*event))?;
    let (words, others): (Vec<&str>, Vec<&str>) =
        (text.split_whitespace().collect(), other.split_whitespace().collect());
    let known = |word: &str| {
        let small = word.to_lowercase();
        [&LEADING[..], &FOLLOWING, &BEGINNING, &ENDING].iter().any(|of| of.contains(&small.as_str()))
    };
    let mut apart = words.iter().zip(&others).enumerate().filter(|(_, (one, other))| one != other);
    let (place, (name, another)) = apart.next().filter(|_| words.len() == others.len())?;
    (apart.next().is_none() && !known(name) && !known(another)).then(|| (place, (*name).to_owned()))
}

/// The leadership event that a text reports, if it reports one and is not about a write.
pub fn election(text: &str) -> Option<&'static str> {
    // The reason is not part of the event.
    let small = spaced(text).to_lowercase();
    let small =
        [" because ", " since ", " due to "].iter().fold(&*small, |text, why| text.split(why).next().unwrap_or(text));
    let words: Vec<&str> = small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |of: &[&str]| words.iter().any(|word| of.contains(word));
    match words[..] {
        ["acquired" | "elected" | "promoted" | "leader" | "leading"] | ["is", "leader"] => return Some("elected"),
        ["released" | "lost" | "deposed" | "demoted" | "resigned" | "follower"] | ["not", "leader"] => {
            return Some("deposed");
        }
        _ => {}
    }
    let (leads, follows) = (has(&LEADING), has(&FOLLOWING));
    let begins = has(&BEGINNING) || (leads && small.contains("i am"));
    let ends = has(&ENDING);
    // A follower reports on other nodes.
    if has(&["new", "observed", "detected", "another", "other", "not", "failed", "cannot", "following"]) {
        return None;
    }
    match (begins, ends) {
        (true, false) if follows && !has(&["candidate"]) => Some("deposed"),
        (true, false) if follows => None,
        (true, false) if leads || has(&["elected", "promoted"]) => Some("elected"),
        (false, true) if leads || has(&["deposed", "demoted", "demoting"]) => Some("deposed"),
        _ => None,
    }
}

/// Separates words that are written as one, such as `takeLeadership`.
fn spaced(text: &str) -> String {
    let (mut apart, mut small) = (String::new(), false);
    for c in text.chars() {
        if c.is_uppercase() && small {
            apart.push(' ');
        }
        small = c.is_lowercase();
        apart.push(c);
    }
    apart
}
