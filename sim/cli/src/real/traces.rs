//! Spans for an OpenTelemetry collector, in builds with the feature `otel`; without it, nothing.
//!
//! They are sent by gRPC if `OTEL_EXPORTER_OTLP_ENDPOINT` has the collector's address (`http://127.0.0.1:4317`); the
//! other variables of that family are respected. The spans are campaigns, leases, requests and writes of
//! `protocols_real::node`, and the store's decisions, each with its token and request.

use crate::terminal::exit::Stop;
use tracing_subscriber::{Layer, registry::Registry};

/// A subscriber layer for spans, beside the log.
pub(super) type SpanLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The variable with the collector's address.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// True if the environment asks for spans.
fn wanted() -> bool {
    std::env::var_os(ENDPOINT).is_some_and(|endpoint| !endpoint.is_empty())
}

/// Warns if spans are asked for and this build cannot send them.
pub(super) fn warn_if_unsent() {
    if wanted() && !cfg!(feature = "otel") {
        tracing::warn!("{ENDPOINT} is set, but no spans are sent: this build lacks the feature `otel`");
    }
}

#[cfg(feature = "otel")]
mod sent {
    use super::{ENDPOINT, SpanLayer, Stop, wanted};
    use opentelemetry::{KeyValue, trace::TracerProvider};
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
    use tokio::runtime::Runtime;
    use tracing::level_filters::LevelFilter;
    use tracing_subscriber::{Layer, filter::Targets};

    /// The variable that overrides the service's name.
    const NAME: &str = "OTEL_SERVICE_NAME";
    /// The attribute of a service's process, by OpenTelemetry's conventions.
    const INSTANCE: &str = "service.instance.id";

    /// Sends the remaining spans on drop.
    pub struct Traces(Option<(SdkTracerProvider, Runtime)>);

    impl Drop for Traces {
        fn drop(&mut self) {
            if let Some((provider, runtime)) = self.0.take() {
                // Do not wait for a collector that has gone away.
                let _ = provider.shutdown();
                runtime.shutdown_background();
            }
        }
    }

    /// The layer that sends spans of the process called `instance`, if spans are asked for.
    ///
    /// # Errors
    /// One sentence: the exporter cannot be set up.
    pub fn layer(instance: &str) -> Result<(Option<SpanLayer>, Traces), Stop> {
        if !wanted() {
            return Ok((None, Traces(None)));
        }
        let wrong = |e: String| Stop::usage(format!("spans cannot be sent as {ENDPOINT} says: {e}"));
        // The process's own work has one thread, which must not wait for a collector.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|e| wrong(e.to_string()))?;
        let within = runtime.enter();
        let exporter = SpanExporter::builder().with_tonic().build().map_err(|e| wrong(e.to_string()))?;
        drop(within);
        let resource = Resource::builder().with_attribute(KeyValue::new(INSTANCE, instance.to_owned()));
        let resource = match std::env::var_os(NAME) {
            Some(_) => resource,
            None => resource.with_service_name("fencepost"),
        };
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build();
        let ours = Targets::new().with_target("fencepost", LevelFilter::DEBUG);
        // Code location and poll times would make up two thirds of each span.
        let layer = tracing_opentelemetry::layer().with_location(false).with_threads(false);
        let layer = layer.with_tracked_inactivity(false).with_tracer(provider.tracer("fencepost"));
        Ok((Some(layer.with_filter(ours).boxed()), Traces(Some((provider, runtime)))))
    }
}

#[cfg(not(feature = "otel"))]
mod sent {
    use super::{SpanLayer, Stop};

    /// Sends nothing.
    pub struct Traces;

    /// No layer.
    ///
    /// # Errors
    /// None.
    pub fn layer(_instance: &str) -> Result<(Option<SpanLayer>, Traces), Stop> {
        Ok((None, Traces))
    }
}

pub(super) use sent::{Traces, layer};
