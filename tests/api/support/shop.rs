//! A shop for tests: products, stock, and what shoppers do with carts.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{Client, Gateway, fresh_name, key};

const CART: &str = "fragment C on Cart {
    id state policy currency openedAt modifiedAt orderId total { minorUnits }
    lines { sku quantity held title type unitPrice { minorUnits currency } total { minorUnits } }
}";

fn mutation(name: &str, input: &str, refusals: &[&str]) -> String {
    let mut parts = String::new();
    for refusal in refusals {
        parts += match *refusal {
            "NotFound" => " ... on NotFound { code what id }",
            "CartNotActive" => " ... on CartNotActive { code state: cartState }",
            "InsufficientStock" => " ... on InsufficientStock { code sku requested available }",
            "CurrencyMismatch" => " ... on CurrencyMismatch { code expected found }",
            "Conflict" => " ... on Conflict { code message }",
            "InvalidInput" => " ... on InvalidInput { code field reason }",
            other => panic!("{other} isn't one of the shop's refusals"),
        };
    }
    format!(
        "mutation($input: {input}!) {{ {name}(input: $input) {{ __typename ...C {parts} }} }} {CART}"
    )
}

impl Gateway {
    /// A product without stock.
    pub async fn product(&self, sku: &str, price: i64, currency: &str) {
        const CREATE: &str = "mutation($input: CreateProductInput!) {
            createProduct(input: $input) { __typename ... on Product { sku } }
        }";
        let input = json!({
            "sku": sku,
            "content": { "title": format!("Title of {sku}"), "details": { "book": {} } },
            "pricing": { "list": price, "retail": price, "currency": currency },
        });
        let product = self.merchant().field(CREATE, json!({ "input": input })).await;
        assert_eq!(product["sku"], sku, "{product:#}");
    }

    /// Changes what a product costs.
    pub async fn reprice(&self, sku: &str, price: i64) {
        const REPRICE: &str = "mutation($input: SetProductPriceInput!) {
            setProductPrice(input: $input) { __typename }
        }";
        let input = json!({ "sku": sku, "list": price, "retail": price });
        let product = self.merchant().field(REPRICE, json!({ "input": input })).await;
        assert_eq!(product["__typename"], "Book", "{product:#}");
    }

    /// A product for 250 cents, with so many on the shelf.
    pub async fn stocked(&self, sku: &str, quantity: i64) {
        self.product(sku, 250, "EUR").await;
        let input = json!({ "sku": sku, "quantity": quantity });
        let stock = self.merchant().receive_stock(input).await;
        assert_eq!(stock["__typename"], "Stock", "{stock:#}");
    }

    /// How many are on the shelf.
    pub async fn available(&self, sku: &str) -> i64 {
        self.stock_document(sku).await.get_i64("available").expect("a number")
    }

    /// Stock as it is stored.
    pub async fn stock_document(&self, sku: &str) -> Document {
        self.raw("inventory").find_one(doc! { "_id": sku }).await.expect("read").expect("stock")
    }

    /// The cart as it is stored.
    pub async fn cart_document(&self, id: &str) -> Document {
        self.raw("carts").find_one(doc! { "_id": key(id) }).await.expect("read").expect("a cart")
    }

    /// A collection as the test sees it.
    pub fn raw(&self, collection: &str) -> mongodb::Collection<Document> {
        self.database.collection(collection)
    }
}

