//! Shoppers: accounts with money, and orders and carts in every stable state. [`super::cut`] makes the
//! transient states.

use std::time::Duration;

use docgate_demo::{
    products::Product,
    random::Random,
    words::{GIVEN, PLACES, SURNAME_ENDS, SURNAME_STARTS},
};
use serde_json::{Value, json};

use super::{
    SHOPPER, Steps,
    client::{DemoClient, someone},
    delivery, fulfilment,
    goods::text,
    together,
};
use crate::{
    app::App,
    background,
    cli::failure::Failure,
    config::Config,
    graphql::requester::{Requester, Role},
};

/// A shopper with an account.
pub(super) struct Shopper {
    pub(super) who: Requester,
    pub(super) name: String,
    pub(super) account: String,
}

const OPEN_ACCOUNT: &str = "mutation($op: ID!) {
    openAccount(input: {currency: \"EUR\", idempotencyKey: $op}) {
        ... on Account { id } ... on UserError { code message }
    }
}";

const DEPOSIT: &str = "mutation($account: ID!, $amount: Long!, $op: ID!) {
    deposit(input: {accountId: $account, amount: $amount, idempotencyKey: $op}) {
        __typename ... on UserError { code message }
    }
}";

/// Opens accounts and deposits money. The first shopper is the demo's own.
pub(super) async fn create(
    client: &DemoClient,
    count: usize,
    steps: &Steps,
) -> Result<Vec<Shopper>, Failure> {
    let service = &someone("bank", &[Role::Service]);
    let create = (0..count).map(|number| async move {
        let mut random = Random::new(1_000 + number as u64);
        let subject = if number == 0 { SHOPPER.to_owned() } else { format!("shopper-{number}") };
        let name = name(&mut Random::new(7_000 + number as u64));
        let who = Requester::new(&subject, Some(&name), Vec::new());
        let account = open_account(client, &who, &format!("demo-account-{number}")).await?;
        for deposit in 0..random.between(1, 3) {
            let variables = json!({
                "account": account,
                "amount": random.between(60, 160) * 10_000,
                "op": format!("demo-deposit-{number}-{deposit}"),
            });
            client.execute(service, DEPOSIT, variables).await?;
        }
        Ok::<_, Failure>(Shopper { who, name, account })
    });
    steps.each("accounts", create).await
}

/// Opens an empty account.
async fn open_account(client: &DemoClient, who: &Requester, op: &str) -> Result<String, Failure> {
    let data = client.execute(who, OPEN_ACCOUNT, json!({ "op": op })).await?;
    Ok(text(&data["openAccount"]["id"]))
}

fn name(random: &mut Random) -> String {
    let (start, end) = (random.pick(SURNAME_STARTS), random.pick(SURNAME_ENDS));
    format!("{} {start}{end}", random.pick(GIVEN))
}

const TRANSFER: &str = "mutation($from: ID!, $to: ID!, $amount: Long!, $op: ID!) {
    transfer(input: {sourceId: $from, destinationId: $to, amount: $amount, idempotencyKey: $op}) {
        ... on Transfer { id } ... on UserError { code message }
    }
}";

const REVERSE: &str = "mutation($transfer: ID!) {
    reverseTransfer(input: {transferId: $transfer}) {
        __typename ... on UserError { code message }
    }
}";

/// Transfers money between shoppers; some transfers are reversed.
pub(super) async fn transfer_money(
    client: &DemoClient,
    shoppers: &[Shopper],
    steps: &Steps,
) -> Result<(), Failure> {
    let service = someone("bank", &[Role::Service]);
    let bar = steps.begin("transfers", shoppers.len());
    for (number, (from, to)) in shoppers.iter().zip(shoppers.iter().cycle().skip(1)).enumerate() {
        let amount = Random::new(2_000 + number as u64).between(5, 120) * 100;
        let op = format!("demo-transfer-{number}");
        let variables =
            json!({ "from": from.account, "to": to.account, "amount": amount, "op": op });
        let data = client.execute(&from.who, TRANSFER, variables).await?;
        if number % 10 == 5 {
            let transfer = text(&data["transfer"]["id"]);
            client.execute(&service, REVERSE, json!({ "transfer": transfer })).await?;
        }
        bar.inc(1);
    }
    bar.finish();
    Ok(())
}

