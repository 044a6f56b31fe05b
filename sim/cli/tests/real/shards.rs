//! The manifests of `docs/shards/` and `docs/drill/`: the array of Slurm's on a Slurm of one machine, and all others by their schemas.

use super::common::{
    Folder, Process, SOON, eventually, say,
    servers::{self, find, free_port},
    text,
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Every run breaks a promise, so that there are artifacts to merge.
const SWEEP: &str = "steady --protocol redis-lease --bug mixed-locks --rate 20 --nodes 3 --seeds 0..3";

fn manifests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shards").canonicalize().expect("docs/shards")
}

/// Slurm's daemons for one node; all end with it.
struct Slurm {
    folder: Folder,
    // They end in this order, munged, which the others ask, last.
    _daemons: [Process; 3],
}

impl Slurm {
    /// `None`, with a message, if it is missing.
    fn start() -> Option<Slurm> {
        const WHAT: &str = "a sweep as a Slurm array";
        let (munged, slurmctld) = (find("munged", "munge", WHAT)?, find("slurmctld", "slurm-wlm", WHAT)?);
        let slurmd = find("slurmd", "slurm-wlm", WHAT)?;
        let folder = Folder::new();
        fs::create_dir(folder.path().join("state")).expect("a folder");
        let user = Command::new("id").arg("-un").output().expect("id starts");
        folder.write("slurm.conf", conf(&folder, text(&user.stdout).trim()));
        let key = folder.write("key", [7; 1024]);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).expect("it is ours");
        let mut munge = Command::new(munged);
        munge.args(["--foreground", "--force", &format!("--key-file={key}")]);
        for option in ["socket", "pid-file", "log-file", "seed-file"] {
            munge.arg(format!("--{option}={}", folder.file(&format!("munge.{option}"))));
        }
        let start = |mut command: Command, name: &str| {
            command.env("SLURM_CONF", folder.file("slurm.conf"));
            Process::start(command, &folder.path().join(name))
        };
        let munged = start(munge, "munged.log");
        eventually("munged's socket", SOON, || folder.path().join("munge.socket").exists().then_some(()));
        let mut controller = Command::new(slurmctld);
        controller.arg("-D");
        let mut node = Command::new(slurmd);
        node.args(["-D", "-N", "localhost"]);
        let daemons = [start(node, "slurmd.log"), start(controller, "slurmctld.log"), munged];
        let slurm = Slurm { folder, _daemons: daemons };
        eventually("an idle node", SOON, || {
            text(&slurm.run("sinfo", "-h -o %T").stdout).contains("idle").then_some(())
        });
        Some(slurm)
    }

    fn command(&self, program: &str, arguments: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("SLURM_CONF", self.folder.file("slurm.conf"));
        command.env("FENCEPOST", env!("CARGO_BIN_EXE_fencepost")).env_remove("CI_NODE_INDEX").env("NO_COLOR", "1");
        command.args(arguments.split(' '));
        command
    }

    fn run(&self, program: &str, arguments: &str) -> Output {
        servers::run(self.command(program, arguments))
    }

    /// Submits shards, and waits for their end; returns the highest exit code.
    fn array(&self, tasks: &str, shards: &str) -> Option<i32> {
        let script = manifests().join("sweep.sbatch").display().to_string();
        let options = format!("--wait --array={tasks} --cpus-per-task=1 {script} {SWEEP}");
        let mut sbatch = self.command("sbatch", &options);
        // The sweep is what takes its time: longer than `run` would wait for anything.
        sbatch.env("SHARDS", shards).status().expect("sbatch starts").code()
    }
}

/// Ports on loopback, no database, no control groups.
fn conf(folder: &Folder, user: &str) -> String {
    let port = || free_port().expect("a free port");
    let (at, controller, node) = (folder.path().display(), port(), port());
    format!(
        "ClusterName=fencepost\nSlurmctldHost=localhost\nSlurmUser={user}\nSlurmdUser={user}\n\
        SlurmctldPort={controller}\nSlurmdPort={node}\n\
        AuthType=auth/munge\nAuthInfo=socket={at}/munge.socket\nCredType=cred/munge\n\
        SlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd.pid\nSlurmdSpoolDir={at}/spool\n\
        StateSaveLocation={at}/state\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\nMpiDefault=none\n\
        SlurmdParameters=config_overrides\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
        SchedulerParameters=batch_sched_delay=0,sched_interval=1\n\
        NodeName=localhost CPUs=2\nPartitionName=all Nodes=ALL Default=YES State=UP\n"
    )
}

/// The files below a folder, without what a merged result has of its own: see docs/formats.md.
fn left(folder: &Path) -> BTreeMap<PathBuf, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let times: &[&str] = match path.file_name().and_then(|name| name.to_str()) {
                Some("summary.json") => &["\"wall_s\":", "\"jobs\":", "\"runs_per_s"],
                Some("junit.xml") => &["<testsuite name="],
                Some("report.json") => &["\"wall_ms\":"],
                Some("report.txt") => &["real time"],
                _ => &[],
            };
            let text = fs::read_to_string(&path).expect("text");
            let lines = text.split_inclusive('\n').filter(|line| !times.iter().any(|time| line.contains(time)));
            found.insert(path.strip_prefix(folder).expect("below it").to_owned(), lines.collect());
        }
    }
    found
}

