//! Checks imports: crates against a table, files for cycles.

use super::{
    graph::{self, Arrows, Crate},
    root, source, sources,
};
use std::{collections::BTreeSet, fs};

/// Our crates, and the crates that each may import.
const MAY_IMPORT: [(&str, &[&str]); 15] = [
    ("servers", &[]),
    ("fencepost-process", &[]),
    ("fencepost-libc", &["fencepost-process"]),
    ("protocols", &[]),
    ("protocols-clients", &["protocols"]),
    ("protocols-real", &["protocols", "protocols-clients", "fencepost-seat"]),
    ("fencepost-seat", &["protocols", "protocols-clients"]),
    ("scenarios", &["protocols"]),
    ("reports", &["protocols"]),
    ("logs", &["protocols", "scenarios", "reports"]),
    ("sim", &["protocols", "protocols-clients", "scenarios", "reports", "fencepost-process", "fencepost-libc"]),
    ("fencepost", &["protocols", "scenarios", "reports", "sim", "fencepost-process", "fencepost-libc"]),
    (
        "sim-real",
        &["protocols", "protocols-clients", "protocols-real", "scenarios", "reports", "logs", "sim", "servers"],
    ),
    ("own-elector", &["protocols", "scenarios", "sim", "sim-cli"]),
    (
        "sim-cli",
        &["protocols", "protocols-clients", "protocols-real", "scenarios", "reports", "logs", "sim", "sim-real"],
    ),
];

/// Files with a table of the files below them: they name their entries, which in turn name the entry's type.
const REGISTRIES: [&str; 7] = [
    "protocols/src/election.rs",
    "protocols/src/work.rs",
    "scenarios/src/scenario.rs",
    "scenarios/src/generate/kinds.rs",
    "reports/src/invariant.rs",
    "sim/src/canary.rs",
    "sim/src/service.rs",
];

/// Files that continue in files below them, and why these form a cycle.
const GO_ON_BELOW: &[(&str, &str)] = &[
    (
        "sim/src/world.rs",
        "`World` is one state; its connections, streams, disks and faults are parts of it and methods on it",
    ),
    (
        "protocols/src/node.rs",
        "`Node` is one state; its office, its resignations and its bugs are parts of it and methods on it",
    ),
    ("scenarios/src/plan.rs", "`Plan` is one value; what is checked of its parts is asked of the whole"),
    (
        "sim/src/assess.rs",
        "`Case` is one question; its hazards, its runs and its answer are parts of it and methods on it",
    ),
    ("sim/src/baseline.rs", "a cell's recorded figures; whether new ones are far from them is asked of these alone"),
    ("sim/src/service/postgres/model.rs", "one server's state; its sessions, locks and rows change together"),
    (
        "sim/process/libc/src/kernel.rs",
        "`Kernel` is one state; its descriptors, sockets and threads are parts of it and methods on it",
    ),
    ("sim/src/service/etcd/model.rs", "one member's state; its keys, leases and watches change with one revision"),
];

/// A member of the workspace.
struct Member {
    name: String,
    folder: String,
    manifest: String,
}

/// The quoted words between two markers.
fn quoted(text: &str, from: &str, to: &str) -> Vec<String> {
    let list = text.split_once(from).and_then(|(_, after)| after.split_once(to)).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn members() -> Vec<Member> {
    let manifest = |folder: &str| {
        fs::read_to_string(root().join(folder).join("Cargo.toml"))
            .unwrap_or_else(|e| panic!("{folder}/Cargo.toml: {e}"))
    };
    let folders = quoted(&manifest(""), "members = [", "]");
    assert!(folders.len() > 3, "found only {folders:?}");
    let member = |folder: String| {
        let manifest = manifest(&folder);
        // As the code calls it; the registry needs names that nobody else has.
        let library = manifest.split_once("[lib]").map_or(&*manifest, |(_, library)| library);
        let named = quoted(library, "name = ", "\n").into_iter().next();
        let name = named.unwrap_or_else(|| quoted(&manifest, "name = ", "\n").remove(0)).replace('_', "-");
        Member { name, folder, manifest }
    };
    // A package of tests has no source.
    folders.into_iter().filter(|folder| root().join(folder).join("src").is_dir()).map(member).collect()
}

/// The crates of `ours` among a manifest's dependencies, including optional ones but not dev-dependencies.
fn dependencies(manifest: &str, ours: &BTreeSet<String>) -> BTreeSet<String> {
    let (mut found, mut counts) = (BTreeSet::new(), false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-");
        }
        let name = line.split([' ', '.', '=']).next().unwrap_or_default();
        if counts && ours.contains(name) {
            found.insert(name.to_owned());
        }
    }
    found
}

