//! Valid paths (`PathUtils.java: validatePath`).

pub fn is_valid(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    rest.is_empty() || rest.split('/').all(|name| !["", ".", ".."].contains(&name) && name.chars().all(is_allowed))
}

fn is_allowed(c: char) -> bool {
    // A character outside the first plane is two characters in Java, the first of which is refused.
    !matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

/// The parent's path: everything before the last slash. For a child of the root it is the empty path, which also means
/// the root.
pub fn parent_of(path: &str) -> Option<&str> {
    path.rfind('/').map(|slash| &path[..slash])
}

/// Nodes of the server itself, which cannot be deleted (`DataTree.java: isSpecialPath`).
pub fn is_special(path: &str) -> bool {
    ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"].contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_that_zookeeper_takes() {
        for path in ["/", "/a", "/a/b", "/a/..b", "/a/...", "/ä", "/a b"] {
            assert!(is_valid(path), "{path}");
        }
        for path in ["", "a", "/a/", "//", "/a//b", "/.", "/a/..", "/./a", "/a\0", "/\u{1f}", "/\u{85}", "/\u{1f600}"] {
            assert!(!is_valid(path), "{path:?}");
        }
    }
}
