//! Images of products in CSV files.

use docgate::graphql::node_id::NodeKind;
use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{super::database, Shop};
use crate::{
    assets::{file, renditions::hung, uploaded},
    support::Gateway,
};

/// The shop that a gateway serves, which has a picture of each of these slugs, and the global ids of the pictures.
async fn with_pictures<const N: usize>(slugs: [&str; N]) -> (Gateway, Shop, [String; N]) {
    let gateway = Gateway::start().await;
    let mut ids = Vec::new();
    for slug in slugs {
        ids.push(id(&hung(&gateway, slug, 20, 10).await));
    }
    let name = gateway.database.name().to_owned();
    let shop = Shop { folder: tempfile::tempdir().expect("a folder"), name };
    (gateway, shop, ids.try_into().expect("an id of each"))
}

fn id(asset: &Value) -> String {
    asset["id"].as_str().expect("an id").to_owned()
}

/// Copies the assets of a gateway into another shop, without the bytes of their files.
async fn copy_assets(gateway: &Gateway, to: &Shop) {
    let found = gateway.raw("assetEntries").find(doc! {}).await.expect("a cursor");
    let assets: Vec<Document> = found.try_collect().await.expect("assets");
    let copies = database(&to.name).await.collection::<Document>("assetEntries");
    copies.insert_many(assets).await.expect("inserted");
}

