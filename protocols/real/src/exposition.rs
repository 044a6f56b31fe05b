//! Metrics for Prometheus, for nodes and stores: in OpenMetrics' text format for who asks for it, as Prometheus does,
//! otherwise in Prometheus' older one, which knows no type `info`. `promtool check metrics` reads only the latter.

use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        histogram::{Histogram, exponential_buckets},
        info::Info,
    },
    registry::Registry,
};
use std::collections::BTreeMap;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const OLDER: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A registry with a metric for `commit`, the commit that the process was built from.
pub fn registry(commit: &str) -> Registry {
    let mut registry = Registry::default();
    let build = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("commit", commit.to_owned())];
    registry.register("fencepost_build", "What this process was built from", Info::new(build));
    registry
}

/// A histogram of `buckets` buckets, the first up to `least` seconds, each twice as large as the one before.
pub fn doubling(least: f64, buckets: u16) -> Histogram {
    Histogram::new(exponential_buckets(least, 2.0, buckets))
}

/// The registry's metrics as text.
pub fn text(registry: &Registry) -> String {
    let mut text = String::new();
    let _ = encode(&mut text, registry);
    text
}

/// The response to a scrape with these headers, of metrics in OpenMetrics' format.
pub fn answer(asked: &HeaderMap, text: String) -> Response {
    let accepts =
        |value: &header::HeaderValue| value.to_str().is_ok_and(|v| v.contains("application/openmetrics-text"));
    match asked.get_all(header::ACCEPT).iter().any(accepts) {
        true => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        false => ([(header::CONTENT_TYPE, OLDER)], older(&text)).into_response(),
    }
}

/// The same in Prometheus' older format, in which counters and infos have the names of their samples.
fn older(text: &str) -> String {
    let typed = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let types: BTreeMap<&str, &str> = typed.collect();
    let line = |line: &str| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let ["#", what @ ("HELP" | "TYPE"), name, rest] = words[..] else { return format!("{line}\n") };
        match (types.get(name).copied(), what) {
            (Some("counter"), _) => format!("# {what} {name}_total {rest}\n"),
            (Some("info"), "TYPE") => format!("# TYPE {name}_info gauge\n"),
            (Some("info"), _) => format!("# HELP {name}_info {rest}\n"),
            _ => format!("{line}\n"),
        }
    };
    text.lines().filter(|line| *line != "# EOF").map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

    fn scraped(accept: Option<&'static str>) -> (String, String) {
        let mut registry = registry("abc");
        registry.register("fencepost_writes", "Writes", Counter::<u64>::default());
        registry.register("fencepost_leaders", "Leaders", Gauge::<i64>::default());
        let accept = accept.map(|value| (header::ACCEPT, header::HeaderValue::from_static(value)));
        let answer = answer(&accept.into_iter().collect(), text(&registry));
        let kind = answer.headers()[header::CONTENT_TYPE].to_str().expect("ASCII").to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let body = runtime.block_on(axum::body::to_bytes(answer.into_body(), 1 << 16)).expect("a body");
        (kind, String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn who_does_not_ask_for_openmetrics_gets_the_format_that_promtool_checks() {
        let (kind, text) = scraped(None);
        assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
        let types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
        let expected = ["fencepost_build_info gauge", "fencepost_writes_total counter", "fencepost_leaders gauge"];
        assert_eq!(types, expected.map(|of| format!("# TYPE {of}")), "{text}");
        assert!(text.contains("fencepost_writes_total 0\n") && !text.contains("# EOF"), "{text}");
    }

    #[test]
    fn prometheus_gets_openmetrics() {
        let asked = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        let (kind, text) = scraped(Some(asked));
        assert_eq!(kind, OPEN_METRICS);
        assert!(text.contains("# TYPE fencepost_build info\n") && text.ends_with("# EOF\n"), "{text}");
    }
}
