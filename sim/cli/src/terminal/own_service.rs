//! `cargo fencepost new`: a test of one's own service in a crate that exists.

mod test;

use super::exit::{HARNESS, Stop, USAGE};
use clap::{Parser, Subcommand};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use test::{KNOWN, Known, Store};

/// Where this program was built, which is where `fencepost` itself is as long as no registry has it.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fencepost");

/// As cargo calls it: `cargo-fencepost fencepost new`.
#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo", disable_help_subcommand = true)]
enum Cargo {
    /// Tests that at most one leader of your service takes effect
    Fencepost {
        #[command(subcommand)]
        command: Said,
    },
}

#[derive(Subcommand)]
enum Said {
    /// Write `tests/one_leader.rs` into the crate in this folder, and add the dev-dependency that it needs
    #[command(after_help = "Example: cargo fencepost new --service redis")]
    New(New),
}

#[derive(clap::Args)]
struct New {
    /// A service that yours elects with; by default those whose clients it depends on
    #[arg(long, value_name = "NAME", value_parser = KNOWN.map(|known| known.name))]
    service: Vec<String>,
    /// How many processes there are
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// The folder of the crate `fencepost`; by default where this command was built, else the registry
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

/// Runs the command; returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let Cargo::Fencepost { command: Said::New(new) } = match Cargo::try_parse_from(arguments) {
        Ok(said) => said,
        Err(why) => {
            // To standard error, or to standard output if it was asked for.
            let _ = why.print();
            return if why.use_stderr() { USAGE } else { 0 };
        }
    };
    match run(&new) {
        Ok(text) => {
            print!("{text}");
            0
        }
        Err(why) => {
            eprintln!("error: {why}");
            why.code
        }
    }
}

fn run(new: &New) -> Result<String, Stop> {
    let here = std::env::current_dir().map_err(|why| Stop::harness(format!("there is no current folder: {why}")))?;
    let krate = Krate::of(&here)?;
    let services = services(new, &krate)?;
    let file = krate.folder.join("tests/one_leader.rs");
    if file.exists() {
        return Err(Stop::usage(format!("{} exists; it is not overwritten", file.display())));
    }
    let (read, path) = (krate.read()?, source(new)?);
    let store = krate.store(&read);
    let (text, open) = test::text(&krate.name, &services, new.nodes, &read.variables, &store);
    let failed = |why: std::io::Error| Stop::harness(format!("{} cannot be written: {why}", file.display()));
    fs::create_dir_all(file.with_file_name("")).and_then(|()| fs::write(&file, text)).map_err(failed)?;
    if let Err(why) = add(path.as_deref(), &krate, services.iter().any(|known| known.name == "etcd")) {
        // Nothing is left of it.
        let _ = fs::remove_file(&file);
        return Err(why);
    }
    let of = if krate.seat.is_some() { "a seat on " } else { "" };
    let mut said = format!("tests/one_leader.rs is written, for {of}{}.\n", listed(&services));
    said += store.advice();
    if !open.is_empty() {
        said += &format!("Your service also reads {}: set them there with `.env(…)`.\n", open.join(", "));
    }
    Ok(said + "\nRun it: cargo test --test one_leader -- --nocapture\n")
}

fn services(new: &New, krate: &Krate) -> Result<Vec<Known>, Stop> {
    let named = |known: &Known| new.service.iter().any(|name| name == known.name);
    let used = |known: &Known| match &krate.seat {
        Some(seat) => known.has_a_seat(&seat.features),
        None => krate.dependencies.iter().any(|name| known.clients.contains(&name.as_str())),
    };
    let found: Vec<Known> =
        KNOWN.into_iter().filter(|known| if new.service.is_empty() { used(known) } else { named(known) }).collect();
    match found.is_empty() {
        true if krate.seat.is_some() => Err(Stop::usage(format!(
            "`{}` depends on fencepost-seat without a service's feature, such as `etcd`; name the service, such as --service redis",
            krate.package
        ))),
        true => Err(Stop::usage(format!(
            "`{}` depends on no client of a coordination service that is known here; name the service, such as --service redis",
            krate.package
        ))),
        false => Ok(found),
    }
}

fn listed(services: &[Known]) -> String {
    services.iter().map(|known| known.title).collect::<Vec<_>>().join(" and ")
}

/// Where `fencepost` is; `None` for the registry.
fn source(new: &New) -> Result<Option<PathBuf>, Stop> {
    let is_crate = |path: &Path| path.join("Cargo.toml").is_file();
    match &new.path {
        Some(path) if !is_crate(path) => Err(Stop::usage(format!(
            "{} has no Cargo.toml; --path is the folder of the crate `fencepost`",
            path.display()
        ))),
        Some(path) => Ok(Some(path.canonicalize().unwrap_or(path.clone()))),
        None => Ok(Path::new(SOURCE).canonicalize().ok().filter(|path| is_crate(path))),
    }
}

