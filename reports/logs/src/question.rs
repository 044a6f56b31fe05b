//! Questions that only someone who knows the log can answer.

use super::{
    columns::Column,
    meaning::{meaning, tells_of_leading},
    values::{plain, quoted},
};

/// Appended to every question, so that a user who knows better than the guess has an answer.
const OTHERWISE: &str = "; if a field says something else, map it to that: node, token, resource, request, verdict, event, seq, \
                         until, duration, ttl, shared or group (--map OURS=FIELD)";

/// The options to add if a field says who leads, as the beginning of a list.
pub fn leading(name: &str) -> String {
    format!(
        "--map {}, and --word 'event:VALUE=elected' or 'event:VALUE=deposed' for each of its values, if it says who began or stopped \
         leading; ",
        quoted(&format!("event={name}"))
    )
}

/// May it say who leads? True if a value is about leadership, or no value's meaning is known; one unknown value of a
/// state is enough.
pub fn may_lead(column: &Column) -> bool {
    let unclear = column.values.iter().filter(|value| meaning(column, &plain(value)).is_none()).count();
    let state = unclear > 0 && column.is_called(&["state", "status"]);
    column.values.iter().any(|value| tells_of_leading(&plain(value)))
        || column.is_few_words() && (state || unclear == column.values.len())
}

/// Asks which of these columns is our field.
pub fn which(ours: &str, found: &[&Column]) -> String {
    let shown: Vec<String> = found.iter().map(|column| column.shown()).collect();
    let (is, first) = (
        match ours {
            "node" => "who wrote",
            "verdict" => "whether a write was accepted",
            "resource" => "which resource was written to",
            "t_us" => "when a write took effect",
            _ => "the fencing token",
        },
        &found[0].name,
    );
    match shown.as_slice() {
        [one] if ours == "verdict" && may_lead(found[0]) => {
            let value = found[0].values.first().map(plain).unwrap_or_default();
            let only = quoted(&format!("{first}={value}"));
            format!(
                "{one} may say what its line is about: {}--map {} if it says whether a write was accepted, --only \
                 {only} if only such lines are accepted writes, --ignore {} if none of these",
                leading(first),
                quoted(&format!("verdict={first}")),
                quoted(first)
            )
        }
        [one] if ours == "resource" => format!(
            "{one} may say {is}: --map {} if so, --map {} if it identifies work that must be done once, --ignore {} if \
             neither",
            quoted(&format!("resource={first}")),
            quoted(&format!("request={first}")),
            quoted(first)
        ),
        [one] => {
            // Text may instead give the kind of line.
            let text = ours == "verdict" && found[0].is_few_words() && found[0].is_content();
            let about = found[0].values.first().filter(|_| text).map(|value| {
                let only = quoted(&format!("{first}={}", plain(value)));
                format!(", --only {only} if only such lines are accepted writes")
            });
            format!(
                "{one} may say {is}: --map {} if so{}, --ignore {} if not",
                quoted(&format!("{ours}={first}")),
                about.unwrap_or_default(),
                quoted(first)
            )
        }
        _ => {
            let maps: Vec<String> =
                found.iter().map(|column| format!("--map {}", quoted(&format!("{ours}={}", column.name)))).collect();
            let is = if ours == "token" { "be the fencing token".to_owned() } else { format!("say {is}") };
            let others = match ours {
                "resource" => {
                    "; for the others, --map request=NAME if it identifies work that must be done once, and --ignore \
                     for the rest"
                }
                _ => "; --ignore for those that say nothing about a write",
            };
            format!("{} may each {is}: {}{others}", shown.join(" and "), maps.join(" or "))
        }
    }
}

/// The options to add and the questions, as the end of a sentence.
pub fn suggested(options: [(&str, Vec<String>); 4], asked: &[String]) -> String {
    let options = options.into_iter().filter(|(_, values)| !values.is_empty());
    let one = |name: &str, values: &[String]| format!("{name} {}", quoted(&values.join(",")));
    let options: Vec<String> = options.map(|(name, values)| one(name, &values)).collect();
    let leaves_out = options.iter().any(|option| option.starts_with("--ignore"));
    let mut told = String::new();
    if !options.is_empty() {
        told = format!("; if this guess is right, add {}", options.join(" "));
    }
    let asked = asked.join("; ");
    match (asked.is_empty(), told.is_empty()) {
        (true, _) if leaves_out => format!("{told}{OTHERWISE}"),
        (true, _) => told,
        (false, true) => format!("; only you can say: {asked}{OTHERWISE}"),
        (false, false) => format!("{told}; and only you can say: {asked}{OTHERWISE}"),
    }
}
