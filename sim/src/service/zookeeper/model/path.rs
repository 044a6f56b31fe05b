//! Which paths there can be (`PathUtils.java: validatePath`).

/// Can a node have this path?
pub fn is_valid(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    rest.is_empty() || rest.split('/').all(|name| !["", ".", ".."].contains(&name) && name.chars().all(is_allowed))
}

fn is_allowed(c: char) -> bool {
    // A character beyond the first plane is two of Java's, of which the first is refused.
    !matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

/// The path of the node above: everything before the last slash. The root's is the empty path, which is the root as well.
pub fn parent_of(path: &str) -> Option<&str> {
    path.rfind('/').map(|slash| &path[..slash])
}

/// Nodes that are the server's own, and cannot be deleted (`DataTree.java: isSpecialPath`).
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