/// Adds the dev-dependency.
fn add(path: Option<&Path>, krate: &Krate, etcd: bool) -> Result<(), Stop> {
    let add = |offline: bool| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["add", "--quiet", "--dev", "--target", "cfg(target_os = \"linux\")", "--manifest-path"]);
        cargo.arg(krate.folder.join("Cargo.toml")).args(offline.then_some("--offline"));
        match path {
            Some(path) => cargo.arg("--path").arg(path),
            None => cargo.arg("fencepost"),
        };
        if etcd {
            cargo.args(["--features", "etcd"]);
        }
        cargo.output().map_err(|why| Stop::harness(format!("cargo cannot be run: {why}")))
    };
    // A folder needs no registry if the crate's other dependencies are known on this machine already.
    let run = match path.map(|_| add(true)).transpose()? {
        Some(run) if run.status.success() => run,
        _ => add(false)?,
    };
    if run.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&run.stderr);
    let why = why.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(why.trim()).to_owned();
    Err(Stop { code: HARNESS, why: format!("`cargo add` did not add the dev-dependency: {why}") })
}

// The crate that is to be tested.

struct Krate {
    pub folder: PathBuf,
    pub package: String,
    /// As code names its library.
    pub name: String,
    pub dependencies: Vec<String>,
    /// The library for leaders, if it depends on that.
    pub seat: Option<Seat>,
    source: PathBuf,
}

/// `fencepost-seat`, as a crate depends on it.
struct Seat {
    /// As code names it.
    pub name: String,
    pub features: Vec<String>,
}

/// What a crate's sources say.
#[derive(Default)]
struct Read {
    /// The variables of the environment that they read, in order.
    pub variables: Vec<String>,
    /// The first resource that a fence is for.
    pub fenced: Option<String>,
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
        let dependencies: Vec<&Value> = dependencies.filter(|of| of["kind"].is_null()).collect();
        let seat = dependencies.iter().find(|of| of["name"] == "fencepost-seat").map(|of| Seat {
            name: of["rename"].as_str().unwrap_or("fencepost-seat").replace('-', "_"),
            features: of["features"].as_array().into_iter().flatten().map(text).collect(),
        });
        let dependencies = dependencies.iter().map(|of| text(&of["name"])).collect();
        let source = PathBuf::from(text(&library["src_path"]));
        let code = fs::read_to_string(&source).map_err(|why| Stop::harness(format!("{}: {why}", source.display())))?;
        if !["pub fn main(", "pub async fn main("].iter().any(|main| code.contains(main)) {
            return Err(no_main(&named, "has no `pub fn main` in its library"));
        }
        let name = text(&library["name"]).replace('-', "_");
        Ok(Krate { folder, package: named, name, dependencies, seat, source })
    }

    /// What the library's sources say.
    pub fn read(&self) -> Result<Read, Stop> {
        let (mut found, mut fenced) = (BTreeSet::new(), BTreeSet::new());
        let mut folders = vec![self.source.with_file_name("")];
        while let Some(folder) = folders.pop() {
            let failed = |why| Stop::harness(format!("{} cannot be read: {why}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(failed)?.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let code = fs::read_to_string(&path).unwrap_or_default();
                    read_by(&code, &mut found);
                    fenced.extend(fenced_by(&code));
                }
            }
        }
        Ok(Read { variables: found.into_iter().collect(), fenced: fenced.pop_first() })
    }

    /// What its leaders write to.
    fn store(&self, read: &Read) -> Store {
        let fence = |seat: &Seat| {
            let has = |feature: &&str| seat.features.iter().any(|has| has == feature);
            ["postgres", "sqlx"].iter().copied().find(has).map(|feature| format!("{}::fence::{feature}", seat.name))
        };
        match self.seat.as_ref().and_then(fence) {
            Some(fence) => Store::Database { fence, table: read.fenced.clone(), schema: self.schema() },
            None => Store::Http,
        }
    }

    /// Files of the crate's that make its tables, as the test names them.
    pub fn schema(&self) -> Vec<String> {
        let migrations = fs::read_dir(self.folder.join("migrations")).into_iter().flatten().flatten();
        let migrations = migrations.filter_map(|file| Some(format!("migrations/{}", file.file_name().to_str()?)));
        let is_up = |file: &String| file.ends_with(".sql") && !file.ends_with(".down.sql");
        let mut files: Vec<String> = migrations.filter(is_up).collect();
        files.sort();
        files.extend(self.folder.join("schema.sql").is_file().then(|| "schema.sql".to_owned()));
        files
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

/// The resource in `fenced(lead, "NAME"`, and in `fenced_once` alike.
fn fenced_by(code: &str) -> Option<String> {
    let calls = code.split(".fenced").skip(1);
    let calls = calls.filter(|rest| rest.starts_with(['(', ':']) || rest.starts_with("_once"));
    let mut named = calls.filter_map(|rest| {
        let (before, rest) = rest.split_once('"')?;
        (before.matches(',').count() >= 1 && !before.contains([';', '{'])).then(|| rest.split_once('"'))?
    });
    named.find(|(name, _)| !name.is_empty()).map(|(name, _)| name.to_owned())
}
