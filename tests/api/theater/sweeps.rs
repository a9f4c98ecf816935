//! What the sweep makes of holds.

use mongodb::bson::{Bson, doc};
use serde_json::json;

use super::{assert_map, booking, cancelling, hall, holding_seats, releasing, said, stored};
use crate::support::{Gateway, key, short_bounds};

/// A hold that its booking has is looked at once, and stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_an_active_booking_stays() {
    let gateway = Gateway::with(short_bounds).await;
    let screening = hall(&gateway, &["AAA"]).await;
    // Somebody who is known can repeat what ran out of time.
    let visitor = gateway.shopper("ann");
    let id = holding_seats(&visitor, &screening, &[("A", 2)]).await;
    let stands = stored(&gateway, "screenings", &screening).await;
    assert!(matches!(stands.get("sweepAt"), Some(Bson::DateTime(_))), "{stands}");
    gateway.sweep().await;
    assert_map(&gateway, &screening, &["AhA"]).await;
    let stands = stored(&gateway, "screenings", &screening).await;
    assert!(stands.get("sweepAt").is_none(), "{stands}");
    gateway.assert_sound().await;
    let key = booking(&visitor, &id).await["holds"][0]["key"].as_str().expect("a key").to_owned();
    let released = visitor.does(releasing(&id, &key, None)).await;
    assert_eq!(released["holds"], json!([]), "{released:#}");
    assert_map(&gateway, &screening, &["AAA"]).await;
    gateway.assert_sound().await;
}

/// Holds that no booking has: of one that is gone, of one that is closed, and one that was never committed.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_no_booking_has_becomes_free() {
    let gateway = Gateway::with(short_bounds).await;
    let screening = hall(&gateway, &["AAAA"]).await;
    let visitor = gateway.shopper("ann");
    let active = holding_seats(&visitor, &screening, &[("A", 1)]).await;
    let closed = holding_seats(&visitor, &screening, &[("A", 2)]).await;
    assert_eq!(said(&visitor.does(cancelling(&closed)).await), "Booking");
    let now = gateway.begin().await.now();
    let holds = ["gone".to_owned(), key(&closed), key(&active)];
    for (at, booking) in holds.iter().enumerate() {
        let place = i32::try_from(at + 1).expect("a place");
        let hold = doc! {
            "tag": format!("lost/x/{at}"), "bookingId": booking, "seats": [place], "at": now,
        };
        let change = doc! {
            "$push": { "holds": hold }, "$set": { format!("taken.{place}"): 1, "sweepAt": now },
            "$inc": { "seatsAvailable": -1_i64 },
        };
        let of = doc! { "_id": key(&screening) };
        gateway.raw("screenings").update_one(of, change).await.expect("changed");
    }
    assert_map(&gateway, &screening, &["hhhh"]).await;
    gateway.sweep().await;
    assert_map(&gateway, &screening, &["hAAA"]).await;
    gateway.assert_sound().await;
    // The tag of the last one was aborted before: nobody can commit it any more.
    let stands = stored(&gateway, "bookings", &active).await;
    let ops = stands.get_array("ops").expect("ops");
    let is_void = |op: &Bson| {
        let op = op.as_document().expect("a record");
        op.get_str("tag").ok() == Some("lost/x/2") && op.get_bool("void").ok() == Some(true)
    };
    assert!(ops.iter().any(is_void), "{stands}");
}
