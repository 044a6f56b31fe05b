//! Unknown names answer with the nearest known one.

use strsim as typos;

/// One sentence about a name that is not known.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("there is no {what} `{name}`; did you mean `{nearest}`?"),
        None => format!("there is no {what} `{name}`; there are {}", known.join(", ")),
    }
}

/// The name that was probably meant: one of which this is the beginning, or one that it is a typo of.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |k: &str| typos::damerau_levenshtein(name, k);
    // Half a name is enough if it begins as only one does.
    let mut begun = known.iter().filter(|k| name.len() >= 3 && k.starts_with(name));
    if let (Some(only), None) = (begun.next(), begun.next()) {
        return Some(only);
    }
    let (distance, nearest) = known.iter().map(|k| (distance(k), *k)).min()?;
    // Further away than a third of the name is no typo any more.
    (distance <= (nearest.len() / 3).max(2)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn a_typo_gets_the_nearest_name() {
        let known = ["gc-pause", "partition", "etcd-election", "ring-a", "ring-b"];
        assert_eq!(unknown("scenario", "gc-paus", &known), "there is no scenario `gc-paus`; did you mean `gc-pause`?");
        assert!(unknown("scenario", "etcd", &known).ends_with("did you mean `etcd-election`?"));
        assert!(unknown("scenario", "ring", &known).contains("ring-a"), "{}", unknown("scenario", "ring", &known));
        assert!(unknown("scenario", "xyzxyzxyz", &known).contains("there are gc-pause, partition"));
    }
}
