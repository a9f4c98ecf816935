//! Log lines, to stderr, and what else hears of spans.

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

/// Part of what hears of everything that happens.
type Part = Box<dyn Layer<Registry> + Send + Sync>;

/// Begins to log. `DOCGATE_LOG` says how much; `usual` is what is logged without it.
pub(super) fn begin(format: LogFormat, usual: &str) -> Result<(), Failure> {
    tracing_subscriber::registry().with(lines(format, usual)?).init();
    Ok(())
}

/// Begins to log, and to send traces where the configuration says where to.
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
    // Spans for traces would only make lines longer, and cost something without traces.
    let no_spans = filter_fn(|about| about.target() != traces::TARGET);
    Ok(lines.with_filter(filter.and(no_spans.with_max_level_hint(LevelFilter::TRACE))).boxed())
}

/// Traces hear of their spans and of nothing that is logged.
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

/// What a gateway logs.
pub(super) const GATEWAY: &str = "docgate=info,warn";
/// What any other command logs.
pub(super) const TOOL: &str = "warn";
