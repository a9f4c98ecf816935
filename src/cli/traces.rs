//! Export of traces to a collector, by OTLP over HTTP with protocol buffers.
//! <https://opentelemetry.io/docs/specs/otlp/#otlphttp>

use std::{env, mem, time::Duration};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use tokio::runtime::Handle;

use super::failure::Failure;
use crate::{config::Config, domains::outside::cause};

/// Time limit for sending the remaining traces at shutdown.
const FLUSH: Duration = Duration::from_secs(5);
/// Time limit of one request to the collector.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The exporter of traces.
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts sending traces, if a collector is configured.
    pub(super) fn begin(config: &Config) -> Result<Option<Self>, Failure> {
        let Some(endpoint) = &config.otlp_endpoint else { return Ok(None) };
        let unusable = |fault: &dyn std::fmt::Display| {
            Failure::usage(format!("otlp_endpoint can't be used: {fault}"))
        };
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|fault| unusable(&fault))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender { client, runtime: Handle::current() })
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|fault| unusable(&fault))?;
        let kept = Sampler::TraceIdRatioBased(config.otlp_sample_ratio);
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(kept)))
            .with_resource(resource())
            .build();
        Ok(Some(Self(provider)))
    }

    /// The tracer that creates spans.
    pub(super) fn tracer(&self) -> SdkTracer {
        self.0.tracer("docgate")
    }

    /// Sends the remaining traces within a time limit.
    pub(super) async fn end(self) {
        let ended = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(FLUSH)).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!(
                event = "traces_flush_failed",
                "the last traces could not be sent to the collector"
            );
        }
    }
}

/// The resource of the traces. The variables of OpenTelemetry may set another service name.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    let is_named = env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty())
        || env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|all| all.contains("service.name="));
    if is_named { resource.build() } else { resource.with_service_name("docgate").build() }
}

/// Sends the exporter's requests on the runtime, because the exporter has a thread of its own.
#[derive(Debug)]
struct Sender {
    client: reqwest::Client,
    runtime: Handle,
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, request) = (self.client.clone(), request.try_into()?);
        let sent = self.runtime.spawn(async move {
            let mut answer = client.execute(request).await?;
            let (status, headers) = (answer.status(), mem::take(answer.headers_mut()));
            reqwest::Result::Ok((status, headers, answer.bytes().await?))
        });
        // The library logs the error.
        let (status, headers, body) = sent.await?.map_err(cause)?;
        let mut response = Response::builder().status(status).body(body)?;
        *response.headers_mut() = headers;
        Ok(response)
    }
}
