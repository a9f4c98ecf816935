//! Titles and texts of content in several languages.

use serde_json::{Value, json};

use super::{ask, create, draft, editor, id, publish, put, version};
use crate::support::{Gateway, commands};

const READ: &str =
    "query($locale: LocaleTag) { content(by: { path: \"/guide\" }, locale: $locale) {
    title body html language translations { locale title body subtitle }
    ... on Blog { subtitle } } }";

fn in_languages(own: Option<&str>) -> Value {
    json!({
        "title": "The Guide", "body": "Hello.", "subtitle": "Read it", "language": own,
        "translations": [
            { "locale": "de", "title": "Der Führer", "body": "Hallo.", "subtitle": "Lesen" },
            { "locale": "pt-BR", "title": "O Guia" },
        ],
    })
}

fn blog(own: Option<&str>) -> Value {
    json!({ "type": "BLOG", "slug": "guide", "text": in_languages(own) })
}

/// Title, text, subtitle and language as a reader with a locale sees them.
async fn shown(gateway: &Gateway, locale: Option<&str>) -> Value {
    let content = gateway.anonymous().field(READ, json!({ "locale": locale })).await;
    let html = content["html"].as_str().expect("a text");
    assert!(html.contains(content["body"].as_str().expect("a text")), "{content:#}");
    json!([content["title"], content["body"], content["subtitle"], content["language"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_falls_back_to_a_language_that_is_near() {
    let gateway = Gateway::start().await;
    let made = create(&gateway, blog(Some("en"))).await;
    publish(&gateway, &made, None).await;
    let own = json!(["The Guide", "Hello.", "Read it", "en"]);
    let german = json!(["Der Führer", "Hallo.", "Lesen", "de"]);
    for (locale, expected) in [
        (None, own.clone()),
        (Some("en-GB"), own.clone()),
        (Some("fr"), own.clone()),
        (Some("de"), german.clone()),
        (Some("de-AT"), german.clone()),
        // There is no Portuguese text.
        (Some("pt-BR"), json!(["O Guia", "Hello.", "Read it", "pt-BR"])),
        (Some("pt-PT"), json!(["O Guia", "Hello.", "Read it", "pt-BR"])),
    ] {
        assert_eq!(shown(&gateway, locale).await, expected, "{locale:?}");
    }
    let all = gateway.anonymous().field(READ, json!({ "locale": "fr" })).await;
    assert_eq!(
        all["translations"],
        json!([
            { "locale": "de", "title": "Der Führer", "body": "Hallo.", "subtitle": "Lesen" },
            { "locale": "pt-BR", "title": "O Guia", "body": null, "subtitle": null },
        ])
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_what_lies_around_have_the_language_too() {
    let gateway = Gateway::start().await;
    let made = create(&gateway, blog(Some("en"))).await;
    publish(&gateway, &made, None).await;
    put(&gateway, "BLOG_ENTRY", "entry", Some(id(&made))).await;
    let list =
        "{ contents(by: { type: BLOG }, locale: \"de\") { edges { node { title language } } } }";
    let response = gateway.anonymous().explained(list, json!({})).await;
    assert_eq!(commands(&response).len(), 1, "{response:#}");
    let german = json!([{ "node": { "title": "Der Führer", "language": "de" } }]);
    assert_eq!(response["data"]["contents"]["edges"], german);
    // Texts are read if they are selected.
    let list = "{ contents(by: { type: BLOG }, locale: \"de\") { edges { node {
        body translations { locale body } } } } }";
    let found = gateway.anonymous().field(list, json!({})).await;
    let node = json!({ "body": "Hallo.", "translations": [
        { "locale": "de", "body": "Hallo." }, { "locale": "pt-BR", "body": null },
    ] });
    assert_eq!(found["edges"], json!([{ "node": node }]));

    let entry =
        "{ content(by: { path: \"/guide/entry\" }, locale: \"de\") { title parent { title } } }";
    let found = gateway.anonymous().field(entry, json!({})).await;
    assert_eq!(found, json!({ "title": "entry", "parent": { "title": "Der Führer" } }));
    let below = "{ contentBelow(locale: \"de\") { edges { node { title } } } }";
    let found = editor(&gateway).field(below, json!({})).await;
    assert_eq!(found["edges"], json!([{ "node": { "title": "Der Führer" } }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn translations_are_edited_published_and_restored_with_the_version() {
    let gateway = Gateway::start().await;
    let made = create(&gateway, blog(None)).await;
    publish(&gateway, &made, None).await;
    let german = json!(["Der Führer", "Hallo.", "Lesen", "de"]);
    assert_eq!(shown(&gateway, Some("de")).await, german);
    assert_eq!(shown(&gateway, Some("en")).await, json!(["The Guide", "Hello.", "Read it", null]));

    let drafts = async || {
        let query = "query($id: ID!) { content(by: { id: $id }) {
            draft { title translations { locale title } }
            revisions { edges { node { number translations { locale title } } } } } }";
        editor(&gateway).field(query, json!({ "id": id(&made) })).await
    };
    let all = json!([{ "locale": "de", "title": "Der Führer" }, { "locale": "pt-BR", "title": "O Guia" }]);
    assert_eq!(drafts().await["draft"]["translations"], all);
    // An edit without them removes them from the draft. Readers see them until it is published.
    let text = json!({ "title": "Another", "body": "Text." });
    let edit = json!({ "contentId": id(&made), "version": version(&made), "text": text });
    let edited = ask(&gateway, "editContent", edit).await;
    assert_eq!(drafts().await["draft"]["translations"], json!([]));
    let revisions = json!([{ "node": { "number": 0, "translations": all } }]);
    assert_eq!(drafts().await["revisions"]["edges"], revisions);
    assert_eq!(shown(&gateway, Some("de")).await, german);
    publish(&gateway, &edited, None).await;
    assert_eq!(shown(&gateway, Some("de")).await, json!(["Another", "Text.", null, null]));
    let restore = json!({ "contentId": id(&made), "version": version(&edited), "number": 0 });
    let restored = ask(&gateway, "restoreContent", restore).await;
    assert_eq!(drafts().await["draft"]["translations"], all);
    publish(&gateway, &restored, None).await;
    assert_eq!(shown(&gateway, Some("de")).await, german);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_stands_there_once_and_the_texts_have_a_bound() {
    let gateway = Gateway::start().await;
    let refused_at = async |input: Value, field: &str| {
        let before = gateway.snapshot().await;
        let said = ask(&gateway, "createContent", input).await;
        assert_eq!(said["field"], format!("input.text.translations{field}"), "{said:#}");
        assert!(gateway.snapshot().await == before);
    };
    refused_at(blog(Some("de")), ".0.locale").await;
    let with = |translation: Value| {
        let mut input = blog(Some("en"));
        input["text"]["translations"][1] = translation;
        input
    };
    refused_at(with(json!({ "locale": "DE", "title": "Noch einer" })), ".1.locale").await;
    refused_at(with(json!({ "locale": "fr", "title": " " })), ".1.title").await;
    refused_at(with(json!({ "locale": "fr", "title": "t", "body": "\u{0}" })), ".1.body").await;
    refused_at(with(json!({ "locale": "fr", "title": "t", "summary": "s" })), ".1.summary").await;
    let mut page = draft("PAGE", "page", None);
    page["text"]["translations"] = json!([{ "locale": "fr", "title": "t", "subtitle": "s" }]);
    refused_at(page, ".0.subtitle").await;
    let in_each = |count: usize, body: &str| {
        let one = |number: usize| {
            let locale =
                format!("{}{}", char::from(b'a' + u8::try_from(number).expect("few")), "a");
            json!({ "locale": locale, "title": "t", "body": body })
        };
        let mut input = draft("PAGE", "page", None);
        input["text"]["translations"] = (0..count).map(one).collect();
        input
    };
    refused_at(in_each(21, "short"), "").await;
    refused_at(in_each(4, &"x".repeat(80_000)), "").await;
    let made = create(&gateway, in_each(20, "short")).await;
    assert_eq!(made["title"], "page");
}
