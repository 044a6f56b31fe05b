//! A written history reads back unchanged; an error is one sentence with its line number.

use super::*;
use crate::{
    elector::Deposed,
    history::*,
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource},
};

fn header() -> Header {
    Header {
        schema: SCHEMA,
        scenario: "gc-pause".into(),
        protocol: "etcd-election".into(),
        seed: u64::MAX,
        fencing: true.into(),
        tokened: true,
        plan_digest: "abc".into(),
        nodes: ["n1", "n \"2\"", "etcd", "store", "c1"].map(String::from).into(),
        candidates: 2,
        lease_ttl_ms: 3000,
        rate: 100,
        liveness_bound_ms: 5000,
        dark_after_ms: 1000,
        requires: vec![Requirement { fact: Fact::StaleWriteAttempts, at_least: 1 }],
        services: vec![NodeId(2)],
        services_needed: 0,
        clusters: Vec::new(),
        tick_ms: 1_000,
        store: Some(NodeId(3)),
        majority: false,
        ring: false,
        dual_belief_bound_us: Some(17_000),
        resources: usual_resources(),
        groups: 1,
        copies: None,
        deferred_commit: false,
        address: None,
        placement: None,
        group: 0,
    }
}

fn every_kind() -> Vec<Event> {
    let incarnation = Incarnation { token: 5, node: NodeId(1), generation: 2 };
    let request = RequestId { client: NodeId(4), number: 17 };
    let write = Write {
        resource: Resource::SEQUENCE,
        operation: Operation::Record,
        generation: 2,
        token: 5,
        seq: 3,
        read_version: 2,
        client: request.client,
        number: request.number,
        payload: None,
    };
    let foreign = Write { read_version: UNKNOWN_VERSION, ..write }.with_request(UNKNOWN_REQUEST);
    let tick = Payload::after(Payload::after(None, 9_000_999).into(), 0);
    assert_eq!((tick.number.get(), tick.at_us), (2, 9_001), "later than the one before, whatever the clock says");
    let tick = Write { resource: Resource::SCHEDULE, payload: Some(tick), ..write };
    let apply = |write, verdict, version| Kind::Apply { node: NodeId(1), write, verdict, version };
    let fault = |phase| {
        let (on, to) = (vec![NodeId(0), NodeId(1)], Vec::new());
        Kind::Fault(Box::new(FaultEvent {
            index: 1,
            kind: "pause".into(),
            phase,
            on,
            to,
            sides: Default::default(),
            one_way: false,
            strength: 700,
            point: Some(("lease_checked".into(), NodeId(0))),
            detail: "a \\ \"b\"".into(),
        }))
    };
    let kinds = vec![
        Kind::Node { node: NodeId(0), state: NodeState::Up },
        Kind::Campaign { node: NodeId(1) },
        Kind::Elected(incarnation),
        Kind::Seal { resource: Resource::SCHEDULE, incarnation, accepted: true, seq: 2, version: 9, payload: None },
        Kind::Seal { resource: Resource(1), incarnation, accepted: true, seq: 2, version: 9, payload: tick.payload },
        Kind::Invoke { request },
        Kind::Issue { node: NodeId(1), write },
        Kind::Issue { node: NodeId(1), write: tick },
        apply(tick, WriteVerdict::Ok, 3),
        apply(Write { operation: Operation::Make, ..tick }, WriteVerdict::Ok, 3),
        Kind::Issue { node: NodeId(1), write: Write { operation: Operation::Enact, ..tick } },
        apply(Write { operation: Operation::Delete, ..tick }, WriteVerdict::Ok, 3),
        Kind::Deleted(Box::new(Deleted { resource: Resource(1), incarnation, seq: 3, plans: vec![1, 7] })),
        Kind::Promoted { incarnation, after: None },
        Kind::Promoted { incarnation, after: Some(Incarnation { token: 0, node: NodeId(0), generation: 1 }) },
        Kind::Rewound {
            node: NodeId(0),
            from: Incarnation { token: 4, node: NodeId(0), generation: 65_537 },
            onto: incarnation,
            entries: 12,
        },
        apply(write, WriteVerdict::Ok, 3),
        apply(foreign, WriteVerdict::Ok, UNKNOWN_VERSION),
        apply(write, WriteVerdict::Duplicate { seq: 3 }, 3),
        apply(write, WriteVerdict::Fenced { highest: 6 }, 3),
        apply(write, WriteVerdict::Failed { expected: 4 }, 3),
        Kind::Reply { request, outcome: Outcome::Ok { token: 5, seq: 3 } },
        Kind::Reply { request, outcome: Outcome::Rejected },
        Kind::Reply { request, outcome: Outcome::Unknown },
        Kind::ReadInvoke { request: RequestId { number: 18, ..request } },
        Kind::ReadReply { request, node: NodeId(1), outcome: Outcome::Ok { token: 5, seq: 3 } },
        Kind::ReadReply { request, node: NodeId(0), outcome: Outcome::Rejected },
        Kind::ReadReply { request, node: NodeId(0), outcome: Outcome::Unknown },
        fault(Phase::Begin),
        fault(Phase::End),
        fault(Phase::Once),
        Kind::Fault(Box::new(FaultEvent {
            index: 2,
            kind: "transfer".into(),
            phase: Phase::Once,
            on: vec![NodeId(1)],
            to: vec![NodeId(0)],
            sides: Default::default(),
            one_way: false,
            strength: 0,
            point: None,
            detail: String::new(),
        })),
        Kind::Fault(Box::new(FaultEvent {
            index: 3,
            kind: "partition".into(),
            phase: Phase::Begin,
            on: vec![NodeId(0), NodeId(1)],
            to: Vec::new(),
            sides: [vec![NodeId(0)], vec![NodeId(1)]],
            one_way: true,
            strength: 0,
            point: None,
            detail: String::new(),
        })),
        Kind::Grant { node: NodeId(1), token: Some(5) },
        Kind::GrantEnd { node: NodeId(1), token: Some(5), reason: GrantEnd::Expired },
        Kind::Work { resource: Resource::SCHEDULE, incarnation, for_us: 70, shared: true },
        Kind::Vote { voter: NodeId(0), candidate: NodeId(1), token: 6 },
        Kind::Clock { node: NodeId(0), wall_offset_us: -1_500, rate_ppm: 42 },
        Kind::Node { node: NodeId(0), state: NodeState::Paused },
        Kind::MemberLeads { node: NodeId(1), leads: true },
        Kind::MemberLeads { node: NodeId(1), leads: false },
        Kind::Deposed { incarnation, reason: Deposed::Fenced },
        Kind::End { messages: 1234, by_kind: [("vote".to_owned(), 7)].into() },
    ];
    kinds.into_iter().enumerate().map(|(i, kind)| Event { t_us: i as u64 / 2, group: 0, kind }).collect()
}

