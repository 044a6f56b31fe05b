//! Kubernetes' API server for Leases, and programs with its client library, client-go. No suite of Debian has the server
//! as a package, but one has the source with all that it vendors: [`main.go`](kubernetes/main.go) is compiled in it. That
//! takes 100 s of one processor; the whole of `kube-apiserver` takes 230 s, and a token and TLS to talk to.

use super::{
    find::file,
    install::{self, run, say, skip, wish},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The suite whose package `kubernetes` is 1.20.2.
const SUITE: &str = "bookworm";
/// The compiler that the suite builds it with.
const GO: &str = "/usr/lib/go-1.19/bin/go";
const GO_PACKAGE: &str = "golang-1.19-go";
/// What reads maps by reflection: the vendored 1.0.1 does not work with Go 1.18 or later; this package's 1.0.2 does.
const REFLECT: &str = "/usr/share/gocode/src/github.com/modern-go/reflect2";
const REFLECT_PACKAGE: &str = "golang-github-modern-go-reflect2-dev";

/// The API server.
const SERVER: Program = Program {
    name: "leases",
    text: include_str!("kubernetes/main.go"),
    schemas: &[
        "api/coordination/v1",
        "apimachinery/pkg/apis/meta/v1",
        "apimachinery/pkg/runtime",
        "apimachinery/pkg/version",
    ],
};

/// A program that is compiled in Kubernetes' source.
#[derive(Clone, Copy)]
struct Program<'a> {
    name: &'a str,
    /// Its `main.go`.
    text: &'a str,
    /// Packages of `k8s.io` whose schemas are generated into its package `openapi`: server-side apply needs them.
    schemas: &'a [&'a str],
}

/// The API server, if it has been compiled; it needs `etcd` to run.
pub fn kubernetes_leases() -> Option<PathBuf> {
    SERVER.look()
}

/// The same for a test; `None`, with a message, if it is missing and the test may pass without `what`.
///
/// # Panics
/// It is missing, and `FENCEPOST_SERVERS` requires it.
pub fn find_kubernetes(what: &str) -> Option<PathBuf> {
    SERVER.find(what)
}

/// The program called `name` with this `main.go`, which may import client-go; otherwise as [`find_kubernetes`].
pub fn find_client_go(name: &str, text: &str, what: &str) -> Option<PathBuf> {
    Program { name, text, schemas: &[] }.find(what)
}

fn folder() -> PathBuf {
    install::folder().join("kubernetes-1.20")
}

/// The source, where Go looks for it.
fn tree() -> PathBuf {
    folder().join("src/k8s.io/kubernetes")
}

impl Program<'_> {
    /// Where it is, if it has been compiled from this text.
    fn look(self) -> Option<PathBuf> {
        let compiled = fs::read_to_string(self.compiled_from()).is_ok_and(|text| text == self.text);
        compiled.then(|| folder().join(self.name))
    }

    fn compiled_from(self) -> PathBuf {
        folder().join(format!("{}.go", self.name))
    }

    fn find(self, what: &str) -> Option<PathBuf> {
        if self.look().is_none() && wish() == "install" {
            file(Path::new(GO), GO_PACKAGE, what)?;
            file(Path::new(REFLECT), REFLECT_PACKAGE, what)?;
            install::alone(|| {
                if self.look().is_none() && self.install().is_none() {
                    say(&format!("`{}` cannot be compiled in Kubernetes' source", self.name));
                }
            });
        }
        let found = self.look();
        if found.is_none() {
            skip(what, &format!("`{}` is not compiled in Kubernetes' source", self.name));
        }
        found
    }

    fn install(self) -> Option<()> {
        if !tree().is_dir() {
            unpack(&tree())?;
        }
        let package = format!("cmd/fencepost-{}", self.name);
        fs::create_dir_all(tree().join(&package)).ok()?;
        fs::write(tree().join(&package).join("main.go"), self.text).ok()?;
        if !self.schemas.is_empty() {
            generate(&format!("{package}/openapi"), self.schemas)?;
        }
        compile(&format!("./{package}"), self.name)?;
        // Last, since it says what was compiled.
        fs::write(self.compiled_from(), self.text).ok()
    }
}

/// Unpacks the source.
fn unpack(tree: &Path) -> Option<()> {
    let archive = install::source("kubernetes", SUITE)?;
    let partial = tree.with_extension("partial");
    // An earlier attempt may have left it.
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).ok()?;
    let (archive, into) = (archive.display().to_string(), partial.display().to_string());
    let wanted = ["LICENSE", "pkg", "staging", "vendor"].map(|name| format!("*/{name}"));
    let arguments = ["-xzf", &archive, "-C", &into, "--strip-components=1", "--exclude=*_test.go", "--wildcards"];
    let arguments: Vec<&str> = arguments.into_iter().chain(wanted.iter().map(String::as_str)).collect();
    run("tar", &arguments).then_some(())?;
    let vendored = partial.join("vendor/github.com/modern-go/reflect2");
    fs::remove_dir_all(&vendored).ok()?;
    run("cp", &["-r", REFLECT, &vendored.display().to_string()]).then_some(())?;
    fs::rename(partial, tree).ok()
}

/// Generates the schemas of these packages with the source's own generator.
fn generate(into: &str, schemas: &[&str]) -> Option<()> {
    compile("./vendor/k8s.io/kube-openapi/cmd/openapi-gen", "openapi-gen")?;
    let within = "k8s.io/kubernetes";
    let inputs: Vec<String> = schemas.iter().map(|name| format!("{within}/vendor/k8s.io/{name}")).collect();
    let (root, program) = (folder().join("src"), folder().join("openapi-gen"));
    let arguments = ["-h", "/dev/null", "-O", "openapi", "-o", &root.display().to_string(), "-r", "/dev/null"];
    let named = ["-p", &format!("{within}/{into}"), "-i", &inputs.join(",")];
    go(&program, &[&arguments[..], &named].concat())
}

/// Compiles a package of the source.
fn compile(package: &str, name: &str) -> Option<()> {
    let program = folder().join(name).display().to_string();
    go(Path::new(GO), &["build", "-ldflags=-s -w", "-o", &program, package])
}

/// Runs a program that reads Go's packages: from the source only, whatever the user's settings are.
fn go(program: &Path, arguments: &[&str]) -> Option<()> {
    let (path, cache) = (folder(), folder().join("cache"));
    let set = [
        "-C".to_owned(),
        tree().display().to_string(),
        "GO111MODULE=off".to_owned(),
        "GOFLAGS=".to_owned(),
        "CGO_ENABLED=0".to_owned(),
        // The compiler takes a sixth less time if it collects its garbage less often.
        "GOGC=400".to_owned(),
        format!("GOPATH={}", path.display()),
        format!("GOCACHE={}", cache.display()),
        program.display().to_string(),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    run("env", &[&set, arguments].concat()).then_some(())
}

#[cfg(test)]
mod tests {
    use crate::{Folder, kubernetes};

    /// Also the command that compiles it for real mode.
    #[test]
    fn kubernetes_starts_and_starts_again() {
        let folder = Folder::new();
        let Some(mut server) = kubernetes(&folder, "Kubernetes' API server") else { return };
        server.restart();
    }
}
