//! Tokens in a cookie.

use axum::http::{HeaderMap, HeaderValue, header};
use docgate::edge::auth::Authenticator;
use serde_json::{Value, json};

use super::{SIGNED_IN, assert_fits};
use crate::support::{Gateway, config, http, now_seconds, token, token_with};

/// Status of a request with these headers, which may be there more than once.
async fn status(gateway: &Gateway, headers: &[(&str, &str)]) -> u16 {
    let mut request = http().post(gateway.anonymous().url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.json(&json!({ "query": SIGNED_IN })).send().await.expect("an answer");
    let status = response.status().as_u16();
    let body: Value = response.json().await.expect("JSON");
    if status == 200 && body.get("errors").is_some() {
        // Nobody in particular.
        assert_eq!(body["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{body:#}");
        return 0;
    }
    assert_fits(status, &body);
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_may_come_in_the_configured_cookie() {
    let gateway =
        Gateway::with(|config| config.auth_cookie = Some("__Host-token".to_owned())).await;
    let good = token("someone", &[]);
    let bad = token_with(&json!({ "sub": "someone", "exp": now_seconds() - 60 }));
    let cookie = |token: &str| format!("theme=dark; __Host-token={token}; lang=de");
    let (held, expired) = (cookie(&good), cookie(&bad));
    let bearer = |token: &str| format!("Bearer {token}");
    let twice = format!("__Host-token={good}; __Host-token={good}");
    for (headers, expected) in [
        (vec![("cookie", held.as_str())], 200),
        // Anew, now that it is known.
        (vec![("cookie", held.as_str())], 200),
        (vec![("cookie", "theme=dark"), ("cookie", &held)], 200),
        (vec![("cookie", expired.as_str())], 401),
        (vec![("cookie", "__Host-token=nonsense")], 401),
        (vec![("cookie", twice.as_str())], 401),
        (vec![("cookie", held.as_str()), ("cookie", &held)], 401),
        // The header is what counts.
        (vec![("cookie", held.as_str()), ("authorization", &bearer(&bad))], 401),
        (vec![("cookie", expired.as_str()), ("authorization", &bearer(&good))], 200),
        (vec![("cookie", held.as_str()), ("authorization", "Basic YTpi")], 401),
        // Nobody: none, emptied, of another name.
        (vec![], 0),
        (vec![("cookie", "theme=dark; __Host-token")], 0),
        (vec![("cookie", "__Host-token=; theme=dark")], 0),
        (vec![("cookie", &format!("__host-token={good}"))], 0),
        (vec![("cookie", &format!("a__Host-token={good}"))], 0),
    ] {
        assert_eq!(status(&gateway, &headers).await, expected, "{headers:?}");
    }
    let without = Gateway::start().await;
    assert_eq!(status(&without, &[("cookie", &held)]).await, 0, "no cookie is configured");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_is_known_by_cookie_is_marked() {
    let mut config = config("none");
    config.auth_cookie = Some("token".to_owned());
    let authenticator = Authenticator::new(&config).expect("keys");
    let good = token("someone", &[]);
    let mut headers = HeaderMap::new();
    let mark = async |headers: &HeaderMap| {
        let caller = authenticator.caller(headers).await.expect("a caller");
        (caller.requester.subject.is_some(), caller.by_cookie)
    };
    assert_eq!(mark(&headers).await, (false, false));
    let value = |text: String| HeaderValue::from_str(&text).expect("a value");
    headers.insert(header::COOKIE, value(format!("token={good}")));
    assert_eq!(mark(&headers).await, (true, true));
    headers.insert(header::AUTHORIZATION, value(format!("Bearer {good}")));
    assert_eq!(mark(&headers).await, (true, false), "the same token, known by now");
    headers.remove(header::AUTHORIZATION);
    assert_eq!(mark(&headers).await, (true, true));
}
