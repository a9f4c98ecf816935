//! Files at `/assets/…`, by id or path, with ranges and preconditions; pictures also at a width. `PUT` uploads a file.
//! <https://www.rfc-editor.org/rfc/rfc9110>

mod conditions;
mod download;
mod error_response;
mod pictures;
mod upload;

use axum::{
    extract::{Request, State},
    http::{HeaderValue, request::Parts},
    response::Response,
    routing::{MethodRouter, get},
};

use super::{Edge, requests};
use error_response::AssetError;

/// The methods of a path below `/assets`.
pub(super) fn routes() -> MethodRouter<Edge> {
    get(get_asset).put(put_asset)
}

/// `GET` and `HEAD` of a file.
async fn get_asset(State(edge): State<Edge>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let answered = download::answer(&edge, &head).await;
    end(&edge, &head, answered)
}

async fn put_asset(State(edge): State<Edge>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answered = upload::answer(&edge, &head, body).await;
    end(&edge, &head, answered)
}

fn end(edge: &Edge, head: &Parts, answered: Result<Response, AssetError>) -> Response {
    let id = requests::request_id(edge, &head.headers);
    let mut response = answered.unwrap_or_else(|error| error.answer(edge, &id));
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(requests::REQUEST_ID, id);
    }
    response
}
