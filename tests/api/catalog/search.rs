//! Suggestions while somebody types: beginnings of words, accents, typing errors, and texts that are no words.

use docgate::domains::{catalog, people};
use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{album, change, create, person, product, thing};
use crate::support::{Gateway, commands, cuts};

const SUGGEST: &str =
    "query($text: String!, $first: Int! = 10) { suggest(text: $text, first: $first) {
    products { sku slug type title correctedText product { sku } }
    people { personId name correctedText person { name } } } }";
const PRODUCTS: &str =
    "query($text: String!) { suggest(text: $text) { products { sku title correctedText } } }";

/// The SKUs and the names that are suggested for a text, and what was searched instead.
async fn suggested(gateway: &Gateway, text: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let found = gateway.anonymous().field(SUGGEST, json!({ "text": text })).await;
    let all = |kind: &str, field: &str| -> Vec<String> {
        let list = found[kind].as_array().unwrap_or_else(|| panic!("{text:?}: {found:#}"));
        list.iter().filter_map(|one| one[field].as_str().map(str::to_owned)).collect()
    };
    let corrected = [all("products", "correctedText"), all("people", "correctedText")].concat();
    (all("products", "sku"), all("people", "name"), corrected)
}

/// Asserts which SKUs and names are suggested, for a text that isn't corrected.
async fn assert_suggested(gateway: &Gateway, text: &str, skus: &[&str], names: &[&str]) {
    let (products, people, corrected) = suggested(gateway, text).await;
    assert_eq!((&products[..], &people[..]), (&owned(skus)[..], &owned(names)[..]), "{text:?}");
    assert!(corrected.is_empty(), "{text:?}: {corrected:?}");
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn beginnings_of_words_are_found_in_titles_tracks_and_names() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, album("als")).await;
    create(&merchant, thing("cosi", "Così fan TUTTE")).await;
    create(&merchant, thing("lov", "Lovely Øresund, straße")).await;
    create(&merchant, thing("heb", "שלום עולם 🎷")).await;
    let coltrane = person(&merchant, "John Coltrane").await;
    person(&merchant, "Émilie Simon").await;
    change(&merchant, "creditPerson", json!({ "sku": "als", "personId": coltrane, "role": "a" }))
        .await;

    for (text, skus, names) in [
        // In the middle of a title, in both cases, in another order.
        ("sup", &["als"][..], &[][..]),
        ("SUPREME", &["als"], &[]),
        ("supreme lo", &["als"], &[]),
        ("lov", &["als", "lov"], &[]),
        ("love", &["als", "lov"], &[]),
        // A space completes a word.
        ("love ", &["als"], &[]),
        ("lov ", &[], &[]),
        // Accents and letters of other alphabets, on both sides.
        ("cosi", &["cosi"], &[]),
        ("COSÌ fan t", &["cosi"], &[]),
        ("co\u{301}si", &["cosi"], &[]),
        ("oresund", &["lov"], &[]),
        ("STRASSE", &["lov"], &[]),
        ("עול", &["heb"], &[]),
        // Tracks and people.
        ("reso", &["als"], &[]),
        ("acknowledgement", &["als"], &[]),
        ("col", &[], &["John Coltrane"]),
        ("john colt", &[], &["John Coltrane"]),
        ("emil", &[], &["Émilie Simon"]),
        ("s", &["lov", "als"], &["Émilie Simon"]),
    ] {
        // «straße» comes before «supreme».
        assert_suggested(&gateway, text, skus, names).await;
    }

    let found = gateway.anonymous().field(SUGGEST, json!({ "text": "a love" })).await;
    assert_eq!(
        found["products"],
        json!([{
            "sku": "als", "slug": null, "type": "album", "title": "A Love Supreme",
            "correctedText": null, "product": { "sku": "als" },
        }])
    );
    let found = gateway.anonymous().field(SUGGEST, json!({ "text": "coltrane" })).await;
    let person = json!({ "name": "John Coltrane" });
    assert_eq!(
        found["people"],
        json!([{ "personId": coltrane, "name": "John Coltrane", "correctedText": null, "person": person }])
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_are_no_words_are_harmless() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "Anything at all")).await;
    person(&merchant, "Anyone").await;
    let before = gateway.snapshot().await;
    let long_word = "x".repeat(100);
    for text in [
        "", " ", ".*", "^", "$", "{}", "$ne", "🎷", "\u{200b}", "[a-z]*", "\\w+", &long_word,
        "\u{fffd}",
    ] {
        assert_suggested(&gateway, text, &[], &[]).await;
    }
    // What isn't a letter or a digit is between words, and completes the one before it.
    for text in [".*any", "^any", "$any", "{\"$any"] {
        assert_suggested(&gateway, text, &["t-1"], &["Anyone"]).await;
    }
    for text in ["any.*", "an(y"] {
        assert_suggested(&gateway, text, &[], &[]).await;
    }
    // The ninth word and those after it are ignored.
    let many = format!("{} nothing", ["all"; 8].join(" "));
    assert_suggested(&gateway, &many, &["t-1"], &[]).await;
    for (text, first) in [
        ("x".repeat(101), json!(10)),
        ("x".repeat(10_000), json!(10)),
        ("a\u{0}b".to_owned(), json!(10)),
        ("a\u{202e}b".to_owned(), json!(10)),
        ("a".to_owned(), json!(0)),
        ("a".to_owned(), json!(21)),
        ("a".to_owned(), json!(-1)),
    ] {
        let arguments = json!({ "text": text, "first": first });
        let code = gateway.anonymous().error_code(SUGGEST, arguments).await;
        assert_eq!(code, "BAD_USER_INPUT", "{text:.20} {first}");
    }
    assert!(gateway.snapshot().await == before);
}

