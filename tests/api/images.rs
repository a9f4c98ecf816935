//! Images of products, people, categories and content.

mod import;
mod variants;

use std::time::Duration;

use docgate::graphql::node_id::NodeKind;
use image::ImageFormat;
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::{Value, json};

use crate::{
    assets::{
        self, file,
        renditions::{hung, painted},
    },
    catalog, categories,
    commands::sends_only,
    content,
    support::{Client, Gateway, cuts, key, short_bounds},
};

const IMAGES: &str =
    "images { url small: url(width: 160) width height alternativeText asset { id } }";

/// Sets the images of an object.
async fn set(client: &Client, subject: &str, images: Value) -> Value {
    let query = format!(
        "mutation($input: SetImagesInput!) {{ setImages(input: $input) {{
            __typename
            ... on ShownImages {{ subjectId subject {{ __typename id }} {IMAGES} }}
            ... on UserError {{ code message }} ... on InvalidInput {{ field }}
            ... on NotFound {{ what id }} ... on NotAnImage {{ assetId }} }} }}"
    );
    let input = json!({ "subjectId": subject, "images": images });
    client.field(&query, json!({ "input": input })).await
}

/// The images of an object, as a client sees them.
async fn seen(client: &Client, subject: &str) -> Vec<Value> {
    let query = format!(
        "query($id: ID!) {{ node(id: $id) {{ ... on Product {{ {IMAGES} }} ... on Person {{ {IMAGES} }}
            ... on Category {{ {IMAGES} }} ... on Content {{ {IMAGES} }} }} }}"
    );
    let found = client.field(&query, json!({ "id": subject })).await;
    found["images"].as_array().unwrap_or_else(|| panic!("{found:#}")).clone()
}

/// The alternative texts of the images that a client sees.
async fn texts(client: &Client, subject: &str) -> Vec<String> {
    let text = |image: &Value| image["alternativeText"].as_str().expect("a text").to_owned();
    seen(client, subject).await.iter().map(text).collect()
}

fn id(made: &Value) -> &str {
    made["id"].as_str().expect("an id")
}

