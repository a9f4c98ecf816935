//! Subscriptions over WebSocket, sub-protocol `graphql-transport-ws`.

use std::sync::Arc;

use async_graphql::{Data, Executor, Request, Response as Answer};
use async_graphql_axum::{GraphQLProtocol, GraphQLWebSocket};
use axum::{
    extract::{State, WebSocketUpgrade},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream, stream::BoxStream};

use super::Edge;
use crate::graphql::errors;

/// Who asks is told by the `Authorization` header, or by `connection_init` with the payload
/// `{"Authorization": "Bearer …"}`, which browsers need.
pub(super) async fn upgrade(
    State(edge): State<Edge>,
    protocol: GraphQLProtocol,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Ok(by_header) = edge.authenticator.requester(&headers) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let largest = edge.app.config().body_bytes;
    let upgrade = upgrade.max_message_size(largest).max_frame_size(largest);
    upgrade.protocols(async_graphql::http::ALL_WEBSOCKET_PROTOCOLS).on_upgrade(
        move |socket| async move {
            let mut data = Data::default();
            data.insert(edge.app.clone());
            let authenticator = Arc::clone(&edge.authenticator);
            let init = move |payload: serde_json::Value| async move {
                let mut data = Data::default();
                data.insert(match payload.get("Authorization").and_then(|value| value.as_str()) {
                    Some(value) => authenticator.by_header_value(value)?,
                    None => by_header,
                });
                Ok(data)
            };
            GraphQLWebSocket::new(socket, Live { edge }, protocol)
                .with_data(data)
                .on_connection_init(init)
                .serve()
                .await;
        },
    )
}

/// Executes what comes over a socket. Queries and mutations may come there too, and outlive it as
/// they outlive a request.
#[derive(Clone)]
struct Live {
    edge: Edge,
}

impl Executor for Live {
    async fn execute(&self, request: Request) -> Answer {
        let mut answers = self.execute_stream(request, None);
        answers.next().await.unwrap_or_default()
    }

    fn execute_stream(
        &self,
        request: Request,
        session: Option<Arc<Data>>,
    ) -> BoxStream<'static, Answer> {
        let id = self.edge.app.ids().random();
        let prepared = self.edge.schema.prepare(request);
        self.edge.app.metrics().request(prepared.is_known());
        let follows = prepared.is_subscription();
        let answers = self.edge.schema.execute_stream(prepared, session.unwrap_or_default());
        let mut answers = answers.boxed();
        if follows {
            return answers.map(move |answer| errors::finish(answer, &id)).boxed();
        }
        let task = self.edge.app.tasks().spawn(async move { answers.next().await });
        stream::once(task)
            .filter_map(move |answer| {
                let answer = answer.ok().flatten().map(|answer| errors::finish(answer, &id));
                std::future::ready(answer)
            })
            .boxed()
    }
}
