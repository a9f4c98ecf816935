//! The category tree through the door.

mod batches;
pub(crate) mod facets;
mod flows;
mod late;
mod places;
mod races;
mod reads;
mod writes;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::support::{Client, Gateway};

const CATEGORY: &str = "
    ... on Category {
      id slug path parentPath parentId name names { locale name }
      breadcrumbs { id slug path name }
    }
    ... on UserError { code message }";

/// Runs one of the room's mutations with the whole category as answer.
pub(crate) async fn ask(client: &Client, field: &str, input: Value) -> Value {
    client.field(&mutation(field), json!({ "input": input })).await
}

fn mutation(field: &str) -> String {
    let (first, rest) = field.split_at(1);
    let input = format!("{}{rest}Input", first.to_uppercase());
    let answer = match field {
        "deleteCategory" => {
            "__typename ... on DeletedCategory { id } ... on UserError { code message }".to_owned()
        }
        _ => format!("__typename {CATEGORY}"),
    };
    format!("mutation($input: {input}!) {{ {field}(input: $input) {{ {answer} }} }}")
}

/// Creates a category with an English name and answers with its global id.
async fn plant(gateway: &Gateway, slug: &str, parent: Option<&str>) -> String {
    let names = json!([{ "locale": "en", "name": slug }]);
    let input = json!({ "slug": slug, "names": names, "parentId": parent });
    let made = ask(&gateway.merchant(), "createCategory", input).await;
    assert_eq!(made["__typename"], "Category", "{made:#}");
    made["id"].as_str().expect("an id").to_owned()
}

/// `/music/jazz/bop`, and `/film` beside it.
pub(crate) async fn music(gateway: &Gateway) -> [String; 4] {
    let music = plant(gateway, "music", None).await;
    let jazz = plant(gateway, "jazz", Some(&music)).await;
    let bop = plant(gateway, "bop", Some(&jazz)).await;
    let film = plant(gateway, "film", None).await;
    [music, jazz, bop, film]
}

async fn by_id(gateway: &Gateway, id: &str) -> Value {
    let query = format!("query($id: ID!) {{ category(by: {{ id: $id }}) {{ {FIELDS} }} }}");
    gateway.anonymous().field(&query, json!({ "id": id })).await
}

const FIELDS: &str = "id slug path parentPath parentId name names { locale name }
    breadcrumbs { id slug path name }";

/// Puts a product into categories.
pub(crate) async fn put_product(gateway: &Gateway, sku: &str, ids: &[&str]) {
    let made = create_product(&gateway.merchant(), sku, ids).await;
    assert!(made["sku"].is_string(), "{made:#}");
}

async fn create_product(client: &Client, sku: &str, ids: &[&str]) -> Value {
    let create = "mutation($input: CreateProductInput!) { createProduct(input: $input) {
        ... on Product { sku } ... on UserError { code message } } }";
    let content = json!({ "title": sku, "details": { "book": {} } });
    let pricing = json!({ "list": 100, "retail": 100, "currency": "EUR" });
    let input = json!({ "sku": sku, "content": content, "pricing": pricing, "categoryIds": ids });
    client.field(create, json!({ "input": input })).await
}

fn products(gateway: &Gateway) -> mongodb::Collection<Document> {
    gateway.database.collection("products")
}

/// A field of every copy of a product, in order.
async fn copied(gateway: &Gateway, sku: &str, field: &str) -> Vec<String> {
    let found = products(gateway).find_one(doc! { "_id": sku }).await.expect("read");
    let found = found.expect("the product");
    let copies = found.get_array("categories").expect("copies");
    let texts = copies.iter().map(|copy| {
        let copy = copy.as_document().expect("a copy");
        match field.split_once('.') {
            Some((above, below)) => copy.get_document(above).expect("names").get_str(below),
            None => copy.get_str(field),
        }
        .unwrap_or_default()
        .to_owned()
    });
    texts.collect()
}

/// Asks for what must be refused with this type, and proves that nothing changed.
async fn refused(gateway: &Gateway, field: &str, input: Value, with: &str) -> Value {
    let before = gateway.contents().await;
    let answer = ask(&gateway.merchant(), field, input).await;
    assert_eq!(answer["__typename"], with, "{answer:#}");
    assert_eq!(gateway.contents().await, before);
    answer
}
