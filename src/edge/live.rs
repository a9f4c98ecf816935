//! Subscriptions over WebSocket, sub-protocol `graphql-transport-ws`.

use async_graphql::Data;
use async_graphql_axum::{GraphQLProtocol, GraphQLWebSocket};
use axum::{
    extract::{State, WebSocketUpgrade},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};

use super::Edge;

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
    upgrade.protocols(async_graphql::http::ALL_WEBSOCKET_PROTOCOLS).on_upgrade(
        move |socket| async move {
            let mut data = Data::default();
            data.insert(edge.app.clone());
            let init = move |payload: serde_json::Value| async move {
                let mut data = Data::default();
                data.insert(match payload.get("Authorization").and_then(|value| value.as_str()) {
                    Some(value) => edge.authenticator.by_header_value(value)?,
                    None => by_header,
                });
                Ok(data)
            };
            GraphQLWebSocket::new(socket, edge.schema.clone(), protocol)
                .with_data(data)
                .on_connection_init(init)
                .serve()
                .await;
        },
    )
}
