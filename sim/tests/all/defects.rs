//! Every defect of the list still applies to the code. The example `defects` measures which of them sweeps detect; the
//! results are in `tests/defects/README.md`.

#[path = "../defects/list.rs"]
mod list;

use crate::common::root;
use list::{AREAS, Defect, FoundBy};
use std::{collections::BTreeMap, fs};

fn defects() -> Vec<Defect> {
    list::read(&root().join("sim/tests/defects")).unwrap_or_else(|w| panic!("{}", w.join("\n")))
}

#[test]
fn every_defect_has_its_place() {
    let root = root();
    let defects = defects();
    let mut by_file = BTreeMap::<&str, Vec<(usize, &Defect)>>::new();
    for (number, defect) in defects.iter().enumerate() {
        by_file.entry(&defect.file).or_default().push((number, defect));
    }
    let mut wrong = Vec::new();
    for (file, defects) in by_file {
        match fs::read_to_string(root.join(file)) {
            Ok(text) => wrong.extend(list::splice(&text, &defects).err().into_iter().flatten()),
            Err(error) => wrong.extend(defects.iter().map(|(_, d)| format!("{}: {file}: {error}", d.id))),
        }
    }
    assert!(wrong.is_empty(), "mend these entries of sim/tests/defects:\n{}", wrong.join("\n"));
}

#[test]
fn every_folder_with_tests_of_its_own_is_there() {
    for defect in defects() {
        if let FoundBy::Unit { folder: Some(folder), .. } = &defect.found_by {
            assert!(root().join(folder).join("Cargo.toml").is_file(), "{}: there is no package in {folder}", defect.id);
        }
    }
}

/// Of one that only a test finds, the row names that test.
#[test]
fn every_defect_has_its_row_in_the_table() {
    let table = fs::read_to_string(root().join("sim/tests/defects/README.md")).expect("the table");
    let (mut rows, mut wrong) = (BTreeMap::new(), Vec::new());
    for row in table.lines().filter_map(|line| line.strip_prefix("| ")).filter(|row| !row.starts_with("defect |")) {
        let (id, says) = row.split_once(" | ").unwrap_or((row, ""));
        if rows.insert(id, says).is_some() {
            wrong.push(format!("{id} has two rows"));
        }
    }
    for Defect { id, found_by, .. } in &defects() {
        match (rows.remove(id.as_str()), found_by) {
            (None, FoundBy::Sweep) => wrong.push(format!("| {id} | not measured | – | – |")),
            (None, FoundBy::Unit { test, because, .. }) => {
                wrong.push(format!("| {id} | `cargo test {test}` …: {because} | – | – |"));
            }
            (Some(says), FoundBy::Unit { test, folder: Some(folder), because }) => {
                let row = format!("`cargo test {test}` in `{folder}`: {because} | – | – |");
                if says != row {
                    wrong.push(format!("| {id} | {row}"));
                }
            }
            (Some(_), _) => {}
        }
    }
    wrong.extend(rows.keys().map(|id| format!("{id} is no defect of the list")));
    let (_, seat) = table.split_once("\n## the seat\n").expect("the seat's part");
    let (count, _) = seat.split_once(" defects in code that no sweep runs.").expect("how many there are");
    let rows =
        seat.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| seat-")).count();
    if count != rows.to_string() {
        wrong.push(format!("the seat has {rows} rows, and {count} are said"));
    }
    assert!(wrong.is_empty(), "mend these rows of sim/tests/defects/README.md:\n{}", wrong.join("\n"));
}

#[test]
fn the_list_is_long_and_broad() {
    let defects = defects();
    assert!(defects.len() >= 50, "only {} defects", defects.len());
    for (area, name) in AREAS {
        let count = defects.iter().filter(|d| d.area == area).count();
        assert!(count >= 4, "only {count} defects of {name}");
    }
    let swept = defects.iter().filter(|d| d.is_swept()).count();
    let by_sweep = defects.iter().filter(|d| d.found_by == FoundBy::Sweep).count();
    assert!(by_sweep * 10 >= swept * 7, "only {by_sweep} of {swept} are for sweeps to find");
}

fn spliced(text: &str, old: &str, after: Option<&str>) -> Result<String, Vec<String>> {
    let (id, area, about, file) = ("a-defect".to_owned(), "world", String::new(), "a.rs".to_owned());
    let (old, new, after) = (old.to_owned(), "b".to_owned(), after.map(str::to_owned));
    let defect = Defect { id, area, about, file, after, old, new, found_by: FoundBy::Sweep };
    list::splice(text, &[(7, &defect)])
}

#[test]
fn a_defect_is_found_however_its_place_is_formatted() {
    let on = |old: &str| format!("if ::protocols::defect::on(7) {{ b }} else {{ {old} }}");
    assert_eq!(spliced("x(a);", "a", None), Ok(format!("x(({}));", on("a"))));
    assert_eq!(spliced("f(\n  a,\n  c,\n);", "f(a, c);", None), Ok(on("f(\n  a,\n  c,\n);")));
    assert_eq!(spliced("aa a a_", "a", None), Ok(format!("aa ({}) a_", on("a"))));
    assert_eq!(spliced("a q a", "a", Some("q")), Ok(format!("a q ({})", on("a"))));
    for (text, old, after) in [("a a", "a", None), ("c", "a", None), ("a q", "a", Some("q")), ("a", "a", Some("q"))] {
        let wrong = spliced(text, old, after).unwrap_err();
        assert!(wrong[0].starts_with("a-defect: a.rs: `"), "{wrong:?}");
    }
}
