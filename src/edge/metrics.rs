//! `GET /metrics`, for Prometheus.

use axum::{
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
};

use super::Edge;
use crate::{domains::topics, mongo::Stored};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics, in the text format of `OpenMetrics`.
pub(super) async fn metrics(State(edge): State<Edge>) -> impl IntoResponse {
    let (app, metrics) = (&edge.app, edge.app.metrics());
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let followers = Some(topics::operations::subscribers(app)).filter(|count| *count > 0);
    let followers = followers.map(|count| (topics::TopicsDocument::COLLECTION, count));
    metrics.streams.set_subscribers(app.hub().subscribers().into_iter().chain(followers));
    metrics.tasks.awaited.set(number(app.tasks().len()));
    let runtime = tokio::runtime::Handle::current().metrics();
    metrics.tasks.all.set(number(runtime.num_alive_tasks()));
    let text = metrics.text().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok::<_, StatusCode>(([(CONTENT_TYPE, OPEN_METRICS)], text))
}
