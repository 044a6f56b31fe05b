//! The core by itself.
use super::*;

#[test]
fn it_is_in_the_registry() {
    assert!(crate::election::find("raft-core").is_some_and(|p| p.name == PROTOCOL.name && p.tokened));
}
