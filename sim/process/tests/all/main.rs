//! A program that starts simulated processes, and does not link what is in them.

use fencepost_process::{Error, Zygote};

/// The copy of this program runs this test, too: it gets the same answer, at once.
#[test]
fn what_is_not_linked_is_said() {
    let Err(error) = Zygote::start() else { panic!("nothing stops the copy of this program") };
    assert!(matches!(error, Error::NotLinked), "{error:?}");
    let sentence = "this program does not link fencepost-libc, so it cannot be a simulated process";
    assert_eq!(error.to_string(), sentence);
}
