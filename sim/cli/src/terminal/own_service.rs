//! `cargo fencepost new`: a test of one's own service in a crate that exists.

mod krate;
mod test;

use super::exit::{HARNESS, Stop, USAGE};
use clap::{Parser, Subcommand};
use krate::Krate;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use test::{KNOWN, Known};

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
    let (variables, path) = (krate.variables()?, source(new)?);
    let (text, open) = test::text(&krate.name, &services, new.nodes, &variables);
    let failed = |why: std::io::Error| Stop::harness(format!("{} cannot be written: {why}", file.display()));
    fs::create_dir_all(file.with_file_name("")).and_then(|()| fs::write(&file, text)).map_err(failed)?;
    if let Err(why) = add(path.as_deref(), &krate, services.iter().any(|known| known.name == "etcd")) {
        // Nothing is left of it.
        let _ = fs::remove_file(&file);
        return Err(why);
    }
    let mut said = format!("tests/one_leader.rs is written, for {}.\n", listed(&services));
    if !open.is_empty() {
        said += &format!("Your service also reads {}: set them there with `.env(…)`.\n", open.join(", "));
    }
    Ok(said + "\nRun it: cargo test --test one_leader -- --nocapture\n")
}

fn services(new: &New, krate: &Krate) -> Result<Vec<Known>, Stop> {
    let named = |known: &Known| new.service.iter().any(|name| name == known.name);
    let used = |known: &Known| krate.dependencies.iter().any(|name| known.clients.contains(&name.as_str()));
    let found: Vec<Known> =
        KNOWN.into_iter().filter(|known| if new.service.is_empty() { used(known) } else { named(known) }).collect();
    match found.is_empty() {
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
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["add", "--quiet", "--dev", "--target", "cfg(target_os = \"linux\")", "--manifest-path"]);
    cargo.arg(krate.folder.join("Cargo.toml"));
    match path {
        // Of a registry, nothing is needed.
        Some(path) => cargo.arg("--offline").arg("--path").arg(path),
        None => cargo.arg("fencepost"),
    };
    if etcd {
        cargo.args(["--features", "etcd"]);
    }
    let run = cargo.output().map_err(|why| Stop::harness(format!("cargo cannot be run: {why}")))?;
    if run.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&run.stderr);
    let why = why.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or(why.trim()).to_owned();
    Err(Stop { code: HARNESS, why: format!("`cargo add` did not add the dev-dependency: {why}") })
}
