//! The demo's ticker: a topic on which purchases of simulated customers are published for as long as the demo runs.

use std::time::Duration;

use docgate_demo::{products, random::Random};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::client::{DemoClient, someone};
use crate::{app::App, cli::failure::Failure, graphql::requester::Role};

/// Name of the topic.
const TOPIC: &str = "ticker";
/// Size of the topic in bytes.
const BYTES: i64 = 1 << 20;
/// Time between two messages.
const PAUSE: Duration = Duration::from_secs(1);

const CREATE: &str = "mutation($input: CreateTopicInput!) { createTopic(input: $input) {
    __typename ... on AlreadyExists { id } } }";
const PUBLISH: &str = "mutation($input: PublishInput!) { publish(input: $input) {
    __typename ... on UserError { code message } } }";

/// Publishes a message every second until `stop`. A message that can't be published is left out.
pub(in crate::cli) async fn run(app: App, count: u32, stop: CancellationToken) {
    let [albums, ..] = products::shares(usize::try_from(count).unwrap_or(usize::MAX));
    let (client, service) = (DemoClient::new(app), someone("ticker", &[Role::Service]));
    let create = json!({ "input": { "name": TOPIC, "bytes": BYTES, "isPublic": true } });
    note(client.execute(&service, CREATE, create).await.map(|_| ()));
    let mut random = Random::new(41);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
        let sku = format!("ALB-{:05}", 1 + random.below(albums));
        let sale = json!({ "sku": sku, "sold": 1 + random.below(3) });
        let input = json!({ "input": { "topic": TOPIC, "messages": [sale.to_string()] } });
        note(client.execute(&service, PUBLISH, input).await.map(|_| ()));
    }
}

fn note(done: Result<(), Failure>) {
    if let Err(failure) = done {
        tracing::warn!(event = "ticker_failed", %failure, "the demo's ticker couldn't publish");
    }
}
