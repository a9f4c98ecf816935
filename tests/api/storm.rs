//! The real binary, killed with SIGKILL in the middle of a storm of checkouts, and started again.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use serde_json::{Value, json};

use crate::support::{Client, Gateway, TOKEN_SECRET, http, mongod_port, until};

const CARTS: usize = 48;

const CHECKOUT: &str = "mutation($input: CheckoutCartInput!) {
    checkoutCart(input: $input) { __typename ... on Order { id state lines { sku quantity } } }
}";

/// A gateway in a process of its own, ended with the test.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    pub fn kill(&mut self) {
        // Gone already is as good.
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn command(gateway: &Gateway, port: u16) -> Command {
    let config = gateway.app.config();
    let mongod = mongod_port(&config.database);
    let uri = format!("mongodb://127.0.0.1:{mongod}/?directConnection=true");
    let mut command = Command::new(env!("CARGO_BIN_EXE_docgate"));
    command
        .env("DOCGATE_LISTEN", format!("127.0.0.1:{port}"))
        .env("DOCGATE_MONGODB_URI", uri)
        .env("DOCGATE_DATABASE", &config.database)
        .env("DOCGATE_SECRET", &config.secret)
        .env("DOCGATE_AUTH_HS256_SECRET", TOKEN_SECRET)
        .env("DOCGATE_FLOW_RUN_MILLIS", "1500")
        .env("DOCGATE_FLOW_COMMAND_MILLIS", "700")
        .env("DOCGATE_FLOW_SKEW_MILLIS", "100")
        .env("DOCGATE_SWEEP_MILLIS", "200")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

pub async fn serve(gateway: &Gateway, port: u16) -> Process {
    let child = command(gateway, port).arg("serve").spawn().expect("the binary starts");
    let process = Process(child);
    let ready = format!("http://127.0.0.1:{port}/health/ready");
    until("the gateway is ready", async || {
        http().get(&ready).send().await.is_ok_and(|answer| answer.status().is_success())
    })
    .await;
    process
}

pub fn check(gateway: &Gateway, port: u16) -> bool {
    command(gateway, port).arg("check").status().expect("the check runs").success()
}

/// A shop with enough of two products for every cart, and a shopper who can pay for all.
async fn stock_the_shop(gateway: &Gateway) -> String {
    let create =
        "mutation($input: CreateProductInput!) { createProduct(input: $input) { __typename } }";
    let receive = "mutation($sku: ID!) {
        receiveStock(input: {sku: $sku, quantity: 1000}) { __typename }
    }";
    for sku in ["storm-a", "storm-b"] {
        let input = json!({
            "sku": sku,
            "pricing": { "list": 1000, "retail": 900, "currency": "EUR" },
            "content": {
                "title": sku,
                "details": { "generic": { "type": "umbrella", "properties": [] } },
            },
        });
        gateway.merchant().field(create, json!({ "input": input })).await;
        gateway.merchant().field(receive, json!({ "sku": sku })).await;
    }
    let open = "mutation { openAccount(input: {currency: EUR}) { ... on Account { id } } }";
    let open = open.replace("EUR", "\"EUR\"");
    let account = gateway.shopper("storm").field(&open, json!({})).await;
    let account = account["id"].as_str().expect("an account").to_owned();
    let deposit = "mutation($account: ID!) {
        deposit(input: {accountId: $account, amount: 100000000}) { __typename }
    }";
    gateway.service().field(deposit, json!({ "account": account })).await;
    account
}

async fn open_cart(gateway: &Gateway) -> String {
    let shopper = gateway.shopper("storm");
    let open = "mutation {
        openCart(input: {policy: RESERVE, currency: \"EUR\"}) { ... on Cart { id } }
    }";
    let cart = shopper.field(open, json!({})).await["id"].as_str().expect("a cart").to_owned();
    let add = "mutation($input: AddCartLineInput!) { addCartLine(input: $input) { __typename } }";
    for (sku, quantity) in [("storm-a", 1), ("storm-b", 2)] {
        let input = json!({ "cartId": cart, "sku": sku, "quantity": quantity });
        let added = shopper.field(add, json!({ "input": input })).await;
        assert_eq!(added["__typename"], "Cart");
    }
    cart
}

fn checkout(
    client: &Client,
    cart: &str,
    account: &str,
) -> impl Future<Output = Option<Value>> + use<> {
    let (client, input) = (
        client.clone(),
        json!({ "input": {
            "cartId": cart, "idempotencyKey": format!("storm of {cart}"), "payment": { "accountId": account },
            "shipping": { "name": "S", "street": "S 1", "city": "C", "country": "DE" },
        } }),
    );
    async move { client.send(CHECKOUT, input).await.ok().map(|(_, body)| body) }
}

/// What a client does that heard nothing, or that the outcome isn't known: the same again, under the
/// same idempotency key, until there is an answer.
async fn repeat(client: &Client, cart: &str, account: &str) -> String {
    let since = Instant::now();
    loop {
        let body = checkout(client, cart, account).await.expect("an answer");
        let order = &body["data"]["checkoutCart"];
        if order["__typename"] == "Order" {
            return order["id"].as_str().expect("an id").to_owned();
        }
        let retryable = body["errors"][0]["extensions"]["retryable"] == true;
        assert!(retryable && since.elapsed() < Duration::from_secs(300), "{body:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_killed_in_a_storm_of_checkouts_leaves_nothing_half_done() {
    let gateway = Gateway::start().await;
    let account = stock_the_shop(&gateway).await;
    let mut carts = Vec::new();
    for _ in 0..CARTS {
        carts.push(open_cart(&gateway).await);
    }
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let mut process = serve(&gateway, port).await;
    let mut client = gateway.shopper("storm");
    client.url = format!("http://127.0.0.1:{port}/graphql");

    // In the middle: some are answered, the others are somewhere on their way.
    let mut storm: FuturesUnordered<_> =
        carts.iter().map(|cart| checkout(&client, cart, &account)).collect();
    for _ in 0..CARTS / 8 {
        storm.next().await.flatten().expect("an answer before the kill");
    }
    process.kill();
    let answered = CARTS / 8 + storm.filter_map(std::future::ready).count().await;
    assert!(answered < CARTS, "the storm was over before the gateway was killed");

    process = serve(&gateway, port).await;
    until("the sweeps have mended it", async || check(&gateway, port)).await;

    let repeats = carts.iter().map(|cart| repeat(&client, cart, &account));
    let orders: BTreeSet<String> = join_all(repeats).await.into_iter().collect();
    assert_eq!(orders.len(), CARTS);
    until("the repeats break nothing", async || check(&gateway, port)).await;
    drop(process);
}
