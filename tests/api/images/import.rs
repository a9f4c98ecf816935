//! Images of products in lines of an import.

use docgate::{
    domains::catalog::{
        ImportProduct,
        import::{Earlier, check},
        operations::import,
    },
    graphql::node_id::NodeKind,
};
use serde_json::{Value, json};

use super::{id, texts};
use crate::{
    assets::renditions::hung,
    catalog::{thing, variants::variant},
    support::Gateway,
};

/// Checks and imports a line, and returns why it was refused; both say the same.
async fn run(gateway: &Gateway, line: &Value) -> Option<String> {
    let lines = [serde_json::from_value::<ImportProduct>(line.clone()).expect("a line")];
    let checked = check(&gateway.app, &lines, &mut Earlier::default()).await.expect("checked");
    let imported = import(&gateway.app, &lines).await.expect("imported");
    let [checked, imported] = [checked, imported].map(|mut answers| {
        answers.pop().expect("an answer").err().map(|refused| refused.fault.message)
    });
    assert_eq!(checked, imported);
    imported
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_sets_the_images_of_its_product_and_its_variants_show_them() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let [one, two] = [hung(&gateway, "one", 20, 10).await, hung(&gateway, "two", 20, 10).await];
    let subject = NodeKind::PRODUCT.id("shirt").0;
    let image =
        |asset: &Value, text: &str| json!({ "assetId": id(asset), "alternativeText": text });
    let mut line = thing("shirt", "A shirt");
    line["images"] = json!([image(&two, "Two"), image(&one, " One ")]);
    let mut red = variant("shirt.red", ["red", "M"], 0);
    red["imageId"] = one["id"].clone();
    line["variants"] = json!([red]);
    assert_eq!(run(&gateway, &line).await, None);
    assert_eq!(texts(&anyone, &subject).await, ["Two", "One"]);
    let query = "{ product(sku: \"shirt\") { variants { image { alternativeText } } } }";
    let shown = anyone.field(query, json!({})).await;
    assert_eq!(shown["variants"], json!([{ "image": { "alternativeText": "One" } }]));

    // A line without the field leaves the images.
    let plain = thing("shirt", "A shirt");
    assert_eq!(run(&gateway, &plain).await, None);
    assert_eq!(texts(&anyone, &subject).await, ["Two", "One"]);
    // If one image is refused, all stay, and the rest of the line is imported.
    let mut wrong = thing("shirt", "Another shirt");
    let nobody = NodeKind::ASSET.id("nobody").0;
    wrong["images"] = json!([image(&one, "First"), { "assetId": nobody }]);
    let refused = run(&gateway, &wrong).await.expect("a refusal");
    assert!(refused.starts_with("input.images.1.assetId: "), "{refused}");
    assert_eq!(texts(&anyone, &subject).await, ["Two", "One"]);
    let title = anyone.field("{ product(sku: \"shirt\") { title } }", json!({})).await;
    assert_eq!(title["title"], "Another shirt");
    // More images than a product may have.
    let mut many = thing("shirt", "Too many");
    many["images"] = json!(vec![image(&one, ""); 21]);
    let refused = run(&gateway, &many).await.expect("a refusal");
    assert!(refused.starts_with("input.images: "), "{refused}");

    let mut none = thing("shirt", "A shirt");
    none["images"] = json!([]);
    assert_eq!(run(&gateway, &none).await, None);
    assert!(texts(&anyone, &subject).await.is_empty());
    gateway.assert_sound().await;
}