fn written(header: &Header, events: &[Event]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), header);
    events.iter().for_each(|e| writer.record(e));
    writer.finish().unwrap()
}

/// The resources' names after reading a history without a header; empty for the default ones.
fn resources_of(text: &str) -> Vec<String> {
    let mut reader = Reader::new(text.as_bytes()).expect("the first line is right");
    assert!(reader.by_ref().all(|event| event.is_ok()));
    reader.resources().unwrap_or_default().to_vec()
}

fn error(text: &str) -> String {
    match Reader::new(text.as_bytes()) {
        Err(e) => e.to_string(),
        Ok(mut reader) => reader.find_map(|r| r.err()).expect("an error").to_string(),
    }
}

#[test]
fn what_is_written_comes_back() {
    let text = written(&header(), &every_kind());
    let reader = Reader::new(&text[..]).unwrap();
    assert_eq!(reader.header(), Some(&header()));
    assert_eq!(reader.names(), header().nodes);
    let events: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(events, every_kind());
    assert_eq!(written(&header(), &events), text, "writing it again gives the same bytes");
}

#[test]
fn a_stores_own_log_needs_only_apply_lines() {
    let log = "\n{\"t_us\":1,\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"b\",\"seq\":1,\"verdict\":\"ok\"}\n\
               {\"t_us\":1,\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"a\",\"token\":7,\"seq\":2,\"verdict\":\"fenced\",\"request\":\"x:y:3\"}";
    let mut reader = Reader::new(log.as_bytes()).unwrap();
    assert_eq!(reader.header(), None);
    let events: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
    let Kind::Apply { node: NodeId(0), write, verdict: WriteVerdict::Ok, version: UNKNOWN_VERSION } = events[0].kind
    else {
        panic!("{:?}", events[0])
    };
    assert_eq!((write.token, write.read_version, write.request()), (0, UNKNOWN_VERSION, UNKNOWN_REQUEST));
    let Kind::Apply { node: NodeId(1), write, .. } = events[1].kind else { panic!("{:?}", events[1]) };
    assert_eq!(write.request(), RequestId { client: NodeId(2), number: 3 });
    assert_eq!(reader.names(), ["b", "a", "x:y"]);
}

