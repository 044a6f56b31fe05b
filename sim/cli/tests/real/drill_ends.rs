//! What is left of a drill that is killed or interrupted: processes, ports, and files outside the run's folder.

use super::{
    common::{Folder, Process, SOON, eventually, program, servers},
    drills::everybody,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Whose command line has the mark, or the folder.
pub fn left(marks: &[&str]) -> Vec<String> {
    let lines = processes().into_iter().filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| marks.iter().any(|mark| line.contains(mark))).collect()
}

fn processes() -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process's parent, and when it began, which no other one of that number has; `None` once it has ended.
fn parent_and_start(pid: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    (fields[0] != "Z").then(|| Some((fields[1].parse().ok()?, fields[19].parse().ok()?)))?
}

/// The inodes of all sockets that are listened on, with their addresses.
fn listening() -> BTreeMap<String, String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines()).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.get(3) == Some(&"0A")).map(|row| (row[9].to_owned(), row[1].to_owned())).collect()
}

/// What a drill's processes have.
#[derive(Debug)]
struct Traces {
    processes: BTreeMap<u32, u64>,
    /// Inodes of the sockets that they listen on.
    sockets: BTreeSet<String>,
    /// Files that they have made outside the test's folder, and have open or mapped.
    files: BTreeSet<PathBuf>,
}

impl Traces {
    /// Of `root` and all that it has started since then; `inside` is the test's folder.
    fn of(root: u32, since: SystemTime, inside: &Path) -> Traces {
        let all: BTreeMap<u32, (u32, u64)> =
            processes().into_iter().filter_map(|pid| Some((pid, parent_and_start(pid)?))).collect();
        let is_of_it = |pid: &u32| {
            std::iter::successors(Some(*pid), |at| all.get(at).map(|(parent, _)| *parent)).any(|above| above == root)
        };
        let processes: BTreeMap<u32, u64> =
            all.iter().filter(|(pid, _)| is_of_it(pid)).map(|(pid, (_, start))| (*pid, *start)).collect();
        let (mut opened, mut files) = (Vec::new(), BTreeSet::new());
        for pid in processes.keys() {
            let handles = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            opened.extend(handles.filter_map(|handle| fs::read_link(handle.path()).ok()));
            let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            opened.extend(maps.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..]))));
        }
        let listening = listening();
        let inode = |path: &PathBuf| Some(path.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
        let sockets = opened.iter().filter_map(inode).filter(|inode| listening.contains_key(inode)).collect();
        for path in opened.into_iter().filter(|path| path.is_absolute() && !path.starts_with(inside)) {
            let is_new = fs::metadata(&path)
                .is_ok_and(|data| data.is_file() && data.modified().is_ok_and(|modified| modified >= since));
            if is_new && !path.starts_with("/proc") {
                files.insert(path);
            }
        }
        Traces { processes, sockets, files }
    }

    fn left(&self) -> Vec<String> {
        let lives = |(pid, start): (&u32, &u64)| {
            parent_and_start(*pid).is_some_and(|(_, began)| began == *start).then(|| format!("process {pid}"))
        };
        let listening = listening();
        let listened = self.sockets.iter().filter_map(|inode| Some(format!("port {}", listening.get(inode)?)));
        let files = self.files.iter().filter(|file| file.exists()).map(|file| file.display().to_string());
        self.processes.iter().filter_map(lives).chain(listened).chain(files).collect()
    }
}

#[test]
fn nothing_is_left_of_a_drill_that_is_killed_or_interrupted() {
    let what = "the end of a drill";
    let found = [
        servers::find("redis-server", "redis-server", what),
        servers::find("initdb", "postgresql", what),
        servers::find("curl", "curl", what),
    ];
    if found.iter().any(Option::is_none) {
        return;
    }
    for (signal, service) in [("KILL", "redis"), ("INT", "redis"), ("KILL", "postgres"), ("INT", "postgres")] {
        let (folder, since) = (Folder::new(), SystemTime::now());
        let mark = format!("marked-{}-{signal}", std::process::id());
        let (file, to) = (everybody(&folder, &mark), folder.file("drill"));
        let text = fs::read_to_string(&file).expect("written").replace("redis = {}", &format!("{service} = {{}}"));
        fs::write(&file, text).expect("it is written again");
        // Where programs put files that they make without being told where.
        let stray = ["temporary", "current"].map(|name| folder.path().join(name));
        stray.iter().for_each(|stray| fs::create_dir(stray).expect("a folder"));
        let mut command = program();
        command.args(["drill", file.to_str().expect("a name"), "steady", "--dir", &to]);
        command.env("TMPDIR", &stray[0]).current_dir(&stray[1]);
        let mut drill = Process::start(command, &folder.path().join("drill.log"));
        let member = folder.path().join("drill/steady/0/n3.log");
        eventually("a member runs", SOON, || fs::read_to_string(&member).ok().filter(|said| said.contains("leads")));
        let marks = [mark.as_str(), to.as_str()];
        assert!(left(&marks).len() > 4, "{:?}", left(&marks));
        // A proxy for each member's link to the service and one to the store, the store, and the service; not all members may run yet.
        let all = |traces: &Traces| traces.processes.len() > 8 && traces.sockets.len() >= 8;
        let traces = || Some(Traces::of(drill.pid(), since, folder.path())).filter(all);
        let traces = eventually("everything runs", SOON, traces);
        drill.signal(signal);
        drill.wait(SOON);
        eventually("no process is left", SOON, || left(&marks).is_empty().then_some(()));
        eventually(&format!("nothing is left of {traces:?}"), SOON, || traces.left().is_empty().then_some(()));
        for stray in &stray {
            assert_eq!(fs::read_dir(stray).expect("the folder").count(), 0, "{}", stray.display());
        }
    }
}
