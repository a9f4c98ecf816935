//! The program of docs/guides/rust.md: it goes shopping in the demo.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]
#![expect(clippy::disallowed_methods, reason = "it has no gateway that would make its keys")]
#![expect(clippy::struct_field_names, reason = "fields are named as in the schema")]

use std::{env, error::Error, fmt};

use reqwest::{Client, RequestBuilder};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

const PRODUCTS: &str = r#"
query Products($after: String) {
  products(by: {where: {category: {subtree: "/music"}, order: TITLE}}, first: 5, after: $after) {
    totalCount
    nodes { sku title availability }
    pageInfo { hasNextPage endCursor }
  }
}"#;
const OPEN_CART: &str = r#"
mutation OpenCart($key: ID!) {
  openCart(input: {policy: RESERVE, currency: "EUR", idempotencyKey: $key}) {
    __typename
    ... on Cart { id }
    ... on UserError { code message }
  }
}"#;
const ADD_LINE: &str = r#"
mutation AddLine($cart: ID!, $sku: ID!, $quantity: Int!, $key: ID!) {
  addCartLine(input: {cartId: $cart, sku: $sku, quantity: $quantity, idempotencyKey: $key}) {
    __typename
    ... on Cart { lines { quantity } total { formatted(locale: "en") } }
    ... on InsufficientStock { available }
    ... on UserError { code message }
  }
}"#;
const MY_ORDERS: &str = "query MyOrders { myOrders(first: 3) { nodes { number } } }";
const STOCK: &str = "subscription Stock($sku: ID!) { stockChanged(sku: $sku) { available } }";

#[derive(Deserialize)]
struct Products {
    products: Page,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    total_count: Option<u32>,
    nodes: Vec<Product>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Product {
    sku: String,
    title: String,
    availability: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenCart {
    open_cart: Option<Opened>,
}

/// What `openCart` answers: the cart, or a refusal.
#[derive(Deserialize)]
#[serde(tag = "__typename")]
enum Opened {
    Cart {
        id: String,
    },
    #[serde(untagged)]
    Refused {
        code: String,
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AddLine {
    add_cart_line: Option<Added>,
}

/// What `addCartLine` answers: the cart, or a refusal. One of them has a variant of its own.
#[derive(Deserialize)]
#[serde(tag = "__typename")]
enum Added {
    Cart {
        lines: Vec<Line>,
        total: Money,
    },
    InsufficientStock {
        available: u32,
    },
    #[serde(untagged)]
    Refused {
        code: String,
        message: String,
    },
}

#[derive(Deserialize)]
struct Line {
    quantity: u32,
}

#[derive(Deserialize)]
struct Money {
    formatted: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stock {
    stock_changed: Option<Available>,
}

#[derive(Deserialize)]
struct Available {
    available: u32,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<Fault>,
}

/// An error isn't a refusal: the operation failed. Its code says why.
#[derive(Debug, Deserialize)]
struct Fault {
    message: String,
    extensions: Extensions,
}

#[derive(Debug, Deserialize)]
struct Extensions {
    code: String,
    /// Whether the same request may be sent again, with the same idempotency key.
    #[serde(default)]
    retryable: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = if self.extensions.retryable { " (try again)" } else { "" };
        write!(to, "{}: {}{advice}", self.extensions.code, self.message)
    }
}

impl Error for Fault {}

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Shop {
    client: Client,
    url: String,
    token: Option<String>,
}

impl Shop {
    fn request(&self, query: &str, variables: &Value) -> RequestBuilder {
        let request =
            self.client.post(&self.url).json(&json!({ "query": query, "variables": variables }));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn ask<T: DeserializeOwned>(&self, query: &str, variables: Value) -> Outcome<T> {
        let answer: Answer<T> = self.request(query, &variables).send().await?.json().await?;
        if let Some(fault) = answer.errors.into_iter().next() {
            return Err(fault.into());
        }
        answer.data.ok_or_else(|| "an answer without data".into())
    }

    /// Puts pieces into a cart, and returns what the customer should read.
    async fn add(&self, cart: &str, sku: &str, quantity: u32, key: &str) -> Outcome<String> {
        let variables = json!({ "cart": cart, "sku": sku, "quantity": quantity, "key": key });
        let answer: AddLine = self.ask(ADD_LINE, variables).await?;
        Ok(match answer.add_cart_line.ok_or("no answer")? {
            Added::Cart { lines, total } => {
                format!("{} piece, {}", lines[0].quantity, total.formatted)
            }
            Added::InsufficientStock { available } => format!("There are only {available}."),
            Added::Refused { code, message } => format!("{code}: {message}"),
        })
    }

    /// Follows the stock of a product by server-sent events, until `next` has seen enough of it.
    async fn follow_stock(&self, sku: &str, mut next: impl FnMut(u32) -> bool) -> Outcome<()> {
        let request = self.request(STOCK, &json!({ "sku": sku }));
        let mut response = request.header("accept", "text/event-stream").send().await?;
        let mut received = Vec::new();
        while let Some(bytes) = response.chunk().await? {
            received.extend_from_slice(&bytes);
            while let Some(end) = received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = received.drain(..=end).collect();
                let Some(data) = line.strip_prefix(b"data: ") else { continue };
                if data.trim_ascii().is_empty() {
                    continue;
                }
                let answer: Answer<Stock> = serde_json::from_slice(data)?;
                let stock = answer.data.and_then(|data| data.stock_changed);
                if stock.is_some_and(|stock| !next(stock.available)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Names one intention, so that its repeat is recognised.
fn new_key() -> String {
    format!("{:032x}", rand::random::<u128>())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let url = env::var("DOCGATE_URL").unwrap_or_else(|_| "http://127.0.0.1:8080/graphql".into());
    let mut shop = Shop { client: Client::new(), url, token: env::var("SHOPPER").ok() };

    // A list, page by page. A cursor names the place where the next page begins.
    let mut page = shop.ask::<Products>(PRODUCTS, json!({})).await?.products;
    println!("{} products", page.total_count.unwrap_or_default());
    for number in 1..=2 {
        let titles: Vec<_> = page.nodes.iter().map(|product| product.title.as_str()).collect();
        println!("page {number}: {}", titles.join(", "));
        if page.page_info.has_next_page {
            let after = json!({ "after": page.page_info.end_cursor });
            page = shop.ask::<Products>(PRODUCTS, after).await?.products;
        }
    }
    let product = page.nodes.iter().find(|product| product.availability != "OUT");
    let sku = &product.ok_or("nothing is in stock")?.sku;

    // The key names what is to happen, so a repeat changes nothing.
    let opened: OpenCart = shop.ask(OPEN_CART, json!({ "key": new_key() })).await?;
    let cart = match opened.open_cart.ok_or("no answer")? {
        Opened::Cart { id } => id,
        Opened::Refused { code, message } => return Err(format!("{code}: {message}").into()),
    };
    let key = new_key();
    println!("In your cart: {}", shop.add(&cart, sku, 1, &key).await?);
    let repeated = shop.add(&cart, sku, 1, &key).await?;
    println!("The same key again: {}", repeated.split(',').next().unwrap_or_default());
    println!("{}", shop.add(&cart, sku, 9_999, &new_key()).await?);

    // A subscription begins with the present state. `false` ends it.
    shop.follow_stock(sku, |available| {
        println!("Stock: {available}");
        false
    })
    .await?;

    // An error has a code. This one comes from a question that needs a token.
    shop.token = None;
    if let Err(fault) = shop.ask::<Value>(MY_ORDERS, json!({})).await {
        println!("{fault}");
    }
    Ok(())
}
