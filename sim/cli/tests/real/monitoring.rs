//! Monitoring by Prometheus and Grafana: the alerts fire when they should, a running node or store exposes every metric
//! they name, and metrics follow Prometheus' naming.

use super::common::{
    Folder, SOON, eventually, http,
    running::Running,
    servers::{find, say},
    text,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocols/real/monitoring")
}

fn file(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// All names in a text that look like our metrics.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("fencepost_") || word.starts_with("leader_election_"))
        .map(str::to_owned)
        .collect()
}

/// The expressions of the dashboard's panels, variables and annotations.
fn expressions(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| ["expr", "definition"].contains(&name.as_str())) {
                    Some(text) => into.push(text.to_owned()),
                    None => expressions(value, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, into)),
        _ => {}
    }
}

fn dashboard() -> (Value, Vec<String>) {
    let dashboard: Value = serde_json::from_str(&file("grafana.json")).expect("JSON");
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    assert!(found.len() > 25, "only {} expressions", found.len());
    (dashboard, found)
}

/// The expressions of the alerts.
fn alerts() -> Vec<String> {
    let rules = file("alerts.yml");
    let found: Vec<String> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect();
    assert_eq!(found.len(), rules.matches("- alert: ").count(), "each rule's expression is one line");
    found
}

/// The metrics exposed at an address.
fn metrics(at: SocketAddr) -> String {
    let answer = http::send(at, http::request("GET", "/metrics", &[]).as_bytes());
    answer.split_once("\r\n\r\n").expect("an answer").1.to_owned()
}

/// The names of the samples in an answer.
fn samples(text: &str) -> Vec<String> {
    let of_line = |line: &str| line.split(['{', ' ']).next().map(str::to_owned);
    text.lines().filter(|line| !line.starts_with('#')).filter_map(of_line).collect()
}

#[test]
fn every_metric_that_is_looked_at_is_exposed() {
    let mut cluster = Running::start(&[]);
    // One failover, so that the metrics of a change of leadership exist.
    let (_, led) = cluster.leader();
    cluster.chaos(&["resign-leader"]);
    eventually("somebody else leads", SOON, || (cluster.leader().1 != led).then_some(()));
    let (_, leader) = cluster.leader();
    eventually("a number", SOON, || http::next(leader, "shop:1").and_then(|answer| answer.seq()));
    let (node, store) = (metrics(leader), metrics(cluster.card.store_metrics.expect("the store has metrics")));
    let exposed: BTreeSet<String> = [&node, &store].into_iter().flat_map(|text| samples(text)).collect();
    let (_, panels) = dashboard();
    for (of, expressions) in [("the dashboard", panels), ("the alerts", alerts())] {
        let looked_at = named(&expressions.join("\n"));
        let missing: Vec<_> = looked_at.difference(&exposed).collect();
        assert!(missing.is_empty(), "{of}: nobody exposes {missing:?}; there are {exposed:?}");
        assert!(looked_at.len() >= 6, "{of}: {looked_at:?}");
    }
    // Advice may name a histogram, whose samples have other names.
    let is_exposed = |name: &String| exposed.contains(name) || exposed.contains(&format!("{name}_count"));
    let unknown: Vec<_> = named(&file("alerts.yml")).into_iter().filter(|name| !is_exposed(name)).collect();
    assert!(unknown.is_empty(), "the alerts' advice names {unknown:?}");
    if find("promtool", "prometheus", "how metrics are named").is_some() {
        well_named("node", &node);
        well_named("store", &store);
    }
    assert!(cluster.process.end().success());
}

/// As `curl …/metrics | promtool check metrics` does.
fn well_named(of: &str, text: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool.spawn().expect("promtool starts");
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("it reads");
    let checked = child.wait_with_output().expect("it ends");
    let said = self::text(&checked.stdout) + &self::text(&checked.stderr);
    assert!(checked.status.success() && said.trim().is_empty(), "the {of}'s metrics: {said}");
}

#[test]
fn the_alerts_fire_when_they_should() {
    if find("promtool", "prometheus", "the alerts").is_none() {
        return;
    }
    let promtool = |arguments: &[&str], folder: &Path| {
        let mut command = Command::new("promtool");
        let output = run_in(command.args(arguments), folder);
        assert!(output.0, "promtool {arguments:?}: {}", output.1);
    };
    promtool(&["check", "config", "prometheus.yml"], &folder());
    promtool(&["test", "rules", "alerts.test.yml"], &folder());
    let tested = file("alerts.test.yml");
    for alert in file("alerts.yml").lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(tested.contains(alert), "no test says when {alert} fires");
    }
    // The dashboard's expressions parse as well, with Grafana's variables filled in.
    let rule = |(place, expression): (usize, &String)| {
        let filled = expression.replace("$__rate_interval", "1m").replace("$nodes", "a").replace("$store", "b");
        format!("      - record: panel:{place}\n        expr: {}\n", serde_json::Value::from(filled))
    };
    let (_, panels) = dashboard();
    let panels: Vec<String> = panels.into_iter().filter(|text| !text.starts_with("label_values(")).collect();
    let rules: String = panels.iter().enumerate().map(rule).collect();
    let written = Folder::new();
    written.write("panels.yml", format!("groups:\n  - name: panels\n    rules:\n{rules}"));
    promtool(&["check", "rules", "panels.yml"], written.path());
    say(&format!("{} panels' expressions and {} alerts are understood", panels.len(), alerts().len()));
}

fn run_in(command: &mut Command, folder: &Path) -> (bool, String) {
    let output = command.current_dir(folder).output().expect("promtool starts");
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn the_dashboard_has_a_place_and_a_description_for_every_panel() {
    let (dashboard, _) = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        let title = panel["title"].as_str().expect("a title");
        assert!(ids.insert(panel["id"].as_u64()), "{title}: its id is another's");
        assert!(panel["type"] == "row" || panel["description"].as_str().is_some_and(|d| d.len() > 20), "{title}");
        let at = |name: &str| panel["gridPos"][name].as_u64().expect("a place");
        for (x, y) in (at("x")..at("x") + at("w")).flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y))) {
            assert!(x < 24 && taken.insert((x, y)), "{title} lies on another panel, or outside");
        }
    }
}
