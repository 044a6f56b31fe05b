//! `cargo fencepost new` in crates of every kind, and the test that it writes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A crate outside of this repository, whose flags would reach it; removed in the end.
struct Fresh(PathBuf);

impl Fresh {
    fn new(name: &str, dependencies: &str, library: Option<&str>) -> Fresh {
        let folder = std::env::temp_dir().join(format!("fencepost-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("src")).expect("a folder");
        let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}");
        fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
        let (file, code) = match library {
            Some(code) => ("src/lib.rs", code),
            None => ("src/main.rs", "fn main() {}"),
        };
        fs::write(folder.join(file), code).expect("a source");
        Fresh(folder)
    }

    fn told(&self, arguments: &[&str]) -> Output {
        told(&self.0, arguments)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).expect(file)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn told(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-fencepost"));
    command.args(["fencepost", "new"]).args(arguments).current_dir(folder).output().expect("it starts")
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const MAIN: &str = "pub fn main() {\n    let _ = (std::env::var(\"ETCD_URL\"), std::env::var(\"PORT\"));\n}\n";
const OWN: &str = include_str!("../../../examples/own-service/src/lib.rs");
const OWN_NEEDS: &str = "\
redis = { version = \"1\", default-features = false, features = [\"aio\", \"tokio-comp\"] }
ureq = { version = \"3\", default-features = false }
tokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\", \"time\"] }
";

#[test]
fn a_test_is_written_for_the_services_that_the_crate_depends_on() {
    let fresh = Fresh::new("own-billing", OWN_NEEDS, Some(OWN));
    let output = fresh.told(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        said,
        "tests/one_leader.rs is written, for Redis.\n\nRun it: cargo test --test one_leader -- --nocapture\n"
    );
    let test = fresh.read("tests/one_leader.rs");
    for line in [
        "use fencepost::{World, redis, scenarios, store};",
        ".service(redis())",
        ".fleet(3, own_billing::main)",
        ".env(\"REDIS_URL\", \"redis://redis:6379\")",
        ".env(\"STORE_URL\", \"http://store\")",
    ] {
        assert!(test.contains(line), "{line}: {test}");
    }
    assert!(fresh.read("Cargo.toml").contains("[target.'cfg(target_os = \"linux\")'.dev-dependencies]\nfencepost = {"));
    assert!(refused(&fresh.told(&[])).contains("tests/one_leader.rs exists; it is not overwritten"));
    assert_eq!(fresh.read("tests/one_leader.rs"), test);
}

/// The dependency on the seat, with these features.
fn seat(features: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../protocols/seat");
    format!("fencepost-seat = {{ path = \"{folder}\", features = [{features}] }}\ntokio-postgres = \"0.7\"\n")
}

const LEADS: &str = "pub fn main() {\n    for name in [std::env::var(\"ETCD_URL\"), std::env::var(\"DATABASE_URL\")] {\n        \
                     drop(name);\n    }\n}\n\nfn work() {\n    // database.fenced_once(lead, \"charges\", name, write)\n}\n";

#[test]
fn a_crate_that_leads_by_the_seat_gets_the_test_of_the_seat() {
    let fresh = Fresh::new("by-a-seat", &seat("\"etcd\", \"postgres\", \"signal\""), Some(LEADS));
    fs::write(fresh.0.join("schema.sql"), "CREATE TABLE charges (token bigint);").expect("a file");
    let output = fresh.told(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("tests/one_leader.rs is written, for a seat on etcd.\nCheck there that"), "{output:?}");
    let test = fresh.read("tests/one_leader.rs");
    for line in [
        "use fencepost::{World, database, etcd, scenarios};",
        ".service(etcd())",
        "            database(\"charges\")\n                .token(\"token\")\n                \
         .schema(fencepost_seat::fence::postgres::MIGRATION)\n                \
         .schema(include_str!(\"../schema.sql\")),\n",
        ".fleet(3, by_a_seat::main)",
        ".env(\"DATABASE_URL\", \"postgres://service@store:5432/service\")",
        ".env(\"ETCD_URL\", \"http://etcd:2379\")",
    ] {
        assert!(test.contains(line), "{line}: {test}");
    }
    assert!(fresh.read("Cargo.toml").contains("features = [\"etcd\"]"));
}

/// `sim/examples/seat` has this very test among its own: there it is compiled, and runs.
#[test]
fn the_test_of_the_seat_is_one_that_runs() {
    const MANIFEST: &str = include_str!("../../../examples/seat/Cargo.toml");
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/seat");
    let seat = MANIFEST.lines().find(|line| line.starts_with("fencepost-seat = ")).expect("it depends on the seat");
    let seat = seat.replace("../../../protocols/seat", concat!(env!("CARGO_MANIFEST_DIR"), "/../../protocols/seat"));
    let fresh = Fresh::new("seat", &seat, Some(include_str!("../../../examples/seat/src/lib.rs")));
    fs::create_dir(fresh.0.join("migrations")).expect("a folder");
    for file in fs::read_dir(format!("{from}/migrations")).expect("migrations").flatten() {
        fs::copy(file.path(), fresh.0.join("migrations").join(file.file_name())).expect("a copy");
    }
    let output = fresh.told(&["--service", "etcd"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Your service also reads PACE_MS: set them there with `.env(…)`."), "{output:?}");
    let written = fresh.read("tests/one_leader.rs");
    assert_eq!(written, fs::read_to_string(format!("{from}/tests/one_leader.rs")).expect("its test"));
    let page = include_str!("../../../../docs/seat.md");
    let (_, test) = written.split_once("use fencepost::").expect("a test");
    assert!(page.contains(&test.replace("seat::main", "billing::main")), "docs/seat.md does not have\n{test}");
}

#[test]
fn a_seat_stands_on_what_its_features_name() {
    let among = Fresh::new("among-themselves", &seat("\"raft\", \"sqlx\""), Some(LEADS));
    assert_eq!(among.told(&[]).status.code(), Some(0));
    let test = among.read("tests/one_leader.rs");
    assert!(test.contains(".service(quorum())") && test.contains("fencepost_seat::fence::sqlx::MIGRATION"), "{test}");
    let postgres = Fresh::new("on-postgres", &seat("\"postgres\""), Some(MAIN));
    let said = String::from_utf8_lossy(&postgres.told(&[]).stdout).into_owned();
    assert!(said.contains("for a seat on PostgreSQL.\nName there the table"), "{said}");
    assert!(postgres.read("tests/one_leader.rs").contains(".service(postgres())"));
    let http = Fresh::new("on-http", &seat("\"redis\", \"http\""), Some(MAIN));
    assert_eq!(http.told(&[]).status.code(), Some(0));
    assert!(http.read("tests/one_leader.rs").contains(".store(store())"));
    let nowhere = Fresh::new("nowhere", &seat("\"http\""), Some(MAIN));
    assert!(refused(&nowhere.told(&[])).contains("`nowhere` depends on fencepost-seat without a service's feature"));
}

#[test]
fn services_are_named_where_none_is_known_and_unknown_variables_are_told() {
    let fresh = Fresh::new("of-nobody", "", Some(MAIN));
    let said = refused(&fresh.told(&[]));
    assert!(said.contains("`of-nobody` depends on no client of a coordination service that is known here"), "{said}");
    let output = fresh.told(&["--service", "etcd", "--nodes", "5"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("Your service also reads PORT: set them there with `.env(…)`."), "{output:?}");
    assert!(fresh.read("tests/one_leader.rs").contains(".fleet(5, of_nobody::main)\n        .env(\"ETCD_URL\""));
    assert!(fresh.read("Cargo.toml").contains("features = [\"etcd\"]"));
}

#[test]
fn only_addresses_are_guessed_and_a_refusal_leaves_nothing() {
    let read = "pub fn main() {\n    for name in [std::env::var(\"REDIS_LEASE_TTL_MS\"), std::env::var(\"UPGRADE_CHANNEL\"), \
                std::env::var(\"PGPORT\"), std::env::var(\"APP_REDIS_URL\")] {\n        drop(name);\n    }\n}\n";
    let fresh = Fresh::new("guessed", "redis = \"1\"\ntokio-postgres = \"0.7\"\n", Some(read));
    let said = String::from_utf8_lossy(&fresh.told(&[]).stdout).into_owned();
    assert!(said.contains("also reads PGPORT, REDIS_LEASE_TTL_MS, UPGRADE_CHANNEL: set them"), "{said}");
    let test = fresh.read("tests/one_leader.rs");
    assert_eq!(test.matches(".env(").count(), 1, "{test}");
    assert!(test.contains(".env(\"APP_REDIS_URL\", \"redis://redis:6379\")"), "{test}");
    let in_the_way = Fresh::new("in-the-way", OWN_NEEDS, Some(OWN));
    fs::write(in_the_way.0.join("tests"), "").expect("a file");
    let before = in_the_way.read("Cargo.toml");
    assert_eq!(in_the_way.told(&[]).status.code(), Some(70));
    assert_eq!(in_the_way.read("Cargo.toml"), before);
    fs::write(in_the_way.0.join("Cargo.toml"), "[package\n").expect("a manifest");
    let said = refused(&in_the_way.told(&[]));
    assert!(said.contains("cargo cannot read the manifest here: "), "{said}");
}

#[test]
fn a_crate_that_cannot_be_tested_gets_one_sentence() {
    let without = Fresh::new("without-library", OWN_NEEDS, None);
    let move_it = "move it to src/lib.rs as `pub fn main`";
    let said = refused(&without.told(&[]));
    assert!(said.contains("`without-library` has no library") && said.contains(move_it), "{said}");
    let hidden = Fresh::new("hidden-main", OWN_NEEDS, Some("fn main() {}"));
    let said = refused(&hidden.told(&[]));
    assert!(said.contains("`hidden-main` has no `pub fn main` in its library") && said.contains(move_it), "{said}");
    let said = refused(&told(&std::env::temp_dir(), &[]));
    assert!(said.contains("there is no crate here"), "{said}");
    let fine = Fresh::new("fine", OWN_NEEDS, Some(OWN));
    assert!(refused(&fine.told(&["--path", "nowhere"])).contains("nowhere has no Cargo.toml; --path is the folder"));
    assert!(refused(&fine.told(&["--nodes", "0"])).contains("0 is not in 1..=64"));
    assert!(refused(&fine.told(&["--service", "mysql"])).contains("invalid value 'mysql'"));
    assert!(!fine.0.join("tests").exists() && !fine.read("Cargo.toml").contains("fencepost"));
}

/// As a user has it: of this repository's flags, none that means anything reaches the crate. `FENCEPOST_PACKED` names the
/// folder of the packages, to depend on those instead of this repository.
#[test]
#[ignore = "long: .ci/run runs it"]
fn the_test_that_is_written_runs_to_its_verdict() {
    let fresh = Fresh::new("own-billing", OWN_NEEDS, Some(OWN));
    match std::env::var("FENCEPOST_PACKED") {
        Err(_) => assert_eq!(fresh.told(&[]).status.code(), Some(0)),
        Ok(packed) => {
            // The packages depend on each other as they do in the registry.
            let theirs = fs::read_to_string(format!("{packed}/Cargo.toml")).expect("the packages' workspace");
            let place = theirs.find("[patch.crates-io]").expect("where the packages are");
            let patches = theirs[place..].replace("path = \"", &format!("path = \"{packed}/"));
            fs::write(fresh.0.join("Cargo.toml"), fresh.read("Cargo.toml") + "\n" + &patches).expect("a manifest");
            let library = format!("{packed}/fencepost-{}", env!("CARGO_PKG_VERSION"));
            assert_eq!(fresh.told(&["--path", &library]).status.code(), Some(0));
        }
    }
    // As the examples and what is packed are built, so that the dependencies are built once.
    fs::create_dir_all(fresh.0.join(".cargo")).expect("a folder");
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/plain.toml");
    fs::copy(plain, fresh.0.join(".cargo/config.toml")).expect("a copy");
    let as_a_user = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plain");
        // What cargo sets for its tests would make this one, and the next one there, rebuild what depends on ring.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_") && name != "CARGO_HOME") {
            command.env_remove(name);
        }
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", target);
        command.args(arguments).current_dir(&fresh.0).env_remove("OUT_DIR");
        let output = command.env_remove("RUSTFLAGS").env_remove("PROTOC").output().expect("it starts");
        (
            output.status.code(),
            [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned()).concat(),
        )
    };
    let test = ["test", "--test", "one_leader", "--", "--nocapture"];
    let (code, said) = as_a_user(env!("CARGO"), &test);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("runs held in") && said.contains("stopped before a send"), "{said}");

    // With a store that compares nothing, it fails, and so do both commands that it prints.
    let written = fresh.read("tests/one_leader.rs");
    let unfenced = written.replace(".store(store())", ".store(store().unfenced())");
    assert_ne!(unfenced, written);
    fs::write(fresh.0.join("tests/one_leader.rs"), unfenced).expect("a test");
    let (code, said) = as_a_user(env!("CARGO"), &test);
    assert_eq!(code, Some(101), "{said}");
    let commands: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("FENCEPOST_PLAN="))
        .map(|line| &line[line.find('(').expect("(")..])
        .collect();
    assert_eq!(commands.len(), 2, "{said}");
    for command in commands {
        let (code, again) = as_a_user("sh", &["-c", command]);
        assert!(code == Some(101) && again.contains("leaders_acting_by_effect"), "{command}: {again}");
    }
}