/// Frequent words, and rare conditions in large lists: MongoDB ends the read.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_takes_too_long_is_an_error_of_its_own() {
    let gateway = Gateway::start().await;
    create(&gateway.merchant(), thing("t-1", "Anything at all")).await;
    let client = gateway.anonymous();
    let list = "query($by: ProductsBy!) { products(by: $by) { nodes { sku } } }";
    let by = json!({ "by": { "where": { "type": "thing", "discountAtLeast": 1 } } });
    let text = json!({ "text": "all any" });
    let over = doc! { "failCommands": ["find"], "errorCode": 50 };
    let slow = gateway.fail_point(doc! { "times": 1_000 }, over).await;
    let answers = [client.run(SUGGEST, text.clone()).await, client.run(list, by.clone()).await];
    slow.off().await;
    for answer in answers {
        let told = &answer["errors"][0]["extensions"];
        assert_eq!(
            (&told["code"], &told["retryable"]),
            (&json!("TIMEOUT"), &json!(true)),
            "{answer:#}"
        );
    }
    let found = client.field(PRODUCTS, text).await;
    assert_eq!(found["products"][0]["sku"], "t-1");
    assert_eq!(client.field(list, by).await["nodes"][0]["sku"], "t-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn mongodb_ends_a_search_after_five_seconds() {
    let gateway = Gateway::start().await;
    create(&gateway.merchant(), thing("t-1", "Anything at all")).await;
    let client = gateway.anonymous();
    let list = "query($by: ProductsBy!) { products(by: $by) { nodes { sku } } }";
    let by = json!({ "by": { "where": { "text": { "query": "anything" } } } });
    let range = json!({ "min": 0, "max": 1 });
    let within = json!({ "by": { "box": { "currency": "EUR", "price": range, "weight": range } } });
    cuts::settled(&gateway).await;
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiled");
    let found = client.field(PRODUCTS, json!({ "text": "anythinq" })).await;
    assert_eq!(found["products"][0]["sku"], "t-1");
    assert_eq!(client.field(list, by).await["nodes"][0]["sku"], "t-1");
    assert_eq!(client.field(list, within).await["nodes"], json!([]));
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("not any more");
    let mut limits = Vec::new();
    let mut profile = gateway.raw("system.profile").find(doc! {}).await.expect("a profile");
    while profile.advance().await.expect("the next") {
        let sent = profile.deserialize_current().expect("a document");
        if !sent.get_str("ns").is_ok_and(|ns| ns.ends_with(".products")) {
            continue;
        }
        let limit = sent.get_document("command").expect("a command").get("maxTimeMS");
        let limit = limit.and_then(|limit| limit.as_i64().or(limit.as_i32().map(i64::from)));
        limits.push(limit.expect("a limit"));
    }
    // The words, then the words with typing errors in what is left of the time, and the lists.
    assert_eq!(limits.len(), 4, "{limits:?}");
    assert_eq!((limits[0], limits[2], limits[3]), (5_000, 5_000, 5_000));
    assert!((1..5_000).contains(&limits[1]), "{limits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_typing_error_is_corrected_and_two_are_not() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, album("als")).await;
    create(&merchant, thing("blue", "Kind of Blue")).await;
    person(&merchant, "Miles Davis").await;
    for (text, sku, corrected) in [
        ("suprene", "als", "supreme"),
        ("supreeme", "als", "supreme"),
        ("supree", "als", "supreme"),
        ("surpeme", "als", "supreme"),
        ("usupreme", "als", "supreme"),
        ("Lóve Suprene", "als", "love supreme"),
        ("lvoe supreme", "als", "love supreme"),
        // The last word may be the beginning of one, also if it is the longest.
        ("lvoe supre", "als", "love supre"),
        ("kind of blie", "blue", "kind of blue"),
        ("kidn of blue", "blue", "kind of blue"),
    ] {
        let found = suggested(&gateway, text).await;
        assert_eq!(found, (owned(&[sku]), vec![], owned(&[corrected])), "{text:?}");
    }
    for text in ["mlies", "miles davix", "davos"] {
        let (products, people, corrected) = suggested(&gateway, text).await;
        assert!(products.is_empty() && corrected.len() == 1, "{text:?}");
        assert_eq!(people, ["Miles Davis"], "{text:?}");
    }
    // Two errors in a word, short words, the beginning of a word with an error, and words of tracks.
    for text in
        ["suprene x", "surpene", "luv", "kynd oy blue", "suqr", "resolutoin", "ikdn fo blue"]
    {
        assert_suggested(&gateway, text, &[], &[]).await;
    }
    // A text that is found as it is isn't corrected.
    create(&merchant, thing("glue", "Glue")).await;
    assert_suggested(&gateway, "glue", &["glue"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_is_one_command_and_only_what_is_selected_is_read() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for n in 0..25 {
        create(&merchant, thing(&format!("t-{n:02}"), &format!("Word number {n:02} wordy"))).await;
    }
    let sent = async |query: &str, text: &str| {
        let response = gateway.anonymous().explained(query, json!({ "text": text })).await;
        (response["data"]["suggest"].clone(), commands(&response))
    };
    let (found, sent_for_it) = sent(PRODUCTS, "wor").await;
    assert_eq!(sent_for_it, ["find products"]);
    // Each once, though two of its words begin so; in the order of titles.
    let list = found["products"].as_array().expect("a list");
    let skus: Vec<String> =
        list.iter().filter_map(|one| one["sku"].as_str().map(str::to_owned)).collect();
    assert_eq!(skus, (0..10).map(|n| format!("t-{n:02}")).collect::<Vec<_>>());
    let people = "query($text: String!) { suggest(text: $text) { people { name } } }";
    // Words of three letters aren't corrected.
    assert_eq!(sent(people, "wor").await.1, ["find people"]);
    assert_eq!(sent(PRODUCTS, "wurd").await.1, ["find products", "find products"]);
    // The products of a list are read by one command.
    let whole = "query($text: String!) { suggest(text: $text) { products { product { sku } } } }";
    assert_eq!(sent(whole, "wor").await.1, ["find products", "find products"]);
    let all = gateway.anonymous().field(SUGGEST, json!({ "text": "word", "first": 20 })).await;
    assert_eq!(all["products"].as_array().map(Vec::len), Some(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_follow_titles_and_names() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let made = create(&merchant, album("als")).await;
    let mut content = album("als")["content"].clone();
    content["title"] = json!("Ascension");
    content["details"]["album"]["tracks"] = json!([{ "title": "Edition Two" }]);
    let update = json!({ "sku": "als", "version": made["version"], "content": content });
    assert_eq!(change(&merchant, "updateProduct", update).await["title"], "Ascension");
    for (text, skus) in
        [("supreme", &[][..]), ("resolution", &[]), ("asc", &["als"]), ("two", &["als"])]
    {
        assert_suggested(&gateway, text, skus, &[]).await;
    }
    // Neither is an old title found by a typing error.
    assert_suggested(&gateway, "suprene", &[], &[]).await;

    let someone = person(&merchant, "Prince").await;
    let rename =
        "mutation($input: RenamePersonInput!) { renamePerson(input: $input) { __typename } }";
    let input = json!({ "input": { "personId": someone, "name": "Symbol of Love" } });
    merchant.field(rename, input).await;
    assert_suggested(&gateway, "prince", &[], &[]).await;
    assert_suggested(&gateway, "symb", &[], &["Symbol of Love"]).await;

    let delete =
        "mutation($input: DeleteProductInput!) { deleteProduct(input: $input) { __typename } }";
    merchant.field(delete, json!({ "input": { "sku": "als" } })).await;
    assert_suggested(&gateway, "asc", &[], &[]).await;
    assert_suggested(&gateway, "ascensoin", &[], &[]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_earlier_versions_are_read_and_corrected() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, album("als")).await;
    create(&merchant, thing("t-1", "Another supreme thing")).await;
    person(&merchant, "John Coltrane").await;
    let without = doc! { "$unset": { "search": 1 } };
    let one = doc! { "_id": "als" };
    gateway.raw("products").update_one(one, without.clone()).await.expect("changed");
    gateway.raw("people").update_many(doc! {}, without).await.expect("changed");
    assert_eq!(product(&gateway, "als").await["title"], "A Love Supreme");
    assert_suggested(&gateway, "supr", &["t-1"], &[]).await;
    assert_suggested(&gateway, "colt", &[], &[]).await;
    gateway.assert_sound().await;

    for expected in [1, 0] {
        let app = &gateway.app;
        let corrected = catalog::operations::correct_terms(app).await.expect("corrected");
        assert_eq!(corrected, expected);
        assert_eq!(people::operations::correct_terms(app).await.expect("corrected"), expected);
    }
    assert_suggested(&gateway, "supr", &["als", "t-1"], &[]).await;
    assert_suggested(&gateway, "reso", &["als"], &[]).await;
    assert_suggested(&gateway, "colt", &[], &["John Coltrane"]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_of_many_words_is_stored() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let mut input = album("big");
    let track = |n: usize| {
        let words: Vec<String> = (0..50).map(|word| format!("w{:03}", n * 50 + word)).collect();
        json!({ "title": words.join(" ") })
    };
    input["content"]["title"] = json!(vec!["é"; 150].join(" "));
    input["content"]["details"]["album"]["tracks"] = (0..100).map(track).collect::<Value>();
    create(&merchant, input).await;
    // The first 500 words, of which one is the title's.
    assert_suggested(&gateway, "e w498", &["big"], &[]).await;
    assert_suggested(&gateway, "w499", &[], &[]).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn related_products_have_the_same_contributor() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [ann, bob] = [person(&merchant, "Ann").await, person(&merchant, "Bob").await];
    for (sku, issued, contributors) in [
        ("a", "2001-01-01", &[(&ann, "artist")][..]),
        ("b", "2003-01-01", &[(&ann, "artist"), (&bob, "artist")]),
        ("c", "2002-01-01", &[(&bob, "artist"), (&ann, "artist")]),
        ("d", "2004-01-01", &[(&ann, "producer")]),
        ("e", "2005-01-01", &[]),
    ] {
        let mut input = album(sku);
        input["content"]["issueDate"] = json!(issued);
        create(&merchant, input).await;
        for (person, role) in contributors {
            let credit = json!({ "sku": sku, "personId": person, "role": role });
            change(&merchant, "creditPerson", credit).await;
        }
    }
    create(&merchant, thing("f", "Of another type")).await;
    change(&merchant, "creditPerson", json!({ "sku": "f", "personId": ann, "role": "artist" }))
        .await;
    let query = "query($sku: ID!, $first: Int, $after: String) { product(sku: $sku) {
        related(first: $first, after: $after) { nodes { sku } pageInfo { endCursor hasNextPage } } } }";
    for (sku, expected) in [
        ("a", &["b", "c"][..]),
        ("b", &["c", "a"]),
        ("c", &["b"]),
        ("d", &[]),
        ("e", &[]),
        ("f", &[]),
    ] {
        let response = gateway.anonymous().explained(query, json!({ "sku": sku })).await;
        let found = &response["data"]["product"]["related"];
        let expected: Vec<Value> = expected.iter().map(|sku| json!({ "sku": sku })).collect();
        assert_eq!(found["nodes"], json!(expected), "{sku}");
        let reads = if sku == "e" { 1 } else { 2 };
        assert_eq!(commands(&response), vec!["find products"; reads], "{sku}");
    }
    let page = gateway.anonymous().field(query, json!({ "sku": "a", "first": 1 })).await;
    let after = &page["related"]["pageInfo"]["endCursor"];
    let rest = json!({ "sku": "a", "first": 1, "after": after });
    let rest = gateway.anonymous().field(query, rest).await;
    assert_eq!(rest["related"]["nodes"], json!([{ "sku": "c" }]));
    assert_eq!(rest["related"]["pageInfo"]["hasNextPage"], false);
}
