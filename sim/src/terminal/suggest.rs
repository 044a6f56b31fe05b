//! Unknown names answer with the nearest known one.

/// One sentence about a name that is not known.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = known.iter().map(|k| (strsim::damerau_levenshtein(name, k), *k)).min();
    match near {
        // Further away than a third of the name is no typo any more.
        Some((distance, nearest)) if distance <= (nearest.len() / 3).max(2) => {
            format!("there is no {what} `{name}`; did you mean `{nearest}`?")
        }
        _ => format!("there is no {what} `{name}`; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn a_typo_gets_the_nearest_name() {
        let known = ["gc-pause", "partition"];
        assert_eq!(unknown("scenario", "gc-paus", &known), "there is no scenario `gc-paus`; did you mean `gc-pause`?");
        assert!(unknown("scenario", "xyz", &known).ends_with("there are gc-pause, partition"));
    }
}
