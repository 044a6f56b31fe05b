//! The crate that is to be tested.

use crate::terminal::exit::Stop;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub struct Krate {
    pub folder: PathBuf,
    pub package: String,
    /// As code names its library.
    pub name: String,
    pub dependencies: Vec<String>,
    source: PathBuf,
}

impl Krate {
    /// The crate of the innermost package around a folder.
    pub fn of(here: &Path) -> Result<Krate, Stop> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let run = cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(here).output();
        let run = run.map_err(|why| Stop::harness(format!("cargo cannot be run: {why}")))?;
        if !run.status.success() {
            let why = String::from_utf8_lossy(&run.stderr);
            let first = why.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(why.trim());
            return Err(Stop::usage(match first.starts_with("could not find `Cargo.toml`") {
                true => "there is no crate here; run this in the folder of the service's own Cargo.toml".to_owned(),
                false => format!("cargo cannot read the manifest here: {first}"),
            }));
        }
        let said: Value = serde_json::from_slice(&run.stdout).unwrap_or_default();
        let folder = |package: &Value| Some(Path::new(package["manifest_path"].as_str()?).parent()?.to_owned());
        let around = |package: &&Value| folder(package).is_some_and(|folder| here.starts_with(folder));
        let packages = said["packages"].as_array().into_iter().flatten().filter(around);
        let package = packages.max_by_key(|package| folder(package).map_or(0, |folder| folder.components().count()));
        let Some((package, folder)) = package.and_then(|package| Some((package, folder(package)?))) else {
            let none = "there is no crate here; run this in the folder of the service's own Cargo.toml";
            return Err(Stop::usage(none));
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let named = text(&package["name"]);
        let is_library = |target: &&Value| {
            let kinds = target["kind"].as_array().into_iter().flatten().filter_map(Value::as_str);
            kinds.into_iter().any(|kind| kind == "lib" || kind == "rlib")
        };
        let library = package["targets"].as_array().into_iter().flatten().find(is_library);
        let Some(library) = library else { return Err(no_main(&named, "has no library")) };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.filter(|of| of["kind"].is_null()).map(|of| text(&of["name"])).collect();
        let source = PathBuf::from(text(&library["src_path"]));
        let code = fs::read_to_string(&source).map_err(|why| Stop::harness(format!("{}: {why}", source.display())))?;
        if !["pub fn main(", "pub async fn main("].iter().any(|main| code.contains(main)) {
            return Err(no_main(&named, "has no `pub fn main` in its library"));
        }
        Ok(Krate { folder, package: named, name: text(&library["name"]).replace('-', "_"), dependencies, source })
    }

    /// The variables of the environment that the library's sources read, in order.
    pub fn variables(&self) -> Result<Vec<String>, Stop> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.source.with_file_name("")];
        while let Some(folder) = folders.pop() {
            let failed = |why| Stop::harness(format!("{} cannot be read: {why}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(failed)?.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    read_by(&fs::read_to_string(&path).unwrap_or_default(), &mut found);
                }
            }
        }
        Ok(found.into_iter().collect())
    }
}

fn no_main(package: &str, what: &str) -> Stop {
    Stop::usage(format!(
        "`{package}` {what}, and the test must name the service's `main`: move it to src/lib.rs as `pub fn main`, with its \
         attributes, and call it from src/main.rs"
    ))
}

/// The names in `env::var("NAME")` and its like.
fn read_by(code: &str, found: &mut BTreeSet<String>) {
    for call in ["var(\"", "var_os(\"", "env = \""] {
        let named = code.split(call).skip(1).filter_map(|rest| rest.split_once('"')).map(|(name, _)| name);
        let is_one = |name: &&str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        };
        found.extend(named.filter(is_one).map(str::to_owned));
    }
}
