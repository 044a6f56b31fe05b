//! Guesses what a field may be from its name and values.

use super::{
    called::{FIELDS, HARMLESS, LASTS, LEADERS, NO_TOKENS, PLACES, SHARDS, TOKENS},
    columns::Column,
    meaning::{counts_changes, election, is_verdict, meaning, name_in, refuses, state},
    times::Times,
    values::{is_number, plain},
};
use serde_json::Value;

/// Do the values of a field with a matching name fit our field `ours`?
pub fn fits(ours: &str, column: &Column) -> bool {
    match ours {
        "token" => is_token(column) && !is_times(column) && !is_lease(column) && !is_number_of_its_own(column),
        "request" => !column.is_content(),
        // A version per row falls from one row to the next, and an offset from one partition to the next.
        "seq" => {
            let called = column.has_word(&["seq", "sequence"]) || column.is_called(&["invoice_no"]);
            column.is_numbers() && (called && column.is_mostly_distinct() || column.only_rises())
        }
        "t_us" => column.values.iter().all(|value| is_number(value) || Times::default().ns(value).is_ok()),
        "node" => !column.is_content(),
        "resource" => !column.is_content() && !is_way(column),
        // A field that reports elections is no verdict.
        "verdict" => tells_elections(column).is_none(),
        _ => true,
    }
}

pub fn is_token(column: &Column) -> bool {
    column.can_be("token") || column.is_opaque() || column.is_codes() && is_called_token(column)
}

fn is_called_token(column: &Column) -> bool {
    FIELDS.iter().any(|(ours, called)| *ours == "token" && (column.is_called(&[ours]) || column.is_called(called)))
}

pub fn names_token(column: &Column) -> bool {
    let a_time = || column.values.iter().all(|value| Times::unit_of(value).is_some());
    (column.has_word(&TOKENS) || is_called_token(column))
        && !column.has_word(&NO_TOKENS)
        && is_token(column)
        && !a_time()
}

/// Do a field's name and values suggest that it is `ours`, although its name is none of the common ones?
pub fn looks_like(ours: &str, column: &Column, lines: usize) -> bool {
    match ours {
        "t_us" => {
            let named = column.has_word(&["time", "timestamp", "datetime"]);
            let reads = |value: &Value| match is_number(value) {
                true => named && Times::unit_of(value).is_some(),
                false => Times::default().ns(value).is_ok(),
            };
            column.lines > 0 && column.values.iter().all(reads)
        }
        // Numeric identifiers have no known order.
        "token" => names_token(column) && !is_lease(column) && !is_number_of_its_own(column),
        "node" => {
            let number =
                column.is_numbers() && !column.is_distinct() && (column.has_word(&["id"]) || column.names_few());
            column.has_word(&LEADERS) && (column.is_names() || number)
        }
        "verdict" => {
            let said = !column.is_numbers() || counts_changes(column);
            column.lines == lines && is_verdict(column) && !harmless(column) && said
        }
        "resource" => {
            let told = !column.is_constant()
                && !tells_role(column)
                && !column.is_distinct()
                && !is_of_things(column)
                && !names_token(column);
            column.has_word(&SHARDS)
                && told
                && !is_way(column)
                && !is_measure(column)
                && (column.is_names() || column.is_numbers())
        }
        "seq" => column.has_word(&["seq", "sequence", "tso", "offset", "lsn"]) && column.counts(),
        "request" => {
            let named =
                column.words().last().is_some_and(|last| ["id", "uuid", "guid", "key", "no"].contains(&&**last));
            column.has_word(&["request", "req", "idempotency", "correlation"]) && named && !column.is_content()
        }
        _ => false,
    }
}

/// Does it say whether a node leads, as metrics do?
pub fn tells_role(column: &Column) -> bool {
    let bits = |value: &Value| ["0", "1", "true", "false"].contains(&&*plain(value).to_lowercase());
    let leads = ["leader", "leading", "leads", "master", "primary", "active", "elected"];
    column.has_word(&leads) && !column.is_constant() && column.values.iter().all(bits)
}

