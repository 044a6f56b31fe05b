use super::super::{Format, Judged, LogError, Options, PRESETS, Verdict};
use std::{fs, path::PathBuf};

/// Judges files of a folder of the test's own.
fn judged(test: &str, files: &[(&str, &str)], options: &Options) -> Result<Judged, LogError> {
    let folder = std::env::temp_dir().join(format!("fencepost-text-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).expect("a file"));
    let judged = options.judge(&paths);
    fs::remove_dir_all(&folder).expect("the folder is ours");
    judged
}

fn verdict(test: &str, files: &[(&str, &str)], options: &Options) -> (Verdict, Vec<String>) {
    let judged = judged(test, files, options).unwrap_or_else(|why| panic!("{test}: {why}"));
    let violated = judged.judgement.violated().map(str::to_owned).collect();
    (judged.judgement.verdict, violated)
}

fn why(test: &str, files: &[(&str, &str)], options: &Options) -> String {
    judged(test, files, options).err().expect("it cannot be judged").to_string()
}

const TWO: [&str; 1] = ["dual_belief"];

#[test]
fn logs_of_known_programs_are_judged_as_they_are() {
    let kafka = |resigns: &str| {
        let one = format!(
            "[2023-03-01 10:00:00,123] INFO [Controller id=1] 1 successfully elected as the controller. Epoch incremented to 5 \
             and epoch zk version is now 5 (kafka.controller.KafkaController)\n\
             \tat a.stack.Trace(Of.java:12)\n\
             [{resigns}] DEBUG [Controller id=1] Resigning (kafka.controller.KafkaController)\n"
        );
        let two = "[2023-03-01 10:00:18,500] INFO [Controller id=2] 2 successfully elected as the controller. Epoch incremented \
                   to 6 and epoch zk version is now 6 (kafka.controller.KafkaController)\n";
        verdict("kafka", &[("controller-1.log", &one), ("controller-2.log", two)], &Options::default())
    };
    assert_eq!(kafka("2023-03-01 10:00:33,000"), (Verdict::Safety, TWO.map(str::to_owned).to_vec()));
    assert_eq!(kafka("2023-03-01 10:00:17,000").0, Verdict::Pass);

    // Neither names itself in what it logs, but the files do.
    let keepalived = |ends: &str| {
        let one = format!(
            "Jan 12 03:10:01 lb1 Keepalived_vrrp[1201]: (VI_1) Entering MASTER STATE\n\
             Jan 12 03:10:44 lb1 Keepalived_vrrp[1201]: A thread timer expired 4.701331 seconds ago\n\
             Jan 12 {ends} lb1 Keepalived_vrrp[1201]: (VI_1) Entering BACKUP STATE\n"
        );
        let two = "Jan 12 03:10:43 lb2 Keepalived_vrrp[1188]: (VI_1) Entering MASTER STATE\n";
        verdict("keepalived", &[("node1.log", &one), ("node2.log", two)], &Options::default())
    };
    assert_eq!(keepalived("03:10:49").0, Verdict::Safety);
    assert_eq!(keepalived("03:10:41").0, Verdict::Pass);
}

#[test]
fn leases_of_two_names_are_two_leaderships() {
    let file = |lease: &str, at: u32| {
        format!(
            "I0501 10:00:{at:02}.000000       1 leaderelection.go:257] attempting to acquire leader lease kube-system/{lease}...\n\
             I0501 10:00:{at:02}.100000       1 leaderelection.go:271] successfully acquired lease kube-system/{lease}\n\
             E0501 10:00:50.000000       1 leaderelection.go:429] failed to renew lease kube-system/{lease}: context deadline\n"
        )
    };
    let of = |one: &str, other: &str| {
        let (one, other) = (file(one, 1), file(other, 20));
        verdict("client-go", &[("a.log", &one), ("b.log", &other)], &Options::default())
    };
    assert_eq!(of("scheduler", "scheduler").0, Verdict::Safety);
    assert_ne!(of("scheduler", "controller").0, Verdict::Safety);

    // The same in the words of structured logs, which are not recognised: JSON might have writes, too.
    let line = |at: &str, what: &str, lock: &str| {
        format!(r#"{{"level":"info","ts":"2026-05-01T10:00:{at}Z","msg":"{what}","lock":"kube-system/{lock}"}}"#) + "\n"
    };
    let of = |one: &str, other: &str| {
        let file = |lock: &str, at: &str| {
            line(at, "Successfully acquired lease", lock) + &line("50", "Failed to renew lease", lock)
        };
        let (one, other) = (file(one, "01"), file(other, "20"));
        let options = Options::default().preset("client-go").expect("a preset").map("t_us", "ts").ignore(&["level"]);
        verdict("zap", &[("a.log", &one), ("b.log", &other)], &options)
    };
    assert_eq!(of("scheduler", "scheduler").0, Verdict::Safety);
    assert_ne!(of("scheduler", "controller").0, Verdict::Safety);
}

/// Consul's Raft names its node by address, and Consul by nothing; what elects for itself is not judged together.
#[test]
fn messages_of_several_programs_are_told_apart() {
    let consul = |at: u32, ends: u32| {
        format!(
            "2021-05-06T17:29:{at}.822+0800 [INFO]  agent.server.raft: entering leader state: leader=\"Node at 10.0.0.{at}:8300 \
             [Leader]\"\n2021-05-06T17:29:{at}.823+0800 [INFO]  agent.server: cluster leadership acquired\n\
             2021-05-06T17:29:{ends}.000+0800 [INFO]  agent.server: cluster leadership lost\n"
        )
    };
    let two = |ends: u32| {
        verdict("consul", &[("a.log", &consul(10, ends)), ("b.log", &consul(20, 50))], &Options::default()).0
    };
    assert_eq!((two(30), two(15)), (Verdict::Safety, Verdict::Pass));
    let patroni = "2021-05-06 17:29:30,000 INFO: promoted self to leader by acquiring session lock\n";
    let told = why("mixed", &[("a.log", &consul(10, 20)), ("b.log", patroni)], &Options::default());
    assert!(told.contains("--preset consul or --preset patroni"), "{told}");
}

#[test]
fn own_words_are_said_by_options() {
    let log = |second: &str| {
        format!(
            "2026-05-01T10:00:00.000Z [n1] won the seat, epoch=7\n\
             2026-05-01T10:00:01.000Z [n1] stored invoice-1 (epoch 7)\n\
             2026-05-01T10:00:02.000Z [n2] won the seat, epoch=8\n\
             2026-05-01T10:00:03.000Z [n2] stored invoice-2 (epoch 8)\n\
             2026-05-01T10:00:04.000Z [n1] {second} invoice-3 (epoch 7)\n\
             2026-05-01T10:00:05.000Z [n2] stored invoice-4 (epoch 8)\n"
        )
    };
    let options = Options::default()
        .elected("[{node}] won the seat, epoch={token}")
        .accepted("[{node}] stored {request} (epoch {token})")
        .refused("[{node}] refused {request} (epoch {token})")
        .set("resource", "invoices");
    let judge = |second: &str| verdict("own", &[("all.log", &log(second))], &options);
    let (bad, violated) = judge("stored");
    assert!(bad == Verdict::Safety && violated.contains(&"no_stale_write".to_owned()), "{violated:?}");
    assert_eq!(judge("refused").0, Verdict::Pass);

    let lines = Options::default()
        .pattern("{time} [{node}] {what} {request} (epoch {token})")
        .expect("a pattern")
        .map("verdict", "what")
        .word("verdict", "stored", "ok")
        .word("verdict", "refused", "fenced")
        .set("resource", "invoices");
    assert_eq!(verdict("lines", &[("all.log", &log("stored"))], &lines).0, Verdict::Safety);
    assert_eq!(verdict("lines", &[("all.log", &log("refused"))], &lines).0, Verdict::Pass);
}

#[test]
fn text_that_says_nothing_is_no_pass() {
    let text = "2026-05-01 10:00:00 INFO starting\n2026-05-01 10:00:01 INFO started\n";
    let told = why("nothing", &[("a.log", text)], &Options::default());
    assert!(told.contains("--elected") && told.contains("--pattern"), "{told}");
    let told = why("nothing", &[("a.log", text)], &Options::default().elected("became leader"));
    assert!(told.contains("none of 2 lines says"), "{told}");
    // One node that led, alone, shows nothing either.
    let one = "2026-05-01 10:00:00,000 INFO: promoted self to leader by acquiring session lock\n";
    let judged = judged("one", &[("pg-1.log", one)], &Options::default().set("node", "pg-1")).expect("a log");
    assert_eq!(judged.judgement.verdict, Verdict::Vacuous);
    let notes: &[String] = &judged.notes;
    assert!(notes.iter().any(|note| note.contains("Read as text of patroni")), "{notes:?}");
}

const GZIPPED: [&str; 2] = [
    "1f8b080000000000020333323032d33530d535300c3134b03200a1288544859cd4c494622e230c49d3288524a824004ff56ae03a000000",
    "1f8b080000000000020333323032d33530d535300c3134b0320022cb28854485e292fc82622e2374494383288524a82400692384ba3a000000",
];
const ZSTANDARD: [&str; 2] = [
    "28b52ffd243a6d01004402323032362d30352d30315431303a305a2061206c656164730a355a2062206c656164730a02004039a2e5eaf09d6d11",
    "28b52ffd243a8d01009402323032362d30352d30315431303a30303a30395a20612073746f70730a31305a20622073746f70730a01008159390198443c35",
];

/// Made by `gzip -c9` and by `zstd -c`, twice each into one file: what is rotated is often put together again.
#[test]
fn compressed_logs_are_read_whole() {
    let folder = std::env::temp_dir().join(format!("fencepost-text-{}-packed", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for (name, hex) in [("log.gz", GZIPPED), ("log.zst", ZSTANDARD)] {
        let bytes = |hex: &str| -> Vec<u8> {
            let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex"));
            pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
        };
        let all: Vec<u8> = hex.iter().flat_map(|part| bytes(part)).collect();
        let file = folder.join(name);
        fs::write(&file, &all).expect("a file");
        let options = Options::default().elected("{node} leads").deposed("{node} stops");
        let judged = options.judge(std::slice::from_ref(&file)).expect("a log");
        assert_eq!(judged.judgement.verdict, Verdict::Safety, "{name}");
        // A file that was cut off is no shorter log.
        fs::write(&file, &all[..all.len() - 9]).expect("a file");
        let cut = options.judge(&[file]).err().expect("it is cut off").to_string();
        assert!(cut.contains("cannot"), "{cut}");
    }
    fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn every_preset_is_in_the_docs() {
    let docs = include_str!("../../../../docs/your-log.md");
    for preset in &PRESETS {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{}` |", preset.name)));
        let row = row.unwrap_or_else(|| panic!("docs/your-log.md has no row for {}", preset.name));
        for (_, text) in preset.phrases {
            assert!(row.contains(&format!("`{text}`")), "{}: the row lacks `{text}`", preset.name);
        }
        assert!(row.contains(preset.source), "{}: the row lacks its source", preset.name);
    }
}

/// What a reader who took nothing on trust found: each log is of two leaders at once, or cannot be read. None is a pass.
#[test]
fn what_is_said_is_never_passed_over() {
    let stored = |line: &str| {
        format!(
            "2026-05-01 10:00:00.100 n1 stored i1 epoch=7\n2026-05-01 10:00:01.100 n2 stored i2 epoch=8\n\
             {line} n1 stored i3 epoch=7\n2026-05-01 10:00:04.100 n2 stored i4 epoch=8\n"
        )
    };
    let options = Options::default().accepted("{node} stored {request} epoch={token}").set("resource", "invoices");
    let (at, safety) = ("2026-05-01 10:00:03.100", Verdict::Safety);
    for (name, line) in [
        ("plain", at.to_owned()),
        ("colours", format!("\u{1b}[33m{at}\u{1b}[0m")),
        ("pod", format!("[pod/n1-x/app] {at}")),
        ("zeros", format!("\0\0\0{at}")),
        ("mark", format!("\u{feff}{at}")),
        ("container", "2026-05-01T10:00:03.100Z stderr F".to_owned()),
        ("split", format!("2026-05-01T10:00:03.100Z stderr P {at} n1 \n2026-05-01T10:00:03.101Z stderr F")),
    ] {
        let text = stored(&line).replace("F n1 stored", if name == "split" { "F stored" } else { "F n1 stored" });
        assert_eq!(
            verdict("said", &[("a.log", &text)], &options.clone().zone("+00:00").expect("one")).0,
            safety,
            "{name}"
        );
    }
    for (name, line, told) in [
        ("indented", "  2026-05-01 10:00:03.100", "after a time that is read"),
        ("month's name", "01-May-2026 10:00:03.100", "after a time that is read"),
        ("glog with a year", "I20260501 10:00:03.100", "after a time that is read"),
        ("pairs", "ts=2026-05-01T10:00:03Z level=warn slow=true", "after a time that is read"),
        ("zone", "2026-05-01 10:00:03.100 CEST", "not a known form of time"),
        ("year", "I0501 10:00:03.100", "--year"),
    ] {
        let told_why = why("unread", &[("a.log", &stored(line))], &options);
        assert!(told_why.contains(told), "{name}: {told_why}");
    }
    let latin = [stored(at).into_bytes(), b"2026-05-01 10:00:05.100 b\xfcro stored i5 epoch=8\n".to_vec()].concat();
    let file = std::env::temp_dir().join(format!("fencepost-latin-{}.log", std::process::id()));
    fs::write(&file, latin).expect("a file");
    assert!(options.judge(std::slice::from_ref(&file)).err().is_some_and(|why| why.to_string().contains("iconv")));
    fs::remove_file(&file).expect("it is ours");

    // A file that names its fields is not passed over, whatever is recognised or asked for.
    let leads =
        |at: &str| format!("2026-05-01 10:{at}:00,000 INFO: promoted self to leader by acquiring session lock\n");
    let json = "{\"time\":\"2026-05-01T10:00:00Z\",\"node\":\"a\",\"token\":9,\"resource\":\"r\",\"verdict\":\"ok\"}\n";
    let told = why("beside", &[("a.log", &leads("00")), ("w.jsonl", json)], &Options::default());
    assert!(told.contains("is text whose lines"), "{told}");
    let told =
        why("beside", &[("a.log", &leads("00")), ("w.jsonl", json)], &Options::default().elected("promoted self"));
    assert!(told.contains("has no message"), "{told}");
    let mixed = leads("00") + "time=2026-05-01T10:00:00Z node=a token=7 verdict=ok\n";
    let told = why("pairs", &[("a.log", &mixed), ("b.log", &leads("05"))], &Options::default());
    assert!(told.contains("may be a write"), "{told}");
    let table = "at,node,token,verdict\n2026-05-01T10:00:00Z,a,7,ok\n";
    let told = why("table", &[("a.log", &leads("00")), ("t.csv", table)], &Options::default().elected("promoted self"));
    assert!(told.contains("has no message"), "{told}");
    let banner = format!("audit log, rotated daily\n{}", stored(at));
    let told = why("banner", &[("a.log", &banner)], &options);
    assert!(told.contains("--format text"), "{told}");
    assert_eq!(verdict("banner", &[("a.log", &banner)], &options.clone().format(Format::Text)).0, safety);
}

/// keepalived on two machines, whose lines have no year.
#[test]
fn times_and_nodes_are_no_guess() {
    let line =
        |at: &str, host: &str, state: &str| format!("{at} {host} Keepalived_vrrp[12]: (VI_1) Entering {state} STATE\n");
    let judge = |name: &str, one: String, two: String| {
        judged(name, &[("a.log", &one), ("b.log", &two)], &Options::default())
            .map(|judged| judged.judgement.verdict)
            .map_err(|why| why.to_string())
    };
    let one = |end: &str| line("Jan 12 03:10:00", "lb1", "MASTER") + &line(end, "lb1", "BACKUP");
    assert_eq!(judge("overlap", one("Jan 12 03:20:00"), line("Jan 12 03:15:00", "lb2", "MASTER")), Ok(Verdict::Safety));
    // A date in some message is not the year of the times.
    let dated =
        "Jan 12 03:00:00 lb2 kernel: BIOS 2019/03/04 10:00:00\n".to_owned() + &line("Jan 12 03:15:00", "lb2", "MASTER");
    assert_eq!(judge("bios", one("Jan 12 03:20:00"), dated), Ok(Verdict::Safety));
    // Two in one file, as a central log has them.
    let central = one("Jan 12 03:20:00").replace("Jan 12 03:20", "Jan 12 03:16");
    let (first, second) = central.split_once('\n').expect("two lines");
    let central = format!("{first}\n{}{second}", line("Jan 12 03:15:00", "lb2", "MASTER"));
    assert_eq!(judge("central", central, line("Jan 12 03:30:00", "lb3", "MASTER")), Ok(Verdict::Safety));
    // A machine that comes back follows; that does not say until when it led before.
    let back = line("Jan 12 03:10:00", "lb1", "MASTER")
        + &line("Jan 12 03:20:00", "lb1", "BACKUP").replace("STATE", "STATE (init)");
    assert_eq!(judge("restart", back, line("Jan 12 03:15:00", "lb2", "MASTER")), Ok(Verdict::Vacuous));
    // Three lines of one second are three changes.
    let again = line("Jan 12 03:10:44", "lb1", "MASTER");
    let flaps =
        again.clone() + &line("Jan 12 03:10:44", "lb1", "BACKUP") + &again + &line("Jan 12 03:20:00", "lb1", "BACKUP");
    let other = line("Jan 12 03:15:00", "lb2", "MASTER") + &line("Jan 12 03:16:00", "lb2", "BACKUP");
    assert_ne!(judge("flap", flaps, other), Ok(Verdict::Pass));
    // Over New Year.
    let (old, new) = (line("Dec 31 23:00:00", "lb1", "MASTER"), line("Jan  1 00:10:00", "lb2", "MASTER"));
    let told = judge("new year", old + &line("Jan  1 00:20:00", "lb1", "BACKUP"), new).expect_err("it is open");
    assert!(told.contains("which came first is open"), "{told}");
    // Parts of one log are of one node.
    let parts = [("n1.log", "2026-05-01 10:00:05 leads\n"), ("n1.log.1", "2026-05-01 10:00:00 leads\n")];
    assert_eq!(verdict("parts", &parts, &Options::default().elected("leads")).0, Verdict::Vacuous);
}

/// What fits two options says what the longer one says, and what fits nothing is told.
#[test]
fn options_that_do_not_fit_are_told() {
    let text = "2026-05-01 10:00:00 n1 is leader\n2026-05-01 10:00:05 n1 is leader no more\n2026-05-01 10:00:06 n2 is leader\n";
    let options =
        Options::default().elected("{node} is leader").deposed("{node} is leader no more").refused("savd {request}");
    let log = judged("two", &[("a.log", text)], &options).expect("a log");
    assert_eq!(log.judgement.verdict, Verdict::Pass, "{:?}", log.notes);
    assert!(log.notes.iter().any(|note| note.contains("No line fits --refused 'savd {request}'")), "{:?}", log.notes);
    let typed = Options::default().elected("{node} is leader").accepted("savd {request}");
    assert!(why("typed", &[("a.log", text)], &typed).contains("no line fits"));
    // A pattern with a time is of the whole line, and has been fitted, too.
    let whole = Options::default().elected("{time} {node} is leader").deposed("{node} is leader no more");
    assert_ne!(verdict("whole", &[("a.log", text)], &whole).0, Verdict::Vacuous);
    let three = Options::default().elected("is leader").elected("n1 is le").deposed("is leader");
    assert!(why("three", &[("a.log", text)], &three).contains("fits --elected and --deposed"));
    let parts = "2026-05-01T10:00:00Z stdout P n1 is \n2026-05-01T10:00:01Z stderr F n2 is up\n\
                 2026-05-01T10:00:02Z stdout F leader\n2026-05-01T10:00:05Z stderr P n2 is leader";
    let told = why("parts", &[("a.log", parts)], &Options::default().elected("{node} is leader"));
    assert!(told.contains("its end is missing"), "{told}");
    let told = why("kinds", &[("a.log", text)], &Options::default().accepted("{node} {verdict} is leader"));
    assert!(told.contains("the option says"), "{told}");
    let told =
        why("same", &[("a.log", text)], &Options::default().elected("{node} is leader").deposed("{node} is leader"));
    assert!(told.contains("fits --elected and --deposed"), "{told}");
}
