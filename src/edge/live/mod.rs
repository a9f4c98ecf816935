//! Subscriptions over WebSocket, sub-protocol `graphql-transport-ws`.

use std::sync::Arc;

use async_graphql::{Data, Executor, Request, Response as Answer};
use async_graphql_axum::{GraphQLProtocol, GraphQLWebSocket};
use axum::{
    extract::{FromRequestParts, WebSocketUpgrade},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream::BoxStream};

use super::{Edge, auth::Caller, execution::Call};

/// Who asks is told by the `Authorization` header, or by `connection_init` with the payload
/// `{"Authorization": "Bearer …"}`, which browsers need.
pub(super) async fn upgrade(edge: Edge, head: &mut Parts) -> Response {
    let Ok(upgrade) = WebSocketUpgrade::from_request_parts(head, &()).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Ok(protocol) = GraphQLProtocol::from_request_parts(head, &()).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Ok(by_header) = edge.authenticator.caller(&head.headers).await else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let largest = edge.app.config().body_bytes;
    let upgrade = upgrade.max_message_size(largest).max_frame_size(largest);
    upgrade.protocols(async_graphql::http::ALL_WEBSOCKET_PROTOCOLS).on_upgrade(
        move |socket| async move {
            let authenticator = Arc::clone(&edge.authenticator);
            let init = move |payload: serde_json::Value| async move {
                let mut data = Data::default();
                data.insert(match payload.get("Authorization").and_then(|value| value.as_str()) {
                    Some(value) => authenticator.by_header_value(value).await?,
                    None => by_header,
                });
                Ok(data)
            };
            GraphQLWebSocket::new(socket, Live { edge }, protocol)
                .on_connection_init(init)
                .serve()
                .await;
        },
    )
}

/// Executes what comes over a socket.
#[derive(Clone)]
struct Live {
    edge: Edge,
}

impl Executor for Live {
    async fn execute(&self, request: Request) -> Answer {
        self.execute_stream(request, None).next().await.unwrap_or_default()
    }

    fn execute_stream(
        &self,
        request: Request,
        session: Option<Arc<Data>>,
    ) -> BoxStream<'static, Answer> {
        let id = self.edge.app.ids().random();
        let caller = session.and_then(|session| session_caller(&session)).unwrap_or_default();
        self.edge.follow(Call { request, caller, id, is_explained: false })
    }
}

fn session_caller(session: &Data) -> Option<Caller> {
    session.get(&std::any::TypeId::of::<Caller>())?.downcast_ref::<Caller>().cloned()
}