#[test]
fn fields_of_other_names_are_mapped_or_left_out_but_never_overlooked() {
    let line = |token: &str| {
        let rest = "\"resource\":\"sequence\",\"node\":\"a\",\"seq\":1,\"verdict\":\"ok\",\"region\":\"eu\"";
        format!("{{\"t_us\":1,\"event\":\"apply\",{token},{rest}}}\n")
    };
    assert!(
        error(&line("\"token\":7"))
            .starts_with("line 1: there is no field \"region\" in a history; --map token=region")
    );
    let mut fields = Fields::default();
    fields.ignore("region");
    fields.map("token", "fence_token").unwrap();
    let read = |text: String, fields: &Fields| {
        let event = Reader::of(Text::new(text.as_bytes(), fields.clone()))?.next().expect("an event")?;
        let Kind::Apply { write, .. } = event.kind else { panic!("{event:?}") };
        Ok::<_, ReadError>(write.token)
    };
    for name in ["token", "epoch", "fence_token"] {
        assert_eq!(read(line(&format!("\"{name}\":7")), &fields), Ok(7), "{name}");
    }
    let twice = read(line("\"token\":7,\"fence_token\":8"), &fields).unwrap_err();
    assert!(twice.what.contains("duplicate field"), "{twice}");
    let mut why = |ours, theirs| fields.map(ours, theirs).unwrap_err().to_string();
    assert!(why("tokn", "x").starts_with("a history has no field \"tokn\"; it has event, t_us"));
    assert!(why("seq", "fence_token").contains("cannot be both"));
    let later =
        format!("{}{{\"event\":\"header\",\"schema\":1}}\n", line("\"token\":7").replace(",\"region\":\"eu\"", ""));
    assert_eq!(error(&later), "line 2: a header must be the first line");
}

#[test]
fn every_event_there_is_is_listed() {
    let text = String::from_utf8(written(&header(), &every_kind())).unwrap();
    let event =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().to_owned();
    let told: std::collections::BTreeSet<String> = text.lines().map(event).collect();
    assert_eq!(told, EVENTS.map(str::to_owned).into());
}

#[test]
fn wrong_lines_are_one_sentence_with_their_number() {
    let ok = "{\"t_us\":5,\"event\":\"end\"}\n";
    for (line, says) in [
        ("{\"t_us\":4,\"event\":\"end\"}\n", "line 2: t_us goes back from 5 to 4"),
        ("{\"t_us\":6,\"event\":\"crowned\"}\n", "line 2: there is no event \"crowned\""),
        ("{\"t_us\":6,\"event\":\"elected\",\"no", "line 2: is cut short"),
        (
            "{\"t_us\":6,\"event\":\"read-reply\",\"request\":\"c:1\",\"outcome\":\"ok\",\"seq\":3}\n",
            "line 2: read-reply needs a field \"node\"",
        ),
        ("{\"event\":\"end\"}\n", "line 2: t_us is missing; it is the true time in microseconds"),
        ("{\"t_us\":6,\"event\":\"elected\"}\n", "line 2: elected needs a field \"node\""),
        ("{\"t_us\":6,\"event\":\"header\"}\n", "line 2: a header must be the first line"),
    ] {
        assert_eq!(error(&format!("{ok}{line}")), says);
    }
    for line in
        ["{\"t_us\":-6,\"event\":\"end\"}\n", "{\"t_us\":6.5,\"event\":\"end\"}\n", "nonsense\n", "[1]\n", "{}\n"]
    {
        let error = error(&format!("{ok}{line}"));
        assert!(error.starts_with("line 2: is not an event: "), "{error}");
    }
}

