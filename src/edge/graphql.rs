//! GraphQL over HTTP at `/graphql`: from the request to the operation, and from its result to the body of the response.
//! <https://graphql.github.io/graphql-over-http/draft/>

use std::sync::Arc;

use async_graphql::{Response, Value};
use axum::{
    body::Body as HttpBody,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response as HttpResponse,
};
use bytes::Bytes;

use super::{
    Edge,
    auth::Caller,
    error_response::{ErrorResponse, with_status},
    execution::{Cost, Ready},
    live,
    negotiation::{Accepted, Format, Stream},
    parameters::{Body, Parameters, is_json},
    received_bytes::ReceivedBytes,
    requests::{REQUEST_ID, request_id},
    response_writer::serialized,
    shares::Client,
    uploads,
    whole_response::{NO_STORE, Whole, cache_control},
};
use crate::{
    error::Error,
    graphql::{errors, upload::Files},
};

/// Headers that a page of another site can't send without a CORS preflight. A GET that is authenticated by a
/// cookie must carry one of them.
const CSRF_HEADERS: [&str; 3] =
    ["x-docgate-csrf", "apollo-require-preflight", "x-apollo-operation-name"];

fn has_csrf_header(headers: &HeaderMap) -> bool {
    CSRF_HEADERS.iter().any(|name| headers.contains_key(*name))
}

/// The state of one HTTP request.
struct Exchange {
    edge: Arc<Edge>,
    head: Parts,
    id: String,
    format: Format,
    /// Whether the request became an operation, which has its own metrics and log line.
    is_operation: bool,
}

/// `POST /graphql`.
pub(super) async fn post(edge: Arc<Edge>, request: axum::extract::Request) -> HttpResponse {
    let (head, body) = request.into_parts();
    let mut exchange = Exchange::begin(edge, head);
    let answered = exchange.post(body).await;
    exchange.end(answered)
}

/// `GET /graphql`, which never executes mutations.
pub(super) async fn get(edge: Arc<Edge>, head: Parts) -> HttpResponse {
    let mut exchange = Exchange::begin(edge, head);
    let answered = exchange.get().await;
    exchange.end(answered)
}

/// The result of a request.
enum Answer {
    Whole(Whole),
    /// A response in parts.
    Stream(HttpResponse),
}

impl Exchange {
    fn begin(edge: Arc<Edge>, head: Parts) -> Self {
        let id = request_id(&edge, &head.headers);
        Self { edge, head, id, format: Format::default(), is_operation: false }
    }

