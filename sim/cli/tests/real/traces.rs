//! Spans as a collector receives them: Rotel, which prints them.

use super::common::{
    Folder, Process, SOON, eventually, http,
    running::Running,
    servers::{find_rotel, free_address},
};
use std::{collections::BTreeMap, process::Command};

/// A span as the collector prints it: the sending process, its name, and its fields.
struct Span {
    instance: String,
    name: String,
    fields: BTreeMap<String, String>,
}

/// `-> key: Str(value)`, as the collector prints a field.
fn field(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim().strip_prefix("-> ")?.split_once(": ")?;
    let (_, value) = value.strip_suffix(')')?.split_once('(')?;
    Some((key.to_owned(), value.to_owned()))
}

fn spans(log: &str) -> Vec<Span> {
    let (mut found, mut instance, mut within) = (Vec::<Span>::new(), String::new(), false);
    for line in log.lines() {
        if line.starts_with("ResourceSpans #") {
            within = false;
        } else if line.starts_with("Span #") {
            within = true;
            found.push(Span { instance: instance.clone(), name: String::new(), fields: BTreeMap::new() });
        }
        match (field(line), found.last_mut().filter(|_| within)) {
            (Some((key, value)), Some(span)) => drop(span.fields.insert(key, value)),
            (Some((key, value)), None) if key == "service.instance.id" => instance = value,
            (None, Some(span)) => {
                if let Some((_, name)) = line.split_once("Name ").and_then(|(_, rest)| rest.split_once(": ")) {
                    name.clone_into(&mut span.name);
                }
            }
            _ => {}
        }
    }
    found
}

/// True if it has these fields.
fn has(span: &Span, name: &str, fields: &[(&str, &str)]) -> bool {
    span.name == name && fields.iter().all(|(key, value)| span.fields.get(*key).is_some_and(|is| is == value))
}

#[test]
fn a_request_can_be_followed_from_the_node_to_the_store() {
    let Some(agent) = find_rotel("spans at a collector") else { return };
    let folder = Folder::new();
    let (grpc, other) = (free_address(), free_address());
    let mut command = Command::new(agent);
    command.args(["start", "--debug-log", "traces", "--debug-log-verbosity", "detailed", "--exporter", "blackhole"]);
    command.args(["--otlp-grpc-endpoint", &grpc.to_string(), "--otlp-http-endpoint", &other.to_string()]);
    let mut collector = Process::start(command, &folder.path().join("collector.log"));
    assert!(collector.listens(grpc), "{}", collector.log());

    let endpoint = format!("http://{grpc}");
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let mut cluster = Running::start_in(&environment, &[]);
    let (leader, address) = cluster.leader();
    let answer =
        eventually("a number", SOON, || http::next(address, "shop:17").filter(|answer| answer.seq().is_some()));
    let seq = answer.seq().expect("a number was waited for").to_string();

    let request = [("request", "shop:17"), ("seq", seq.as_str())];
    let told = eventually("the collector has all of it", SOON, || {
        let told = spans(&collector.log());
        let all = [("request", &request[..1]), ("write", &request), ("decide", &request)];
        all.iter().all(|(name, fields)| told.iter().any(|span| has(span, name, fields))).then_some(told)
    });
    let one = |name: &str| told.iter().find(|span| has(span, name, &request)).expect("it was waited for");
    let (write, decision) = (one("write"), one("decide"));
    assert_eq!((write.instance.as_str(), decision.instance.as_str()), (leader.as_str(), "store"));
    assert_eq!(write.fields["token"], decision.fields["token"]);
    assert_eq!((write.fields["verdict"].as_str(), decision.fields["verdict"].as_str()), ("ok", "ok"));
    assert!(told.iter().any(|span| has(span, "campaign", &[("node", &leader), ("token", &write.fields["token"])])));

    // A process that is asked to end first sends its open spans: the lease lasted until then.
    cluster.process.end();
    eventually("the lease", SOON, || {
        let told = spans(&collector.log());
        told.iter().any(|span| has(span, "lease", &[("token", &write.fields["token"])])).then_some(())
    });
}
