use super::*;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9_.-]{1,64}"
}

fn resource() -> impl Strategy<Value = Name> {
    (0..RESOURCES.len()).prop_map(|place| Resource(place as u16).into())
}

fn number() -> impl Strategy<Value = u64> {
    0..=NUMBER_MAX
}

fn seal() -> impl Strategy<Value = Request> {
    (resource(), name(), any::<u32>(), number(), any::<bool>(), "[0-9a-f]{0,64}").prop_map(
        |(resource, node, generation, token, payload, mac)| {
            Request::Seal(Seal { resource, node, generation, token, payload, mac })
        },
    )
}

fn payload() -> impl Strategy<Value = Option<Payload>> {
    let payload = (1..=NUMBER_MAX, number())
        .prop_filter_map("0", |(number, at_us)| Some(Payload { number: number.try_into().ok()?, at_us }));
    prop::option::of(payload)
}

fn write() -> impl Strategy<Value = Request> {
    let request = (name(), 0..=REQUEST_MAX).prop_map(|(client, number)| format!("{client}:{number}"));
    let who = (resource(), name(), any::<u32>(), number(), "[0-9a-f]{0,64}");
    (who, 1..=NUMBER_MAX, number(), request, payload()).prop_map(
        |((resource, node, generation, token, mac), seq, read_version, request, payload)| {
            let operation = Operation::Record;
            Request::Write(Write {
                resource,
                node,
                generation,
                token,
                seq,
                read_version,
                request,
                operation,
                payload,
                mac,
            })
        },
    )
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Ok),
        number().prop_map(|seq| Verdict::Duplicate { seq }),
        number().prop_map(|highest| Verdict::Fenced { highest }),
        number().prop_map(|expected| Verdict::Failed { expected }),
    ]
}

#[test]
fn what_is_about_a_plan_names_it() {
    for word in ["make", "enact", "delete"] {
        let line = format!(
            r#"{{"write":{{"resource":"plans","node":"n1","generation":1,"token":7,"seq":1,"read_version":0,"request":"n1:1","operation":"{word}","payload":{{"number":1,"at_us":1}}}}}}"#
        );
        assert!(parse(&line).is_ok(), "{line}");
        let nameless = line.replace(r#","payload":{"number":1,"at_us":1}"#, "");
        assert_eq!(parse(&nameless), Err(NoRequest(format!("to {word}, a write names a plan: its payload's number"))));
    }
}

proptest! {
    #[test]
    fn what_is_asked_comes_across(request in prop_oneof![seal(), write()]) {
        let line = line(&request);
        prop_assert!(line.len() <= LINE_MAX && !line.contains('\n'));
        prop_assert_eq!(parse(&line), Ok(request));
    }

    #[test]
    fn what_is_answered_comes_across(verdict in verdict(), node in name(), seq in number(), payload in payload(), why in ".*") {
        let (resource, generation, token, version, request) = (Resource::SEQUENCE.into(), 1, 7, seq, format!("{node}:1"));
        let owner = Some(Owner { node: node.clone(), generation });
        let plans = payload.map(|Payload { number, .. }| Plans { made: vec![seq, number.get()], live: Some(seq) });
        let replies = [
            Reply::Sealed(Sealed { resource, node, generation, token, verdict, seq, version, payload }),
            Reply::Written(Written { resource, generation, seq, request, verdict }),
            Reply::State(State { resource, highest: token, owner, seq, version, plans }),
            Reply::Refused { why },
        ];
        for reply in replies {
            prop_assert_eq!(serde_json::from_str::<Reply>(&line(&reply)).ok(), Some(reply));
        }
        prop_assert_eq!(Verdict::from(WriteVerdict::from(verdict)), verdict);
    }

    #[test]
    fn garbage_is_refused_and_no_more(text in ".*", request in prop_oneof![seal(), write()], at in any::<prop::sample::Index>()) {
        prop_assert!(parse(&text).is_err());
        let line = line(&request);
        // A truncated line is no request, wherever it is cut.
        prop_assert!(parse(&line[..at.index(line.len())]).is_err());
    }
}

#[test]
fn limits_are_kept_in_one_sentence_each() {
    let seal = |node: &str, token: &str| {
        format!(r#"{{"seal":{{"resource":"sequence","node":"{node}","generation":1,"token":{token}}}}}"#)
    };
    let write = |seq: u64, request: &str| {
        format!(
            r#"{{"write":{{"resource":"schedule","node":"n1","generation":1,"token":7,"seq":{seq},"read_version":0,"request":"{request}"}}}}"#
        )
    };
    assert!(parse(&seal("n1", "4611686018427387904")).is_ok());
    assert!(parse(&write(1, "shop:9223372036854775807")).is_ok());
    let table = [
        (seal("n1", "4611686018427387905"), "token is above 4611686018427387904"),
        (seal("n1", "18446744073709551615"), "token is above 4611686018427387904"),
        (seal("n 1", "1"), "a node's name is 1 to 64 letters, digits, '-', '_' and '.'"),
        (seal("", "1"), "a node's name is 1 to 64 letters, digits, '-', '_' and '.'"),
        (write(0, "shop:1"), "seq counts from 1"),
        (write(NUMBER_MAX + 1, "shop:1"), "seq is above 4611686018427387904"),
        (
            write(1, "shop:1\",\"payload\":{\"number\":4611686018427387905,\"at_us\":1},\"mac\":\""),
            "payload.number is above 4611686018427387904",
        ),
        (write(1, "shop"), "a request is client:number, such as \"shop:17\", its number at most 2^63 - 1"),
        (write(1, "shop:+1"), "a request is client:number, such as \"shop:17\", its number at most 2^63 - 1"),
        (
            write(1, "shop:9223372036854775808"),
            "a request is client:number, such as \"shop:17\", its number at most 2^63 - 1",
        ),
        (r#"{"state":{"resource":"other"}}"#.to_owned(), "the line does not have the fields of a request (column 29)"),
        (
            r#"{"state":{"resource":"sequence","x":1}}"#.to_owned(),
            "the line does not have the fields of a request (column 35)",
        ),
        ("{".to_owned(), "the line is not a JSON object (column 1)"),
        (seal("n1", "-1"), "the line does not have the fields of a request (column 68)"),
    ];
    for (line, why) in table {
        assert_eq!(parse(&line), Err(NoRequest(why.to_owned())), "{line}");
    }
}
