//! `GET /metrics`, for Prometheus.

use axum::{
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
};

use super::Edge;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that is counted, as it stands.
pub(super) async fn metrics(State(edge): State<Edge>) -> impl IntoResponse {
    let text = edge.app.metrics().text().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok::<_, StatusCode>(([(CONTENT_TYPE, OPEN_METRICS)], text))
}