/// May it say whether a write was accepted?
pub fn may_be_verdict(column: &Column, lines: usize) -> bool {
    if tells_role(column) || named_in(column).is_some() {
        return false;
    }
    // A name or an address does not report a result.
    if is_of_things(column) || column.values.iter().any(|value| plain(value).contains('@')) {
        return false;
    }
    let varies = !column.is_constant() || column.lines < lines;
    let a_time = || column.values.iter().all(|value| !is_number(value) && Times::default().ns(value).is_ok());
    if a_time() || column.holds_lines() || kinds_of_line(column).is_some() && !is_verdict(column) {
        return false;
    }
    let bits = column.values.iter().all(|value| ["0", "1"].contains(&&*plain(value))) && !column.is_distinct();
    let says = bits
        || column.is_few_words() && (!column.is_distinct() || refuses(column) || is_verdict(column))
        || column.is_content()
        || column.has_word(&["code", "status", "error", "err", "errno", "http", "rc", "exit", "reply"]);
    let level = column.has_word(&["level", "severity", "lvl", "priority", "error", "err"]);
    // What every line says alike may be that it was refused.
    (varies || refuses(column)) && says && !harmless(column) || varies && level
}

pub fn may_refuse(column: &Column, lines: usize) -> bool {
    may_be_verdict(column, lines)
        && (refuses(column) || column.is_content() && !column.is_constant() && column.is_few_words())
}

/// Does its name say that it is irrelevant to a write?
pub fn harmless(column: &Column) -> bool {
    let unit = ["ms", "us", "ns", "seconds", "secs", "sec", "bytes", "latency", "duration", "elapsed", "took"];
    // Serilog's level, kind of event, exception, trace and span.
    let short = ["@l", "@i", "@x", "@tr", "@sp"];
    column.is_called(&HARMLESS) || column.has_word(&unit) || short.contains(&&*column.name) || is_standard(column)
}

/// Is it the standard stream on which a container's line came?
fn is_standard(column: &Column) -> bool {
    let standard = |value: &Value| ["stdout", "stderr"].contains(&&*plain(value));
    column.is_called(&["stream"]) && column.lines > 0 && column.values.iter().all(standard)
}

/// Does it say on which way a line came, as Docker's stream and CloudWatch's do? It says nothing of what is led.
pub fn is_way(column: &Column) -> bool {
    let watch = ["log_stream", "log_stream_name", "log_group", "log_group_name"];
    is_standard(column) || column.is_called(&watch)
}

/// Is it a numeric identifier? Those have no known order.
fn is_number_of_its_own(column: &Column) -> bool {
    column.is_numbers() && column.has_word(&["id"])
}

/// Is it a quantity rather than an identity?
pub fn is_measure(column: &Column) -> bool {
    let much = [
        "ms", "us", "ns", "depth", "count", "rows", "lag", "len", "length", "size", "bytes", "wait", "latency",
        "total", "rate", "rtt", "percent", "pct", "load",
    ];
    column.is_numbers() && column.has_word(&much)
}

/// Does it identify things that rarely recur? Those are jobs, not resources.
pub fn is_of_things(column: &Column) -> bool {
    column.has_word(&["id", "uuid", "guid", "key", "number", "no"]) && column.is_mostly_distinct()
}

/// Does it identify jobs, some of which recur?
pub fn names_things(column: &Column) -> bool {
    is_of_things(column) && !column.is_distinct() && !harmless(column)
}

/// Does its name say what something is about, never its result?
pub fn names_place(column: &Column) -> bool {
    let called =
        column.has_word(&SHARDS) || column.has_word(&PLACES) || column.has_word(&["class", "account", "customer"]);
    called && !column.is_content() && column.values.iter().all(|value| meaning(column, &plain(value)).is_none())
}

/// The elections and depositions among its values, if it reports those. A field of the previous state reports none.
pub fn tells_elections(column: &Column) -> Option<Vec<(&'static str, String)>> {
    let before = column.has_word(&["old", "previous", "prev", "former", "last"]);
    let says = |word: &str| election(word).or_else(|| state(word).filter(|_| !column.is_constant()));
    let all: Option<Vec<_>> = column.values.iter().map(plain).map(|word| Some((says(&word)?, word))).collect();
    all.filter(|all| !before && all.iter().any(|(event, _)| *event == "elected") && named_in(column).is_none())
}

/// If its texts about leadership name different things, the first of these names and the text around it.
pub fn named_in(column: &Column) -> Option<(String, String)> {
    let texts: Vec<String> = column.values.iter().map(plain).collect();
    let other = |text: &String| texts.iter().find_map(|other| name_in(text, other)).map(|found| (text.clone(), found));
    let (text, (place, name)) = texts.iter().find_map(other)?;
    let words = text.split_whitespace().enumerate().map(|(at, word)| if at == place { "{NAMED}" } else { word });
    Some((name, words.collect::<Vec<_>>().join(" ")))
}

/// Are its values roles, such as leader or follower? Then they name no node.
pub fn is_state(column: &Column) -> bool {
    column.lines > 0 && column.values.iter().all(|value| state(&plain(value)).is_some())
}