const OPEN_CART: &str = "mutation($policy: CartPolicy!, $op: ID) {
    openCart(input: {policy: $policy, currency: \"EUR\", idempotencyKey: $op}) {
        ... on Cart { id } ... on UserError { code message }
    }
}";

/// Adds pieces to a cart.
pub(super) const ADD: &str = "mutation($cart: ID!, $sku: ID!, $quantity: Int!, $op: ID!) {
    addCartLine(input: {cartId: $cart, sku: $sku, quantity: $quantity, idempotencyKey: $op}) {
        __typename ... on UserError { code message }
    }
}";

const CANCEL_CART: &str = "mutation($cart: ID!) {
    cancelCart(input: {cartId: $cart}) { __typename ... on UserError { code message } }
}";

const CHECKOUT: &str = "mutation(
    $cart: ID!, $shipping: ShippingAddressInput!, $account: ID!, $op: ID!
) {
    checkoutCart(input: {
        cartId: $cart, shipping: $shipping, payment: {accountId: $account}, idempotencyKey: $op
    }) {
        ... on Order { id lines { sku } } ... on UserError { code message }
    }
}";

const ADJUST: &str = "mutation($order: ID!, $sku: ID!, $quantity: Int!, $op: ID!) {
    adjustOrderLine(input: {orderId: $order, sku: $sku, quantity: $quantity, idempotencyKey: $op}) {
        __typename ... on UserError { code message }
    }
}";

const CANCEL_ORDER: &str = "mutation($order: ID!, $op: ID!) {
    cancelOrder(input: {orderId: $order, idempotencyKey: $op}) { __typename ... on UserError { code message } }
}";

/// The actions of shoppers in the shop.
pub(super) struct Visits<'a> {
    pub(super) client: &'a DemoClient,
    pub(super) shoppers: &'a [Shopper],
    pub(super) products: &'a [Product],
}

impl Visits<'_> {
    /// Creates a cart with a few products. `key` and `number` identify it among all carts of the demo.
    pub(super) async fn cart(
        &self,
        who: &Requester,
        key: &str,
        number: usize,
    ) -> Result<String, Failure> {
        let mut random = Random::new(3_000 + number as u64);
        let policy = if random.chance(70) { "RESERVE" } else { "AT_CHECKOUT" };
        // Idempotency keys belong to a subject; an anonymous shopper has none.
        let op = who.subject.as_ref().map(|_| format!("demo-cart-{key}-{number}"));
        let variables = json!({ "policy": policy, "op": op });
        let data = self.client.execute(who, OPEN_CART, variables).await?;
        let cart = text(&data["openCart"]["id"]);
        for line in 0..random.between(1, 4) {
            let product = self.affordable(&mut random);
            let variables = json!({
                "cart": cart, "sku": product.sku, "quantity": random.between(1, 2),
                "op": format!("demo-line-{key}-{number}-{line}"),
            });
            self.client.execute(who, ADD, variables).await?;
        }
        Ok(cart)
    }

    /// An inexpensive product with enough stock for everyone.
    fn affordable(&self, random: &mut Random) -> &Product {
        loop {
            let product = random.choose(self.products);
            if product.retail < 6_000 && product.stock >= 100 {
                return product;
            }
        }
    }

    fn shopper(&self, number: usize) -> &Shopper {
        &self.shoppers[number % self.shoppers.len()]
    }

    /// Creates carts that are abandoned; [`expire`] closes them once they are a second old.
    pub(super) async fn abandon_carts(&self, count: usize, steps: &Steps) -> Result<(), Failure> {
        let work = |number| async move {
            self.cart(&self.shopper(number).who, "abandoned", number).await.map(drop)
        };
        steps.each("abandoned carts", (0..count).map(work)).await.map(drop)
    }

    /// Creates carts that are cancelled.
    pub(super) async fn cancel_carts(&self, count: usize, steps: &Steps) -> Result<(), Failure> {
        let work = |number| async move {
            let who = &self.shopper(number).who;
            let cart = self.cart(who, "cancelled", number).await?;
            cancel_cart(self.client, who, &cart).await
        };
        steps.each("cancelled carts", (0..count).map(work)).await.map(drop)
    }

    /// Creates active carts, every fourth of them by an anonymous shopper.
    pub(super) async fn fill_carts(&self, count: usize, steps: &Steps) -> Result<(), Failure> {
        let work = |number| async move {
            let anonymous = Requester::default();
            let who = if number % 4 == 3 { &anonymous } else { &self.shopper(number).who };
            self.cart(who, "active", number).await.map(drop)
        };
        steps.each("active carts", (0..count).map(work)).await.map(drop)
    }

    /// Creates orders, most of them with a shipping method; some are changed afterwards, some cancelled, and the merchant
    /// fulfils some.
    pub(super) async fn place_orders(&self, count: usize, steps: &Steps) -> Result<(), Failure> {
        let work = |number| async move {
            let shopper = self.shopper(number);
            let cart = self.cart(&shopper.who, "order", number).await?;
            together::add(self.client, shopper, &cart, number, self.products).await?;
            delivery::choose(self.client, shopper, &cart, number).await?;
            let order = check_out(self.client, shopper, None, &cart, number).await?;
            self.change_order(&shopper.who, &order, number).await?;
            fulfilment::fulfil(self.client, &shopper.who, &order, number).await
        };
        steps.each("orders", (0..count).map(work)).await.map(drop)
    }

    /// Changes one order in eight, and cancels one in eight.
    async fn change_order(
        &self,
        who: &Requester,
        order: &Value,
        number: usize,
    ) -> Result<(), Failure> {
        let (id, op) = (text(&order["id"]), format!("demo-change-{number}"));
        match number % 8 {
            3 => {
                let sku = text(&order["lines"][0]["sku"]);
                let variables = json!({ "order": id, "sku": sku, "quantity": 3, "op": op });
                self.client.execute(who, ADJUST, variables).await.map(drop)
            }
            6 => cancel_order(self.client, who, &id, &op).await,
            _ => Ok(()),
        }
    }
}

