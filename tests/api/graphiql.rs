//! The pages for people: GraphiQL where it is in the binary, the explorer always, neither when they are
//! switched off.

use std::io::Read;

use flate2::read::GzDecoder;
use reqwest::{Response, StatusCode};

use crate::support::{Gateway, http};

async fn ask(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = http().get(format!("http://{}{path}", gateway.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.expect("an answer")
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

/// Addresses of docgate's own that a page loads first.
fn loaded(page: &str) -> Vec<String> {
    let after = |mark: &str| {
        let parts = page.split(mark).skip(1);
        parts.map(|part| part.split('"').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let mut found = after("src=\"");
    found.extend(after("rel=\"stylesheet\" href=\""));
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_binary_has_is_served_and_what_it_lacks_is_explained() {
    let gateway = Gateway::start().await;
    let explorer = ask(&gateway, "/", &[]).await.text().await.expect("a page");
    assert!(explorer.contains("<title>docgate explorer</title>"));
    assert_eq!(explorer.contains("href=\"graphiql\""), cfg!(graphiql), "the link to GraphiQL");
    let browser = ask(&gateway, "/graphql", &[("accept", "text/html,*/*;q=0.8")]).await;
    assert_eq!((browser.status(), browser.url().path()), (StatusCode::OK, "/"));
    let response = ask(&gateway, "/graphiql", &[]).await;
    let status = response.status();
    let page = response.text().await.expect("a page");
    if cfg!(graphiql) {
        assert_eq!(status, StatusCode::OK);
        assert!(page.contains("<title>docgate</title>") && page.contains("href=\"./\""), "{page}");
        let loaded = loaded(&page);
        assert_eq!(loaded.len(), 3, "the icon, a script and a style sheet: {loaded:?}");
        for path in loaded {
            assert!(!path.contains("//"), "another host: {path}");
            let response = ask(&gateway, &format!("/{path}"), &[]).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
        }
    } else {
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(page.contains("npm ci --ignore-scripts && npm run build"), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(graphiql), ignore = "GraphiQL isn't in this build")]
async fn files_of_graphiql_are_typed_cached_and_kept_to_this_host() {
    let gateway = Gateway::start().await;
    let page = ask(&gateway, "/graphiql", &[]).await;
    assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
    assert_eq!(header(&page, "cache-control"), "no-cache");
    let page = page.text().await.expect("a page");
    for path in loaded(&page).iter().filter(|path| path.starts_with("graphiql/")) {
        let response = ask(&gateway, &format!("/{path}"), &[]).await;
        let content_type = if path.contains(".css") { "text/css" } else { "text/javascript" };
        assert_eq!(header(&response, "content-type"), format!("{content_type}; charset=utf-8"));
        assert_eq!(header(&response, "cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        assert_eq!(header(&response, "vary"), "accept-encoding");
        let policy = header(&response, "content-security-policy");
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("http"), "{policy}");
        assert!(!policy.contains("script-src") && !policy.contains("unsafe-eval"), "{policy}");
    }
    let licenses = ask(&gateway, "/graphiql/licenses.txt", &[]).await.text().await.expect("a text");
    assert!(licenses.contains("==== graphiql ") && licenses.contains("==== monaco-editor "));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(graphiql), ignore = "GraphiQL isn't in this build")]
async fn files_of_graphiql_come_gzipped_to_those_who_take_it() {
    let gateway = Gateway::start().await;
    let plain = ask(&gateway, "/graphiql", &[]).await;
    assert_eq!(header(&plain, "content-encoding"), "");
    let plain = plain.bytes().await.expect("a page");
    for (accepted, is_gzipped) in [
        ("gzip", true),
        ("br, gzip;q=0.5", true),
        ("br;q=1, *", true),
        ("br, deflate", false),
        ("gzip;q=0, *", false),
        ("identity, gzip; q=0.0", false),
    ] {
        let response = ask(&gateway, "/graphiql", &[("accept-encoding", accepted)]).await;
        assert_eq!(header(&response, "content-encoding") == "gzip", is_gzipped, "{accepted}");
        let body = response.bytes().await.expect("a page");
        let mut text = Vec::new();
        if is_gzipped {
            GzDecoder::new(&*body).read_to_end(&mut text).expect("gzip");
        } else {
            text.extend_from_slice(&body);
        }
        assert_eq!(text, plain, "{accepted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(graphiql), ignore = "GraphiQL isn't in this build")]
async fn files_of_graphiql_that_a_client_has_are_not_sent_again() {
    let gateway = Gateway::start().await;
    let first = ask(&gateway, "/graphiql", &[("accept-encoding", "gzip")]).await;
    let tag = header(&first, "etag").to_owned();
    assert!(tag.len() > 4, "{tag}");
    for known in [tag.clone(), format!("\"another\", {tag}"), "*".to_owned()] {
        let again = ask(&gateway, "/graphiql", &[("if-none-match", &known)]).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
        assert_eq!(header(&again, "etag"), tag);
        assert_eq!(header(&again, "cache-control"), "no-cache");
        assert!(again.bytes().await.expect("an answer").is_empty());
    }
    let changed = ask(&gateway, "/graphiql", &[("if-none-match", "\"another\"")]).await;
    assert_eq!(changed.status(), StatusCode::OK);
    let licenses = ask(&gateway, "/graphiql/licenses.txt", &[]).await;
    assert_ne!(header(&licenses, "etag"), tag, "each file has its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_nothing_beside_the_files() {
    let gateway = Gateway::start().await;
    for path in ["/graphiql/index.html", "/graphiql/..%2fexplorer.js", "/graphiql/x", "/graphiql/"]
    {
        let status = ask(&gateway, path, &[]).await.status();
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_storefront_is_in_the_demo_only() {
    let gateway = Gateway::start().await;
    for path in ["/shop", "/shop/", "/shop/cart", "/shop/sku/AUD-00003.walnut"] {
        assert_eq!(ask(&gateway, path, &[]).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let explorer = ask(&gateway, "/", &[]).await.text().await.expect("a page");
    assert!(!explorer.contains("href=\"shop\""), "no link to it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_can_be_switched_off() {
    let gateway = Gateway::with(|config| config.explorer = false).await;
    for path in
        ["/", "/explorer.js", "/explorer/examples.json", "/explorer/tokens.json", "/graphiql"]
    {
        let response = ask(&gateway, path, &[]).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let body: serde_json::Value = response.json().await.expect("an answer");
        assert_eq!(body["errors"][0]["extensions"]["code"], "NOT_FOUND", "{path}");
    }
    // A browser isn't sent to a page that isn't there.
    let browser = ask(&gateway, "/graphql", &[("accept", "text/html,*/*;q=0.8")]).await;
    assert_eq!((browser.status(), browser.url().path()), (StatusCode::BAD_REQUEST, "/graphql"));
    gateway.anonymous().data("{ __typename }", serde_json::json!({})).await;
}
