//! Three members, one of which applies nothing for a while.

use std::time::{Duration, Instant};

use docgate::config::Consistency;
use mongodb::{
    bson::{Document, doc},
    options::{Acknowledgment, WriteConcern},
};
use serde_json::{Value, json};

use crate::{
    shop::{account, cart, checkout, complete, stocked},
    support::{Client, Gateway, members::Members},
};

const PRICE: &str = "query($sku: ID!, $consistency: Consistency) {
    product(sku: $sku, consistency: $consistency) { pricing { retail { minorUnits } } } }";
const LIST: &str = "query($by: ProductsBy!, $consistency: Consistency) {
    products(by: $by, consistency: $consistency) { nodes { pricing { retail { minorUnits } } } } }";
const BOTH: &str = "query($sku: ID!) {
    strong: product(sku: $sku, consistency: STRONG) { pricing { retail { minorUnits } } }
    eventual: product(sku: $sku, consistency: EVENTUAL) { pricing { retail { minorUnits } } } }";
/// The default of `eventual_staleness_seconds`, the least that MongoDB permits.
const BOUND: Duration = Duration::from_secs(90);
/// Time after which a member that applies nothing isn't chosen any more. The driver asks the members every ten seconds how far
/// they are.
const AFTER_BOUND: Duration = Duration::from_secs(115);
/// Number of reads of which one at least must reach the secondary that lags. Each reaches one of two by chance.
const READS: usize = 300;

/// Waits until every member has what was written.
pub(super) async fn copied_everywhere(gateway: &Gateway) {
    let everywhere = WriteConcern::builder().w(Acknowledgment::Nodes(3)).build();
    let client = gateway.database.client();
    let probe = client.database("copied").collection::<Document>("copied");
    probe.insert_one(doc! {}).write_concern(everywhere).await.expect("three have it");
}

fn retail(product: &Value) -> i64 {
    product["pricing"]["retail"]["minorUnits"].as_i64().unwrap_or_else(|| panic!("{product:#}"))
}

/// The price of the product by its SKU, and by a list.
async fn prices(client: &Client, sku: &str, consistency: Option<&str>) -> [i64; 2] {
    let one = json!({ "sku": sku, "consistency": consistency });
    let by = json!({ "titleStartsWith": { "prefix": format!("Title of {sku}") } });
    let list = client.field(LIST, json!({ "by": by, "consistency": consistency })).await;
    [retail(&client.field(PRICE, one).await), retail(&list["nodes"][0])]
}

/// Whether both kinds of reads come to see the old price. They may see the new one as well, and nothing else.
async fn become_old(client: &Client, sku: &str, consistency: Option<&str>) -> bool {
    let mut old = [false; 2];
    for _ in 0..READS {
        for (seen, price) in old.iter_mut().zip(prices(client, sku, consistency).await) {
            assert!([100, 200].contains(&price), "{price}");
            *seen |= price == 100;
        }
        if old == [true; 2] {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eventual_read_may_be_old_and_a_strong_one_or_a_flow_never_is() {
    let members = Members::steady().await;
    // The strictest case: the configuration itself asks for eventual reads.
    let eventual = |config: &mut docgate::config::Config| {
        config.core_consistency = Consistency::Eventual;
        // However long the test takes, the member doesn't lag too much to be chosen.
        config.eventual_staleness_seconds = 3_600;
    };
    let gateway = Gateway::over_members(&members, eventual).await;
    let ann = gateway.shopper("ann");
    stocked(&gateway, "a", 100, 20).await;
    let money = account(&gateway, "ann", 100_000).await;
    copied_everywhere(&gateway).await;
    let lagging = members.let_one_lag().await;
    gateway.reprice("a", 200).await;

    assert!(become_old(&ann, "a", Some("EVENTUAL")).await, "no secondary serves eventual reads");
    assert!(become_old(&ann, "a", None).await, "the setting of the group doesn't count");
    for _ in 0..40 {
        assert_eq!(prices(&ann, "a", Some("STRONG")).await, [200, 200]);
    }

    // Reads of both kinds in one request share no command.
    let mut differed = false;
    for _ in 0..READS {
        let both = ann.data(BOTH, json!({ "sku": "a" })).await;
        assert_eq!(retail(&both["strong"]), 200, "{both:#}");
        differed |= retail(&both["eventual"]) == 100;
        if differed {
            break;
        }
    }
    assert!(differed, "the two reads share a command");
    let response = ann.explained(BOTH, json!({ "sku": "a" })).await;
    let sent = response["extensions"]["docgate"]["commands"].as_array().expect("commands").clone();
    let mut kinds: Vec<_> = sent.iter().map(|one| one["eventual"].as_bool()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [Some(false), Some(true)], "{sent:#?}");

    // Flows read and write on the primary: each sees the new price, and every unit is sold once.
    for number in 0..10 {
        let cart = cart(&ann, "RESERVE", &[("a", 2)]).await;
        let order = checkout(&ann, &cart, &money, &format!("order {number}")).await;
        assert_eq!(order["__typename"], "Order", "{order:#}");
        assert_eq!(order["total"]["minorUnits"], 400, "{order:#}");
        complete(&ann, &cart).await;
    }
    let refused = crate::shop::add(&ann, &ann.open_cart("RESERVE").await, "a", 1).await;
    assert_eq!(refused["__typename"], "InsufficientStock", "{refused:#}");

    lagging.catch_up().await;
    copied_everywhere(&gateway).await;
    for _ in 0..20 {
        assert_eq!(prices(&ann, "a", Some("EVENTUAL")).await, [200, 200]);
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_lags_beyond_the_bound_serves_no_reads() {
    let members = Members::steady().await;
    let gateway = Gateway::over_members(&members, |_| {}).await;
    let ann = gateway.shopper("ann");
    gateway.product("a", 100, "EUR").await;
    copied_everywhere(&gateway).await;
    let lagging = members.let_one_lag().await;
    let since = Instant::now();
    gateway.reprice("a", 200).await;
    assert!(become_old(&ann, "a", Some("EVENTUAL")).await, "no secondary serves eventual reads");
    assert!(since.elapsed() < BOUND, "too slow to tell");
    tokio::time::sleep(AFTER_BOUND.saturating_sub(since.elapsed())).await;
    for _ in 0..READS / 10 {
        assert_eq!(prices(&ann, "a", Some("EVENTUAL")).await, [200, 200], "the member is too old");
    }
    lagging.catch_up().await;
}