#[test]
fn an_array_of_slurm_makes_what_one_process_makes() {
    let Some(slurm) = Slurm::start() else { return };
    let (fencepost, out) = (env!("CARGO_BIN_EXE_fencepost"), slurm.folder.path().join("out"));
    let whole = slurm.command(fencepost, &format!("sweep {SWEEP} --quiet --out out")).output().expect("it runs");
    assert_eq!(whole.status.code(), Some(1), "{}", text(&whole.stderr));
    let expected = left(&out);
    fs::remove_dir_all(&out).expect("it can be removed");

    assert_eq!(slurm.array("1-3", ""), Some(1), "a finding, and nothing else went wrong");
    // One is lost, and submitted again alone.
    fs::remove_dir_all(slurm.folder.path().join("shards/2-of-3")).expect("a shard");
    let merge = |code: i32| {
        let merged = slurm.run(fencepost, "merge shards --quiet --out out");
        assert_eq!(merged.status.code(), Some(code), "{}", text(&merged.stderr));
        text(&merged.stderr)
    };
    assert!(merge(64).contains("shard 2/3 is missing"));
    assert_eq!(slurm.array("2", ""), Some(64), "an array of task 2 alone does not say of how many");
    assert_eq!(slurm.array("2", "3"), Some(1));
    merge(1);
    let found = left(&out);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert!(found.keys().any(|name| name.ends_with("capsule.json")), "{:?}", found.keys());
    for (name, text) in &expected {
        assert_eq!(&found[name], text, "{}", name.display());
    }
}

#[test]
fn a_shard_on_a_full_disk_may_be_tried_again_and_leaves_nothing() {
    let folder = Folder::new();
    // The mount is seen in folders that are entered afterwards.
    let script = format!(
        "mount -t tmpfs -o size=300k none \"$DIR\" || exit 125; cd \"$DIR\"\n\
        \"$FENCEPOST\" sweep {SWEEP} --shard 1/2 --out 1 --quiet; echo $?; ls -A 1"
    );
    let mut disk = Command::new("unshare");
    disk.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).env("DIR", folder.path());
    let ended = disk.env("FENCEPOST", env!("CARGO_BIN_EXE_fencepost")).output().expect("unshare starts");
    if !matches!(ended.status.code(), Some(0)) {
        return say("skipped: this system lets nobody mount a small disk");
    }
    assert_eq!(text(&ended.stdout), "70\n", "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("No space left on device"), "{}", text(&ended.stderr));
}

/// Prints nothing, or what is wrong with the manifests in the folder that it is given.
const VALIDATE: &str = r#"
import json, subprocess, sys
from pathlib import Path
import botocore.session, botocore.validate, kubernetes_validate, yaml
at = Path(sys.argv[1])
workflow = [sys.executable, "-m", "check_jsonschema", "--quiet", "--builtin-schema", "vendor.github-workflows", at / "github.yml"]
assert subprocess.run(workflow).returncode == 0
for manifest in [*yaml.safe_load_all((at / "job.yaml").read_text()), *yaml.safe_load_all((at / "drill.yaml").read_text()), *yaml.safe_load_all((at / "sidecar.yaml").read_text())]:
    kubernetes_validate.validate(manifest, "1.33", strict=True)
batch = botocore.session.get_session().get_service_model("batch")
for name, operation in [("definition", "RegisterJobDefinition"), ("submit", "SubmitJob")]:
    shape = batch.operation_model(operation).input_shape
    found = botocore.validate.ParamValidator().validate(json.loads((at / f"batch-{name}.json").read_text()), shape)
    assert not found.has_errors(), found.generate_report()
"#;

#[test]
fn every_manifest_is_valid_by_its_schema() {
    const WHAT: &str = "the schemas of the manifests";
    let packages = ["botocore", "kubernetes-validate==1.37.0", "check-jsonschema"];
    let modules = "botocore, kubernetes_validate, check_jsonschema";
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schemas");
    let Some(packages) = servers::python(folder, &packages, modules, WHAT) else { return };
    let python = |arguments: &[&str]| Command::new("python3").env("PYTHONPATH", &packages).args(arguments).output();
    let valid = |folder: &Path| python(&["-c", VALIDATE, &folder.display().to_string()]).expect("python3 starts");
    let read = |path: PathBuf| fs::read_to_string(path).expect("a manifest");
    let others = [("drill.yaml", "../drill/job.yaml"), ("sidecar.yaml", "../sidecar.yaml")];
    let altered = |file: &str, right: &str, wrong: &str| {
        let folder = Folder::new();
        let change = |name: &str, text: String| if name == file { text.replace(right, wrong) } else { text };
        for name in ["github.yml", "job.yaml", "batch-definition.json", "batch-submit.json"] {
            folder.write(name, change(name, read(manifests().join(name))));
        }
        for (name, path) in others {
            folder.write(name, change(name, read(manifests().join(path))));
        }
        folder
    };
    let checked = valid(altered("", "", "").path());
    assert!(checked.status.success(), "{}{}", text(&checked.stdout), text(&checked.stderr));
    // The check is one that can fail, for each of them.
    for (file, right, wrong) in [
        ("github.yml", "fail-fast", "fail-fats"),
        ("job.yaml", "backoffLimitPerIndex", "backOffLimitPerIndex"),
        ("batch-definition.json", "evaluateOnExit", "evaluatesOnExit"),
        ("batch-submit.json", "arrayProperties", "arrayProperty"),
        ("drill.yaml", "serviceAccountName", "serviceAcountName"),
        ("drill.yaml", "verbs", "verb"),
        ("sidecar.yaml", "volumeMounts", "volumeMount"),
    ] {
        assert!(!valid(altered(file, right, wrong).path()).status.success(), "{file} with {wrong}");
    }
}
