//! Content negotiation for GraphQL responses.
//! <https://graphql.github.io/graphql-over-http/draft/#sec-Media-Types>

use axum::http::{
    HeaderMap,
    header::{ACCEPT, HeaderName, IF_NONE_MATCH},
};

/// Media type of a single response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// `application/json`: status 200 for every well-formed request.
    #[default]
    Json,
    /// `application/graphql-response+json`: the status shows whether the operation was executed.
    GraphqlResponse,
}

/// Media type of a stream of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// `text/event-stream`, the graphql-sse protocol.
    Events,
    /// `multipart/mixed;subscriptionSpec=1.0`, Apollo's protocol.
    Multipart,
}

/// The media types that a client accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Accepted {
    /// For a single response, the preferred one.
    pub(super) single: Option<Format>,
    /// For a stream.
    pub(super) stream: Option<Stream>,
}

impl Format {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json; charset=utf-8",
            Self::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
        }
    }
}

impl Accepted {
    /// The format of a response that can only be a single one, such as an error.
    pub(super) fn format(self) -> Format {
        // A client that accepts only streams evaluates the status.
        let other = if self.stream.is_some() { Format::GraphqlResponse } else { Format::Json };
        self.single.unwrap_or(other)
    }

    /// Parses the `Accept` header. Without the header everything is accepted.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(ACCEPT).iter().peekable();
        if values.peek().is_none() {
            return Self { single: Some(Format::Json), stream: Some(Stream::Events) };
        }
        let (mut accepted, mut best) = (Self::default(), 0.0);
        let mut is_any = false;
        let ranges = values.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
        for range in ranges {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let mut quality = 1.0;
            let mut is_subscription_spec = false;
            for part in parts {
                let (key, value) = part.split_once('=').unwrap_or((part, ""));
                match key.to_ascii_lowercase().as_str() {
                    "q" => quality = value.parse().unwrap_or(0.0),
                    "subscriptionspec" => is_subscription_spec = true,
                    _ => {}
                }
            }
            if quality <= 0.0 {
                continue;
            }
            let single = match name.as_str() {
                "application/json" | "application/*" | "*/*" => Some(Format::Json),
                "application/graphql-response+json" => Some(Format::GraphqlResponse),
                _ => None,
            };
            // With equal quality the first in the header is preferred.
            if single.is_some() && quality > best {
                (accepted.single, best) = (single, quality);
            }
            is_any |= name == "*/*";
            match name.as_str() {
                "multipart/mixed" if is_subscription_spec => {
                    accepted.stream = Some(Stream::Multipart);
                }
                "text/event-stream" if accepted.stream.is_none() => {
                    accepted.stream = Some(Stream::Events);
                }
                _ => {}
            }
        }
        accepted.stream = accepted.stream.or(is_any.then_some(Stream::Events));
        accepted
    }
}

/// Whether `If-None-Match` contains this tag, by weak comparison.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2>
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    fn opaque(tag: &str) -> &str {
        tag.strip_prefix("W/").unwrap_or(tag)
    }
    let mut known = entries(headers, IF_NONE_MATCH);
    known.any(|known| known == "*" || opaque(known) == opaque(tag))
}

/// The entries of a header with a comma-separated list.
pub(super) fn entries(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}
