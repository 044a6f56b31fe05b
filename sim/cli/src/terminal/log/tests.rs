use super::*;
use protocols::history::{Kind, json::Reader};
use std::fs;

/// Writes the files into a folder of the test's own, and opens them with these arguments.
fn opened(test: &str, files: &[(&str, &str)], log: HistoryArgs) -> Result<Input, String> {
    let folder = std::env::temp_dir().join(format!("fencepost-log-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).expect("a file"));
    let input = log.open(&paths);
    // What is read as it stands is open by now.
    fs::remove_dir_all(&folder).expect("the folder is ours");
    input.map_err(|why| why.replace(&format!("{}/", folder.display()), ""))
}

/// When, who, with which token, on what, which number.
fn applied(input: Input) -> Vec<(u64, String, u64, String, u64)> {
    let mut reader = Reader::with_fields(input.lines, input.fields).expect("a first line");
    let events: Vec<_> = reader.by_ref().map(|event| event.expect("an event")).collect();
    let resources = reader.resources().map_or_else(|| vec!["sequence".to_owned()], <[String]>::to_vec);
    let told = events.into_iter().map(|event| {
        let Kind::Apply { node, write, .. } = event.kind else { panic!("{event:?} is no write") };
        let (node, resource) = (reader.names()[node.index()].clone(), resources[write.resource.index()].clone());
        (event.t_us, node, write.token, resource, write.seq)
    });
    told.collect()
}

fn args(map: &[&str], set: &[&str], word: &[&str]) -> HistoryArgs {
    let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    HistoryArgs { map: owned(map), set: owned(set), word: owned(word), ..HistoryArgs::default() }
}

#[test]
fn a_table_in_somebody_s_words_is_read() {
    let table = "created_at,worker,fence,orders,state\n\
                 2026-11-21 10:00:00.25+00,w1,7,1,DONE\n\
                 2026-11-21T12:00:01+02:00,\"w,2\",8,2,DONE\n";
    let map = ["t_us=created_at", "node=worker", "token=fence", "seq=orders", "verdict=state"];
    let log = args(&map, &["event=apply", "resource=orders"], &["verdict:DONE=ok"]);
    let ten = 1_795_255_200_000_000;
    let must = [(ten + 250_000, "w1", 7, "orders", 1), (ten + 1_000_000, "w,2", 8, "orders", 2)];
    let is = applied(opened("table", &[("orders.csv", table)], log).expect("a log"));
    assert_eq!(is, must.map(|(t, node, token, resource, seq)| (t, node.to_owned(), token, resource.to_owned(), seq)));
}

#[test]
fn several_files_are_merged_by_time_and_say_where_a_line_came_from() {
    let line = |ts: &str, seq: u64| format!("{{\"ts\":{ts},\"token\":1,\"seq\":{seq},\"verdict\":\"ok\"}}\n");
    let first = line("1.5", 1) + "\n" + &line("3", 3);
    let second = line("2", 2) + &line("3", 4);
    let files = [("n1.log", first.as_str()), ("n2.log", second.as_str())];
    let mut log = args(&["t_us=ts"], &["event=apply", "resource=orders", "node={file}"], &[]);
    log.time_unit = Some(Unit::S);
    let input = opened("merged", &files, log).expect("a log");
    let places: Vec<String> = (1..=4).map(|line| input.places.wrong(line, "x")).collect();
    let ends = ["n1.log: line 1: x", "n2.log: line 1: x", "n1.log: line 3: x", "n2.log: line 2: x"];
    assert!(places.iter().zip(ends).all(|(place, end)| place.ends_with(end)), "{places:?}");
    let told: Vec<(u64, String, u64)> = applied(input).into_iter().map(|(t, node, .., seq)| (t, node, seq)).collect();
    let must = [(1_500_000, "n1", 1), (2_000_000, "n2", 2), (3_000_000, "n1", 3), (3_000_000, "n2", 4)];
    assert_eq!(told, must.map(|(t, node, seq)| (t, node.to_owned(), seq)));
}

#[test]
fn what_cannot_be_read_is_said_in_one_sentence() {
    let refused = |name: &str, text: &str, log: HistoryArgs| match opened("refused", &[(name, text)], log) {
        Ok(_) => panic!("{text:?} was taken"),
        Err(why) => why,
    };
    let set = ["event=apply", "resource=r", "node=a", "verdict=ok"];
    for (name, text, log, must) in [
        (
            "a.csv",
            "t_us,seq\n1\n",
            args(&[], &set, &[]),
            "a.csv: line 2: has 1 values, and the first line names 2 fields",
        ),
        ("a.csv", "t_us,seq,seq\n1,2,3\n", args(&[], &set, &[]), "a.csv: line 1: names the field \"seq\" twice"),
        ("a.csv", "t_us,seq\n1,x\n", args(&[], &set, &[]), "a.csv: line 2: seq is \"x\", and must be a whole number"),
        (
            "a.csv",
            "seq\n1\n",
            args(&[], &set, &[]),
            "a.csv: line 2: has no time; --map t_us=FIELD says which field it is",
        ),
        (
            "a.csv",
            "t_us,seq\nsoon,1\n",
            args(&[], &set, &[]),
            "a.csv: line 2: \"soon\" is no time; write it like 2026-11-21T10:00:00.250Z, or as a number of --time-unit",
        ),
        (
            "a.csv",
            "t_us,seq\n1969-12-31T23:00:00Z,1\n",
            args(&[], &set, &[]),
            "a.csv: line 2: \"1969-12-31T23:00:00Z\" is before 1970",
        ),
        (
            "a.csv",
            "t_us,seq\n5,1\n4,2\n",
            args(&[], &set, &[]),
            "a.csv: line 3: time goes back by 1 µs; sort the lines by time",
        ),
        (
            "a.csv",
            "t_us,seq\n\u{fffd}",
            args(&[], &set, &[]),
            "a.csv: line 2: has 1 values, and the first line names 2 fields",
        ),
        ("a.csv", "t_us,n,seq\n1,2,3\n", args(&["seq=n"], &set, &[]), "a.csv: line 2: has two fields that are \"seq\""),
        (
            "a.jsonl",
            "{\"t_us\":1",
            args(&[], &set, &[]),
            "a.jsonl: line 1: is no JSON object: EOF while parsing an object (column 9)",
        ),
        (
            "a.jsonl",
            "{\"event\":\"header\"}",
            args(&[], &set, &[]),
            "a.jsonl: line 1: is the header of a whole history; that is judged alone and as it is",
        ),
    ] {
        assert_eq!(refused(name, text, log), must);
    }
}

#[test]
fn what_is_asked_wrongly_is_said_in_one_sentence() {
    let refused = |log: HistoryArgs| log.translation().map(drop).unwrap_err();
    assert_eq!(
        refused(args(&[], &["verdict"], &[])),
        "--set verdict does not say what a field is, such as event=apply"
    );
    assert!(
        refused(args(&[], &["colour=red"], &[])).starts_with("--set colour=red: a history has no field \"colour\"")
    );
    assert_eq!(
        refused(args(&[], &[], &["DONE=ok"])),
        "--word DONE=ok does not say what a word means, such as verdict:REJECTED=fenced"
    );
}

#[test]
fn times_are_read_in_every_unit() {
    let read = |text: &str, unit| times::microseconds(&Value::String(text.to_owned()), unit).expect("a time");
    assert_eq!(read("1763719200", Unit::S), 1_763_719_200_000_000);
    assert_eq!(read("1763719200.000001", Unit::S), 1_763_719_200_000_001);
    assert_eq!(read("1763719200123", Unit::Ms), 1_763_719_200_123_000);
    assert_eq!(read("7", Unit::Us), 7);
    assert_eq!(read("1763719200123456789", Unit::Ns), 1_763_719_200_123_456);
    for text in ["2025-11-21T10:00:00Z", "2025-11-21 10:00:00", "2025-11-21 11:00:00+01", "2025-11-21T05:30:00.0-0430"]
    {
        assert_eq!(read(text, Unit::Us), 1_763_719_200_000_000, "{text}");
    }
}
