//! What a room doesn't answer for, such as the payments of a room that is switched off, doesn't hold up what it does.

use docgate::{background, domains};
use mongodb::bson::{DateTime, Document, doc};

use super::{authorise, payer};
use crate::{
    support::{Gateway, key, short_bounds, until},
    transfers::balance,
};

/// More than one command of the sweep reads.
const MANY: i64 = 101;

/// Sweeps the orders until the account has this balance again.
async fn swept_until(gateway: &Gateway, account: &str, expected: i64) {
    until("the sweep gets there", async || {
        // A pass that ran out of time is followed by another one.
        let _passed = background::sweep_room(&gateway.app, &domains::orders::ROOM).await;
        balance(gateway, account).await == expected
    })
    .await;
}

/// More copies of a document than one command reads, each changed by `change`, which gets its `_id` and a time.
async fn copied(
    gateway: &Gateway,
    (collection, id): (&str, &str),
    change: impl Fn(&str, DateTime) -> Document,
) {
    let raw = gateway.raw(collection);
    let one = raw.find_one(doc! { "_id": id }).await.expect("read").expect("a document");
    let copies = (0..MANY).map(|n| {
        let (id, mut copy) = (format!("foreign-{n}"), one.clone());
        copy.extend(change(&id, DateTime::from_millis(1_000 + n)));
        copy.insert("_id", id);
        copy
    });
    raw.insert_many(copies.collect::<Vec<_>>()).await.expect("inserted");
}

/// Number of the copies that are as `unchanged` says.
async fn left(gateway: &Gateway, collection: &str, mut unchanged: Document) -> i64 {
    unchanged.insert("_id", doc! { "$gte": "foreign-", "$lt": "foreign." });
    let left = gateway.raw(collection).count_documents(unchanged).await.expect("counted");
    i64::try_from(left).expect("few")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorisation_behind_many_of_another_room_is_voided() {
    let gateway = Gateway::with(short_bounds).await;
    let account = payer(&gateway, 100).await;
    let patient = gateway.patient_sibling().await;
    authorise(&patient.app, "own", &account, 30).await;
    assert_eq!(balance(&gateway, &account).await, 70);
    let of_seats = |id: &str, at: DateTime| {
        doc! { "holder": domains::payments::for_seats(id), "at": at }
    };
    copied(&gateway, ("transfers", "own"), of_seats).await;
    // Nobody checks out its cart.
    swept_until(&gateway, &account, 100).await;
    assert_eq!(left(&gateway, "transfers", doc! { "state": "AUTHORISED" }).await, MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_behind_many_of_another_room_is_released() {
    let gateway = Gateway::with(short_bounds).await;
    let account = payer(&gateway, 100).await;
    let held = |cart: &str, at: DateTime| {
        let mark = doc! { "id": cart, "amount": -30_i64, "cart": cart, "tag": "tag", "at": at };
        doc! { "pending": [mark], "holdsAt": at, "balance": 70_i64 }
    };
    let of_seats = |id: &str, at: DateTime| held(&domains::payments::for_seats(id), at);
    copied(&gateway, ("accounts", key(&account).as_str()), of_seats).await;
    let own = doc! { "$set": held("nowhere", DateTime::from_millis(10_000)) };
    let is_own = doc! { "_id": key(&account) };
    gateway.raw("accounts").update_one(is_own, own).await.expect("updated");
    assert_eq!(balance(&gateway, &account).await, 70);
    swept_until(&gateway, &account, 100).await;
    assert_eq!(left(&gateway, "accounts", doc! { "balance": 70_i64 }).await, MANY);
}
