//! The span of an HTTP request, as a child of the client's trace.
//! <https://www.w3.org/TR/trace-context/>

use axum::{
    extract::Request,
    http::{Method, Uri},
    middleware::Next,
    response::Response,
};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::requests::REQUEST_ID;
use crate::traces;

/// Creates the span of a GraphQL request.
pub(super) async fn trace(request: Request, next: Next) -> Response {
    let Some(route) = route(request.uri()) else { return next.run(request).await };
    let span = traces::request(method(request.method()), route);
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
    // Fails if no subscriber records the span.
    let _unsent = span.set_parent(parent);
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if let Some(id) = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()) {
        span.record("docgate.request_id", id);
    }
    if status.is_server_error() {
        traces::failed(&span, status.as_str());
    }
    response
}

/// The route, if its requests are traced.
fn route(uri: &Uri) -> Option<&'static str> {
    (uri.path() == "/graphql").then_some("/graphql")
}

/// The method for the span; methods without a route are `_OTHER`.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}
