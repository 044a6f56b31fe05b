//! The references between a crate's files, and their cycles.
//!
//! There is an arrow from one file to another if code of the first names something that the second defines. Precisely:
//!
//! - The file that *defines* an item counts. Re-exports (`pub use`), and imports that a child takes from its parent,
//!   are followed to the end; `use crate::Plan` is an arrow to `plan.rs`, not to `lib.rs`. A re-export is itself an
//!   arrow, from the file that contains it. An import of a module is not; what is named through it is.
//! - `mod x;` is no arrow by itself.
//! - Code compiled only for tests, `#[cfg(test)]`, is left out: tests may use what they test, wherever they are.
//! - A *registry* (the table of all protocols, scenarios, invariants) names its entries, which name the entry's type:
//!   arrows from a registry to files below its own folder do not count.
//! - A file may continue in files below it, and both name each other: `world/disk.rs` is a part of `World`. Such a
//!   family is listed with its reason, contains the whole cycle, and the files below have no cycle among themselves.

use super::source::{self, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The files of a crate, and what they name.
pub struct Crate {
    /// The name used in code: `sim_cli`.
    name: String,
    modules: BTreeMap<Vec<String>, Module>,
}

#[derive(Default)]
struct Module {
    /// The file that contains the module.
    file: String,
    /// The file's contents, for the module with which the file begins.
    source: Source,
    /// The names that `use` declarations import, and the modules imported by `*`.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// What a path refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    Module(Vec<String>),
    /// An item that this file defines.
    Item(String),
    /// An item of another crate, by the crate's name.
    Other(String),
}

/// Arrows between files; between crates, the second part is a crate's name.
pub type Arrows = BTreeSet<(String, String)>;

impl Crate {
    /// From files as (path from the root, text); the crate's sources are below `folder`.
    pub fn new(name: &str, folder: &str, files: &[(String, String)]) -> Crate {
        let mut modules: BTreeMap<Vec<String>, Module> = BTreeMap::new();
        let mut tests: BTreeSet<Vec<String>> = BTreeSet::new();
        for (file, text) in files {
            // A binary next to its library is a separate crate, which only calls it.
            let Some(path) = file.strip_prefix(folder).and_then(|f| f.strip_prefix('/')).filter(|f| *f != "main.rs")
            else {
                continue;
            };
            let path = path.trim_end_matches(".rs");
            let path: Vec<String> = path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect();
            let source = source::read(text);
            tests.extend(source.test_modules.iter().map(|test| [&path[..], std::slice::from_ref(test)].concat()));
            for import in &source.imports {
                let within = [&path[..], &import.within].concat();
                let module = modules.entry(within).or_default();
                module.file.clone_from(file);
                match import.name.as_str() {
                    "*" => module.globs.push(import.path.clone()),
                    // `use x as _` imports no name.
                    "_" => {}
                    name => drop(module.imports.insert(name.to_owned(), import.path.clone())),
                }
            }
            let module = modules.entry(path).or_default();
            module.file.clone_from(file);
            module.source = source;
        }
        modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        Crate { name: name.to_owned(), modules }
    }

    /// The arrows among its files, and those to other crates of `ours`.
    pub fn arrows(&self, ours: &BTreeSet<String>) -> (Arrows, Arrows) {
        let (mut inside, mut outside) = (Arrows::new(), Arrows::new());
        for (path, module) in &self.modules {
            let source = &module.source;
            let imports = source.imports.iter().map(|i| (&i.within, &i.path, i.name == "*"));
            let named = source.named.iter().map(|n| (&n.within, &n.path, false));
            for (within, what, glob) in imports.chain(named) {
                let from = [&path[..], within].concat();
                let target = match self.resolve(&from, what, ours, 0) {
                    Some(Target::Module(to)) if glob => Target::Item(self.modules[&to].file.clone()),
                    Some(target) => target,
                    None => continue,
                };
                match target {
                    Target::Item(to) if to != module.file => drop(inside.insert((module.file.clone(), to))),
                    Target::Other(to) => drop(outside.insert((module.file.clone(), to))),
                    _ => {}
                }
            }
        }
        (inside, outside)
    }

    /// What `path` refers to in module `from`.
    fn resolve(&self, from: &[String], path: &[String], ours: &BTreeSet<String>, depth: u8) -> Option<Target> {
        // Cyclic imports lead nowhere.
        if depth > 16 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            name if self.child(from, name).is_some() => self.child(from, name)?,
            name => match self.brought_in(from, name, ours, depth) {
                Some(Target::Module(module)) => module,
                Some(found) => return Some(found),
                None if *name == self.name => Vec::new(),
                None => return ours.contains(name).then(|| Target::Other(name.to_owned())),
            },
        };
        while let Some((next, after)) = rest.split_first() {
            at = if next == "super" {
                at.split_last()?.1.to_vec()
            } else if let Some(child) = self.child(&at, next) {
                child
            } else {
                match self.brought_in(&at, next, ours, depth) {
                    Some(Target::Module(module)) => module,
                    Some(found) => return Some(found),
                    None => return Some(Target::Item(self.modules.get(&at)?.file.clone())),
                }
            };
            rest = after;
        }
        Some(Target::Module(at))
    }

    fn child(&self, of: &[String], name: &str) -> Option<Vec<String>> {
        let child = [of, &[name.to_owned()]].concat();
        self.modules.contains_key(&child).then_some(child)
    }

    /// What `name` refers to, by the `use` declarations of module `at`.
    fn brought_in(&self, at: &[String], name: &str, ours: &BTreeSet<String>, depth: u8) -> Option<Target> {
        let module = self.modules.get(at)?;
        if let Some(path) = module.imports.get(name) {
            // `use protocols::x` must not resolve through itself.
            return self.resolve(at, path, ours, depth + 1).filter(|_| path.len() > 1 || path[0] != name);
        }
        for glob in &module.globs {
            let Some(Target::Module(from)) = self.resolve(at, glob, ours, depth + 1) else { continue };
            if from != at
                && let Some(found) = self.child(&from, name).map(Target::Module)
            {
                return Some(found);
            }
            if from != at
                && let Some(found) = self.brought_in(&from, name, ours, depth + 1)
            {
                return Some(found);
            }
        }
        None
    }
}

/// The folder of the files below a file: `a/` for `a.rs`.
pub fn below(file: &str) -> String {
    format!("{}/", file.trim_end_matches(".rs"))
}

/// The files of each cycle, which can all be reached from each other; the largest cycle first.
pub fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let mut from: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (a, b) in arrows {
        from.entry(a).or_default().push(b);
    }
    let reach = |start: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start.to_owned()]);
        while let Some(file) = open.pop() {
            for next in from.get(file.as_str()).into_iter().flatten() {
                if seen.insert((*next).to_owned()) {
                    open.push((*next).to_owned());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<String, BTreeSet<String>> =
        from.keys().map(|file| ((*file).to_owned(), reach(file))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (file, to) in &reached {
        if to.contains(file) {
            let back = |other: &&String| reached.get(*other).is_some_and(|reached| reached.contains(file));
            circles.insert(to.iter().filter(back).cloned().collect());
        }
    }
    let mut circles: Vec<_> = circles.into_iter().collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}