/// Every crate, with the references among its files and to other crates.
fn crates() -> Vec<(Member, Arrows, Arrows)> {
    let members = members();
    let ours: BTreeSet<String> = members.iter().map(|member| member.name.replace('-', "_")).collect();
    let read = |member: Member| {
        let folder = format!("{}/src", member.folder);
        let krate = Crate::new(&member.name.replace('-', "_"), &folder, &sources(&[&folder]));
        let (inside, outside) = krate.arrows(&ours);
        (member, inside, outside)
    };
    members.into_iter().map(read).collect()
}

#[test]
fn crates_import_in_one_direction() {
    let (mut wrong, mut arrows) = (Vec::new(), 0);
    let crates = crates();
    let ours: BTreeSet<String> = crates.iter().map(|(member, ..)| member.name.clone()).collect();
    for (member, _, outside) in &crates {
        let name = &member.name;
        let Some((_, may)) = MAY_IMPORT.iter().find(|(of, _)| of == name) else {
            wrong.push(format!("{name} is in no row of the table: whom may it import?"));
            continue;
        };
        for (file, to) in outside {
            arrows += 1;
            if !may.contains(&&*to.replace('_', "-")) {
                wrong.push(format!("{file} imports {to}, and {name} may import only {may:?}"));
            }
        }
        for to in dependencies(&member.manifest, &ours) {
            if !may.contains(&&*to) {
                wrong.push(format!("{}/Cargo.toml depends on {to}, and {name} may import only {may:?}", member.folder));
            }
        }
    }
    assert!(arrows > 50, "only {arrows} arrows between crates were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Why a cycle is wrong, in one line; `None` if it is allowed.
fn wrong(circle: &[String], arrows: &Arrows) -> Option<String> {
    let inside = || arrows.iter().filter(|(a, b)| circle.contains(a) && circle.contains(b));
    for head in circle.iter().filter(|head| GO_ON_BELOW.iter().any(|(file, _)| file == head)) {
        let below = graph::below(head);
        if circle.iter().all(|file| file == head || file.starts_with(&below)) {
            // The files below it must not form a cycle among themselves.
            let rest: Arrows = inside().filter(|(a, b)| a != head && b != head).cloned().collect();
            return graph::circles(&rest).iter().find_map(|circle| wrong(circle, &rest));
        }
    }
    let arrows: Vec<_> = inside().map(|(a, b)| format!("  {a} names {b}")).collect();
    Some(format!("a circle of {} files:\n{}", circle.len(), arrows.join("\n")))
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let (mut all, mut used) = (Vec::new(), BTreeSet::new());
    for (member, mut inside, _) in crates() {
        assert!(
            inside.len() > 10 || ["protocols-real", "servers", "own-elector"].contains(&&*member.name),
            "{} has only {inside:?}",
            member.name
        );
        for registry in REGISTRIES {
            let below = graph::below(registry);
            inside.retain(|(from, to)| from != registry || !to.starts_with(&below));
        }
        let circles = graph::circles(&inside);
        let sizes: Vec<usize> = circles.iter().map(Vec::len).collect();
        println!("{}: {} arrows between files, circles of {sizes:?}", member.name, inside.len());
        for circle in &circles {
            println!("  {}", circle.join(" "));
            used.extend(circle.iter().cloned());
        }
        all.extend(circles.iter().filter_map(|circle| wrong(circle, &inside)));
    }
    let unused = GO_ON_BELOW.iter().filter(|(file, _)| !used.contains(*file));
    all.extend(unused.map(|(file, _)| format!("{file} is in no circle: take it off the list")));
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn circles_are_found_through_reexports_parents_and_globs() {
    let file = |name: &str, text: &str| (format!("x/src/{name}"), text.to_owned());
    let circles = |files: &[(String, String)]| {
        let (inside, _) = Crate::new("x", "x/src", files).arrows(&BTreeSet::new());
        graph::circles(&inside)
    };
    let two = |other: &str| vec![["x/src/a.rs".to_owned(), format!("x/src/{other}")].to_vec()];
    let lib = file("lib.rs", "mod a; mod b; pub use b::B;");
    // `lib.rs` re-exports from `b.rs`.
    let through =
        [lib.clone(), file("a.rs", "use crate::B; pub struct A;"), file("b.rs", "pub struct B(super::a::A);")];
    assert_eq!(circles(&through), two("b.rs"));
    let globs =
        [lib.clone(), file("a.rs", "use crate::b::*; pub struct A;"), file("b.rs", "use crate::a; fn f(_: a::A) {}")];
    assert_eq!(circles(&globs), two("b.rs"));
    // Importing a module is no reference, and tests do not count.
    let none =
        [lib.clone(), file("a.rs", "use crate::b; pub struct A;"), file("b.rs", "use crate::a::A; pub struct B;")];
    assert_eq!(circles(&none), Vec::<Vec<String>>::new());
    let tests =
        [lib, file("a.rs", "#[cfg(test)] mod tests { use crate::B; }"), file("b.rs", "pub struct B(crate::a::A);")];
    assert_eq!(circles(&tests), Vec::<Vec<String>>::new());
    let child = [file("a.rs", "mod c; use c::C;"), file("a/c.rs", "pub struct C; impl super::A {}")];
    assert_eq!(circles(&child), two("a/c.rs"));
}

/// The one crate that defines functions of libc, and its folder.
const UNSAFE: (&str, &str) = ("fencepost-libc", "sim/process/libc/");

#[test]
fn nothing_is_unsafe() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("\nunsafe_code = \"forbid\"\n"), "the workspace's lints forbid it");
    for member in members().iter().filter(|member| member.name != UNSAFE.0) {
        // What is to be copied has lints of its own.
        let forbids = ["[lints]\nworkspace = true", "[lints.rust]\nunsafe_code = \"forbid\""];
        assert!(forbids.iter().any(|lints| member.manifest.contains(lints)), "{} leaves the lints out", member.name);
    }
    let used = |(name, text): (String, String)| source::tokens(&text).contains(&"unsafe".to_owned()).then_some(name);
    let all = sources(&["protocols", "scenarios", "reports", "sim", "tools"]).into_iter().filter_map(used);
    let (unsafe_files, elsewhere): (Vec<String>, Vec<String>) = all.partition(|name| name.starts_with(UNSAFE.1));
    assert!(!unsafe_files.is_empty(), "{} needs no exemption any more", UNSAFE.0);
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    // Within the crate, what need not be unsafe may not be.
    let kernel = format!("{}src/kernel", UNSAFE.1);
    assert!(unsafe_files.iter().all(|name| !name.starts_with(&kernel)), "{unsafe_files:?}");
    let manifest = fs::read_to_string(root().join(UNSAFE.1).join("Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("\nundocumented_unsafe_blocks = \"deny\"\n"), "each block has its argument");
}

#[test]
fn every_crate_links_its_integration_tests_once() {
    for member in members() {
        let tests = root().join(&member.folder).join("tests");
        let entries = fs::read_dir(tests).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_binary =
            |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists();
        // `cargo test` leaves `real` out.
        let binaries: Vec<_> = entries.filter(is_binary).filter(|path| !path.ends_with("real")).collect();
        assert!(binaries.len() <= 1, "each binary links everything anew: {binaries:?}");
    }
}
