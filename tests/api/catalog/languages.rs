//! Titles and descriptions in several languages.

use serde_json::{Value, json};

use super::{change, create, refused, thing};
use crate::support::{Gateway, commands};

const READ: &str = "query($locale: LocaleTag) { product(sku: \"t-1\", locale: $locale) {
    title description language translations { locale title description } } }";

fn in_languages(own: Option<&str>) -> Value {
    let mut input = thing("t-1", "The Lighthouse");
    input["content"]["description"] = json!("A lamp.");
    input["content"]["language"] = json!(own);
    input["content"]["translations"] = json!([
        { "locale": "de", "title": "Der Leuchtturm", "description": "Eine Lampe." },
        { "locale": "pt-BR", "title": "O Farol" },
    ]);
    input
}

/// Title, description and language as a reader with a locale sees them.
async fn shown(gateway: &Gateway, locale: Option<&str>) -> Value {
    let product = gateway.anonymous().field(READ, json!({ "locale": locale })).await;
    json!([product["title"], product["description"], product["language"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_falls_back_to_a_language_that_is_near() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let made = create(&merchant, in_languages(Some("en"))).await;
    let own = json!(["The Lighthouse", "A lamp.", "en"]);
    let german = json!(["Der Leuchtturm", "Eine Lampe.", "de"]);
    for (locale, expected) in [
        (None, own.clone()),
        (Some("en-GB"), own.clone()),
        (Some("fr"), own.clone()),
        (Some("de"), german.clone()),
        (Some("de-AT"), german.clone()),
        // There is no Portuguese description.
        (Some("pt-BR"), json!(["O Farol", "A lamp.", "pt-BR"])),
        (Some("pt-PT"), json!(["O Farol", "A lamp.", "pt-BR"])),
    ] {
        assert_eq!(shown(&gateway, locale).await, expected, "{locale:?}");
    }
    let all = gateway.anonymous().field(READ, json!({ "locale": "fr" })).await;
    assert_eq!(
        all["translations"],
        json!([
            { "locale": "de", "title": "Der Leuchtturm", "description": "Eine Lampe." },
            { "locale": "pt-BR", "title": "O Farol", "description": null },
        ])
    );
    // A list is one command in every language, and a suggestion is found by the words of each.
    let list = "{ products(by: { titleStartsWith: { prefix: \"the\" } }, locale: \"de\") { nodes { title } } }";
    let response = gateway.anonymous().explained(list, json!({})).await;
    assert_eq!(response["data"]["products"]["nodes"], json!([{ "title": "Der Leuchtturm" }]));
    assert_eq!(commands(&response), ["find products"]);
    for text in ["leucht", "lighth", "farol", "leuchttrum"] {
        let suggest = "query($text: String!) { suggest(text: $text) { products { sku } } }";
        let found = gateway.anonymous().field(suggest, json!({ "text": text })).await;
        assert_eq!(found["products"], json!([{ "sku": "t-1" }]), "{text}");
    }
    let suggest = "{ suggest(text: \"leucht\") { products {
        title german: title(locale: \"de-AT\") portuguese: title(locale: \"pt-PT\") french: title(locale: \"fr\") } } }";
    let response = gateway.anonymous().explained(suggest, json!({})).await;
    assert_eq!(
        response["data"]["suggest"]["products"],
        json!([{ "title": "The Lighthouse", "german": "Der Leuchtturm", "portuguese": "O Farol",
            "french": "The Lighthouse" }])
    );
    // A repeat is recognised, and an update without translations removes them.
    assert_eq!(create(&merchant, in_languages(Some("en"))).await, made);
    let content = thing("t-1", "The Lighthouse")["content"].clone();
    let update = json!({ "sku": "t-1", "version": made["version"], "content": content });
    change(&merchant, "updateProduct", update).await;
    assert_eq!(shown(&gateway, Some("de")).await, json!(["The Lighthouse", "", null]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_without_a_language_has_translations_too() {
    let gateway = Gateway::start().await;
    create(&gateway.merchant(), in_languages(None)).await;
    for (locale, expected) in [
        (None, json!(["The Lighthouse", "A lamp.", null])),
        (Some("en"), json!(["The Lighthouse", "A lamp.", null])),
        (Some("de"), json!(["Der Leuchtturm", "Eine Lampe.", "de"])),
    ] {
        assert_eq!(shown(&gateway, locale).await, expected, "{locale:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_stands_there_once() {
    let gateway = Gateway::start().await;
    let refused_at = async |input: Value, field: &str| {
        let said = refused(&gateway, "createProduct", input, "InvalidInput").await;
        assert_eq!(said["field"], format!("input.content.translations{field}"));
    };
    refused_at(in_languages(Some("de")), ".0.locale").await;
    let mut twice = in_languages(Some("en"));
    twice["content"]["translations"][1]["locale"] = json!("DE");
    refused_at(twice, ".1.locale").await;
    let mut untitled = in_languages(Some("en"));
    untitled["content"]["translations"][1]["title"] = json!(" ");
    refused_at(untitled, ".1.title").await;
    let mut many = in_languages(None);
    many["content"]["translations"] = vec![json!({ "locale": "de", "title": "x" }); 21].into();
    refused_at(many, "").await;
}
