//! Categories, people, products with their contributors, and stock.

use docgate_demo::{covers::Motif, people::Cast, products::Product, tree::Category};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::{
    MERCHANT, Steps,
    client::{DemoClient, someone},
    covers::Covers,
};
use crate::{
    app::App,
    cli::failure::Failure,
    domains::{catalog, categories},
    graphql::requester::Role,
    mongo::words::words,
};

/// Number of concurrent operations. mongod writes its journal once for all operations that wait for it.
pub(super) const AT_ONCE: usize = 48;

/// Maximum length of the words of a slug, in characters.
const SLUG: usize = 48;

/// Creates the categories, parents before children.
pub(super) async fn create_categories(
    app: &App,
    tree: &[Category],
    steps: &Steps,
) -> Result<(), Failure> {
    let bar = steps.begin("categories", tree.len());
    for depth in 1.. {
        let level: Vec<_> =
            tree.iter().filter(|one| one.path.matches('/').count() == depth).collect();
        if level.is_empty() {
            break;
        }
        stream::iter(level)
            .map(|category| async {
                let line = json!({
                    "path": category.path,
                    "names": {
                        "en": category.english, "de": category.german, "fr": category.french,
                    },
                });
                categories::import::import(app, parsed(line)?).await?;
                bar.inc(1);
                Ok::<_, Failure>(())
            })
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<()>>()
            .await?;
    }
    bar.finish();
    Ok(())
}

/// Creates the people; returns their ids in the order of the cast.
pub(super) async fn create_people(
    client: &DemoClient,
    cast: &Cast,
    steps: &Steps,
) -> Result<Vec<String>, Failure> {
    const CREATE: &str = "mutation($name: String!, $op: ID!) {
        createPerson(input: {name: $name, idempotencyKey: $op}) {
            ... on Person { id } ... on UserError { code message }
        }
    }";
    let merchant = &someone(MERCHANT, &[Role::Merchant]);
    let create = cast.names.iter().enumerate().map(|(number, name)| async move {
        let variables = json!({ "name": name, "op": format!("demo-person-{number}") });
        let data = client.execute(merchant, CREATE, variables).await?;
        Ok::<_, Failure>(text(&data["createPerson"]["id"]))
    });
    steps.each("contributors", create).await
}

/// Adds the products to the catalog, as `docgate import products` does.
pub(super) async fn create_products(
    app: &App,
    products: &[Product],
    people: &[String],
    steps: &Steps,
) -> Result<(), Failure> {
    let bar = steps.begin("products", products.len());
    for batch in products.chunks(500) {
        let lines = batch.iter().map(|product| parsed(line(product, people)));
        let lines: Vec<catalog::ImportProduct> = lines.collect::<Result<_, _>>()?;
        for (product, result) in batch.iter().zip(catalog::import::import(app, &lines).await?) {
            result.map_err(|refused| {
                let (sku, fault) = (&product.sku, refused.fault.message);
                Failure::trouble(format!("the shop can't be filled: {sku}: {fault}"))
            })?;
        }
        bar.inc(batch.len() as u64);
    }
    bar.finish();
    Ok(())
}

/// Adds stock.
pub(super) async fn add_stock(
    client: &DemoClient,
    products: &[Product],
    steps: &Steps,
) -> Result<(), Failure> {
    const RECEIVE: &str = "mutation($input: ReceiveStockInput!) { receiveStock(input: $input) {
        __typename ... on UserError { code message }
    } }";
    let merchant = &someone(MERCHANT, &[Role::Merchant]);
    let mut goods = Vec::with_capacity(products.len());
    for product in products {
        goods.push((product.sku.clone(), product.stock));
        goods.extend(finishes(product).map(|(sku, _, _)| (sku, product.stock)));
    }
    let receive = goods.into_iter().map(|(sku, quantity)| async move {
        let op = format!("demo-stock-{sku}");
        let input = json!({ "sku": sku, "quantity": quantity, "idempotencyKey": op });
        client.execute(merchant, RECEIVE, json!({ "input": input })).await
    });
    steps.each("stock", receive).await.map(drop)
}