/// Global ids and alternative texts of a product's images.
fn images(product: &Document) -> Vec<(String, &str)> {
    let Ok(all) = product.get_array("images") else { return Vec::new() };
    all.iter()
        .map(|one| {
            let one = one.as_document().expect("an image");
            let text = |field: &str| one.get_str(field).expect("a text");
            (NodeKind::ASSET.id(text("assetId")).0, text("alternativeText"))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_images_come_in_and_go_out() {
    let (gateway, shop, [red, blue, front]) = with_pictures(["red", "blue", "front"]).await;
    let rows = format!(
        "sku,title,type,list,retail,currency,variantSku,option1Name,option1Value,variantImage,\
        image,imagePosition,imageAlternativeText\n\
        shirt,A shirt,shirt,20,15,EUR,shirt.red,colour,red,{red},{red},2,=red\n\
        ,,,,,,shirt.blue,,blue,{blue},{blue},1,\n\
        shirt,,,,,,,,,,{front},,The front\n\
        tie,A tie,tie,5,5,EUR,,,,,{front},,\n\
        cap,A cap,cap,9,9,EUR,,,,,,,\n"
    );
    let file = shop.file("products.csv", &rows);
    let (code, out, said) = shop.import("products", &file, &["--dry-run"]);
    assert_eq!(
        (code, out.as_str()),
        (0, "3 products would be imported, 0 lines skipped\n"),
        "{said}"
    );
    assert_eq!(shop.count("products").await, 0);
    // A repeat changes nothing.
    let mut before = None;
    for _ in 0..2 {
        let (code, out, said) = shop.import("products", &file, &[]);
        assert_eq!((code, out.as_str()), (0, "3 products imported, 0 lines skipped\n"), "{said}");
        let products = shop.documents("products").await;
        let [cap, shirt, tie] = &products[..] else { panic!("{products:#?}") };
        assert!(images(cap).is_empty());
        let expected = [(blue.clone(), ""), (red.clone(), "=red"), (front.clone(), "The front")];
        assert_eq!(images(shirt), expected, "by position, and the one without a position last");
        assert_eq!(images(tie), [(front.clone(), "")]);
        let variants = shirt.get_array("variants").expect("variants").iter();
        let shown: Vec<String> = variants
            .map(|one| one.as_document().expect("a variant").get_str("image").expect("an image"))
            .map(|asset| NodeKind::ASSET.id(asset).0)
            .collect();
        assert_eq!(shown, [red.clone(), blue.clone()]);
        assert_eq!(*before.get_or_insert_with(|| products.clone()), products);
    }

    let text = shop.export("products");
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.contains(&format!(",{red},2,'=red,shirt.blue,")), "{text}");
    assert!(text.contains(&format!(",{front},3,The front,,")), "{text}");
    // In the same shop the file changes nothing.
    let copy = shop.file("copy.csv", &text);
    let (code, _, said) = shop.import("products", &copy, &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(Some(shop.documents("products").await), before);
    // Another shop with the assets gets the same products.
    let other = Shop::new();
    let (code, out, said) = other.import("products", &copy, &["--dry-run"]);
    assert_eq!(out, "1 product would be imported, 2 in part, 0 lines skipped\n", "{said}");
    assert!(code == 1 && said.contains("line 3: image: "), "{said}");
    copy_assets(&gateway, &other).await;
    let (code, _, said) = other.import("products", &copy, &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(Some(other.documents("products").await), before);
    assert_eq!(other.export("products"), text);
    // A shop without them gets the products without images, whose rows aren't in the file then.
    let (code, text, said) = shop.run(&["export", "csv", "products", "--without-images"]);
    assert!(code == 0 && !text.to_lowercase().contains("image"), "{said}{text}");
    assert_eq!(text.lines().count(), 5, "{text}");
    let empty = Shop::new();
    let (code, _, said) = empty.import("products", &empty.file("products.csv", &text), &[]);
    assert_eq!(code, 0, "{said}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_without_images_leave_them_and_those_with_images_replace_them() {
    let (gateway, shop, [one, two]) = with_pictures(["one", "two"]).await;
    let import = async |rows: &str| {
        let header = "sku,title,type,list,retail,currency,image";
        let file = shop.file("products.csv", &format!("{header}\n{rows}"));
        let (code, _, said) = shop.import("products", &file, &[]);
        assert_eq!(code, 0, "{said}");
        let product = shop.documents("products").await.pop().expect("a product");
        images(&product).into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    let tie = "tie,A tie,tie,5,5,EUR,";
    let both = [one.clone(), two.clone()];
    assert_eq!(import(&format!("{tie}{one}\n,,,,,,{two}\n")).await, both);
    assert_eq!(import(&format!("{tie}\n")).await, both);
    assert_eq!(import(&format!("{tie}{two}\n")).await, std::slice::from_ref(&two));
    // An image whose asset is gone stays, so that an import of an export changes nothing.
    gateway.raw("assetEntries").delete_many(doc! {}).await.expect("deleted");
    let copy = shop.file("copy.csv", &shop.export("products"));
    for how in ["--dry-run", "--allow-errors"] {
        let (code, out, said) = shop.import("products", &copy, &[how]);
        assert!(code == 0 && out.ends_with("imported, 0 lines skipped\n"), "{said}{out}");
    }
    assert_eq!(import(&format!("{tie}{two}\n,,,,,,{two}\n")).await, [two.clone(), two]);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_images_name_line_and_column() {
    let (gateway, shop, [one, two]) = with_pictures(["one", "two"]).await;
    let text = uploaded(&gateway, json!({ "slug": "text" }), &file("t", "text/plain", "x")).await;
    let (text, nobody) = (id(&text), NodeKind::ASSET.id("nobody").0);
    let product = |sku: &str| format!("{sku},A thing,thing,20,15,EUR,");
    let long = "x".repeat(501);
    let rows = [
        // Line 2: the row of an image without a product.
        format!(",,,,,,{one},,"),
        // Lines 3 and 4: no asset has the id.
        product("a") + &format!("{one},,"),
        format!("a,,,,,,{nobody},,"),
        // Lines 5 and 6: the second one by its position isn't a picture.
        product("b") + &format!("{text},2,"),
        format!(",,,,,,{one},1,"),
        // Lines 7 and 8: a position twice.
        product("c") + &format!("{one},1,"),
        format!(",,,,,,{two},1,"),
        // Line 9: no global id.
        product("d") + "red.png,,",
        // Line 10: no number.
        product("e") + &format!("{one},first,"),
        // Line 11: a text without an image.
        product("f") + ",,red",
        // Lines 12 and 13: a text that is too long.
        product("g") + &format!("{one},,"),
        format!(",,,,,,{two},,{long}"),
        // Line 14 is fine.
        product("h") + &format!("{one},,"),
    ];
    let header = "sku,title,type,list,retail,currency,image,imagePosition,imageAlternativeText";
    let file = shop.file("products.csv", &format!("{header}\n{}\n", rows.join("\n")));
    let expected = [
        (2, "image"),
        (4, "image"),
        (5, "image"),
        (8, "imagePosition"),
        (9, "image"),
        (10, "imagePosition"),
        (11, "image"),
        (13, "imageAlternativeText"),
    ];
    shop.assert_faults(&file, "2 in part, 6 lines skipped", &expected);
    let products = shop.documents("products").await;
    let found: Vec<_> = products
        .iter()
        .map(|one| (one.get_str("_id").expect("a SKU"), images(one).len()))
        .collect();
    assert_eq!(found, [("a", 0), ("b", 0), ("h", 1)]);
    let file = shop.file("other.csv", "sku,title,type,list,retail,currency,imagePosition\n");
    let (code, _, said) = shop.import("products", &file, &[]);
    assert!(code == 2 && said.contains("the column image is missing"), "{said}");
}
