//! Setup of logging to stderr and of traces.

use std::io::{self, IsTerminal as _};

use tracing::{Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt as _, FilterFn, filter_fn},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use super::{failure::Failure, traces::Traces};
use crate::{
    config::{Config, LogFormat},
    traces,
};

/// One layer of the subscriber.
type Part = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging. `DOCGATE_LOG` sets the filter; `usual` is the default.
pub(super) fn begin(format: LogFormat, usual: &str) -> Result<(), Failure> {
    tracing_subscriber::registry().with(lines(format, usual)?).init();
    Ok(())
}

/// Starts logging, and sending traces if a collector is configured.
pub(super) fn begin_with_traces(config: &Config, usual: &str) -> Result<Option<Traces>, Failure> {
    let lines = lines(config.log_format, usual)?;
    let traces = Traces::begin(config)?;
    let mut parts = vec![lines];
    parts.extend(traces.as_ref().map(spans));
    tracing_subscriber::registry().with(parts).init();
    Ok(traces)
}

fn lines(format: LogFormat, usual: &str) -> Result<Part, Failure> {
    let wanted = std::env::var("DOCGATE_LOG").unwrap_or_else(|_| usual.to_owned());
    let filter = EnvFilter::try_new(&wanted)
        .map_err(|fault| Failure::usage(format!("DOCGATE_LOG can't be used: {fault}")))?;
    let lines = fmt::layer().with_writer(io::stderr).with_target(false);
    let lines = match format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Pretty => lines.compact().with_ansi(io::stderr().is_terminal()).boxed(),
    };
    // The spans of traces would only make log lines longer, and cost time when traces are off.
    let no_spans = filter_fn(|about| about.target() != traces::TARGET);
    Ok(lines.with_filter(filter.and(no_spans.with_max_level_hint(LevelFilter::TRACE))).boxed())
}

/// The layer for traces, which receives only their spans and no log events.
fn spans(traces: &Traces) -> Part {
    let own: FilterFn<fn(&Metadata<'_>) -> bool> =
        filter_fn(|about| about.is_span() && about.target() == traces::TARGET);
    tracing_opentelemetry::layer()
        .with_tracer(traces.tracer())
        .with_context_activation(false)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(own.with_max_level_hint(LevelFilter::INFO))
        .boxed()
}

/// Default log filter of a gateway.
pub(super) const GATEWAY: &str = "docgate=info,warn";
/// Default log filter of other commands.
pub(super) const TOOL: &str = "warn";
