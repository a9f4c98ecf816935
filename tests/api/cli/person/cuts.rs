//! Erasures that are cut, and erasures during a checkout that is cut.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use docgate::{app::App, config::Config, domains::persons};
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

/// What became of people who are erased by runs that are cut.
#[derive(Default)]
struct Aftermath {
    subjects: Mutex<Vec<String>>,
    was_swept: AtomicBool,
}

impl Aftermath {
    fn note(&self, subject: &str) {
        self.subjects.lock().expect("nobody panics with it").push(subject.to_owned());
    }

    /// Sweeps. Between a run that was cut and its repeat, an order may have the pseudonym before its cart; so the
    /// invariants hold from the second time on. By then everybody is erased: also who a run belongs to that wasn't cut
    /// where it should have been, for it may have ended early, and isn't repeated.
    async fn swept(&self, gateway: &Gateway) {
        let is_repeated = self.was_swept.swap(true, Ordering::Relaxed);
        if is_repeated {
            let subjects = self.subjects.lock().expect("nobody panics with it").clone();
            for subject in subjects {
                erased(gateway, &gateway.app, &subject).await;
            }
        }
        gateway.sweep().await;
        if is_repeated {
            gateway.assert_sound().await;
        }
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
    let aftermath = Aftermath::default();
    cuts::everywhere_then(
        shop_rooms,
        async |gateway, n| {
            if n == 1 {
                stocked(gateway, "a", 100, 100_000).await;
                let patient = gateway.patient_sibling().await;
                let purse = account(&patient, "first", 100).await;
                placed(&patient.shopper("first"), &purse, &[("a", 1)]).await;
            }
            let subject = format!("shopper-{n}-of-many");
            aftermath.note(&subject);
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
        async |gateway| aftermath.swept(gateway).await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_is_cut_at_any_command_is_finished_by_a_repeat() {
    struct Person {
        subject: String,
        orders: Vec<String>,
    }
    let aftermath = Aftermath::default();
    cuts::everywhere_then(
        shop_rooms,
        async |gateway, n| {
            if n == 1 {
                stocked(gateway, "a", 100, 100_000).await;
            }
            let subject = format!("person-{n}-of-many");
            aftermath.note(&subject);
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
        async |gateway| aftermath.swept(gateway).await,
    )
    .await;
}