#[test]
fn a_header_is_read_strictly() {
    let text = String::from_utf8(written(&header(), &[])).unwrap();
    let future = text.replace("\"schema\":2", "\"schema\":3");
    assert_eq!(error(&future), "line 1: has schema 3; this build reads schemas 1 to 2");
    let unknown = format!("{text}{{\"t_us\":1,\"event\":\"campaign\",\"node\":\"n9\"}}\n");
    assert_eq!(error(&unknown), "line 2: the header does not list a node \"n9\"");
    let wrong = text.replace("\"rate\"", "\"pace\"");
    assert!(error(&wrong).starts_with("line 1: is not a header: unknown field `pace`"), "{}", error(&wrong));
}

#[test]
fn an_endless_line_is_refused() {
    let long = format!("{{\"t_us\":5,\"event\":\"{}\"}}\n", "x".repeat(LINE_MAX as usize));
    assert_eq!(error(&long), "line 1: is longer than 1048576 bytes");
}

#[test]
fn the_first_error_of_the_output_is_kept() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full, &header());
    writer.record(&every_kind()[0]);
    assert_eq!(writer.finish().err().map(|e| e.to_string()).as_deref(), Some("disk full"));
}

#[test]
fn a_header_lists_resources_and_nobody_else_has_any() {
    let resources: Vec<String> = ["sequence", "jobs \"now\""].map(String::from).into();
    let header = Header { resources, ..header() };
    let incarnation = Incarnation { token: 5, node: NodeId(1), generation: 2 };
    let seal = Kind::Seal { resource: Resource(1), incarnation, accepted: true, seq: 2, version: 9, payload: None };
    let text = written(&header, &[Event { t_us: 1, group: 0, kind: seal.clone() }]);
    let mut reader = Reader::new(&text[..]).unwrap();
    assert_eq!(reader.header(), Some(&header));
    assert_eq!(reader.next(), Some(Ok(Event { t_us: 1, group: 0, kind: seal })));
    // The default ones are not listed, so that old histories read the same.
    assert!(!String::from_utf8(written(&super::tests::header(), &[])).unwrap().contains("resources"));
    let text = String::from_utf8(text).unwrap();
    let why = error(&text.replace("\"resource\":\"jobs", "\"resource\":\"jabs"));
    assert_eq!(why, "line 2: the header does not list a resource \"jabs \\\"now\\\"\"; it has sequence, jobs \"now\"");
    let why = error(&text.replace("[\"sequence\",", "[\"sequence\",\"sequence\","));
    assert_eq!(why, "line 1: lists the resource \"sequence\" twice");
    let apply = "{\"t_us\":1,\"event\":\"apply\",\"resource\":\"jobs\",\"node\":\"b\",\"seq\":1,\"verdict\":\"ok\"}";
    assert_eq!(resources_of(apply), ["jobs"]);
    let scheduled = apply.replace("jobs", "schedule");
    assert_eq!(resources_of(&format!("{scheduled}\n{apply}")), ["sequence", "schedule", "jobs"]);
    let of_group = apply.replace("\"seq\"", "\"group\":1,\"seq\"");
    let why = "line 1: resource \"jobs\" belongs to a group; without a header, groups have only the usual resources";
    assert_eq!(error(&of_group), why);
    let wrong = apply.replace("jobs", "schedule").replace("\"seq\"", "\"payload\":{\"number\":0,\"at_us\":1},\"seq\"");
    assert!(error(&wrong).contains("is not an event: invalid value: integer `0`"), "{}", error(&wrong));
}

