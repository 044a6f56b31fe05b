//! A copy of the sources with every defect in it, and its build.

use crate::list::{self, Defect};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

const SOURCES: [&str; 8] = ["Cargo.toml", "Cargo.lock", "protocols", "scenarios", "reports", "sim", "seeds", "tools"];
/// The copy's build profile: dev builds ten times faster than release and runs half as fast.
const PROFILE: &str = "dev";
/// The environment variable that switches a defect on.
pub const SWITCH: &str = "FENCEPOST_DEFECT";
/// The environment variable that names the baseline to use instead of the committed one, so that the clean code needs
/// no second build.
pub const BASELINE: &str = "FENCEPOST_DEFECT_BASELINE";
/// The environment variable that names a file to create when the active defect's code runs.
pub const MET: &str = "FENCEPOST_DEFECT_MET";

pub struct Tree {
    pub root: PathBuf,
    pub work: PathBuf,
}

impl Tree {
    /// The repository that this example was built from.
    pub fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned();
        let work = root.join("target/defects");
        Tree { root, work }
    }

    pub fn list(&self) -> PathBuf {
        self.root.join("sim/tests/defects")
    }

    fn copy(&self) -> PathBuf {
        self.work.join("tree")
    }

    /// The baseline for sweeps with a defect on.
    pub fn baseline(&self) -> PathBuf {
        self.work.join("baseline.json")
    }

    fn built(&self) -> PathBuf {
        self.work.join("build")
    }

    /// The command, built with every defect.
    pub fn binary(&self) -> PathBuf {
        self.built().join("debug/fencepost")
    }

    /// Splices the defects into the sources that have any; other sources are not returned.
    ///
    /// # Errors
    /// One sentence for each defect that does not apply.
    pub fn splice(&self, defects: &[Defect]) -> Result<BTreeMap<String, String>, Vec<String>> {
        let mut by_file = BTreeMap::<&str, Vec<(usize, &Defect)>>::new();
        for (number, defect) in defects.iter().enumerate() {
            by_file.entry(&defect.file).or_default().push((number, defect));
        }
        let (mut spliced, mut wrong) = (BTreeMap::new(), Vec::new());
        for (file, defects) in by_file {
            match fs::read_to_string(self.root.join(file)) {
                Ok(text) => match list::splice(&text, &defects) {
                    Ok(text) => drop(spliced.insert(file.to_owned(), text)),
                    Err(why) => wrong.extend(why),
                },
                Err(error) => wrong.extend(defects.iter().map(|(_, d)| format!("{}: {file}: {error}", d.id))),
            }
        }
        if wrong.is_empty() { Ok(spliced) } else { Err(wrong) }
    }

    /// Copies the sources with the defects in them. Writes only changed files, so that cargo rebuilds only those.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn write(&self, defects: &[Defect], mut spliced: BTreeMap<String, String>) -> io::Result<()> {
        let lib = "protocols/src/lib.rs";
        let text = match spliced.remove(lib) {
            Some(text) => text,
            None => fs::read_to_string(self.root.join(lib))?,
        };
        // So that every crate reaches the switch by the same path.
        spliced.insert(lib.to_owned(), text + "\n#[doc(hidden)]\npub mod defect;\nextern crate self as protocols;\n");
        let figures = "sim/src/baseline/committed.rs";
        let text = match spliced.remove(figures) {
            Some(text) => text,
            None => fs::read_to_string(self.root.join(figures))?,
        };
        let read = format!("std::env::var({BASELINE:?}).ok().and_then(|path| std::fs::read_to_string(path).ok())");
        let given = format!("from_str(&{read}.unwrap_or_else(|| COMMITTED.to_owned()))");
        spliced.insert(figures.to_owned(), text.replace("from_str(COMMITTED)", &given));
        spliced.insert("protocols/src/defect.rs".to_owned(), switch(defects));
        // `sim-cli`'s build script watches this file; if it were missing, every build would rebuild the crate.
        spliced.insert(".git/logs/HEAD".to_owned(), String::new());
        let mut files = BTreeSet::new();
        for source in SOURCES {
            files_below(&self.root, Path::new(source), &mut files)?;
        }
        files.extend(spliced.keys().map(PathBuf::from));
        let mut stale = BTreeSet::new();
        if self.copy().is_dir() {
            files_below(&self.copy(), Path::new(""), &mut stale)?;
        }
        for file in stale.difference(&files) {
            fs::remove_file(self.copy().join(file))?;
        }
        for file in files {
            let bytes = match spliced.get(&*file.to_string_lossy()) {
                Some(text) => text.clone().into_bytes(),
                None => fs::read(self.root.join(&file))?,
            };
            let to = self.copy().join(&file);
            if fs::read(&to).is_ok_and(|there| there == bytes) {
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&to, bytes)?;
        }
        Ok(())
    }

    /// Cargo, run in the copy. The repository's own configuration, in a parent folder, applies too.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        command(arguments, &self.built(), &self.copy())
    }

    /// Cargo, run in a package of the copy that is not of its workspace, so that the package's own configuration applies.
    /// Such packages have the same flags, so one target folder serves them all.
    pub fn cargo_in(&self, folder: &str, arguments: &[&str]) -> Command {
        command(arguments, &self.built().join("plain"), &self.copy().join(folder))
    }

    /// Builds the command with the features that the rest of the workspace uses, so that dependencies are built once.
    /// Warnings are suppressed: defective code causes many.
    ///
    /// # Errors
    /// It does not compile: a defect's two versions do not fit in one place.
    pub fn build(&self) -> Result<(), String> {
        let mut cargo = self.cargo(&["build", "--workspace", "--profile", PROFILE, "--bin", "fencepost", "--quiet"]);
        let output = cargo.output().map_err(|e| format!("cargo: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_error = |part: &&str| part.starts_with("error");
        let errors: Vec<&str> = text.split("\n\n").filter(is_error).collect();
        Err(format!("the copy in {} does not compile:\n{}", self.copy().display(), errors.join("\n\n")))
    }
}

fn command(arguments: &[&str], built: &Path, folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    cargo.args(arguments).arg("--target-dir").arg(built).current_dir(folder);
    cargo
}

fn files_below(root: &Path, path: &Path, into: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let full = root.join(path);
    if !full.is_dir() {
        into.insert(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(full)? {
        files_below(root, &path.join(entry?.file_name()), into)?;
    }
    Ok(())
}

fn switch(defects: &[Defect]) -> String {
    let ids: Vec<String> = defects.iter().map(|d| format!("    {:?},\n", d.id)).collect();
    format!(
        "use std::sync::{{OnceLock, atomic::{{AtomicBool, Ordering}}}};

const IDS: [&str; {}] = [
{}];
static ON: OnceLock<usize> = OnceLock::new();
static MET: AtomicBool = AtomicBool::new(false);

#[inline]
pub fn on(defect: usize) -> bool {{
    let on = *ON.get_or_init(read) == defect;
    if on && !MET.load(Ordering::Relaxed) {{
        meet();
    }}
    on
}}

#[cold]
fn meet() {{
    if !MET.swap(true, Ordering::Relaxed) {{
        if let Ok(path) = std::env::var({MET:?}) {{
            let _ = std::fs::write(path, \"\");
        }}
    }}
}}

fn read() -> usize {{
    match std::env::var({SWITCH:?}) {{
        Err(_) => usize::MAX,
        Ok(id) => IDS.iter().position(|known| *known == id).unwrap_or_else(|| panic!(\"no defect `{{id}}`\")),
    }}
}}
",
        ids.len(),
        ids.concat()
    )
}
