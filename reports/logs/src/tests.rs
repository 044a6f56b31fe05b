use super::*;
use protocols::history::{Kind, json::Reader};
use serde_json::Value;
use std::{fs, path::PathBuf};

/// Writes the files into a folder of the test's own, and opens them with these arguments.
fn opened(test: &str, files: &[(&str, &str)], log: Options) -> Result<Input, String> {
    let folder = std::env::temp_dir().join(format!("fencepost-log-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).expect("a file"));
    let input = log.open(&paths);
    // Everything is open by now.
    fs::remove_dir_all(&folder).expect("the folder is ours");
    input.map_err(|why| why.to_string().replace(&format!("{}/", folder.display()), ""))
}

/// Of each write: time, node, token, resource and number.
fn applied(input: Input) -> Vec<(u64, String, u64, String, u64)> {
    let mut reader = Reader::of(input.lines).expect("a first line");
    let events: Vec<_> = reader.by_ref().map(|event| event.expect("an event")).collect();
    let resources = reader.resources().map_or_else(|| vec!["sequence".to_owned()], <[String]>::to_vec);
    let told = events.into_iter().map(|event| {
        let Kind::Apply { node, write, .. } = event.kind else { panic!("{event:?} is no write") };
        let (node, resource) = (reader.names()[node.index()].clone(), resources[write.resource.index()].clone());
        (event.t_us, node, write.token, resource, write.seq)
    });
    told.collect()
}

fn args(map: &[&str], set: &[&str], word: &[&str]) -> Options {
    let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    Options { map: owned(map), set: owned(set), word: owned(word), ..Options::default() }
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

/// The sentence about the first wrong line, without the folder.
fn refused(name: &str, text: &str, log: Options) -> String {
    let input = match opened("refused", &[(name, text)], log) {
        Ok(input) => input,
        Err(why) => return why,
    };
    let read = Reader::of(input.lines).and_then(|mut reader| reader.try_for_each(|event| event.map(drop)));
    let why = read.and_then(|()| input.notes.check()).expect_err("nothing is wrong").to_string();
    // Keep only the file's own name.
    why.rsplit_once('/')
        .filter(|(folder, _)| folder.contains("fencepost-log-"))
        .map_or(why.clone(), |(_, end)| end.into())
}

#[test]
fn several_files_are_merged_by_time_and_say_where_a_line_came_from() {
    let line = |ts: &str, seq: u64| format!("{{\"ts\":{ts},\"token\":1,\"seq\":{seq},\"verdict\":\"ok\"}}\n");
    // The times differ by nanoseconds, which are not judged but do order the lines.
    let first = line("1.5", 1) + "\n" + &line("3.0000002", 4);
    let second = line("2", 2) + &line("3.0000001", 3);
    let files = [("n1.log", first.as_str()), ("n2.log", second.as_str())];
    let mut log = args(&["t_us=ts"], &["resource=orders", "node={file}"], &[]);
    log.time_unit = Some(Unit::S);
    let input = opened("merged", &files, log.clone()).expect("a log");
    let seen: Vec<(String, u64)> = applied(input).into_iter().map(|(_, node, _, _, seq)| (node, seq)).collect();
    assert_eq!(seen, [("n1", 1), ("n2", 2), ("n2", 3), ("n1", 4)].map(|(node, seq)| (node.to_owned(), seq)));

    // An error that only the event itself shows, too far down to be surveyed.
    let second: String = (0..600).map(|seq| line(&format!("2.{seq:03}"), seq)).collect();
    let second = second + "{\"ts\":3,\"token\":1,\"seq\":7,\"verdict\":\"ok\",\"read\":\"x\"}\n";
    let files = [("n1.log", first.as_str()), ("n2.log", second.as_str())];
    let input = opened("merged", &files, log).expect("a log");
    let notes = input.notes;
    let read = Reader::of(input.lines).and_then(|mut reader| reader.try_for_each(|event| event.map(drop)));
    let why = read.expect_err("a number is none");
    assert!(why.file.as_ref().is_some_and(|file| file.ends_with("n2.log")), "{why}");
    assert_eq!((why.line, why.what.as_str()), (Some(601), "read is \"x\", and must be a whole number"));
    assert!(notes.sentences().iter().any(|note| note.starts_with("2 files were merged by their times")));
}

#[test]
fn what_cannot_be_read_is_said_in_one_sentence() {
    let set = ["resource=r", "node=a", "verdict=ok"];
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
            "at,seq\nsoon,1\n",
            args(&["t_us=at"], &set, &[]),
            "a.csv: line 2: \"soon\" is not a known form of time; write it like 2026-11-21T10:00:00.250Z or as a \
             number (--time-unit), or pass its form, such as --time-format '%d.%m.%Y %H:%M:%S'",
        ),
        (
            "a.csv",
            "t_us,seq\n1969-12-31T23:00:00Z,1\n",
            args(&[], &set, &[]),
            "a.csv: line 2: \"1969-12-31T23:00:00Z\" is before 1970",
        ),
        (
            "a.csv",
            "t_us,seq\r\n5,1\r\n4,2\r\n",
            args(&[], &set, &[]),
            "a.csv: line 3: time goes back by 1 µs; pass --order t_us to sort the lines by time, --order line if they \
             are in the order in which the resource applied them, or --order FIELD if it numbered them",
        ),
        (
            "a.csv",
            "t_us,n,seq\n1,2,3\n",
            args(&["seq=n"], &set, &[]),
            "a.csv: line 2: has two fields for \"seq\"; pass --ignore seq to skip one of them",
        ),
        (
            "a.csv",
            "t_us,seq\n12.5,1\n",
            args(&["t_us=t_us", "seq=no"], &set, &[]),
            "--map seq=no: there is no field `no`; there are seq, t_us",
        ),
        (
            "a.csv",
            "ts,seq\n12.5,1\n",
            args(&["t_us=ts"], &set, &[]),
            "a.csv: the unit of `ts` (12.5) is unknown; pass --time-unit s, ms, us or ns",
        ),
        (
            "a.csv",
            "t_us,seq\n1795255200400,1\n",
            args(&[], &set, &[]),
            "a.csv: t_us (1795255200400) looks like milliseconds since 1970; pass its --time-unit, or --time-unit us \
             if it does not count from 1970",
        ),
        (
            "a.jsonl",
            "{\"t_us\":1",
            args(&[], &set, &[]),
            "a.jsonl: line 1: is a broken JSON object: EOF while parsing an object (column 9)",
        ),
    ] {
        assert_eq!(refused(name, text, log), must);
    }
}

#[test]
fn a_log_without_events_and_a_whole_history_among_logs_are_refused() {
    let set = ["resource=r", "node=a", "verdict=ok"];
    for (name, text, log, must) in [
        ("a.jsonl", "\n", args(&[], &set, &[]), "a.jsonl holds no events"),
        (
            "a.jsonl",
            "{\"event\":\"header\"}",
            args(&[], &set, &[]),
            "a.jsonl has a history header; check it by itself, with no options but --map and --ignore",
        ),
    ] {
        assert_eq!(refused(name, text, log), must);
    }
}

#[test]
fn what_is_asked_wrongly_is_said_in_one_sentence() {
    let refused = |log: Options| log.translation().map(drop).unwrap_err();
    assert_eq!(
        refused(args(&[], &["verdict"], &[])),
        "--set verdict does not say what a field is, such as resource=orders"
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
fn a_format_says_how_times_are_written() {
    let read = |text: &str, form: &str| {
        let times = times::Times { format: Some(times::format(form).expect("a format")), ..times::Times::default() };
        let value = Value::String(text.to_owned());
        times.ns(&value).map(|(ns, _)| (ns, times.digit_ns(&value).expect("it has digits")))
    };
    let at = 1_772_399_101_000_000_000;
    assert_eq!(read("01.03.2026 21:05:01,120", "%d.%m.%Y %H:%M:%S,%3f"), Ok((at + 120_000_000, 1_000_000)));
    assert_eq!(read("03/01/2026 09:05:01 PM", "%m/%d/%Y %I:%M:%S %p"), Ok((at, 1_000_000_000)));
    assert_eq!(read("01.03.26 21:05 +0000", "%d.%m.%y %H:%M %z"), Ok((at - 1_000_000_000, 60_000_000_000)));
    assert_eq!(read("20260301210501", "%Y%m%d%H%M%S"), Ok((at, 1_000_000_000)));
    assert_eq!(read("00:00:02.5", "%H:%M:%S%.f"), Ok((2_500_000_000, 100_000_000)));
    assert_eq!(
        read("2026-03-01 21:05:01", "%d.%m.%Y").expect_err("another one"),
        "\"2026-03-01 21:05:01\" does not match --time-format '%d.%m.%Y'"
    );
    for wrong in ["%Q", "date", "%d.%m.%Y %H:%M:%S %Z"] {
        assert!(times::format(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn lines_that_tell_of_something_else_are_left_out_and_said_so() {
    let line = |t: u64, op: &str| {
        format!("{{\"t_us\":{t},\"op\":\"{op}\",\"node\":\"a\",\"resource\":\"r\",\"verdict\":\"ok\"}}\n")
    };
    let text = line(1, "PUT") + &line(2, "MONITOR") + &line(3, "PUT");
    let why = refused("a.jsonl", &text, args(&["event=op"], &[], &["event:PUT=apply", "event:MONITOR=idle"]));
    assert!(why.contains("op is `idle`") && why.contains("--word event:idle=none to skip it"), "{why}");
    let input =
        opened("left-out", &[("a.jsonl", &text)], args(&["event=op"], &[], &["event:PUT=apply", "event:MONITOR=none"]));
    let input = input.expect("it is understood");
    let mut reader = Reader::of(input.lines).expect("a log");
    let times: Vec<u64> = reader.by_ref().map(|event| event.expect("an event").t_us).collect();
    assert_eq!(times, [1, 3]);
    assert!(input.notes.sentences().iter().any(|note| note.contains('1')), "{:?}", input.notes.sentences());
}

#[test]
fn times_are_read_in_every_unit() {
    let zone = Some(times::zone("+02:00").expect("a zone"));
    let read = |text: &str, unit, zone| {
        let times = times::Times { unit, zone, ..times::Times::default() };
        times.ns(&Value::String(text.to_owned())).map(|(ns, _)| ns).expect("a time")
    };
    let is = |text: &str, unit| read(text, unit, None);
    assert_eq!(is("1763719200", Some(Unit::S)), 1_763_719_200_000_000_000);
    assert_eq!(is("1763719200.000000001", Some(Unit::S)), 1_763_719_200_000_000_001);
    assert_eq!(is("1763719200123", Some(Unit::Ms)), 1_763_719_200_123_000_000);
    assert_eq!(is("7", Some(Unit::Us)), 7_000);
    assert_eq!(is("1763719200123456789", Some(Unit::Ns)), 1_763_719_200_123_456_789);
    // A time of this century implies its unit.
    for text in ["1763719200", "1763719200000", "1763719200000000", "1763719200000000000", "1.7637192e9"] {
        assert_eq!(is(text, None), 1_763_719_200_000_000_000, "{text}");
    }
    for text in [
        "2025-11-21T10:00:00Z",
        "2025-11-21 10:00:00",
        "2025-11-21 10:00:00,000",
        "2025-11-21 10:00:00.000 UTC",
        "2025-11-21 11:00:00+01",
        "2025-11-21 11:00:00 +0100",
        "2025-11-21T05:30:00.0-0430",
        "21/Nov/2025:10:00:00 +0000",
    ] {
        assert_eq!(is(text, None), 1_763_719_200_000_000_000, "{text}");
    }
    assert_eq!(read("2025-11-21 12:00:00", None, zone), 1_763_719_200_000_000_000);
    assert!(times::zone("Europe").is_err());
}

#[test]
fn lines_that_differ_in_what_is_ignored_are_two() {
    let text = "t_us,token,seq,id\n5,7,1,a\n5,7,1,b\n5,7,1,b\n";
    let log = Options { ignore: vec!["id".to_owned()], ..args(&[], &["resource=r", "node=a", "verdict=ok"], &[]) };
    assert_eq!(applied(opened("ignored", &[("a.csv", text)], log).expect("a log")).len(), 2);
    // The same line of two nodes counts once for each.
    let log = args(&[], &["resource=r", "node={file}", "verdict=ok"], &[]);
    let files = [("n1.csv", "t_us,token,seq\n5,7,1\n"), ("n2.csv", "t_us,token,seq\n5,7,1\n")];
    assert_eq!(applied(opened("two-nodes", &files, log).expect("a log")).len(), 2);
}

/// The same three writes, as several programs write them.
#[test]
fn a_table_is_a_table_whatever_stands_between_its_values() {
    let rows = [("1", "w1", "7", "1"), ("2", "w1", "7", "2"), ("3", "w2", "8", "3")];
    let joined = |by: &str, end: &str| {
        let lines = rows.iter().map(|(t, w, f, n)| [*t, *w, *f, *n].join(by) + end);
        ["t_us", "node", "token", "seq"].join(by) + end + &lines.collect::<String>()
    };
    let psql = " t_us | node | token | seq \n------+------+-------+-----\n    1 | w1   |     7 |   1\n    2 | w1   |     7 |   2\n    \
                3 | w2   |     8 |   3\n(3 rows)\n\n";
    let array = "[{\"t_us\":1,\"node\":\"w1\",\"token\":7,\"seq\":1},\n {\"t_us\":2,\"node\":\"w1\",\"token\":\"0x7\",\"seq\":2},\
                 {\"t_us\":3,\"node\":\"w2\",\"token\":\"0/8\",\"seq\":3}]";
    let nested =
        rows.map(|(t, w, f, n)| format!("{{\"t_us\":{t},\"node\":\"{w}\",\"write\":{{\"fence\":{f},\"seq\":{n}}}}}\n"));
    let logfmt = rows.map(|(t, w, f, n)| format!("t_us={t} node={w} token={f} seq={n} msg=\"a write\"\n"));
    let mixed = "starting up\n".to_owned()
        + &rows
            .map(|(t, w, f, n)| format!("{{\"t_us\":{t},\"node\":\"{w}\",\"token\":{f},\"seq\":{n}}}\n"))
            .join("panic!\n");
    let plain = || args(&[], &["resource=orders", "verdict=ok"], &[]);
    let with_only = || Options { only: vec!["token".to_owned()], ..plain() };
    let renamed = || args(&["token=write.fence", "seq=write.seq"], &["resource=orders", "verdict=ok"], &[]);
    let ignoring = || Options { ignore: vec!["msg".to_owned()], ..plain() };
    for (what, text, log) in [
        ("commas", joined(",", "\n"), plain()),
        ("a mark and other line ends", format!("\u{feff}{}", joined(",", "\r\n")), plain()),
        ("semicolons", joined(";", "\n"), plain()),
        ("tabs", joined("\t", "\n"), plain()),
        ("psql", psql.to_owned(), plain()),
        ("an array", array.to_owned(), plain()),
        ("fields in fields", nested.concat(), renamed()),
        ("logfmt", logfmt.concat(), ignoring()),
        ("text between lines", mixed, with_only()),
    ] {
        let told = applied(opened("formats", &[("a.txt", &text)], log).unwrap_or_else(|why| panic!("{what}: {why}")));
        let must = [(1, "w1", 7, 1), (2, "w1", 7, 2), (3, "w2", 8, 3)];
        assert_eq!(told, must.map(|(t, node, token, seq)| (t, node.into(), token, "orders".into(), seq)), "{what}");
    }
}

#[test]
fn all_that_is_not_understood_is_said_at_once_and_the_advice_works() {
    let text = "created,level,holder,fence_token,result,invoice\n\
                2026-11-24T10:00:00Z,info,a,7,APPLIED,1\n2026-11-24T10:00:01Z,info,b,8,REJECTED,2\n";
    let why = refused("billing.csv", text, args(&[], &[], &[]));
    let (what, advice) = why.split_once("; if this guess is right, add ").expect("advice");
    let (advice, otherwise) =
        advice.split_once("; if a field says something else, map it to that").expect("another way");
    assert!(otherwise.contains("(--map OURS=FIELD)"), "{otherwise}");
    assert_eq!(
        what,
        "billing.csv: unknown fields `created`, `fence_token`, `holder`, `invoice`, `level`, `result`; missing: time \
         (t_us), resource, node, verdict"
    );
    assert_eq!(
        advice,
        "--map t_us=created,token=fence_token,node=holder,verdict=result,seq=invoice --set resource=billing --word \
         verdict:APPLIED=ok,verdict:REJECTED=fenced --ignore level"
    );
    let options: Vec<&str> = advice.split(' ').collect();
    let of = |name: &str| options[options.iter().position(|option| *option == name).expect("an option") + 1].split(',');
    let mut log =
        args(&of("--map").collect::<Vec<_>>(), &of("--set").collect::<Vec<_>>(), &of("--word").collect::<Vec<_>>());
    log.ignore = of("--ignore").map(str::to_owned).collect();
    let told = applied(opened("advice", &[("billing.csv", text)], log).expect("the advice works"));
    assert_eq!(
        told.iter().map(|(_, node, token, ..)| (node.as_str(), *token)).collect::<Vec<_>>(),
        [("a", 7), ("b", 8)]
    );
}

#[test]
fn lines_that_stand_there_twice_count_once_and_order_can_be_the_resources() {
    let text = "t_us,version,token,seq\n5,1,7,1\n5,1,7,1\n4,2,7,2\n9,3,8,3\n";
    let set = ["resource=r", "node=a", "verdict=ok"];
    for order in ["line", "version"] {
        let log = Options { order: Some(order.to_owned()), ..args(&[], &set, &[]) };
        let input = opened("order", &[("a.csv", text)], log).expect("a log");
        let notes = std::mem::take(&mut { input.notes });
        let mut reader = Reader::of(input.lines).expect("a first line");
        let times: Vec<u64> = reader.by_ref().map(|event| event.expect("an event").t_us).collect();
        assert_eq!(times, [5, 5, 9]);
        assert_eq!(
            notes.sentences(),
            [
                "1 line repeated word for word; each was counted once.",
                "1 line is dated before the line above it; file order was kept."
            ]
        );
    }
}