/// Does it give the duration or the end of a lease? That decides when another may lead, so it is never ignored without
/// asking.
pub fn is_lease(column: &Column) -> bool {
    let length =
        column.has_word(&["ttl", "seconds", "secs", "sec", "s", "ms", "duration", "millis", "timeout", "until", "end"]);
    let said = column.has_word(&LASTS) || column.has_word(&["lease", "lock", "session", "hold"]) && length;
    let nothing = column.values.iter().all(|value| plain(value) == "0");
    said && (column.is_numbers() || column.is_names() || is_times(column)) && !column.is_opaque_id() && !nothing
}

/// Does it give how long something took? On a line that is written when work begins (`began`), more names count.
pub fn is_length(column: &Column, began: bool) -> bool {
    let words = [
        "elapsed", "took", "seconds", "secs", "sec", "s", "ms", "millis", "held", "busy", "wall", "exec", "run", "time",
    ];
    let work = ["duration", "runtime", "held", "elapsed", "took", "busy", "exec", "run", "wall"];
    let unit = ["ms", "millis", "s", "sec", "secs", "seconds"];
    let called = column.has_word(&work) || column.is_called(&unit) || began && column.has_word(&words);
    let number = column.values.iter().all(|value| plain(value).starts_with(|c: char| c.is_ascii_digit()));
    let nothing = column.values.iter().all(|value| plain(value) == "0");
    !nothing && called && !column.has_word(&["id", "no", "at"]) && (number || column.is_names())
}

/// The option that gives the unit of a numeric duration; empty if its values name their unit.
pub fn unit_of(column: &Column) -> &'static str {
    if column.values.iter().any(|value| !is_number(value)) {
        return "";
    }
    match () {
        () if column.has_word(&["ms", "millis", "milliseconds", "millisecond"]) => " --duration-unit ms",
        () if column.has_word(&["us", "micros", "microseconds"]) => " --duration-unit us",
        () if column.has_word(&["ns", "nanos", "nanoseconds"]) => " --duration-unit ns",
        () if column.has_word(&["s", "sec", "secs", "seconds", "second"]) => " --duration-unit s",
        () => " --duration-unit UNIT (s, ms, us or ns)",
    }
}

/// If it gives the kind of each line, the word for a write, or else the first word.
pub fn kinds_of_line(column: &Column) -> Option<String> {
    let called = column.has_word(&[
        "op",
        "operation",
        "method",
        "action",
        "type",
        "kind",
        "cmd",
        "command",
        "phase",
        "event",
        "verb",
        "stmt",
        "statement",
        "query",
    ]) || column.has_word(&["dry"]);
    let words: Vec<String> = column.values.iter().map(plain).collect();
    let writes =
        ["put", "post", "write", "update", "insert", "upsert", "commit", "apply", "set", "create", "append", "false"];
    let write = words.iter().find(|word| writes.contains(&word.to_lowercase().as_str()));
    (called && column.is_few_words() && !column.is_constant()).then(|| write.or(words.first()).cloned()).flatten()
}

/// Does it distinguish the end of work from its beginning? Then neither line alone reports a write.
pub fn ends_work(column: &Column) -> bool {
    let ended = ["end", "ended", "finish", "finished", "done", "complete", "completed", "stop", "stopped", "released"];
    column.values.iter().any(|value| ended.contains(&&*plain(value).to_lowercase()))
}

/// Does it mark readers, which may run beside each other?
pub fn is_reading(column: &Column) -> bool {
    let reads = |value: &Value| ["read", "shared", "share", "reader"].contains(&&*plain(value).to_lowercase());
    column.is_few_words() && column.values.iter().any(reads)
}

/// Is every value a date and time, or a number that is a time of this century?
pub fn is_times(column: &Column) -> bool {
    column.lines > 0 && column.values.iter().all(|value| Times::default().ns(value).is_ok())
}

/// Does it give the time at which a job was due? Only one node may do that job.
pub fn is_due(column: &Column) -> bool {
    let called = ["due", "scheduled", "schedule", "fire", "eta", "planned", "intended", "slot", "execution", "logical"];
    column.has_word(&called) && is_times(column) && !column.is_distinct()
}

/// Does its name say that something begins?
pub fn begins(column: &Column) -> bool {
    column.has_word(&["start", "started", "begin", "began", "since", "from", "fired", "locked", "acquired", "claimed"])
}

/// Does its name say that something ends?
pub fn ends(column: &Column) -> bool {
    column.has_word(&["end", "ended", "finish", "finished", "until", "stop", "stopped", "completed"])
        || column.has_word(&LASTS)
}