/// A product, a person and a category.
async fn subjects(gateway: &Gateway) -> [String; 3] {
    gateway.product("a", 100, "EUR").await;
    let create = "mutation { createPerson(input: { name: \"Ann\" }) { ... on Person { id } } }";
    let person = gateway.merchant().field(create, json!({})).await;
    let category = categories::music(gateway).await[0].clone();
    [NodeKind::PRODUCT.id("a").0, id(&person).to_owned(), category]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_images_are_those_that_the_caller_sees() {
    let gateway = Gateway::start().await;
    let (merchant, anyone) = (gateway.merchant(), gateway.anonymous());
    let mut images = Vec::new();
    for slug in ["one", "two", "three"] {
        let made = hung(&gateway, slug, 90, 80).await;
        images.push(json!({ "assetId": id(&made), "alternativeText": slug }));
    }
    let query = "query($id: ID!, $first: Int) { node(id: $id) {
        ... on Product { images(first: $first) { alternativeText } }
        ... on Person { images(first: $first) { alternativeText } }
        ... on Category { images(first: $first) { alternativeText } } } }";
    let subjects = subjects(&gateway).await;
    let first = async |subject: &str, first: Value| {
        let found = anyone.field(query, json!({ "id": subject, "first": first })).await;
        let images = found["images"].as_array().expect("images").clone();
        let text = |image: &Value| image["alternativeText"].as_str().expect("a text").to_owned();
        images.iter().map(text).collect::<Vec<_>>()
    };
    for subject in &subjects {
        set(&merchant, subject, json!(images)).await;
        assert_eq!(first(subject, json!(1)).await, ["one"]);
        assert_eq!(first(subject, json!(20)).await, ["one", "two", "three"]);
        assert_eq!(first(subject, Value::Null).await, ["one", "two", "three"]);
        for wrong in [0, -1, 21] {
            let asked = json!({ "id": subject, "first": wrong });
            assert_eq!(anyone.error_code(query, asked).await, "BAD_USER_INPUT", "{wrong}");
        }
    }
    // One that isn't there any more isn't counted.
    let gone = images[0]["assetId"].as_str().expect("an id");
    let delete =
        "mutation($input: DeleteAssetInput!) { deleteAsset(input: $input) { __typename } }";
    assets::editor(&gateway).field(delete, json!({ "input": { "assetId": gone } })).await;
    for subject in &subjects {
        assert_eq!(first(subject, json!(2)).await, ["two", "three"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_of_too_many_bytes_is_shown_as_it_is() {
    let gateway = Gateway::start().await;
    let (merchant, anyone) = (gateway.merchant(), gateway.anonymous());
    let one = hung(&gateway, "one", 200, 100).await;
    let subjects = subjects(&gateway).await;
    let query = "query($id: ID!) { asset(by: { id: $id }) { small: url(width: 160) } }";
    for (length, shown) in [(64_i64 << 20, "/assets/one?w=160"), ((64 << 20) + 1, "/assets/one")] {
        let by_id = doc! { "_id": key(id(&one)) };
        let longer = doc! { "$set": { "file.length": length } };
        gateway.raw("assetEntries").update_one(by_id, longer).await.expect("changed");
        let asset = anyone.field(query, json!({ "id": id(&one) })).await;
        assert_eq!(asset["small"], shown, "{length}");
        for subject in &subjects {
            set(&merchant, subject, json!([{ "assetId": id(&one) }])).await;
            assert_eq!(seen(&anyone, subject).await[0]["small"], shown, "{length}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_that_are_gone_are_not_read_one_after_the_other() {
    const MANY: usize = 12;
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let (mut pictures, mut images) = (Vec::new(), Vec::new());
    for number in 0..MANY {
        let made = hung(&gateway, &format!("p{number}"), 20, 10).await;
        images.push(json!({ "assetId": id(&made), "alternativeText": number.to_string() }));
        pictures.push(made);
    }
    set(&gateway.merchant(), &NodeKind::PRODUCT.id("a").0, json!(images)).await;
    let delete =
        "mutation($input: DeleteAssetInput!) { deleteAsset(input: $input) { __typename } }";
    for gone in &pictures[..MANY - 1] {
        let input = json!({ "input": { "assetId": id(gone) } });
        assets::editor(&gateway).field(delete, input).await;
    }
    let query = "{ product(sku: \"a\") { images(first: 1) { alternativeText } } }";
    let shown = gateway.anonymous().field(query, json!({})).await;
    assert_eq!(shown["images"], json!([{ "alternativeText": (MANY - 1).to_string() }]));
    // Reads that wait for each other can't share a command.
    let read = async |gateway: &Gateway| {
        gateway.anonymous().field(query, json!({})).await;
    };
    let sent = cuts::sent(&gateway, read).await;
    let reads = sent.iter().filter(|seen| seen.collection == "assetEntries").count();
    assert!((2..MANY).contains(&reads), "{reads}");
}

#[tokio::test(flavor = "multi_thread")]
async fn images_keep_their_order_and_are_replaced_as_a_whole() {
    let gateway = Gateway::start().await;
    let (merchant, anyone) = (gateway.merchant(), gateway.anonymous());
    let [one, two] = [hung(&gateway, "one", 200, 100).await, hung(&gateway, "two", 90, 80).await];
    for subject in subjects(&gateway).await {
        assert!(seen(&anyone, &subject).await.is_empty(), "{subject}");
        let images = json!([
            { "assetId": id(&two), "alternativeText": "  Second " },
            { "assetId": id(&one) },
            { "assetId": id(&two), "alternativeText": "Again" },
        ]);
        let made = set(&merchant, &subject, images.clone()).await;
        assert_eq!((&made["__typename"], id(&made["subject"])), (&json!("ShownImages"), &*subject));
        let expected = json!([
            { "url": "/assets/two", "small": "/assets/two", "width": 90, "height": 80,
                "alternativeText": "Second", "asset": { "id": id(&two) } },
            { "url": "/assets/one", "small": "/assets/one?w=160", "width": 200, "height": 100,
                "alternativeText": "", "asset": { "id": id(&one) } },
            { "url": "/assets/two", "small": "/assets/two", "width": 90, "height": 80,
                "alternativeText": "Again", "asset": { "id": id(&two) } },
        ]);
        assert_eq!(made["images"], expected, "{made:#}");
        assert_eq!(json!(seen(&anyone, &subject).await), expected);
        // A repeat changes nothing.
        let before = gateway.snapshot().await;
        assert_eq!(set(&merchant, &subject, images).await, made);
        assert!(gateway.snapshot().await == before);
        set(&merchant, &subject, json!([{ "assetId": id(&one), "alternativeText": "$one" }])).await;
        assert_eq!(texts(&anyone, &subject).await, ["$one"]);
        let none = set(&merchant, &subject, json!([])).await;
        assert_eq!(none["images"], json!([]));
        assert!(seen(&anyone, &subject).await.is_empty());
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_cant_be_shown_are_refused_by_name() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [product, ..] = subjects(&gateway).await;
    let one = hung(&gateway, "one", 200, 100).await;
    let text =
        assets::uploaded(&gateway, json!({ "slug": "text" }), &file("t", "text/plain", "x")).await;
    let input = json!({ "slug": "hidden", "access": ["analyst"] });
    let picture = file("p", "image/png", painted(9, 9, ImageFormat::Png));
    let hidden = assets::uploaded(&gateway, input, &picture).await;
    let input = json!({ "slug": "later", "publishAt": "2100-01-01T00:00:00Z" });
    let later = assets::uploaded(&gateway, input, &picture).await;
    set(&merchant, &product, json!([{ "assetId": id(&one), "alternativeText": "it" }])).await;
    let before = gateway.snapshot().await;

    let both = |other: &str| json!([{ "assetId": id(&one) }, { "assetId": other }]);
    let refused = set(&merchant, &product, both(id(&text))).await;
    assert_eq!(
        (&refused["__typename"], &refused["code"], &refused["assetId"]),
        (&json!("NotAnImage"), &json!("NOT_AN_IMAGE"), &text["id"])
    );
    let nobody = NodeKind::ASSET.id("nobody").0;
    for missing in [id(&hidden), id(&later), &nobody, "nonsense"] {
        let refused = set(&merchant, &product, both(missing)).await;
        assert_eq!(
            (&refused["__typename"], &refused["what"], &refused["id"]),
            (&json!("NotFound"), &json!("asset"), &json!(missing))
        );
    }
    let long = "x".repeat(501);
    let many = vec![json!({ "assetId": id(&one) }); 21];
    for (images, field) in [
        (json!(many), "input.images"),
        (
            json!([{ "assetId": id(&one), "alternativeText": long }]),
            "input.images.0.alternativeText",
        ),
    ] {
        let refused = set(&merchant, &product, images).await;
        assert_eq!(
            (&refused["__typename"], &refused["field"]),
            (&json!("InvalidInput"), &json!(field))
        );
    }
    let gone = NodeKind::PRODUCT.id("gone").0;
    for missing in [&gone, id(&one), "nonsense", ""] {
        let refused = set(&merchant, missing, json!([])).await;
        assert_eq!((&refused["__typename"], &refused["id"]), (&json!("NotFound"), &json!(missing)));
    }
    let query = "mutation($input: SetImagesInput!) { setImages(input: $input) { __typename } }";
    let input = json!({ "input": { "subjectId": product, "images": [] } });
    for (client, code) in [
        (gateway.anonymous(), "UNAUTHENTICATED"),
        (gateway.shopper("ann"), "FORBIDDEN"),
        (gateway.user("e", &["editor"]), "FORBIDDEN"),
    ] {
        assert_eq!(client.error_code(query, input.clone()).await, code);
    }
    assert!(gateway.snapshot().await == before, "a refusal changed something");
    assert_eq!(texts(&gateway.anonymous(), &product).await, ["it"]);
    // Up to the limits all is well.
    let most = vec![json!({ "assetId": id(&one), "alternativeText": "x".repeat(500) }); 20];
    assert_eq!(
        set(&merchant, &product, json!(most)).await["images"].as_array().map(Vec::len),
        Some(20)
    );
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_see_the_images_that_they_may_see() {
    let gateway = Gateway::start().await;
    let [product, ..] = subjects(&gateway).await;
    let picture = file("p", "image/png", painted(9, 9, ImageFormat::Png));
    let mut images = Vec::new();
    for (slug, more) in [
        ("open", json!({})),
        ("inside", json!({ "access": ["analyst"] })),
        ("later", json!({ "publishAt": "2100-01-01T00:00:00Z" })),
    ] {
        let mut input = more;
        input["slug"] = json!(slug);
        let made = assets::uploaded(&gateway, input, &picture).await;
        images.push(json!({ "assetId": id(&made), "alternativeText": slug }));
    }
    let made = set(&gateway.admin(), &product, json!(images)).await;
    assert_eq!(made["images"].as_array().map(Vec::len), Some(3), "{made:#}");
    for (client, expected) in [
        (gateway.anonymous(), &["open"][..]),
        (gateway.merchant(), &["open"][..]),
        (gateway.user("a", &["analyst"]), &["open", "inside"][..]),
        (gateway.user("e", &["editor"]), &["open", "inside", "later"][..]),
    ] {
        assert_eq!(texts(&client, &product).await, expected, "{:?}", client.token);
    }
    // What is due is there without anybody's doing.
    let entries = gateway.database.collection::<Document>("assetEntries");
    let due = doc! { "$set": { "publishedAt": DateTime::from_millis(1) } };
    entries.update_one(doc! { "metadata.path": "/later" }, due).await.expect("updated");
    assert_eq!(texts(&gateway.anonymous(), &product).await, ["open", "later"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_shown_from_the_moment_at_which_its_asset_is_published() {
    let gateway = Gateway::start().await;
    let [product, ..] = subjects(&gateway).await;
    let one = hung(&gateway, "one", 20, 10).await;
    set(&gateway.merchant(), &product, json!([{ "assetId": id(&one) }])).await;
    let anyone = gateway.anonymous();
    assert_eq!(texts(&anyone, &product).await, [""]);
    let publish = async |at: Bson| {
        let set = vec![doc! { "$set": { "publishedAt": at } }];
        let by_id = doc! { "_id": key(id(&one)) };
        gateway.raw("assetEntries").update_one(by_id, set).await.expect("changed");
    };
    // The gateway's last time of the server is older than that.
    tokio::time::sleep(Duration::from_secs(2)).await;
    publish("$$NOW".into()).await;
    assert_eq!(texts(&anyone, &product).await, [""]);
    publish(doc! { "$add": ["$$NOW", 60_000] }.into()).await;
    assert!(texts(&anyone, &product).await.is_empty());
    // An editor sees it earlier.
    assert_eq!(texts(&assets::editor(&gateway), &product).await, [""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn images_follow_their_assets() {
    let gateway = Gateway::start().await;
    let (anyone, editor) = (gateway.anonymous(), assets::editor(&gateway));
    let gallery = content::put(&gateway, "GALLERY", "gallery", None).await;
    let picture = file("p", "image/png", painted(200, 100, ImageFormat::Png));
    let input = json!({ "slug": "it", "parentId": gallery, "access": [] });
    let moved = assets::uploaded(&gateway, input, &picture).await;
    let [other, gone] =
        [hung(&gateway, "other", 200, 100).await, hung(&gateway, "gone", 9, 9).await];
    let images = json!([
        { "assetId": id(&moved), "alternativeText": "moved" },
        { "assetId": id(&gone), "alternativeText": "gone" },
        { "assetId": id(&other), "alternativeText": "other" },
    ]);
    let all = subjects(&gateway).await;
    for subject in &all {
        set(&gateway.merchant(), subject, images.clone()).await;
    }
    // The gallery gets another path.
    content::ask(&gateway, "moveContent", json!({ "contentId": gallery, "slug": "rooms" })).await;
    for subject in &all {
        assert_eq!(seen(&anyone, subject).await[0]["small"], "/assets/rooms/it?w=160");
    }
    // What is deleted while it is shown is missing, and nothing fails.
    let delete = "mutation($id: ID!) { deleteAsset(input: { assetId: $id }) { __typename } }";
    let deleted = editor.field(delete, json!({ "id": gone["id"] })).await;
    assert_eq!(deleted["__typename"], "DeletedAsset");
    for subject in &all {
        assert_eq!(texts(&anyone, subject).await, ["moved", "other"]);
    }
    // Another file has another size; one that is no picture is none.
    let larger = file("p", "image/png", painted(300, 400, ImageFormat::Png));
    let replace = async |asset: &Value, with: &assets::File| {
        let body = assets::with_file("replaceAsset", json!({ "assetId": asset["id"] }), with);
        let (_, answer) = assets::send_form(&editor, body).await.expect("an answer");
        assert_eq!(answer["data"]["replaceAsset"]["__typename"], "Asset", "{answer:#}");
    };
    replace(&moved, &larger).await;
    replace(&other, &file("t", "text/plain", "text")).await;
    for subject in &all {
        let images = seen(&anyone, subject).await;
        assert_eq!(images.len(), 1);
        assert_eq!((&images[0]["width"], &images[0]["height"]), (&json!(300), &json!(400)));
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_images_of_a_list_are_one_command_more() {
    const MANY: usize = 20;
    let base = Gateway::start().await;
    let mut pictures = Vec::new();
    for number in 0..5 {
        pictures.push(hung(&base, &format!("p{number}"), 200, 100).await);
    }
    for number in 0..MANY {
        let sku = format!("s{number:02}");
        catalog::create(&base.merchant(), catalog::thing(&sku, "A thing")).await;
        let images: Vec<_> = (0..3)
            .map(|at| json!({ "assetId": id(&pictures[(number + at) % 5]), "alternativeText": at.to_string() }))
            .collect();
        set(&base.merchant(), &NodeKind::PRODUCT.id(&sku).0, json!(images)).await;
    }
    let list = |fields: &str| {
        format!(
            "{{ products(by: {{ titleStartsWith: {{ prefix: \"a\" }} }}, first: 20) {{ nodes {{ sku {fields} }} }} }}"
        )
    };
    let read = async |fields: &str, expected: &[&str]| {
        let query = list(fields);
        let read = async |gateway: &Gateway| {
            gateway.anonymous().field(&query, json!({})).await;
        };
        sends_only(&base, read, expected).await;
        base.anonymous().field(&query, json!({})).await
    };
    read("title", &["find products"]).await;
    let found =
        read("images { url(width: 160) alternativeText }", &["find products", "find assetEntries"])
            .await;
    let nodes = found["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), MANY);
    for node in nodes {
        let texts: Vec<_> = node["images"]
            .as_array()
            .expect("images")
            .iter()
            .map(|one| &one["alternativeText"])
            .collect();
        assert_eq!(texts, ["0", "1", "2"]);
    }
    let twice = "one: images(first: 1) { alternativeText } images { url alternativeText }";
    let found = read(twice, &["find products", "find assetEntries"]).await;
    let first = &found["nodes"][MANY - 1];
    assert_eq!(first["one"], json!([{ "alternativeText": "0" }]));
    assert_eq!(first["images"].as_array().map(Vec::len), Some(3));
    // Of a field that is refused nothing is read.
    let refused = async |gateway: &Gateway| {
        let query = "{ products(by: { titleStartsWith: { prefix: \"a\" } }) {
            nodes { images(first: 21) { url } } } }";
        assert_eq!(gateway.anonymous().error_code(query, json!({})).await, "BAD_USER_INPUT");
    };
    sends_only(&base, refused, &["find products"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_lists_at_once_one_is_kept_whole() {
    let gateway = Gateway::start().await;
    let [product, ..] = subjects(&gateway).await;
    let one = hung(&gateway, "one", 20, 10).await;
    let sends = (0..8).map(|number| {
        let (client, product, one) = (gateway.merchant(), product.clone(), one.clone());
        tokio::spawn(async move {
            let image = json!({ "assetId": id(&one), "alternativeText": number.to_string() });
            set(&client, &product, json!([image, image, image])).await
        })
    });
    for sent in sends.collect::<Vec<_>>() {
        let set = sent.await.expect("an answer");
        assert_eq!(set["__typename"], "ShownImages", "{set:#}");
    }
    let texts = texts(&gateway.anonymous(), &product).await;
    assert!(texts.len() == 3 && texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_images_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            let sku = format!("s{number}");
            gateway.product(&sku, 100, "EUR").await;
            let picture = hung(gateway, &format!("p{number}"), 20, 10).await;
            (NodeKind::PRODUCT.id(&sku).0, picture["id"].clone())
        },
        async |gateway, (product, picture)| {
            let query =
                "mutation($input: SetImagesInput!) { setImages(input: $input) { __typename } }";
            let images = json!([{ "assetId": picture, "alternativeText": "it" }]);
            let input = json!({ "subjectId": product, "images": images });
            gateway.merchant().send(query, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            let texts = texts(&gateway.anonymous(), &case.subject.0).await;
            assert_eq!(texts, ["it"], "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_of_content_are_published_with_its_text() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let [one, two] = [hung(&gateway, "one", 200, 100).await, hung(&gateway, "two", 9, 9).await];
    let text = |title: &str, images: Value| json!({ "title": title, "body": "", "images": images });
    let images = json!([
        { "assetId": id(&two), "alternativeText": "two" },
        { "assetId": id(&one), "alternativeText": "one" },
    ]);
    let input =
        json!({ "type": "PAGE", "slug": "page", "text": text("A", images), "idempotencyKey": "k" });
    let made = content::create(&gateway, input.clone()).await;
    content::publish(&gateway, &made, None).await;
    assert_eq!(texts(&anyone, id(&made)).await, ["two", "one"]);
    let before = gateway.snapshot().await;

    // Refused by name.
    let sent =
        assets::uploaded(&gateway, json!({ "slug": "text" }), &file("t", "text/plain", "x")).await;
    let nobody = NodeKind::ASSET.id("nobody").0;
    for (asset, refusal) in
        [(id(&sent), "NotAnImage"), (nobody.as_str(), "NotFound"), ("x", "NotFound")]
    {
        let wrong = text("B", json!([{ "assetId": asset }]));
        let edit =
            json!({ "contentId": made["id"], "version": made["draft"]["version"], "text": wrong });
        assert_eq!(content::ask(&gateway, "editContent", edit).await["__typename"], refusal);
        let create = json!({ "type": "PAGE", "slug": "other", "text": wrong });
        assert_eq!(content::ask(&gateway, "createContent", create).await["__typename"], refusal);
    }
    let now = gateway.snapshot().await;
    assert!(now.get("nodes") == before.get("nodes"), "a refusal changed something");

    // A draft is seen when it is published.
    let edit = json!({
        "contentId": made["id"], "version": made["draft"]["version"],
        "text": text("C", json!([{ "assetId": id(&one), "alternativeText": "alone" }])),
    });
    let edited = content::ask(&gateway, "editContent", edit.clone()).await;
    assert_eq!(edited["draft"]["title"], "C", "{edited:#}");
    assert_eq!(texts(&anyone, id(&made)).await, ["two", "one"]);
    let draft = "query($id: ID!) { content(by: { id: $id }) {
        draft { images { alternativeText } } revisions { nodes { images { alternativeText } } } } }";
    let seen = content::editor(&gateway).field(draft, json!({ "id": made["id"] })).await;
    assert_eq!(seen["draft"]["images"], json!([{ "alternativeText": "alone" }]));
    assert_eq!(seen["revisions"]["nodes"][0]["images"].as_array().map(Vec::len), Some(2));
    content::publish(&gateway, &edited, None).await;
    assert_eq!(texts(&anyone, id(&made)).await, ["alone"]);
    // Lists have them too, by one command more.
    let query =
        "{ contents(by: { type: PAGE }, first: 5) { nodes { images { alternativeText url } } } }";
    let read = async |gateway: &Gateway| {
        gateway.anonymous().field(query, json!({})).await;
    };
    sends_only(&gateway, read, &["find nodes", "find assetEntries"]).await;
    let listed = anyone.field(query, json!({})).await;
    assert_eq!(
        listed["nodes"][0]["images"],
        json!([{ "alternativeText": "alone", "url": "/assets/one" }])
    );

    // Repeats are answered even if a picture is gone.
    let delete = "mutation($id: ID!) { deleteAsset(input: { assetId: $id }) { __typename } }";
    for picture in [&one, &two] {
        content::editor(&gateway).field(delete, json!({ "id": picture["id"] })).await;
    }
    assert_eq!(content::ask(&gateway, "createContent", input).await["id"], made["id"]);
    assert_eq!(content::ask(&gateway, "editContent", edit).await["id"], made["id"]);
    assert!(texts(&anyone, id(&made)).await.is_empty());
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_without_images_is_stored_as_before() {
    let gateway = Gateway::start().await;
    let [product, ..] = subjects(&gateway).await;
    let one = hung(&gateway, "one", 20, 10).await;
    let stored = async || {
        let products = gateway.database.collection::<Document>("products");
        let found = products.find_one(doc! { "_id": key(&product) }).await.expect("a read");
        found.expect("the product").get("images").cloned()
    };
    assert_eq!(stored().await, None);
    set(&gateway.merchant(), &product, json!([{ "assetId": id(&one) }])).await;
    assert!(stored().await.is_some());
    // An update of the content leaves them.
    let read = "{ product(sku: \"a\") { version } }";
    let version = gateway.anonymous().field(read, json!({})).await["version"].clone();
    let content = json!({ "title": "Other", "details": { "book": {} } });
    let input = json!({ "sku": "a", "version": version, "content": content });
    catalog::change(&gateway.merchant(), "updateProduct", input).await;
    assert_eq!(texts(&gateway.anonymous(), &product).await, [""]);
    set(&gateway.merchant(), &product, json!([])).await;
    assert_eq!(stored().await, None);
    // A deleted product has none.
    let delete = "mutation { deleteProduct(input: { sku: \"a\" }) { __typename } }";
    let gone = gateway.merchant().field(delete, json!({})).await;
    assert_ne!(gone["__typename"], "NotFound", "{gone:#}");
    let refused = set(&gateway.merchant(), &product, json!([{ "assetId": id(&one) }])).await;
    assert_eq!(refused["__typename"], "NotFound");
}