#[test]
fn histories_of_schema_1_are_read() {
    let text = String::from_utf8(written(&header(), &every_kind())).unwrap();
    let old = text.replacen("\"schema\":2", "\"schema\":1", 1).replace("\"token\":", "\"epoch\":");
    let old = old.replace("\"generation\":", "\"term\":");
    assert!(old != text && old.contains("\"epoch\":5,\"term\":2"), "{old}");
    let events: Vec<Event> = Reader::new(old.as_bytes()).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(events, every_kind());
    let both = old.replacen("\"epoch\":5", "\"epoch\":5,\"token\":6", 1);
    assert!(error(&both).contains("duplicate field"), "{}", error(&both));
}

/// The result of reading `line` after the given header, if any.
fn grouped(header: Option<Header>, line: &str) -> Result<(u16, Resource), String> {
    let mut text = header.map_or(Vec::new(), |header| written(&header, &[]));
    text.extend(line.bytes());
    let event = Reader::new(text.as_slice()).and_then(|mut reader| reader.next().unwrap()).map_err(|e| e.what)?;
    let Kind::Apply { write, .. } = event.kind else { return Err(format!("{event:?}")) };
    Ok((event.group, write.resource))
}

#[test]
fn a_line_says_its_group_by_its_resource_or_on_its_own() {
    let resources = ["sequence", "schedule", "sequence@1", "schedule@1"].map(String::from);
    let two = Some(Header { groups: 2, resources: resources.into(), ..header() });
    let line = |resource: &str, group: &str| {
        format!(
            "{{\"t_us\":1,\"event\":\"apply\",\"resource\":\"{resource}\",\"node\":\"n1\",\"seq\":1,\"verdict\":\"ok\"{group}}}"
        )
    };
    for header in [two.clone(), None] {
        for (resource, group, meant) in [
            ("sequence", "", (0, 0)),
            ("schedule", ",\"group\":0", (0, 1)),
            ("schedule@1", ",\"group\":1", (1, 3)),
            ("sequence@1", "", (1, 2)),
            ("schedule", ",\"group\":1", (1, 3)),
        ] {
            let seen = grouped(header.clone(), &line(resource, group));
            assert_eq!(seen, Ok((meant.0, Resource(meant.1))), "{resource}{group}");
        }
    }
    for (resource, group, why) in [
        ("sequence@1", ",\"group\":0", "resource \"sequence@1\" belongs to group 1, and the line to another"),
        ("sequence@2", "", "belongs to group 2, and the header has groups 0 to 1"),
        ("sequence@0", "", "the header does not list a resource \"sequence@0\""),
        ("jobs", ",\"group\":1", "the header does not list a resource \"jobs\""),
    ] {
        let refused = grouped(two.clone(), &line(resource, group)).unwrap_err();
        assert!(refused.starts_with(why), "{refused}");
    }
    let one = grouped(Some(header()), &line("sequence", ",\"group\":1")).unwrap_err();
    assert_eq!(one, "belongs to group 1, but the header has no groups");
    assert_eq!(grouped(None, &line("sequence@64", "")).unwrap_err(), "group 64 is too high; 63 is the highest");
}

#[test]
fn a_header_of_groups_lists_the_same_resources_for_each() {
    let resources = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (groups, names, why) in [
        (2, &["a", "b", "a@1"][..], "lists 3 resources, which 2 groups cannot share"),
        (2, &["a", "b", "b@1", "a@1"], "lists the resource \"b@1\" where \"a@1\" belongs"),
        (0, &["a"], "has 0 groups; it must be 1 to 64"),
        (65, &["a"], "has 65 groups; it must be 1 to 64"),
    ] {
        let text = written(&Header { groups, resources: resources(names), ..header() }, &[]);
        assert_eq!(Reader::new(text.as_slice()).err().map(|e| e.what), Some(why.to_owned()));
    }
    let header = Header { groups: 2, resources: resources(&["a", "a@1"]), ..header() };
    let text = written(&header, &[Event { t_us: 1, group: 1, kind: Kind::Campaign { node: NodeId(0) } }]);
    assert!(text.ends_with(b"\"event\":\"campaign\",\"node\":\"n1\",\"group\":1}\n"));
    assert_eq!((header.of_group(1).resources, header.of_group(1).clients()), (resources(&["a@1"]), 4..4));
}