impl Client {
    pub async fn receive_stock(&self, mut input: Value) -> Value {
        const RECEIVE: &str = "mutation($input: ReceiveStockInput!) { receiveStock(input: $input) {
            __typename ... on Stock { sku available reserved sold received }
            ... on NotFound { what id } ... on Conflict { message } ... on InvalidInput { field }
        } }";
        // A call that ran out of time is repeated.
        if input["idempotencyKey"].is_null() {
            input["idempotencyKey"] = json!(fresh_name());
        }
        self.field(RECEIVE, json!({ "input": input })).await
    }

    /// Opens a cart in euros and answers its id.
    pub async fn open_cart(&self, policy: &str) -> String {
        let cart = self.open_cart_with(json!({ "policy": policy, "currency": "EUR" })).await;
        cart["id"].as_str().unwrap_or_else(|| panic!("{cart:#}")).to_owned()
    }

    pub async fn open_cart_with(&self, input: Value) -> Value {
        let refusals = ["CartNotActive", "Conflict", "InvalidInput"];
        let query = mutation("openCart", "OpenCartInput", &refusals);
        self.field(&query, json!({ "input": input })).await
    }

    /// `null` where there is none for this caller.
    pub async fn cart(&self, id: &str) -> Value {
        let query = format!("query($id: ID!) {{ cart(id: $id) {{ ...C }} }} {CART}");
        self.field(&query, json!({ "id": id })).await
    }

    /// The caller's own active cart.
    pub async fn my_cart(&self) -> Value {
        self.field(&format!("{{ myCart {{ ...C }} }} {CART}"), json!({})).await
    }

    pub fn claiming(cart: &str) -> (String, Value) {
        let refusals = ["NotFound", "CartNotActive", "InvalidInput"];
        let input = json!({ "cartId": cart });
        (mutation("claimCart", "ClaimCartInput", &refusals), json!({ "input": input }))
    }

    pub fn adding(cart: &str, sku: &str, quantity: i64, op: Option<&str>) -> (String, Value) {
        let refusals = [
            "NotFound",
            "CartNotActive",
            "InsufficientStock",
            "CurrencyMismatch",
            "Conflict",
            "InvalidInput",
        ];
        let input =
            json!({ "cartId": cart, "sku": sku, "quantity": quantity, "idempotencyKey": op });
        (mutation("addCartLine", "AddCartLineInput", &refusals), json!({ "input": input }))
    }

    pub fn setting(cart: &str, sku: &str, quantity: i64, op: Option<&str>) -> (String, Value) {
        let refusals =
            ["NotFound", "CartNotActive", "InsufficientStock", "Conflict", "InvalidInput"];
        let input =
            json!({ "cartId": cart, "sku": sku, "quantity": quantity, "idempotencyKey": op });
        let name = "setCartLineQuantity";
        (mutation(name, "SetCartLineQuantityInput", &refusals), json!({ "input": input }))
    }

    pub fn removing(cart: &str, sku: &str, op: Option<&str>) -> (String, Value) {
        let refusals = ["NotFound", "CartNotActive", "Conflict", "InvalidInput"];
        let input = json!({ "cartId": cart, "sku": sku, "idempotencyKey": op });
        (mutation("removeCartLine", "RemoveCartLineInput", &refusals), json!({ "input": input }))
    }

    pub fn cancelling(cart: &str) -> (String, Value) {
        let refusals = ["NotFound", "CartNotActive", "InvalidInput"];
        let input = json!({ "cartId": cart });
        (mutation("cancelCart", "CancelCartInput", &refusals), json!({ "input": input }))
    }

    /// The answer to one of the above.
    pub async fn does(&self, (query, variables): (String, Value)) -> Value {
        self.field(&query, variables).await
    }

    pub async fn add(&self, cart: &str, sku: &str, quantity: i64) -> Value {
        self.does(Self::adding(cart, sku, quantity, None)).await
    }

    pub async fn set(&self, cart: &str, sku: &str, quantity: i64) -> Value {
        self.does(Self::setting(cart, sku, quantity, None)).await
    }

    pub async fn remove(&self, cart: &str, sku: &str) -> Value {
        self.does(Self::removing(cart, sku, None)).await
    }

    pub async fn cancel(&self, cart: &str) -> Value {
        self.does(Self::cancelling(cart)).await
    }
}

/// What the line of the SKU says: quantity and held.
pub fn line(cart: &Value, sku: &str) -> (i64, i64) {
    let lines = cart["lines"].as_array().unwrap_or_else(|| panic!("a cart: {cart:#}"));
    let of_sku: Vec<_> = lines.iter().filter(|line| line["sku"] == sku).collect();
    assert_eq!(of_sku.len(), 1, "one line of {sku}: {cart:#}");
    let number = |field: &str| of_sku[0][field].as_i64().expect("a number");
    (number("quantity"), number("held"))
}
