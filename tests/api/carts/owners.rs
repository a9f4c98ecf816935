//! Whose a cart is: taking one over, losing the race for it, and finding one's own.

use serde_json::{Value, json};

use super::{AT_CHECKOUT, RESERVE, at_once, is};
use crate::{
    shop::{checkout_input, checkout_query, stock, stocked},
    support::{
        Client, Gateway, commands,
        cuts::{self, Case},
        long_bounds,
        proxy::Cut,
        settled,
        shop::line,
        short_bounds,
    },
};

/// Every way in which someone uses a cart, but for claiming it.
fn uses(id: &str) -> Vec<(String, Value)> {
    vec![
        Client::adding(id, "a", 1, None),
        Client::setting(id, "a", 2, None),
        Client::removing(id, "a", None),
        Client::cancelling(id),
        (checkout_query(), json!({ "input": checkout_input(id, "none", "op") })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_that_was_claimed_is_its_owners_alone() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let guest = gateway.anonymous();
    let id = &guest.open_cart(RESERVE).await;
    guest.does(Client::adding(id, "a", 1, Some("once"))).await;
    let ann = gateway.shopper("ann");
    let claimed = ann.does(Client::claiming(id)).await;
    assert_eq!((claimed["id"].as_str(), line(&claimed, "a")), (Some(&**id), (1, 1)));
    let before = gateway.snapshot().await;
    assert_eq!(ann.does(Client::claiming(id)).await, claimed);
    for stranger in [guest, gateway.shopper("bob"), gateway.merchant()] {
        assert_eq!(stranger.cart(id).await, json!(null));
        let repeat = Client::adding(id, "a", 1, Some("once"));
        for call in uses(id).into_iter().chain([repeat]) {
            let refused = stranger.does(call).await;
            assert!(is(&refused, "NotFound"), "{refused:#}");
        }
    }
    for taken in [gateway.shopper("bob"), gateway.service(), gateway.admin()] {
        assert!(is(&taken.does(Client::claiming(id)).await, "NotFound"));
    }
    assert_eq!(gateway.snapshot().await, before);
    // The guest's idempotency keys go on to be those of the cart.
    assert_eq!(line(&ann.does(Client::adding(id, "a", 1, Some("once"))).await, "a"), (1, 1));
    assert_eq!(line(&ann.add(id, "a", 2).await, "a"), (3, 3));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_callers_that_claim_a_cart_at_once_one_gets_it() {
    let gateway = Gateway::with(long_bounds).await;
    for _ in 0..5 {
        let id = &gateway.anonymous().open_cart(AT_CHECKOUT).await;
        let calls = (0..12).map(|n| (gateway.shopper(&format!("s-{n}")), Client::claiming(id)));
        let answers = at_once(calls.collect()).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| is(answer, "Cart"));
        assert_eq!(won.len(), 1, "{answers:#?}");
        assert!(lost.iter().all(|answer| is(answer, "NotFound")), "{lost:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_claimed_stays_as_it_was() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    let closed = &gateway.anonymous().open_cart(RESERVE).await;
    gateway.anonymous().cancel(closed).await;
    let nothing = docgate::graphql::node_id::NodeKind::CART.id("no-such-cart").0;
    let before = gateway.snapshot().await;
    for (id, refusal) in [
        (closed.as_str(), "CartNotActive"),
        (&nothing, "NotFound"),
        ("$where", "NotFound"),
        ("", "NotFound"),
    ] {
        let refused = ann.does(Client::claiming(id)).await;
        assert!(is(&refused, refusal), "{id}: {refused:#}");
    }
    let (query, variables) = Client::claiming(closed);
    assert_eq!(gateway.anonymous().error_code(&query, variables).await, "UNAUTHENTICATED");
    assert_eq!(gateway.snapshot().await, before);
}

/// The guest's call read the cart while it was nobody's; its decision comes when it is Ann's.
#[tokio::test(flavor = "multi_thread")]
async fn who_read_a_cart_before_it_was_claimed_decides_nothing_after() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 0, 50).await;
    let sibling = gateway.sibling().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let cases = uses("").len();
    for case in 0..cases {
        let guest = gateway.anonymous();
        let id = guest.open_cart(RESERVE).await;
        guest.add(&id, "a", 1).await;
        proxy.count_only(|seen| {
            seen.collection == "carts" && ["findAndModify", "update"].contains(&&*seen.command)
        });
        proxy.cut(0, Cut::Hold);
        let (query, variables) = uses(&id).swap_remove(case);
        let late = tokio::spawn(async move { guest.run(&query, variables).await });
        proxy.reached().await;
        proxy.heal();
        assert!(is(&sibling.shopper("ann").does(Client::claiming(&id)).await, "Cart"));
        proxy.release().await;
        let answer = late.await.expect("an answer");
        let refused = answer["data"].as_object().and_then(|data| data.values().next());
        assert!(refused.is_some_and(|one| is(one, "NotFound")), "{case}: {answer:#}");
        let cart = sibling.shopper("ann").cart(&id).await;
        assert_eq!((line(&cart, "a"), &cart["state"]), ((1, 1), &json!("ACTIVE")), "{case}");
    }
    let held = i64::try_from(cases).expect("few");
    assert_eq!(stock(&gateway, "a").await, (50 - held, held, 0));
    gateway.assert_sound().await;
}

/// Two calls with one idempotency key check a guest's cart out: the guest's, and Ann's, whose cart it becomes. The guest's decision
/// doesn't arrive. Its second copy comes after Ann's decision, before her order is placed.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_not_decided_places_no_order_of_the_owner_that_it_read() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    stocked(&gateway, "a", 0, 5).await;
    let other = gateway.sibling_behind_proxy().await;
    let guest = gateway.anonymous();
    let id = guest.open_cart(RESERVE).await;
    guest.add(&id, "a", 1).await;
    let check_out = |client: Client| {
        let variables = json!({ "input": checkout_input(&id, "none", "op") });
        tokio::spawn(async move { client.run(&checkout_query(), variables).await })
    };
    let guests = gateway.proxy.as_ref().expect("a proxy");
    guests.count_only(|seen| seen.collection == "carts" && seen.command == "update");
    guests.cut(0, Cut::Hold);
    let lost = check_out(guest);
    guests.reached().await;
    let anns = other.proxy.as_ref().expect("a proxy");
    anns.count_only(|seen| seen.collection == "orders" && seen.command == "insert");
    anns.cut(0, Cut::Hold);
    let placing = check_out(other.shopper("ann"));
    anns.reached().await;
    guests.discard();
    let answer = lost.await.expect("an answer");
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer:#}");
    anns.release().await;
    let answer = placing.await.expect("an answer");
    assert!(is(&answer["data"]["checkoutCart"], "Order"), "{answer:#}");
    settled(&other).await;
    let orders = gateway.stored("orders").await;
    let owners: Vec<_> = orders.iter().map(|order| order.get_str("owner").ok()).collect();
    assert_eq!(owners, [Some("ann")], "{orders:#?}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, _| gateway.anonymous().open_cart(RESERVE).await,
        async |gateway, id| {
            let (query, variables) = Client::claiming(id);
            gateway.shopper("ann").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject }| {
            let id = gateway.shopper("ann").cart(subject).await["id"].clone();
            assert_eq!(id, json!(subject), "command {at} {way:?}");
            assert_eq!(gateway.anonymous().cart(subject).await, json!(null));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_cart_is_found_on_another_device() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let (phone, laptop) = (gateway.shopper("ann"), gateway.shopper("ann"));
    assert_eq!(laptop.my_cart().await, json!(null));
    let first = phone.open_cart(RESERVE).await;
    phone.add(&first, "a", 1).await;
    assert_eq!(laptop.my_cart().await, phone.cart(&first).await);
    let found = laptop.explained("{ myCart { id } }", json!({})).await;
    assert_eq!(commands(&found), ["find carts"]);

    // Of several the one that changed last, whichever was opened last.
    let second = laptop.open_cart(AT_CHECKOUT).await;
    assert_eq!(phone.my_cart().await["id"], json!(second));
    phone.add(&first, "a", 1).await;
    assert_eq!(laptop.my_cart().await["id"], json!(first));
    // One that is taken over changes as well; others' carts and closed ones are none.
    let guests = gateway.anonymous().open_cart(RESERVE).await;
    assert_eq!(laptop.my_cart().await["id"], json!(first));
    phone.does(Client::claiming(&guests)).await;
    assert_eq!(laptop.my_cart().await["id"], json!(guests));
    assert_eq!(gateway.shopper("bob").my_cart().await, json!(null));
    for closed in [&guests, &first, &second] {
        assert_eq!(laptop.my_cart().await["id"], json!(closed));
        phone.cancel(closed).await;
    }
    assert_eq!(laptop.my_cart().await, json!(null));
    let nobody = gateway.anonymous().error_code("{ myCart { id } }", json!({})).await;
    assert_eq!(nobody, "UNAUTHENTICATED");
}
