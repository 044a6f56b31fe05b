//! Drills whose members are containers, of Podman and of Docker, each with images and containers of the test's own.

use super::{
    common::{Folder, Process, SOON, eventually, program, servers, skip, text},
    drill_ends::left,
    drill_faults::{beside, with},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

/// An engine, and what makes it use the folder.
struct Engine {
    name: &'static str,
    folder: Folder,
    variables: Vec<(&'static str, String)>,
    daemon: Option<Process>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It ends what it has started.
        self.daemon.iter_mut().for_each(|daemon| _ = daemon.end());
    }
}

/// Podman with the runtime that knows every version of control groups, and without limits that a machine may forbid.
const CONTAINERS: &str = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[engine]\n\
    cgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\n";

impl Engine {
    /// `None`, with a message, if it is missing, or runs no containers on this machine.
    fn podman(what: &str) -> Option<Engine> {
        let found = [servers::find("podman", "podman", what), servers::find("runc", "runc", what)];
        let folder = found.iter().all(Option::is_some).then(Folder::new)?;
        let (images, running) = (folder.file("images"), folder.file("running"));
        let storage = format!("[storage]\ndriver = \"vfs\"\ngraphroot = \"{images}\"\nrunroot = \"{running}\"\n");
        let variables = vec![
            ("CONTAINERS_STORAGE_CONF", folder.write("storage.conf", storage)),
            ("CONTAINERS_CONF", folder.write("containers.conf", CONTAINERS)),
            // A Docker of this machine's is not asked.
            ("DOCKER_HOST", format!("unix://{}", folder.file("none"))),
        ];
        Engine { name: "podman", folder, variables, daemon: None }.that_works(what)
    }

    /// The same, of a daemon of its own, whose mounts end with it.
    fn docker(what: &str) -> Option<Engine> {
        let found = [servers::find("dockerd", "docker.io", what), servers::find("docker", "docker.io", what)];
        let (daemon, folder) = (found.into_iter().next()??, Folder::new());
        let socket = format!("unix://{}", folder.file("socket"));
        let mut command = Command::new("unshare");
        command.arg("--mount").arg(daemon).args(["--storage-driver", "vfs", "--bridge", "none", "--iptables=false"]);
        command.args(["--ip6tables=false", "--host", &socket, "--default-ulimit", "nofile=1024:1024"]);
        for (option, file) in [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "pid")] {
            command.args([option, &folder.file(file)]);
        }
        let daemon = Process::start(command, &folder.path().join("dockerd.log"));
        let mut engine =
            Engine { name: "docker", folder, variables: vec![("DOCKER_HOST", socket)], daemon: Some(daemon) };
        eventually("an answer of Docker, or its end", SOON, || {
            let ended = engine.daemon.as_mut().is_some_and(Process::has_ended);
            (ended || engine.said(&["version"]).status.success()).then_some(())
        });
        engine.that_works(what)
    }

    /// With the image `shell`, of nothing but a shell.
    fn that_works(self, what: &str) -> Option<Engine> {
        let busybox = Path::new("/bin/busybox");
        servers::find_file(busybox, "busybox-static", what)?;
        let root = self.folder.path().join("root/bin");
        fs::create_dir_all(&root).expect("a folder");
        fs::copy(busybox, root.join("busybox")).expect("a copy");
        for name in ["sh", "date", "sleep", "stat", "touch", "wget"] {
            std::os::unix::fs::symlink("busybox", root.join(name)).expect("a link");
        }
        let archive = self.folder.file("root.tar");
        let packed = Command::new("tar").args(["-C", &self.folder.file("root"), "-cf", &archive, "."]).status();
        assert!(packed.is_ok_and(|status| status.success()), "tar");
        let tried =
            [&["import", &archive, "shell"][..], &["run", "--rm", "--network", "host", "shell", "sh", "-c", "true"]];
        for words in tried {
            let done = self.said(words);
            if !done.status.success() {
                let why =
                    format!("{} runs no containers on this machine: {}", self.name, text(&done.stderr).trim_end());
                skip(what, &why);
                return None;
            }
        }
        Some(self)
    }

    fn said(&self, words: &[&str]) -> Output {
        self.environment(Command::new(self.name)).args(words).output().expect("the engine starts")
    }

    fn environment(&self, mut command: Command) -> Command {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn drill(&self, file: &str, scenario: &str, to: &str) -> Command {
        let mut command = self.environment(program());
        command.args(["drill", file, scenario, "--dir", to]);
        command
    }

    /// The exit code and the report of one drill, after which no container is left.
    fn drilled(&self, file: &str, scenario: &str, folder: &Folder) -> (Option<i32>, String) {
        let done = self.drill(file, scenario, &folder.file("drill")).output().expect("it starts");
        assert_eq!(self.containers(), "");
        (done.status.code(), text(&done.stdout) + &text(&done.stderr))
    }

    /// The names of all containers, also of those that have ended.
    fn containers(&self) -> String {
        text(&self.said(&["ps", "--all", "--format", "{{.Names}}"]).stdout)
    }
}

/// The service of the example `etcd-go` as an image, made by the example's `setup`.
fn etcd_go(engine: impl Fn(&str) -> Option<Engine>) {
    let what = "the drill of an image";
    let package = Path::new("/usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency");
    let found = [servers::find("etcd", "etcd-server", what), servers::find("go", "golang-go", what)];
    let library = servers::find_file(package, "golang-etcd-server-dev", what);
    if library.is_none() || found.iter().any(Option::is_none) {
        return;
    }
    let Some(engine) = engine(what) else { return };
    let (folder, script) = (Folder::new(), beside("etcd-go", "image.sh"));
    let file = with("etcd-go", "container.toml", &[("image.sh", &script)], &folder);
    let (code, said) = engine.drilled(&file, "gc-pause", &folder);
    assert!(code == Some(1) && said.contains("no_stale_write"), "{code:?}\n{said}");
    assert!(said.contains("the members are containers of fencepost-billing"), "{said}");
    let fenced =
        [("image.sh", script.as_str()), ("http = {}", "http = { fence = true }"), ("{store}\"", "{store} -fence\"")];
    let file = with("etcd-go", "container.toml", &fenced, &folder);
    let (code, said) = engine.drilled(&file, "gc-pause,clean-kill,graceful-step-down,isolate-leader", &folder);
    assert!(code == Some(0) && said.contains("4 runs, all of them pass"), "{code:?}\n{said}");
    assert!(said.contains("the stale write was refused"), "{said}");
}

#[test]
fn an_image_drilled_with_podman() {
    etcd_go(Engine::podman);
}

#[test]
fn an_image_drilled_with_docker() {
    etcd_go(Engine::docker);
}

/// The second member leads once the first one's file has been old for long. The leader writes in a process that its first process has
/// started.
const BY_A_FILE: &str = r#"
[fleet]
members = 2
image = "shell"
options = "--user 1234:1234 --env BEAT={dir}/beat"
env = { SAYS = "wrote" }
command = ["sh", "-c", """
old() { [ -e $BEAT ] && [ $(( $(date +%s) - $(stat -c %Y $BEAT) )) -ge 3 ]; }
say() { echo $* >> {data}/service.log; }
lead() { say {node} leads; (while touch $BEAT; do say $SAYS; sleep 0.05; done) & wait; }
[ {number} = 1 ] && [ ! -e $BEAT ] && lead
until old; do sleep 0.1; done
lead
"""]
lease = "3s"
[store]
log = { accepted = "wrote" }
[log]
file = "{data}/service.log"
elected = "{node} leads"
deposed = []
"#;

/// All processes of a container are stopped and killed, and it has folders, variables and options as the file says.
fn is_stopped_and_killed_as_a_whole(engine: impl Fn(&str) -> Option<Engine>) {
    let Some(engine) = engine("the drill of a container with several processes") else { return };
    for (scenario, ends_with, says) in [("gc-pause-between-writes", 1, "no_stale_write"), ("clean-kill", 0, "PASS")] {
        let folder = Folder::new();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
        let (code, said) = engine.drilled(&folder.write("fleet.toml", BY_A_FILE), scenario, &folder);
        assert!(code == Some(ends_with) && said.contains(says), "{scenario}: {code:?}\n{said}");
    }
    let folder = Folder::new();
    let wrong = |from: &str, to: &str, scenario: &str| {
        assert!(BY_A_FILE.contains(from), "{from}");
        let (code, said) = engine.drilled(&folder.write("wrong.toml", BY_A_FILE.replace(from, to)), scenario, &folder);
        assert_eq!(code, Some(64), "{said}");
        said
    };
    let said = wrong("\"shell\"", "\"none-such\"", "steady");
    assert!(
        said.contains("the image `none-such` is not here") && said.contains(&format!("{} says: ", engine.name)),
        "{said}"
    );
    let said = wrong("\"sh\", \"-c\"", "\"none-such\"", "steady");
    assert!(said.contains("ends again and again") && said.contains("none-such"), "{said}");
    assert!(
        wrong("\"wrote\"", "\"wrote\"", "clock-step").contains("`clock-step` cannot be played: clocks are moved by")
    );
}

#[test]
fn podman_s_containers_are_stopped_and_killed_as_a_whole() {
    is_stopped_and_killed_as_a_whole(Engine::podman);
}

#[test]
fn docker_s_containers_are_stopped_and_killed_as_a_whole() {
    is_stopped_and_killed_as_a_whole(Engine::docker);
}

/// Each says that it leads, and writes, in a process of its own.
const EVERYBODY: &str = r#"
[fleet]
image = "shell"
command = "sh -c '(while wget -q -O /dev/null --post-data= http://{store}/; do sleep 0.05; done) & echo MARK leads; wait'"
lease = "1s"
[store]
http = {}
[log]
elected = "leads"
deposed = []
"#;

/// Nothing is left of a drill that is killed, or interrupted, while its containers run or are being made.
fn nothing_is_left(engine: impl Fn(&str) -> Option<Engine>) {
    let Some(engine) = engine("the end of a drill of containers") else { return };
    for (signal, once_one_runs) in [("KILL", true), ("INT", true), ("KILL", false), ("KILL", false)] {
        let folder = Folder::new();
        let mark = format!("marked-{}-{}-{signal}", engine.name, std::process::id());
        let file = folder.write("fleet.toml", EVERYBODY.replace("MARK", &mark));
        let log = folder.path().join("drill.log");
        let mut drill = Process::start(engine.drill(&file, "steady", &folder.file("drill")), &log);
        let member = folder.path().join("drill/steady/0/n3.log");
        let said = || fs::read_to_string(&member).unwrap_or_default();
        match once_one_runs {
            true => eventually("a member runs", SOON, || said().contains("leads").then_some(())),
            false => eventually("a member is started", SOON, || (!left(&[&mark]).is_empty()).then_some(())),
        }
        drill.signal(signal);
        drill.wait(SOON);
        // First those who would start containers, then what they have started.
        eventually("no process is left", SOON, || left(&[&mark]).is_empty().then_some(()));
        assert_eq!(engine.containers(), "", "{signal}");
    }
}

#[test]
fn nothing_is_left_of_podman_s_containers() {
    nothing_is_left(Engine::podman);
}

#[test]
fn nothing_is_left_of_docker_s_containers() {
    nothing_is_left(Engine::docker);
}

#[test]
fn without_an_engine_that_is_said() {
    let folder = Folder::new();
    let (file, to) = (folder.write("fleet.toml", EVERYBODY), folder.file("drill"));
    let done = program().env("PATH", folder.path()).args(["drill", &file, "steady", "--dir", &to]).output();
    let done = done.expect("it starts");
    let why = "fencepost: the members are containers of `shell`, and neither `docker` nor `podman` is installed: `apt-get install podman`\n";
    let said: String = text(&done.stderr).lines().filter(|line| !line.contains("left out")).collect();
    assert_eq!((done.status.code(), said + "\n"), (Some(64), why.to_owned()));
}