/// Gives the variants their images, after their products got them, as `docgate import products` does.
pub(super) async fn show_variants(
    app: &App,
    products: &[Product],
    people: &[String],
    covers: &Covers,
) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for (number, product) in products.iter().enumerate() {
        let mut line = line(product, people);
        let Some(variants) = line["variants"].as_array_mut().filter(|all| !all.is_empty()) else {
            continue;
        };
        for (variant, (_, finish, _)) in variants.iter_mut().zip(finishes(product)) {
            let motif = Motif::of(product.kind).in_finish(finish);
            variant["imageId"] = covers.of(motif, number).into();
        }
        lines.push(parsed::<catalog::ImportProduct>(line)?);
    }
    for result in catalog::import::import(app, &lines).await? {
        result.map_err(|refused| {
            Failure::trouble(format!("a variant gets no image: {}", refused.fault.message))
        })?;
    }
    Ok(())
}

/// The variants of a product: their SKUs, their finishes, and what they cost more. Some instruments and devices have any.
pub(super) fn finishes(product: &Product) -> impl Iterator<Item = (String, &'static str, i64)> {
    const FINISHES: &[(&str, i64)] = &[("black", 0), ("walnut", 2_000)];
    let has_variants = matches!(product.kind, "instrument" | "audio") && product.sku.ends_with('3');
    let finishes = if has_variants { FINISHES } else { &[] };
    finishes.iter().map(|(finish, more)| (format!("{}.{finish}", product.sku), *finish, *more))
}

/// A product as a line of an import; `people` are ids in the order of the cast.
fn line(product: &Product, people: &[String]) -> Value {
    let contributors = product.credits.iter();
    let contributors: Vec<Value> = contributors
        .map(|(person, role)| json!({ "personId": people[*person], "role": role }))
        .collect();
    let details = match product.kind {
        "album" => {
            let tracks = product.tracks.iter();
            let tracks: Vec<Value> = tracks
                .map(|(title, seconds)| json!({ "title": title, "seconds": seconds }))
                .collect();
            json!({ "album": { "genres": product.genres, "label": product.label, "tracks": tracks } })
        }
        "film" => json!({ "film": {
            "genres": product.genres,
            "certificate": product.certificate,
            "aspectRatio": product.aspect_ratio,
        } }),
        "book" => json!({ "book": { "isbn": product.isbn, "pages": product.pages } }),
        kind => {
            let properties = product.properties.iter();
            let properties: Vec<Value> =
                properties.map(|(key, value)| json!({ "key": key, "value": value })).collect();
            json!({ "generic": { "type": kind, "properties": properties } })
        }
    };
    let variants = finishes(product).map(|(sku, finish, more)| {
        let options = json!([{ "name": "finish", "value": finish }]);
        json!({ "sku": sku, "options": options, "priceDifference": more })
    });
    let [width, height, depth] = product.size;
    json!({
        "sku": product.sku,
        "slug": slug(product),
        "categories": product.categories,
        "contributors": contributors,
        "variants": variants.collect::<Vec<_>>(),
        "pricing": { "list": product.list, "retail": product.retail, "currency": "EUR" },
        "content": {
            "title": product.title,
            "description": product.description,
            "language": product.language,
            "asin": product.asin,
            "issueDate": product.issued,
            "shipping": {
                "weight": product.weight,
                "dimensions": { "width": width, "height": height, "depth": depth },
            },
            "details": details,
        },
    })
}

/// The slug of a product: the first words of its title, and its SKU, so that no other product has it.
fn slug(product: &Product) -> String {
    let is_plain = |word: &String| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut slug = String::new();
    for word in words(&product.title).into_iter().filter(is_plain) {
        if slug.len() + word.len() > SLUG {
            break;
        }
        slug.push_str(&word);
        slug.push('-');
    }
    slug + &product.sku.to_ascii_lowercase()
}

/// The text of a JSON string.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn parsed<T: serde::de::DeserializeOwned>(line: Value) -> Result<T, Failure> {
    serde_json::from_value(line)
        .map_err(|fault| Failure::trouble(format!("the shop can't be filled: {fault}")))
}
