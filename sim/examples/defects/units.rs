//! Runs the tests of defects that only tests find.

use crate::{
    list::{Defect, FoundBy},
    tree::{SWITCH, Tree},
};
use std::collections::BTreeMap;

/// Runs each test once with no defect on, and once with each that it is to find. Prints a line for each defect.
///
/// # Errors
/// A test does not behave as the list says.
pub fn run(tree: &Tree, defects: &[&Defect]) -> Result<(), String> {
    let (mut wrong, mut clean) = (Vec::new(), BTreeMap::new());
    for defect in defects {
        let FoundBy::Unit { test, folder, .. } = &defect.found_by else { continue };
        let passes_without =
            *clean.entry((test, folder)).or_insert_with(|| passes(tree, test, folder.as_deref(), None));
        let found = match passes_without {
            true if passes(tree, test, folder.as_deref(), Some(&defect.id)) => "NOT FOUND",
            true => "found",
            false => "the test fails without it",
        };
        println!("{}: cargo test {test}: {found}", defect.id);
        if found != "found" {
            wrong.push(defect.id.as_str());
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("not as the list says: {}", wrong.join(", "))) }
}

/// Whether a test passes with this defect on. What one says that fails with none is printed: it may not compile.
fn passes(tree: &Tree, test: &str, folder: Option<&str>, id: Option<&str>) -> bool {
    let test = test.split_whitespace();
    let mut cargo = match folder {
        None => tree.cargo(&["test", "--release", "--quiet"].into_iter().chain(test).collect::<Vec<_>>()),
        Some(folder) => tree.cargo_in(folder, &["test", "--quiet"].into_iter().chain(test).collect::<Vec<_>>()),
    };
    cargo.env_remove(SWITCH).envs(id.map(|id| (SWITCH, id)));
    let Ok(output) = cargo.output() else { return false };
    if id.is_none() && !output.status.success() {
        eprintln!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    }
    output.status.success()
}
