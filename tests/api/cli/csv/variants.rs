//! Variants in CSV files of products.

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::{Document, doc};

use super::{super::database, Shop};

/// A shirt as shops write it whose exports have a row for each variant, and a product without variants.
const SHIRTS: &str = "sku,title,type,list,retail,currency,variantSku,option1Name,option1Value,\
    option2Name,option2Value,priceDifference\n\
    shirt,A shirt,shirt,20,15,EUR,shirt.red-m,colour,red,size,M,\n\
    shirt,,,,,,shirt.red-l,,red,,L,\"-1,50\"\n\
    ,,,,,,shirt.blue,,=blue,,,2\n\
    tie,A tie,tie,5,5,EUR,,,,,,\n\
    cap,A cap,cap,9,9,JPY,,,,,,\n\
    cap,A cap,cap,9,9,JPY,cap.s,size,S,,,-3\n";

/// SKU, title and price difference of a product's variants.
fn variants(product: &Document) -> Vec<(&str, &str, i64)> {
    let Ok(all) = product.get_array("variants") else { return Vec::new() };
    all.iter()
        .map(|one| {
            let one = one.as_document().expect("a variant");
            let text = |field: &str| one.get_str(field).expect("a text");
            (text("sku"), text("title"), one.get_i64("difference").expect("a number"))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_variants_come_in_and_go_out() {
    let (shop, other) = (Shop::new(), Shop::new());
    let file = shop.file("products.csv", SHIRTS);
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
        assert_eq!(variants(cap), [("cap.s", "S", -3)], "a currency without a minor unit");
        assert_eq!(
            variants(shirt),
            [
                ("shirt.red-m", "red / M", 0),
                ("shirt.red-l", "red / L", -150),
                ("shirt.blue", "=blue", 200)
            ]
        );
        assert!(variants(tie).is_empty());
        assert_eq!(*before.get_or_insert_with(|| products.clone()), products);
    }

    let text = shop.export("products");
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.contains(",shirt.red-l,colour,red,size,L,,,,,,,-1.50,\n"), "{text}");
    assert!(text.contains(",'=blue,"), "no formula: {text}");
    let copy = other.file("products", &text);
    let (code, _, said) = other.import("products", &copy, &[]);
    assert_eq!(code, 0, "{said}\n{text}");
    assert_eq!(other.export("products"), text);
    assert_eq!(Some(other.documents("products").await), before);
    // In the same shop it changes nothing.
    assert_eq!(shop.import("products", &copy, &[]).0, 0);
    assert_eq!(Some(shop.documents("products").await), before);
    // Variants that have no row stay, and stock has their SKUs.
    let fewer: String = SHIRTS.split_inclusive('\n').take(2).collect();
    assert_eq!(shop.import("products", &shop.file("fewer.csv", &fewer), &[]).0, 0);
    assert_eq!(Some(shop.documents("products").await), before);
    let stock = shop.file("stock.csv", "sku,quantity\nshirt.blue,3\nshirt.green,3\n");
    let (code, out, said) = shop.import("stock", &stock, &[]);
    assert_eq!((code, out.as_str()), (1, "1 receipt of stock imported, 1 line skipped\n"));
    assert!(said.contains("line 3: sku: "), "{said}");
    let (code, out, _) = other.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_can_read_as_several() {
    let shop = Shop::new();
    let header = SHIRTS.split_inclusive('\n').next().expect("a header");
    let rows = "shirt,A shirt,shirt,20,15,EUR,shirt.a,set,red / M,,,\n,,,,,,shirt.b,,red,size,M,\n";
    let file = shop.file("products.csv", &format!("{header}{rows}"));
    // The second import finds both variants.
    for (how, done) in
        [("--dry-run", "would be imported"), ("--allow-errors", "imported")].repeat(2)
    {
        let (code, out, said) = shop.import("products", &file, &[how]);
        let told = format!("1 product {done}, 0 lines skipped\n");
        assert_eq!((code, out), (0, told), "{said}");
    }
    let products = shop.documents("products").await;
    let found = variants(&products[0]);
    assert_eq!(found, [("shirt.a", "red / M", 0), ("shirt.b", "red / M", 0)]);
    let (code, out, _) = shop.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_variants_name_line_and_column() {
    let shop = Shop::new();
    let header = SHIRTS.split_inclusive('\n').next().expect("a header");
    let product = |sku: &str| format!("{sku},A thing,thing,20,15,EUR,");
    let rows = [
        // Line 2: the row of a variant without a product.
        "none,,,,,,none.a,size,S,,,".to_owned(),
        // Lines 3 to 5: the last one has the options of the first one.
        product("a") + "a.s,size,S,,,",
        ",,,,,,a.m,,M,,,".to_owned(),
        ",,,,,,a.x,,S,,,".to_owned(),
        // Lines 6 and 7: no price.
        product("b") + "b.s,size,S,,,",
        ",,,,,,b.m,,M,,,cheap".to_owned(),
        // Lines 8 and 9: less than nothing.
        product("c") + "c.s,size,S,,,",
        "c,,,,,,c.m,,M,,,-15.01".to_owned(),
        // Lines 10 and 11: of another product.
        product("d") + "d.s,size,S,,,",
        ",,,,,,e.m,,M,,,".to_owned(),
        // Lines 12 and 13: twice.
        product("e") + "e.s,size,S,,,",
        ",,,,,,e.s,,M,,,".to_owned(),
        // Line 14: an option without a SKU.
        product("f") + ",size,S,,,",
        // Lines 15 and 16: another title.
        product("g") + "g.s,size,S,,,",
        "g,Another,,,,,g.m,,M,,,".to_owned(),
        // Lines 17 and 18 are fine.
        product("h") + "h.s,size,S,,,",
        ",,,,,,h.m,,M,,,".to_owned(),
        // Line 19: no name of the second option.
        product("i") + "i.s,size,S,,tall,",
        // Line 20: of the column of variants, nothing is left out.
        product("j") + "j.s,,,,,",
    ];
    let file = shop.file("products.csv", &format!("{header}{}\n", rows.join("\n")));
    let expected = [
        (2, "variantSku"),
        (5, "option1Value"),
        (7, "priceDifference"),
        (9, "priceDifference"),
        (11, "variantSku"),
        (13, "variantSku"),
        (14, "variantSku"),
        (16, "title"),
        (19, "option2Name"),
        (20, "option1Value"),
    ];
    shop.assert_faults(&file, "2 in part, 8 lines skipped", &expected);
    // What was refused for a variant is imported but for that variant.
    let products = shop.documents("products").await;
    let skus: Vec<&str> = products.iter().filter_map(|one| one.get_str("_id").ok()).collect();
    assert_eq!(skus, ["a", "c", "h"]);
    assert_eq!(variants(&products[0]), [("a.s", "S", 0), ("a.m", "M", 0)]);
    let file = shop.file("other.csv", "sku,title,type,list,retail,currency,option1Name\n");
    let (code, _, said) = shop.import("products", &file, &[]);
    assert!(code == 2 && said.contains("the column variantSku is missing"), "{said}");
    let (code, out, _) = shop.run(&["check"]);
    assert_eq!(code, 0, "{out}");
}

/// A row of a variant above that of its product is alone. The rest of the product is imported.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_variants_above_their_product_are_skipped_one_by_one() {
    let shop = Shop::new();
    let (header, rows) = SHIRTS.split_once('\n').expect("a header");
    let orphans = "shirt,,,,,,shirt.x,size,X,,,\n,,,,,,shirt.y,size,Y,,,\n";
    let file = shop.file("products.csv", &format!("{header}\n{orphans}{rows}"));
    for (how, done) in [("--dry-run", "would be imported"), ("--allow-errors", "imported")] {
        let (_, out, said) = shop.import("products", &file, &[how]);
        assert_eq!(out, format!("3 products {done}, 2 lines skipped\n"), "{said}");
        for line in [2, 3] {
            assert!(said.contains(&format!("line {line}: variantSku: ")), "{said}");
        }
    }
    let products = shop.documents("products").await;
    let skus: Vec<&str> = variants(&products[1]).into_iter().map(|(sku, ..)| sku).collect();
    assert_eq!(skus, ["shirt.red-m", "shirt.red-l", "shirt.blue"]);
}

/// What a line has in common with earlier lines of the file, or with what is stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_sees_prices_of_stored_variants_and_slugs_of_earlier_lines() {
    let shop = Shop::new();
    let shirt = shop.file("shirt.csv", &SHIRTS.replace("\"-1,50\"", "-10"));
    assert_eq!(shop.import("products", &shirt, &[]).0, 0);
    // More than a batch of rows lies between the two that have one slug.
    let between: Vec<_> = (0..600).map(|n| format!("x-{n},X,x,1,1,EUR,\n")).collect();
    let between = between.concat();
    let rows = format!(
        "sku,title,type,list,retail,currency,slug\n\
        shirt,A shirt,shirt,20,9.99,EUR,\n\
        shirt,A shirt,shirt,20,15,USD,\n\
        one,One,one,1,1,EUR,same\n{between}two,Two,two,1,1,EUR,same\none,One,one,1,1,EUR,same\n"
    );
    let file = shop.file("products.csv", &rows);
    let (code, out, said) = shop.import("products", &file, &["--dry-run"]);
    assert_eq!(
        (code, out.as_str()),
        (1, "602 products would be imported, 1 in part, 2 lines skipped\n"),
        "{said}"
    );
    // The import says the same.
    let (_, out, told) = shop.import("products", &file, &[]);
    assert_eq!(out, "602 products imported, 1 in part, 2 lines skipped\n", "{told}");
    for said in [said, told] {
        assert!(said.contains("line 2: retail: would be less"), "{said}");
        assert!(said.contains("line 3: currency: is another"), "{said}");
        assert!(said.contains("line 605: slug: "), "{said}");
    }
}

/// The images of a shop's shirt, as `setImages` writes them.
async fn hang(shop: &Shop, assets: &[&str]) {
    let image = |asset: &&str| doc! { "assetId": *asset, "alternativeText": "" };
    let images: Vec<Document> = assets.iter().map(image).collect();
    let products = database(&shop.name).await.collection::<Document>("products");
    let set = products.update_one(doc! { "_id": "shirt" }, doc! { "$set": { "images": images } });
    assert_eq!(set.await.expect("written").matched_count, 1);
}

/// SKU and image of the shirt's variants.
async fn images(shop: &Shop) -> Vec<(String, Option<String>)> {
    let shirt = shop.documents("products").await.pop().expect("a product");
    let all = shirt.get_array("variants").expect("variants").iter();
    all.map(|one| {
        let one = one.as_document().expect("a variant");
        let text = |field: &str| one.get_str(field).ok().map(str::to_owned);
        (text("sku").expect("a SKU"), text("image"))
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_names_one_of_its_products_images() {
    let (shop, other) = (Shop::new(), Shop::new());
    let id = |asset: &str| NodeKind::ASSET.id(asset).0;
    let header =
        "sku,title,type,list,retail,currency,variantSku,option1Name,option1Value,variantImage";
    let rows = |images: [&str; 3]| {
        let [red, blue, green] = images;
        format!(
            "{header}\nshirt,A shirt,shirt,20,15,EUR,shirt.red,colour,red,{red}\n\
            ,,,,,,shirt.blue,,blue,{blue}\n,,,,,,shirt.green,,green,{green}\n"
        )
    };
    let named = |images: [Option<&str>; 3]| {
        let skus = ["shirt.red", "shirt.blue", "shirt.green"].into_iter();
        let named = skus.zip(images).map(|(sku, image)| (sku.to_owned(), image.map(str::to_owned)));
        named.collect::<Vec<_>>()
    };
    let plain = shop.file("plain.csv", &rows(["", "", ""]));
    assert_eq!(shop.import("products", &plain, &[]).0, 0);
    hang(&shop, &["one", "two"]).await;
    // An image that the product doesn't have, and what is no id at all.
    let wrong = shop.file("wrong.csv", &rows([&id("one"), &id("three"), ""]));
    let no_id = shop.file("no_id.csv", &rows(["", "", "red.png"]));
    for (file, line, counted) in
        [(&wrong, 3, "1 in part, 0 lines skipped"), (&no_id, 4, "1 line skipped")]
    {
        let (code, out, said) = shop.import("products", file, &["--dry-run"]);
        let expected = format!("0 products would be imported, {counted}\n");
        assert_eq!((code, out), (1, expected), "{said}");
        assert!(said.contains(&format!("line {line}: variantImage: ")), "{said}");
    }
    assert_eq!(images(&shop).await, named([None, None, None]), "nothing is written");
    // The other variants of the line come in.
    let (code, _, said) = shop.import("products", &wrong, &[]);
    assert!(code == 1 && said.contains("line 3: variantImage: "), "{said}");
    assert_eq!(images(&shop).await, named([Some("one"), None, None]));
    // A cell that is empty leaves the image.
    let file = shop.file("images.csv", &rows(["", &id("two"), ""]));
    for how in ["--dry-run", "--allow-errors", "--allow-errors"] {
        let (code, _, said) = shop.import("products", &file, &[how]);
        assert_eq!(code, 0, "{said}");
    }
    assert_eq!(images(&shop).await, named([Some("one"), Some("two"), None]));

    let text = shop.export("products");
    let ends = [format!(",,{}", id("one")), format!(",,{}", id("two")), ",,".to_owned()];
    for (row, end) in text.lines().skip(1).zip(&ends) {
        assert!(row.ends_with(end.as_str()), "{row}");
    }
    let copy = shop.file("copy.csv", &text);
    let before = shop.documents("products").await;
    assert_eq!(shop.import("products", &copy, &[]).0, 0);
    assert_eq!(shop.documents("products").await, before);
    // An image that the product lost isn't exported, and its variant keeps it.
    hang(&shop, &["two"]).await;
    let fewer = shop.export("products");
    assert!(!fewer.contains(&id("one")) && fewer.contains(&id("two")), "{fewer}");
    assert_eq!(shop.import("products", &shop.file("fewer.csv", &fewer), &[]).0, 0);
    assert_eq!(images(&shop).await, named([Some("one"), Some("two"), None]));
    // Another shop doesn't have the images.
    let (code, _, said) = other.import("products", &copy, &["--dry-run"]);
    assert!(code == 1 && said.contains("line 2: image: "), "{said}");
    let (code, text, said) = shop.run(&["export", "csv", "products", "--without-images"]);
    assert!(code == 0 && !text.to_lowercase().contains("image"), "{said}{text}");
    let copy = other.file("copy.csv", &text);
    let (code, _, said) = other.import("products", &copy, &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(images(&other).await, named([None, None, None]));
}
