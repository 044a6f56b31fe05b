//! Suggestions of the nearest known name for an unknown one.

use strsim as typos;

/// A prefix with more completions than this suggests none of them.
const BEGUN_MAX: usize = 2;
/// At most this many names are listed.
const LISTED_MAX: usize = 12;
const LISTED_MAX_AND_MORE: usize = LISTED_MAX + 1;
/// Common names of systems whose protocols have other names here.
const SYSTEMS: [(&str, &[&str]); 17] = [
    ("etcd", &["etcd-election", "etcd-key"]),
    ("postgres", &["pg-advisory", "db-row", "db-row-node-clock"]),
    ("postgresql", &["pg-advisory", "db-row", "db-row-node-clock"]),
    ("pg", &["pg-advisory", "db-row", "db-row-node-clock"]),
    ("mysql", &["db-row", "db-row-node-clock"]),
    ("mariadb", &["db-row", "db-row-node-clock"]),
    ("database", &["db-row", "db-row-node-clock"]),
    ("kubernetes", &["k8s-lease"]),
    ("kube", &["k8s-lease"]),
    ("k8s", &["k8s-lease"]),
    ("zookeeper", &["zk-election", "zk-selector"]),
    ("zk", &["zk-election", "zk-selector"]),
    ("kafka", &["kraft", "kafka-zk-controller"]),
    ("sentinel", &["redis-sentinel"]),
    ("aws", &["dynamodb-lock"]),
    ("s3", &["object-lease"]),
    ("valkey", &["redis-lease", "redis-fenced"]),
];

/// An unknown name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no {what} `{name}`; {instead}")]
pub struct Unknown {
    /// The kind of thing that was looked up.
    pub what: &'static str,
    pub name: String,
    /// The suggestion that completes the message.
    pub instead: String,
}

/// The error for an unknown name, with the known names that are most like it.
pub fn unknown(what: &'static str, name: &str, known: &[&str]) -> Unknown {
    let instead = match &meant(name, known)[..] {
        [] => {
            let lower = &*name.to_lowercase();
            let within: Vec<&str> =
                known.iter().copied().filter(|k| lower.len() >= 3 && k.split('-').any(|part| part == lower)).collect();
            let alike: Vec<&str> = known.iter().copied().filter(|k| begins(k, name)).collect();
            match (known.len(), &alike[..]) {
                (LISTED_MAX_AND_MORE.., []) if !within.is_empty() => {
                    format!("these have it in their name: {}", within.join(", "))
                }
                (..=LISTED_MAX, _) => format!("there are {}", known.join(", ")),
                (number, []) => format!("`fencepost list {what}s` has all {number}"),
                (_, alike) => format!("these begin like it: {}", alike.join(", ")),
            }
        }
        nearest => {
            let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
            let (last, others) = quoted.split_last().map_or(("", &[][..]), |(last, others)| (&**last, others));
            let meant = if others.is_empty() { last.to_owned() } else { format!("{} or {last}", others.join(", ")) };
            format!("did you mean {meant}?")
        }
    };
    Unknown { what, name: name.to_owned(), instead }
}

/// The names that were probably meant: the protocols of a system with this name, the same name in other case, or the
/// nearest.
fn meant<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let of = SYSTEMS.iter().filter(|(system, _)| *system == lower).flat_map(|(_, names)| *names);
    let of: Vec<&str> = of.filter_map(|name| known.iter().copied().find(|k| k == name)).collect();
    match known.iter().copied().find(|k| *k == lower) {
        Some(same) => vec![same],
        None if !of.is_empty() => of,
        None => nearest(&lower, known),
    }
}

/// True if `word` is probably a typo of `of`: at most a third of the letters differ.
pub fn is_typo(word: &str, of: &str) -> bool {
    typos::damerau_levenshtein(word, of) <= of.len() / 3
}

/// The names that were probably meant: a few that begin with this, or one that it is a typo of.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let distance = |k: &str| typos::damerau_levenshtein(name, k);
    // A prefix is enough if few names begin with it.
    let mut begun: Vec<&str> = known.iter().copied().filter(|k| begins(k, name)).collect();
    // A name that only extends another of them was not meant.
    let shortest = begun.iter().copied().min_by_key(|k| k.len()).unwrap_or_default();
    begun.retain(|k| *k == shortest || !k.starts_with(shortest));
    match begun.len() {
        0 => {}
        1..=BEGUN_MAX => return begun,
        // Ambiguous.
        _ => return Vec::new(),
    }
    let nearest = known.iter().map(|k| (distance(k), *k)).min();
    // A distance of more than a third of the name is not a typo.
    let nearest = nearest.filter(|(distance, nearest)| *distance <= (nearest.len() / 3).max(2));
    nearest.map(|(_, nearest)| nearest).into_iter().collect()
}

/// True if the name begins with this. One or two letters are too few to tell.
fn begins(known: &str, name: &str) -> bool {
    name.len() >= 3 && known.starts_with(name)
}

#[cfg(test)]
mod tests {
    fn unknown(what: &'static str, name: &str, known: &[&str]) -> String {
        super::unknown(what, name, known).to_string()
    }

    #[test]
    fn a_typo_gets_the_nearest_name() {
        let known = ["gc-pause", "partition", "etcd-election", "etcd-key", "ring-a", "ring-b", "ring-c"];
        assert_eq!(unknown("scenario", "gc-paus", &known), "there is no scenario `gc-paus`; did you mean `gc-pause`?");
        let known_longer = ["redis-lease", "redis-lease-migrating"];
        assert!(unknown("scenario", "redis-leas", &known_longer).ends_with("did you mean `redis-lease`?"));
        assert!(unknown("scenario", "etcd", &known).ends_with("did you mean `etcd-election` or `etcd-key`?"));
        assert!(unknown("scenario", "ring", &known).contains("ring-a"), "{}", unknown("scenario", "ring", &known));
        assert!(unknown("scenario", "xyzxyzxyz", &known).contains("there are gc-pause, partition"));
        let many: Vec<String> = (0..20).map(|number| format!("ring-{number}")).chain(["bully".to_owned()]).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(unknown("protocol", "ring", &many).contains("begin like it: ring-0, ring-1, "), "{many:?}");
        let far = unknown("protocol", "paxos-like", &many);
        assert_eq!(far, "there is no protocol `paxos-like`; `fencepost list protocols` has all 21");
    }
}