/// Cancels a cart.
pub(super) async fn cancel_cart(
    client: &DemoClient,
    who: &Requester,
    cart: &str,
) -> Result<(), Failure> {
    client.execute(who, CANCEL_CART, json!({ "cart": cart })).await.map(drop)
}

/// Checks a cart out, paid from the shopper's account or another one. Returns the order.
pub(super) async fn check_out(
    client: &DemoClient,
    shopper: &Shopper,
    other_account: Option<&str>,
    cart: &str,
    number: usize,
) -> Result<Value, Failure> {
    let variables = json!({
        "cart": cart,
        "account": other_account.unwrap_or(&shopper.account),
        "shipping": address(&shopper.name, number),
        "op": format!("demo-checkout-{number}"),
    });
    let mut data = client.execute(&shopper.who, CHECKOUT, variables).await?;
    Ok(data["checkoutCart"].take())
}

/// Cancels an order.
pub(super) async fn cancel_order(
    client: &DemoClient,
    who: &Requester,
    order: &str,
    op: &str,
) -> Result<(), Failure> {
    client.execute(who, CANCEL_ORDER, json!({ "order": order, "op": op })).await.map(drop)
}

/// An address of someone of this name.
pub(super) fn address(name: &str, number: usize) -> Value {
    let mut random = Random::new(4_000 + number as u64);
    let street = format!("{} {}", random.pick(PLACES), random.between(1, 120));
    let city = format!("{} {}", random.between(10_000, 98_999), random.pick(PLACES));
    let country = random.pick(&["AT", "BE", "CH", "DE", "FR", "GB", "NL"]);
    json!({ "name": name, "street": street, "city": city, "country": country })
}

/// Expires all carts that were idle for a second, with the sweep of a gateway that has a short
/// `cart_idle_seconds`.
pub(super) async fn expire(config: &Config, app: &App) -> Result<(), Failure> {
    tokio::time::sleep(IDLE).await;
    sweep_idle_carts(config, app).await
}

/// Time after which [`sweep_idle_carts`] finds a cart idle.
pub(super) const IDLE: Duration = Duration::from_millis(1_200);

/// Sweeps like a gateway with a `cart_idle_seconds` of one second, which counts at once what was bought together.
pub(super) async fn sweep_idle_carts(config: &Config, app: &App) -> Result<(), Failure> {
    let hasty = Config {
        cart_idle_seconds: 1,
        reservation_seconds: 600,
        bought_together_seconds: 0,
        ..config.clone()
    };
    background::sweep_all(&App::new(hasty, app.database().clone())).await?;
    Ok(())
}
