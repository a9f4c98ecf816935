//! The redirect of clicks, and the pixel.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{CLICK, counts, get, launch, number, plan, record, request, serve, with, zone};
use crate::support::{Gateway, cuts, key, proxy::Seen, settled, short_bounds};

/// A header of a response.
fn header<'a>(response: &'a reqwest::Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

/// The path in a field of a served ad.
fn path(ad: &Value, field: &str) -> String {
    ad[field].as_str().expect("a path").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_leads_to_the_campaigns_target_and_counts_once() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let fields =
        json!({ "targetUrl": "https://SHOP.example/a b?c=d&e=ü#f", "pricing": "CPC", "bid": 5 });
    let id = launch(&gateway, with(plan(&gateway, &["top"]), fields)).await;
    let ad = serve(&gateway, "top", json!({})).await.remove(0);
    let click = path(&ad, "clickPath");
    let head = request(&gateway, Method::HEAD, &click).await;
    assert_eq!(head.status(), 302);
    settled(&gateway).await;
    assert_eq!(number(&gateway, &id, "clicks").await, 0, "only looked at");
    for _ in 0..3 {
        let response = get(&gateway, &click).await;
        assert_eq!(response.status(), 302);
        assert_eq!(header(&response, "location"), "https://shop.example/a%20b?c=d&e=%C3%BC#f");
        assert_eq!(header(&response, "cache-control"), "no-store");
        assert_eq!(header(&response, "referrer-policy"), "no-referrer");
    }
    settled(&gateway).await;
    assert_eq!(
        record(&gateway, CLICK, ad["token"].as_str().expect("a token")).await["isRepeat"],
        true
    );
    let found = counts(&gateway, &id).await;
    assert_eq!((&found["clicks"], &found["spent"]["minorUnits"]), (&json!(1), &json!(5)));
    assert_eq!(request(&gateway, Method::POST, &click).await.status(), 405);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_leads_nowhere_else() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let ad = serve(&gateway, "top", json!({})).await.remove(0);
    let token = ad["token"].as_str().expect("a token").to_owned();
    for path in [
        "/ads/click/x".to_owned(),
        "/ads/click/https:%2F%2Fevil.example".to_owned(),
        format!("/ads/click/{token}%2Fhttps:%2F%2Fevil.example"),
        format!("/ads/click/{token}/https://evil.example"),
        format!("/ads/click/{token}@evil.example"),
        format!("/ads/click/{}", token.to_uppercase()),
        format!("/ads/click/{}", "x".repeat(2_000)),
        format!(
            "/ads/click/{}",
            token.replace(&key(&id), "%0d%0aLocation:%20https://evil.example")
        ),
        format!("/ads/click/{token}%00"),
        format!("/ads/pixel/{token}x"),
    ] {
        let response = get(&gateway, &path).await;
        assert_eq!(response.status(), 404, "{path}");
        assert_eq!(header(&response, "location"), "", "{path}");
    }
    for query in
        ["?url=https://evil.example", "?target=//evil.example", "?redirect=%2F%2Fevil.example"]
    {
        let response = get(&gateway, &format!("/ads/click/{token}{query}")).await;
        assert_eq!(header(&response, "location"), "https://shop.example/offer", "{query}");
    }
    settled(&gateway).await;
    assert_eq!(number(&gateway, &id, "clicks").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pixel_counts_a_view_once() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let ads = [
        serve(&gateway, "top", json!({})).await.remove(0),
        serve(&gateway, "top", json!({})).await.remove(0),
    ];
    for ad in ads.iter().chain(&ads) {
        let response = get(&gateway, &path(ad, "pixelPath")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(header(&response, "content-type"), "image/gif");
        assert_eq!(header(&response, "cache-control"), "no-store");
        let bytes = response.bytes().await.expect("bytes");
        // One by one pixel.
        assert_eq!(bytes[..10], *b"GIF89a\x01\x00\x01\x00");
        assert_eq!(bytes.last(), Some(&b';'));
    }
    request(&gateway, Method::HEAD, &path(&ads[0], "pixelPath")).await;
    settled(&gateway).await;
    let found = counts(&gateway, &id).await;
    assert_eq!((&found["views"], &found["impressions"]), (&json!(2), &json!(2)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_whose_command_is_sent_twice_counts_once() {
    let base = Gateway::start().await;
    zone(&base, "top").await;
    let id = launch(&base, plan(&base, &["top"])).await;
    let ads = [
        serve(&base, "top", json!({})).await.remove(0),
        serve(&base, "top", json!({})).await.remove(0),
    ];
    let pixels = ads.map(|ad| path(&ad, "pixelPath"));
    let is_count = |seen: &Seen| seen.collection == "campaigns" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| assert_eq!(get(gateway, &pixels[0]).await.status(), 200);
    let later = async || {
        for pixel in &pixels {
            assert_eq!(get(&base, pixel).await.status(), 200);
        }
        settled(&base).await;
    };
    cuts::with_late_copy(&base, is_count, first, later).await;
    let found = counts(&base, &id).await;
    assert_eq!((&found["views"], &found["impressions"]), (&json!(2), &json!(2)));
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_leads_nowhere() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.ad_token_seconds = 1;
    })
    .await;
    zone(&gateway, "top").await;
    let id = launch(&gateway, plan(&gateway, &["top"])).await;
    let ad = serve(&gateway, "top", json!({})).await.remove(0);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for field in ["clickPath", "pixelPath"] {
        let response = get(&gateway, &path(&ad, field)).await;
        assert_eq!((response.status().as_u16(), header(&response, "location")), (404, ""));
    }
    settled(&gateway).await;
    let found = counts(&gateway, &id).await;
    assert_eq!((&found["clicks"], &found["views"]), (&json!(0), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_room_there_are_no_routes() {
    let gateway = Gateway::with(|config| config.rooms = vec!["hits".into()]).await;
    for path in ["/ads/click/x", "/ads/pixel/x"] {
        let response = get(&gateway, path).await;
        assert_eq!(response.status(), 404);
        let body = response.text().await.expect("a text");
        assert!(body.contains("nothing is served at this path"), "{body}");
    }
}
