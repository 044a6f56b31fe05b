//! Recognises text that has no named fields, and says how to convert it.

use serde_json::{Map, Value};

/// What to do with a text file that begins with this line. `table`: the file is otherwise read as a table, for want of
/// a better guess.
pub fn told(line: &[u8], table: bool) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    let array =
        line == "[" || line.starts_with("[{") || line.starts_with("[ {") || line == "[]" || line.starts_with("[\t{");
    if line.starts_with('[') && !array {
        return Some(plain());
    }
    if line.starts_with("{:") {
        return Some("is EDN; write each event as a JSON object, one per line".to_owned());
    }
    if !table {
        return None;
    }
    if line == "---" || line.starts_with("apiVersion:") || line.starts_with("- ") {
        return Some("is YAML; write it as JSON, with `kubectl get -o json` or `yq -o json`".to_owned());
    }
    if line.starts_with("***") && line.contains(". row ***") {
        return Some(
            "has the columns of each row below one another; let mysql write a table, with --batch and without \\G"
                .to_owned(),
        );
    }
    let cells: Vec<&str> = line.split([',', ';', '\t', '|']).map(|cell| cell.trim().trim_matches('"')).collect();
    let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    if cells.len() == 1 && columns.len() > 2 && columns.iter().all(|cell| is_name(cell)) {
        return Some(
            "has columns that are padded with spaces; run `sed -E 's/ {2,}/\\t/g' FILE | fencepost check - --delimiter tab` with \
             the same options"
                .to_owned(),
        );
    }
    (cells.len() == 1 || !cells.iter().all(|cell| cell.is_empty() || is_name(cell))).then(plain)
}

/// What to do with an object that is a service's response with records in it, if it is one. `FILE` stands for the file.
pub fn answer(fields: &Map<String, Value>) -> Option<&'static str> {
    let of_data = |name: &str| fields.get("data")?.get(name);
    let list = |value: Option<&Value>| value.is_some_and(Value::is_array);
    if list(of_data("result")) && of_data("resultType").is_some_and(|kind| kind == "streams") {
        return Some(
            "is an answer of Loki's, with lists of lines in it; run `jq -c '[.data.result[] | .stream as $labels | .values[] | \
             $labels + {timestamp: .[0], line: .[1]}] | sort_by(.timestamp)[]' FILE | fencepost check -` with the same options",
        );
    }
    if list(fields.get("resourceLogs")) {
        return Some(
            "is OpenTelemetry's JSON, with lists of records in it; run `jq -cs '[.[].resourceLogs[] | (.resource.attributes // []) \
             as $of | .scopeLogs[].logRecords[] | {timestamp: .timeUnixNano, severityText} + ([($of + (.attributes // []))[] | \
             {(.key): (.value | to_entries[0].value)}] | add // {}) + (.body | if . == null then {} else {body: \
             to_entries[0].value} end)] | sort_by(.timestamp)[]' FILE | fencepost check -` with the same options",
        );
    }
    if fields.get("results").and_then(|all| all.pointer("/0/0/field")).is_some() {
        return Some(
            "is an answer of CloudWatch Insights, with a list for each record; run `jq -c '[.results[] | map({(.field): .value}) | \
             add] | sort_by(.[\"@timestamp\"] // .timestamp // .t_us // \"\")[]' FILE | fencepost check -` with the same options",
        );
    }
    None
}

fn plain() -> String {
    "is text whose lines do not name their fields, and is not read; write an object per line, for example with \
     `jq -R -c 'capture(\"(?<time>[^ ]+) (?<node>[^ ]+) (?<msg>.*)\")'`, or pass --format csv if the first line names the columns"
        .to_owned()
}

/// Could it be the name of a column?
fn is_name(cell: &str) -> bool {
    let signs = |c: char| c.is_alphanumeric() || "_-. @/#()%$".contains(c);
    let a_date = || cell.len() >= 8 && cell.chars().filter(char::is_ascii_digit).count() * 2 > cell.len();
    let words = cell.split(' ').count();
    cell.chars().any(char::is_alphabetic) && cell.len() <= 60 && words <= 4 && cell.chars().all(signs) && !a_date()
}
