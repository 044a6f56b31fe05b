//! Groups: each is a contest for one leadership, with its own tokens, resources and clients. Every node stands in all
//! of them. Names in group 0 are plain; names in other groups are `<name>@<group>`.

/// The most groups of a run.
pub const GROUPS_MAX: u16 = 64;

/// Separates a name from its group.
const MARK: char = '@';

/// The name within `group`: `sequence`, `sequence@1` …
pub fn named(name: &str, group: u16) -> String {
    if group == 0 { name.to_owned() } else { format!("{name}{MARK}{group}") }
}

/// Splits a name into plain name and group; a name without a group belongs to group 0.
pub fn split(name: &str) -> (&str, u16) {
    let parted = name.rsplit_once(MARK).and_then(|(plain, group)| Some((plain, group.parse().ok()?)));
    // Other spellings, such as `@0` or `@01`, are not accepted.
    parted.filter(|(plain, group)| *group > 0 && named(plain, *group) == name).unwrap_or((name, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_their_group() {
        assert_eq!([named("sequence", 0), named("sequence", 12)], ["sequence", "sequence@12"]);
        for (name, parts) in [
            ("sequence", ("sequence", 0)),
            ("sequence@12", ("sequence", 12)),
            ("a@b@3", ("a@b", 3)),
            ("sequence@0", ("sequence@0", 0)),
            ("sequence@03", ("sequence@03", 0)),
            ("sequence@x", ("sequence@x", 0)),
        ] {
            assert_eq!(split(name), parts);
        }
    }
}
