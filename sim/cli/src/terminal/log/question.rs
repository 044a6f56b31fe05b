//! Questions that only somebody who knows the log can answer.

use super::columns::Column;

/// Which of these fields is ours?
pub fn which(ours: &str, found: &[&Column]) -> String {
    let shown: Vec<String> = found.iter().map(|column| column.shown()).collect();
    let (is, first) = (
        match ours {
            "node" => "who wrote",
            "verdict" => "whether a write was accepted",
            "resource" => "what was written to",
            _ => "the fencing token",
        },
        &found[0].name,
    );
    match shown.as_slice() {
        [one] => format!("{one} may say {is}: --map {ours}={first} if so, --ignore {first} if not"),
        _ => {
            let maps: Vec<String> = found.iter().map(|column| format!("--map {ours}={}", column.name)).collect();
            let is = if ours == "token" { "be the fencing token".to_owned() } else { format!("say {is}") };
            format!("{} may each {is}: {}, and --ignore for the others", shown.join(" and "), maps.join(" or "))
        }
    }
}
