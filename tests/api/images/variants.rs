//! The image that a variant shows: one of its product's.

use docgate::{
    domains::catalog::{ImportProduct, operations::import},
    graphql::node_id::NodeKind,
};
use serde_json::{Value, json};

use crate::{
    assets::{self, renditions::hung},
    catalog::{
        create, thing,
        variants::{add, added, update, variant},
    },
    commands::sends_only,
    support::{Client, Gateway, cuts, short_bounds},
};

const SET: &str = "mutation($input: SetImagesInput!) { setImages(input: $input) { __typename } }";
const IMAGES: &str = "query($sku: ID!) { product(sku: $sku) { variants {
    sku version image { url alternativeText asset { id } } } } }";

fn id(asset: &Value) -> &str {
    asset["id"].as_str().expect("an id")
}

/// Sets the images of a product to these assets, with their numbers as alternative texts.
async fn set(client: &Client, sku: &str, assets: &[&Value]) {
    let image = |(at, asset): (usize, &&Value)| json!({ "assetId": id(asset), "alternativeText": at.to_string() });
    let images: Vec<Value> = assets.iter().enumerate().map(image).collect();
    let input = json!({ "subjectId": NodeKind::PRODUCT.id(sku).0, "images": images });
    let set = client.field(SET, json!({ "input": input })).await;
    assert_eq!(set["__typename"], "ShownImages", "{set:#}");
}

async fn variants(gateway: &Gateway, sku: &str) -> Vec<Value> {
    let found = gateway.anonymous().field(IMAGES, json!({ "sku": sku })).await;
    found["variants"].as_array().unwrap_or_else(|| panic!("{found:#}")).clone()
}

/// The addresses of the images that a product's variants show.
async fn shown(gateway: &Gateway, sku: &str) -> Vec<Option<String>> {
    let url = |one: &Value| one["image"]["url"].as_str().map(str::to_owned);
    variants(gateway, sku).await.iter().map(url).collect()
}

/// The version of a product's first variant.
async fn version(gateway: &Gateway, sku: &str) -> String {
    variants(gateway, sku).await[0]["version"].as_str().expect("a version").to_owned()
}

/// The input of a variant of one option, with an image.
fn with_image(sku: &str, size: &str, image: Value) -> Value {
    let mut input = variant(sku, ["red", size], 0);
    input["imageId"] = image;
    input
}