    async fn post(&mut self, body: HttpBody) -> Result<Answer, ErrorResponse> {
        let accepted = Accepted::of(&self.head.headers);
        self.format = accepted.format();
        let caller = self.edge.caller(&self.head).await.map_err(with_status)?;
        if let Some(boundary) = uploads::boundary(&self.head.headers) {
            return self.with_files(body, boundary, &caller, accepted).await;
        }
        if !is_json(&self.head.headers) {
            let error = Error::bad_input(
                "content-type",
                "must be application/json, or multipart/form-data with files",
            );
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
        let body = self.edge.receive(&self.head, body).await?;
        let max = self.edge.app.config().max_batch;
        match Body::read(&body, max).map_err(with_status)? {
            Body::One(parameters) => self.answer(parameters, None, &caller, accepted).await,
            Body::Batch(all) => {
                let accepted = Accepted { stream: None, ..accepted };
                let mut answers = Vec::with_capacity(all.len());
                let client = self.edge.client(&caller, &self.head);
                // All are charged before the first is executed: a batch that is refused has changed nothing.
                self.edge.limits.admit_batch(client, all.len()).map_err(with_status)?;
                for parameters in all {
                    let answer = match self.answer(parameters, None, &caller, accepted).await {
                        Ok(Answer::Whole(whole)) => whole,
                        Ok(Answer::Stream(_)) => self.error(not_acceptable()),
                        Err(error) => {
                            self.rejected(&error.1);
                            self.error(error)
                        }
                    };
                    self.is_operation = false;
                    answers.push(answer.body);
                }
                let body = [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat();
                // The whole is counted instead of its parts.
                drop(answers);
                let body = self.counted(client, body.into(), true)?;
                Ok(Answer::Whole(Whole { body, status: StatusCode::OK, caching: NO_STORE }))
            }
        }
    }

    async fn get(&mut self) -> Result<Answer, ErrorResponse> {
        let accepted = Accepted::of(&self.head.headers);
        self.format = accepted.format();
        let caller = self.edge.caller(&self.head).await.map_err(with_status)?;
        if caller.by_cookie && !has_csrf_header(&self.head.headers) {
            let reason = format!("one of {} must accompany a cookie", CSRF_HEADERS.join(", "));
            return Err((StatusCode::FORBIDDEN, Error::bad_input("headers", reason)));
        }
        let query = self.head.uri.query().unwrap_or_default();
        let parameters = Parameters::of_query_string(query).map_err(with_status)?;
        self.answer(parameters, None, &caller, accepted).await
    }

    /// A multipart request with files. A page of another site can send one without a CORS preflight, so the
    /// request must carry a header that such a page can't set.
    async fn with_files(
        &mut self,
        body: HttpBody,
        boundary: String,
        caller: &Caller,
        accepted: Accepted,
    ) -> Result<Answer, ErrorResponse> {
        let headers = &self.head.headers;
        if !headers.contains_key(header::AUTHORIZATION) && !has_csrf_header(headers) {
            let names = CSRF_HEADERS.join(", ");
            let reason =
                format!("one of {names} or Authorization must accompany multipart/form-data");
            return Err((StatusCode::FORBIDDEN, Error::bad_input("headers", reason)));
        }
        let client = self.edge.client(caller, &self.head);
        let _permit = self.edge.limits.begin_transfer(client).map_err(with_status)?;
        let received = ReceivedBytes::of(&self.head);
        let (parameters, files) = uploads::read(&self.edge, body, boundary, received).await?;
        let accepted = Accepted { stream: None, ..accepted };
        let answer = self.answer(parameters, Some(files.clone()), caller, accepted).await;
        uploads::discard(&self.edge, &files).await;
        answer
    }

    async fn answer(
        &mut self,
        mut parameters: Parameters,
        files: Option<Files>,
        caller: &Caller,
        accepted: Accepted,
    ) -> Result<Answer, ErrorResponse> {
        let text = self.edge.documents.text(&mut parameters).map_err(|error| match error {
            Error::PersistedQueryNotFound => self.of_document(error),
            error => with_status(error),
        })?;
        let length = parameters.length;
        let mut request = parameters.into_request(text);
        let mut time = self.edge.limits.time;
        if let Some(files) = files {
            time += self.edge.limits.transfer;
            request = request.data(files);
        }
        let client = self.edge.client(caller, &self.head);
        let ready = self.edge.prepare(request, length, caller.clone(), client, &self.id);
        let mut ready = ready.map_err(|error| self.of_document(error))?;
        ready.time = time;
        let prepared = &ready.prepared;
        if prepared.is_mutation() && self.head.method != Method::POST {
            let error = Error::bad_input("query", "a mutation can't be sent by GET: use POST");
            return Err(self.reject(ready, (StatusCode::METHOD_NOT_ALLOWED, error)));
        }
        let is_explained = self.edge.is_explained(&self.head.headers, caller);
        if prepared.is_subscription() || accepted.single.is_none() {
            let respond = match accepted.stream {
                Some(Stream::Events) => live::sse::respond,
                Some(Stream::Multipart) => live::multipart::respond,
                None => return Err(self.reject(ready, not_acceptable())),
            };
            let answers = self.edge.follow_ready(ready, self.id.clone(), is_explained);
            self.is_operation = true;
            return Ok(Answer::Stream(respond(&self.edge, answers, caller, client)));
        }
        let (max_age, is_mutation) = (prepared.max_age(), prepared.is_mutation());
        ready.prepared.respond_as_text();
        self.is_operation = true;
        let executed = self.edge.execute(ready, &self.id, is_explained).await;
        let (response, cost) = executed.map_err(with_status)?;
        let mut answer = self.serialized(&response, cost);
        answer.body = self.counted(client, answer.body, is_mutation)?;
        if let Some(max_age) = max_age
            && response.errors.is_empty()
        {
            answer.caching = cache_control(max_age, caller);
        }
        Ok(Answer::Whole(answer))
    }

    /// The body of a response, which is counted until the client has taken it.
    fn counted(
        &self,
        client: Client,
        body: Bytes,
        may_have_changed: bool,
    ) -> Result<Bytes, ErrorResponse> {
        self.edge.limits.unsent.counted(client, body).map_err(|reached| {
            with_status(if may_have_changed {
                Error::unavailable("the response is one of too many that weren't taken yet")
            } else {
                reached.into()
            })
        })
    }

    /// Serialises a response.
    fn serialized(&self, response: &Response, cost: Option<Cost>) -> Whole {
        let is_executed = response.data != Value::Null
            || response.errors.iter().any(|error| !error.path.is_empty());
        let status = match self.format {
            Format::GraphqlResponse if !is_executed => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        match serialized(response, is_executed, cost) {
            Ok(body) => Whole { body: body.into(), status, caching: NO_STORE },
            Err(fault) => {
                tracing::error!(
                    event = "response_serialization_failed",
                    request_id = self.id,
                    %fault,
                    "a response could not be serialised"
                );
                let (status, body) = (StatusCode::INTERNAL_SERVER_ERROR, Bytes::new());
                Whole { body, status, caching: NO_STORE }
            }
        }
    }

    /// Records that a prepared operation isn't executed.
    fn reject(&mut self, ready: Ready, error: ErrorResponse) -> ErrorResponse {
        self.is_operation = true;
        ready.refused(&self.id, &error.1);
        error
    }

    /// Counts a request that was rejected before it became an operation.
    fn rejected(&self, error: &Error) {
        if !self.is_operation {
            self.edge.observer.rejected(&self.id, error);
        }
    }

    fn error(&self, (status, error): ErrorResponse) -> Whole {
        let response = errors::finished(error, &self.id);
        Whole { status, ..self.serialized(&response, None) }
    }

    /// A document error has status 200 with `application/json`, and its own status with the newer media type.
    fn of_document(&self, error: Error) -> ErrorResponse {
        match self.format {
            Format::Json => (StatusCode::OK, error),
            Format::GraphqlResponse => with_status(error),
        }
    }

    fn end(self, answered: Result<Answer, ErrorResponse>) -> HttpResponse {
        let whole = match answered {
            Ok(Answer::Whole(whole)) => whole,
            Ok(Answer::Stream(mut response)) => {
                if let Ok(id) = HeaderValue::try_from(self.id) {
                    response.headers_mut().insert(REQUEST_ID, id);
                }
                return response;
            }
            Err(error) => {
                self.rejected(&error.1);
                self.error(error)
            }
        };
        whole.into_response(self.format, self.id, &self.head)
    }
}

fn not_acceptable() -> ErrorResponse {
    let reason = "must include application/json or application/graphql-response+json; a subscription, which no \
                  batch can contain, needs text/event-stream or multipart/mixed;subscriptionSpec=1.0";
    (StatusCode::NOT_ACCEPTABLE, Error::bad_input("accept", reason))
}
