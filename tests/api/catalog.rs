//! The catalog: products of every type, every way to list them, changes and their refusals.

mod combined;
mod credits;
mod deletion;
mod edits;
mod import;
mod languages;
mod lists;
mod ratings;
mod recent;
mod search;
mod slugs;
pub mod variants;
mod waiting;

use serde_json::{Value, json};

use crate::support::{Client, Gateway};

/// What tests look at of a product.
pub const PRODUCT: &str = "
    fragment product on Product {
        __typename id sku type title description language asin issueDate version
        shipping { weight dimensions { width height depth } }
        pricing {
            list { minorUnits currency } retail { minorUnits } savings { minorUnits } pctSavings
        }
        categories { id slug path parentPath paths name german: name(locale: \"de\") }
        contributors { personId name role }
        ... on Album { genres label tracks { title seconds } }
        ... on Film { genres certificate aspectRatio }
        ... on Book { isbn pages }
        ... on GenericProduct { properties { key value } }
    }
    fragment refusal on UserError { __typename code message }
";

/// A mutation that answers with a product or a refusal.
fn mutation(name: &str) -> String {
    let input = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
    let refusals = "
        ... on Conflict { currentVersion } ... on InvalidInput { field reason }
        ... on AlreadyExists { taken: id } ... on NotFound { what missing: id }";
    let refusals = match name {
        "createProduct" => refusals.replace("... on Conflict { currentVersion }", ""),
        "updateProduct" => refusals.replace("... on AlreadyExists { taken: id }", ""),
        _ => refusals
            .replace("... on Conflict { currentVersion }", "")
            .replace("... on AlreadyExists { taken: id }", ""),
    };
    format!(
        "mutation($input: {input}!) {{ {name}(input: $input) {{
            __typename ...product ...refusal {refusals}
        }} }} {PRODUCT}"
    )
}

/// Sends a mutation of the catalog.
pub async fn change(client: &Client, name: &str, input: Value) -> Value {
    client.field(&mutation(name), json!({ "input": input })).await
}

/// A new product that must come to be.
pub async fn create(client: &Client, input: Value) -> Value {
    let product = change(client, "createProduct", input).await;
    assert!(product["sku"].is_string(), "{product:#}");
    product
}

/// The input of a generic product.
pub fn thing(sku: &str, title: &str) -> Value {
    json!({
        "sku": sku,
        "content": { "title": title, "details": { "generic": { "type": "thing" } } },
        "pricing": { "list": 2000, "retail": 1500, "currency": "EUR" },
    })
}

/// The input of an album with everything that an album can have.
fn album(sku: &str) -> Value {
    json!({
        "sku": sku,
        "content": {
            "title": "A Love Supreme",
            "description": "A suite in four parts.",
            "language": "en",
            "asin": "B0000A118M",
            "issueDate": "1965-02-01",
            "shipping": { "weight": 110, "dimensions": { "width": 140, "height": 125, "depth": 10 } },
            "details": { "album": {
                "genres": ["Jazz", "General"],
                "label": "Impulse!",
                "tracks": [{ "title": "Acknowledgement", "seconds": 462 }, { "title": "Resolution" }],
            } },
        },
        "pricing": { "list": 1200, "retail": 1100, "currency": "USD" },
    })
}

/// The product as anyone reads it.
pub async fn product(gateway: &Gateway, sku: &str) -> Value {
    let query = format!("query($sku: ID!) {{ product(sku: $sku) {{ ...product }} }} {PRODUCT}");
    let query = query.replace("fragment refusal on UserError { __typename code message }", "");
    gateway.anonymous().field(&query, json!({ "sku": sku })).await
}

/// A new category; answers its global id.
pub async fn category(client: &Client, slug: &str, parent: Option<&str>) -> String {
    let create = "mutation($input: CreateCategoryInput!) { createCategory(input: $input) {
        __typename ... on Category { id } } }";
    let names = json!([
        { "locale": "en", "name": format!("{slug} in English") },
        { "locale": "de", "name": format!("{slug} auf Deutsch") },
    ]);
    let input = json!({ "slug": slug, "names": names, "parentId": parent });
    let category = client.field(create, json!({ "input": input })).await;
    category["id"].as_str().unwrap_or_else(|| panic!("{category:#}")).to_owned()
}

/// A new person; answers the global id.
pub async fn person(client: &Client, name: &str) -> String {
    let create = "mutation($input: CreatePersonInput!) { createPerson(input: $input) {
        __typename ... on Person { id } } }";
    let person = client.field(create, json!({ "input": { "name": name } })).await;
    person["id"].as_str().unwrap_or_else(|| panic!("{person:#}")).to_owned()
}

/// The person's works as anyone reads them, by SKU.
pub async fn works(gateway: &Gateway, person: &str) -> Vec<Value> {
    let query = "query($id: ID!) { person(id: $id) { works { sku title roles } } }";
    let person = gateway.anonymous().field(query, json!({ "id": person })).await;
    let mut works = person["works"].as_array().expect("a person").clone();
    works.sort_by_key(|work| work["sku"].as_str().map(str::to_owned));
    works
}

/// Calls the mutation and expects to be refused so, with nothing changed.
async fn refused(gateway: &Gateway, name: &str, input: Value, refusal: &str) -> Value {
    let before = gateway.snapshot().await;
    let said = change(&gateway.merchant(), name, input.clone()).await;
    assert_eq!(said["__typename"], refusal, "{input:#} gave {said:#}");
    assert!(gateway.snapshot().await == before, "{input:#} changed something");
    said
}