fn url(path: &str) -> String {
    format!("/assets/{path}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_shows_an_image_of_its_product() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [one, two, other] = [
        hung(&gateway, "one", 200, 100).await,
        hung(&gateway, "two", 90, 80).await,
        hung(&gateway, "other", 90, 80).await,
    ];
    create(&merchant, thing("shirt", "A shirt")).await;
    set(&merchant, "shirt", &[&one, &two]).await;
    let red = with_image("shirt.a", "M", two["id"].clone());
    added(&gateway, red.clone()).await;
    added(&gateway, variant("shirt.b", ["red", "L"], 0)).await;
    assert_eq!(shown(&gateway, "shirt").await, [Some(url("two")), None]);
    let image = &variants(&gateway, "shirt").await[0]["image"];
    assert_eq!((&image["alternativeText"], &image["asset"]["id"]), (&json!("1"), &two["id"]));
    let reading = async |gateway: &Gateway| {
        let query = "{ product(sku: \"shirt\") { variants { image { url alternativeText } } } }";
        gateway.anonymous().field(query, json!({})).await;
    };
    sends_only(&gateway, reading, &["find products", "find assetEntries"]).await;

    // A repeat changes nothing. Only an image of the product is taken.
    let known = version(&gateway, "shirt").await;
    let before = gateway.snapshot().await;
    assert_eq!(add(&merchant, red).await["sku"], "shirt");
    let nobody = NodeKind::ASSET.id("nobody").0;
    for asset in [id(&other), &nobody] {
        let refused = add(&merchant, with_image("shirt.c", "S", json!(asset))).await;
        assert_eq!(refused["field"], "input.imageId", "{refused:#}");
        let refused = update(&merchant, with_image("shirt.a", "M", json!(asset)), &known).await;
        assert_eq!(refused["field"], "input.imageId", "{refused:#}");
    }
    let product = NodeKind::PRODUCT.id("shirt").0;
    for asset in ["", "nonsense", &product, &NodeKind::ASSET.id("$ne").0] {
        for refused in [
            add(&merchant, with_image("shirt.c", "S", json!(asset))).await,
            update(&merchant, with_image("shirt.a", "M", json!(asset)), &known).await,
        ] {
            assert_eq!(refused["what"], "asset", "{asset}: {refused:#}");
        }
    }
    assert!(gateway.snapshot().await == before);

    // An image that is left out stays; null takes it away.
    for (image, expected) in [
        (None, Some(url("two"))),
        (Some(Value::Null), None),
        (Some(one["id"].clone()), Some(url("one"))),
    ] {
        let known = version(&gateway, "shirt").await;
        let mut input = variant("shirt.a", ["red", "M"], 5);
        if let Some(image) = image {
            input["imageId"] = image;
        }
        for _repeat in 0..2 {
            let updated = update(&merchant, input.clone(), &known).await;
            assert_eq!(updated["sku"], "shirt", "{updated:#}");
            assert_eq!(shown(&gateway, "shirt").await, [expected.clone(), None]);
        }
        assert_ne!(version(&gateway, "shirt").await, known);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_whose_variable_is_not_given_stays() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let one = hung(&gateway, "one", 20, 10).await;
    create(&merchant, thing("shirt", "A shirt")).await;
    set(&merchant, "shirt", &[&one]).await;
    added(&gateway, with_image("shirt.a", "M", one["id"].clone())).await;
    let change = "mutation($version: ID!, $price: Long, $image: ID) { updateVariant(input: {
        sku: \"shirt.a\", version: $version, priceDifference: $price, imageId: $image
        options: [{name: \"colour\", value: \"red\"}, {name: \"size\", value: \"M\"}]
    }) { __typename ... on UserError { code message } } }";
    // The text is new, then known.
    for (price, image, expected) in [
        (1, None, Some(url("one"))),
        (2, None, Some(url("one"))),
        (3, Some(Value::Null), None),
        (4, None, None),
        (5, Some(one["id"].clone()), Some(url("one"))),
    ] {
        let known = version(&gateway, "shirt").await;
        let mut variables = json!({ "version": known, "price": price });
        if let Some(image) = image {
            variables["image"] = image;
        }
        let changed = merchant.field(change, variables).await;
        assert!(changed.get("code").is_none(), "{changed:#}");
        assert_eq!(shown(&gateway, "shirt").await, [expected], "{price}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_gone_is_not_shown() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [one, two] = [hung(&gateway, "one", 20, 10).await, hung(&gateway, "two", 20, 10).await];
    create(&merchant, thing("shirt", "A shirt")).await;
    set(&merchant, "shirt", &[&one, &two]).await;
    added(&gateway, with_image("shirt.a", "M", one["id"].clone())).await;
    added(&gateway, with_image("shirt.b", "L", two["id"].clone())).await;
    // It isn't an image of the product for a while.
    set(&merchant, "shirt", &[&two]).await;
    assert_eq!(shown(&gateway, "shirt").await, [None, Some(url("two"))]);
    let now = version(&gateway, "shirt").await;
    let refused = update(&merchant, with_image("shirt.a", "M", one["id"].clone()), &now).await;
    assert_eq!(refused["field"], "input.imageId", "{refused:#}");
    set(&merchant, "shirt", &[&two, &one]).await;
    assert_eq!(shown(&gateway, "shirt").await, [Some(url("one")), Some(url("two"))]);
    // The asset is deleted while it is shown.
    let delete = "mutation($id: ID!) { deleteAsset(input: { assetId: $id }) { __typename } }";
    let deleted = assets::editor(&gateway).field(delete, json!({ "id": two["id"] })).await;
    assert_eq!(deleted["__typename"], "DeletedAsset");
    assert_eq!(shown(&gateway, "shirt").await, [Some(url("one")), None]);
    // Other changes of the variant aren't held up.
    let price = variant("shirt.b", ["red", "L"], 7);
    let now = variants(&gateway, "shirt").await[1]["version"].as_str().expect("one").to_owned();
    assert_eq!(update(&merchant, price, &now).await["sku"], "shirt");
    set(&merchant, "shirt", &[]).await;
    assert_eq!(shown(&gateway, "shirt").await, [None, None]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_of_a_product_and_of_its_variants_change_at_once() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [one, two] = [hung(&gateway, "one", 20, 10).await, hung(&gateway, "two", 20, 10).await];
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, variant("shirt.a", ["red", "M"], 0)).await;
    for round in 0..8 {
        set(&merchant, "shirt", &[&one, &two]).await;
        let known = version(&gateway, "shirt").await;
        // Of two callers one wins; the product loses one of the images meanwhile.
        let [first, second] = [&one, &two].map(|asset| {
            let mut input = with_image("shirt.a", "M", asset["id"].clone());
            input["priceDifference"] = json!(round);
            input
        });
        let only = [&two];
        let (first, second, ()) = tokio::join!(
            update(&merchant, first, &known),
            update(&merchant, second, &known),
            set(&merchant, "shirt", &only),
        );
        let won = [&first, &second].into_iter().filter(|said| said["sku"] == "shirt").count();
        assert_eq!(won, 1, "{first:#} {second:#}");
        let expected = if second["sku"] == "shirt" { Some(url("two")) } else { None };
        assert_eq!(shown(&gateway, "shirt").await, [expected], "{first:#} {second:#}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_variant_gets_its_image_once() {
    const ADD: &str =
        "mutation($input: AddVariantInput!) { addVariant(input: $input) { __typename } }";
    const UPDATE: &str =
        "mutation($input: UpdateVariantInput!) { updateVariant(input: $input) { __typename } }";
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("shirt-{n}");
            let picture = hung(gateway, &format!("p{n}"), 20, 10).await;
            create(&gateway.merchant(), thing(&sku, "A shirt")).await;
            set(&gateway.merchant(), &sku, &[&picture]).await;
            added(gateway, variant(&format!("{sku}.a"), ["red", "M"], 0)).await;
            let known = version(gateway, &sku).await;
            (sku, known, picture["id"].clone())
        },
        async |gateway, (sku, known, picture): &(String, String, Value)| {
            let merchant = gateway.merchant();
            let new = with_image(&format!("{sku}.b"), "L", picture.clone());
            merchant.send(ADD, json!({ "input": new })).await.ok();
            let mut new = with_image(&format!("{sku}.a"), "M", picture.clone());
            new["version"] = json!(known);
            merchant.send(UPDATE, json!({ "input": new })).await.ok();
        },
        async |gateway, case| {
            let shown = shown(gateway, &case.subject.0).await;
            assert_eq!(shown.len(), 2, "{case:?}");
            assert!(shown[0].is_some() && shown[0] == shown[1], "{shown:?} at {case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_an_import_choose_images_of_the_product() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let [one, other] = [hung(&gateway, "one", 20, 10).await, hung(&gateway, "other", 20, 10).await];
    create(&merchant, thing("shirt", "A shirt")).await;
    set(&merchant, "shirt", &[&one]).await;
    let run = async |variants: Value| {
        let mut line = thing("shirt", "A shirt");
        line["variants"] = variants;
        let lines: Vec<ImportProduct> = serde_json::from_value(json!([line])).expect("a line");
        let said = import(&gateway.app, &lines).await.expect("imported").pop().expect("an answer");
        said.map_err(|refused| refused.fault.field)
    };
    let red = |image: Value| with_image("shirt.a", "M", image);
    let plain = || variant("shirt.a", ["red", "M"], 0);
    // Without an image in the line that of the variant stays.
    for (line, expected) in [
        (plain(), None),
        (red(one["id"].clone()), Some(url("one"))),
        (red(one["id"].clone()), Some(url("one"))),
        (plain(), Some(url("one"))),
        (variant("shirt.a", ["red", "M"], 3), Some(url("one"))),
    ] {
        assert_eq!(run(json!([line])).await, Ok(()));
        assert_eq!(shown(&gateway, "shirt").await, [expected]);
    }
    // One that the product doesn't have is refused, and the other variants of the line come in.
    let lines = json!([red(other["id"].clone()), with_image("shirt.b", "L", one["id"].clone())]);
    assert_eq!(run(lines).await, Err("input.variants.0.imageId".to_owned()));
    assert_eq!(shown(&gateway, "shirt").await, [Some(url("one")), Some(url("one"))]);
    gateway.assert_sound().await;
}
