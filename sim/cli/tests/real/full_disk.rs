//! A disk that is full while a store runs, and when it starts again.

use super::common::{Folder, SOON, eventually, free_address, program, say, text};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
};

/// A disk of its own for the store, which is filled once the store serves. Before the store starts again, what its file
/// does not use becomes holes, and the disk has 64 KiB left: enough to open the file, but not to go on with it. The
/// exit codes are on standard output.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=3m none "$DIR" || exit 125
"$PROGRAM" real store --listen "$LISTEN" --data "$DIR/store.redb" --insecure 2> "$LOG.1" & pid=$!
until grep -q 'store serves' "$LOG.1"; do sleep 0.05; done
cat /dev/zero > "$DIR/rest" 2>/dev/null
touch "$LOG.full"
wait $pid; echo $?
fallocate --dig-holes "$DIR/store.redb"
cat /dev/zero >> "$DIR/rest" 2>/dev/null
truncate -s -65536 "$DIR/rest"
timeout 5 "$PROGRAM" real store --listen "$LISTEN" --data "$DIR/store.redb" --insecure 2> "$LOG.2"; echo $?
"#;

/// Has the store decide on requests until it hangs up.
fn write_until_it_ends(store: SocketAddr) {
    let stream = TcpStream::connect(store).expect("the store listens");
    let (mut to, mut from) = (&stream, BufReader::new(&stream));
    for token in 1.. {
        let line = format!(r#"{{"seal":{{"resource":"sequence","node":"n1","generation":1,"token":{token}}}}}"#);
        let _ = writeln!(to, "{line}");
        if !from.read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0) {
            return;
        }
    }
}

#[test]
fn a_store_whose_disk_is_full_says_which_file_and_does_not_claim_to_serve() {
    let (folder, address) = (Folder::new(), free_address());
    let file = |name: &str| folder.path().join(name);
    std::fs::create_dir(file("disk")).expect("a folder");
    let mut disk = Command::new("unshare");
    disk.args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT]).env("DIR", file("disk"));
    disk.env("PROGRAM", program().get_program()).env("LISTEN", address.to_string()).env("LOG", file("log"));
    let mut disk = disk.stdout(Stdio::piped()).spawn().expect("unshare starts");
    let ready = eventually("the disk is full", SOON, || {
        let ended = disk.try_wait().expect("it can be asked").is_some();
        (ended || file("log.full").exists()).then_some(!ended)
    });
    if !ready {
        return say("skipped: this system lets nobody mount a small disk");
    }
    write_until_it_ends(address);
    let codes = disk.wait_with_output().expect("it ends");
    assert_eq!(text(&codes.stdout), "70\n70\n");
    let logs = [1, 2].map(|n| std::fs::read_to_string(file(&format!("log.{n}"))).expect("a log"));
    let full = format!("the store {}", file("disk/store.redb").display());
    for log in &logs {
        assert!(log.contains(&full) && log.contains("No space left on device"), "{log}");
    }
    // A line of the log has its time.
    assert!(logs[0].lines().any(|line| line.contains("ERROR") && line.contains(&full)), "{}", logs[0]);
    assert!(!logs[1].contains("store serves"), "{}", logs[1]);
}
