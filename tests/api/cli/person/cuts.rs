//! Erasures that are cut, and erasures during a checkout that is cut.

use std::sync::atomic::{AtomicUsize, Ordering};

use docgate::{
    app::App,
    config::Config,
    domains::{self, persons},
};
use mongodb::{
    bson::{Document, doc},
    options::Hint,
};
use serde_json::json;

use super::{erased, owners, shops};
use crate::{
    shop::{account, cart, checkout_input, checkout_query, placed, state, stocked},
    support::{Gateway, cuts, key, short_bounds},
};

/// Sweeps. Between a run that was cut and its repeat, an order may have the pseudonym before its cart; so the invariants
/// hold from the second time on.
async fn swept(gateway: &Gateway, times: &AtomicUsize) {
    gateway.sweep().await;
    if times.fetch_add(1, Ordering::Relaxed) > 0 {
        gateway.assert_sound().await;
    }
}

/// The rooms of a shop.
fn shop_rooms(config: &mut Config) {
    short_bounds(config);
    let rooms = [
        "orders",
        "carts",
        "payments",
        "inventory",
        "transfers",
        "catalog",
        "categories",
        "comments",
        "people",
    ];
    config.rooms = rooms.map(String::from).into();
}

/// Drops the collections of all other rooms. An erasure searches what there is of them, so it would send as many commands more.
async fn drop_other_rooms(gateway: &Gateway) {
    let of_shop = domains::collections(gateway.app.config());
    for one in domains::collections(&Config::default()) {
        if of_shop.iter().all(|own| own.name != one.name) {
            let collection = gateway.database.collection::<Document>(one.name);
            collection.drop().await.expect("dropped");
        }
    }
}

async fn assert_gone(gateway: &Gateway, app: &App, subject: &str, case: &str) {
    erased(gateway, app, subject).await;
    for collection in ["carts", "orders", "accounts", "transfers", "comments"] {
        let found = gateway.stored(collection).await;
        let named = found.iter().find(|one| one.to_string().contains(subject));
        assert!(named.is_none(), "{case}: {collection} has {named:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_erased_whose_checkout_is_cut_at_any_command() {
    struct Shopper {
        app: App,
        subject: String,
        cart: String,
        purse: String,
    }
    let times = AtomicUsize::new(0);
    cuts::everywhere_then(
        shop_rooms,
        async |gateway, n| {
            if n == 1 {
                stocked(gateway, "a", 100, 100_000).await;
                drop_other_rooms(gateway).await;
                let patient = gateway.patient_sibling().await;
                let purse = account(&patient, "first", 100).await;
                placed(&patient.shopper("first"), &purse, &[("a", 1)]).await;
            }
            let subject = format!("shopper-{n}-of-many");
            let purse = account(gateway, &subject, 1_000).await;
            let cart = cart(&gateway.shopper(&subject), "RESERVE", &[("a", 2)]).await;
            Shopper { app: gateway.app.clone(), subject, cart, purse }
        },
        async |gateway, shopper: &Shopper| {
            let input = json!({ "input": checkout_input(&shopper.cart, &shopper.purse, "op") });
            let client = gateway.shopper(&shopper.subject);
            let _answer_or_trouble = client.send(&checkout_query(), input).await;
            // As far as it goes now: what is in flight waits for the next run.
            let _erased_or_trouble = persons::erase(&shopper.app, &shopper.subject, false).await;
        },
        async |gateway, case| {
            let name = format!("{:?} at {}", case.way, case.at);
            assert_gone(gateway, &gateway.app, &case.subject.subject, &name).await;
            let cart = state(gateway, "carts", &case.subject.cart).await;
            assert!(["COMPLETE", "CANCELLED"].contains(&cart.as_str()), "{name}: {cart}");
            let orders = gateway.database.collection::<Document>("orders");
            let of_cart = doc! { "cartId": key(&case.subject.cart) };
            let orders = orders.count_documents(of_cart).hint(Hint::Name("_id_".into()));
            let orders = orders.await.expect("counted");
            assert_eq!(orders, u64::from(cart == "COMPLETE"), "{name}");
        },
        async |gateway| {
            // The shopper of the undisturbed run, whose erasure may have come before the end of the checkout. With short
            // bounds one of its many commands runs out of time each time on a busy machine.
            let patient = gateway.patient_sibling().await;
            erased(&patient, &patient.app, "shopper-1-of-many").await;
            swept(gateway, &times).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_is_cut_at_any_command_is_finished_by_a_repeat() {
    struct Person {
        subject: String,
        orders: Vec<String>,
    }
    let times = AtomicUsize::new(0);
    cuts::everywhere_then(
        shop_rooms,
        async |gateway, n| {
            if n == 1 {
                stocked(gateway, "a", 100, 100_000).await;
                drop_other_rooms(gateway).await;
            }
            let subject = format!("person-{n}-of-many");
            let orders = shops(gateway, &subject).await;
            Person { subject, orders }
        },
        async |gateway, person: &Person| {
            let _erased_or_trouble = persons::erase(&gateway.app, &person.subject, false).await;
        },
        async |gateway, case| {
            let name = format!("{:?} at {}", case.way, case.at);
            assert_gone(gateway, &gateway.app, &case.subject.subject, &name).await;
            let owners = owners(gateway, "orders", &case.subject.orders).await;
            assert_eq!(owners[0], owners[1], "{name}: both runs have one pseudonym");
        },
        async |gateway| swept(gateway, &times).await,
    )
    .await;
}
