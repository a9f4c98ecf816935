//! The personal data in the collections of this room. An erasure also cancels the person's carts.

use super::{operations::cancel_cart, store::carts, types::CancelCartInput};
use crate::{
    domains::{
        baskets::Basket,
        persons::{self, Erasing},
    },
    graphql::prelude::*,
    mongo::personal::{BEHIND_A_COLON, Blank, Field, Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "carts",
        Find::Index("owner", "owner_modified"),
        &[
            // It has the country of the destination.
            Field::blanks("owner", &[("quote", Blank::Nothing)]),
            Field::blanks(
                "checkout.owner",
                &[
                    ("shipping", Blank::EmptyFields(&["name", "street", "city", "country"])),
                    ("payment.token", Blank::Nothing),
                ],
            ),
            Field::replaces("checkout.voucher.customer"),
        ],
    )
    // Its flow writes the owner to the order.
    .unless(&["state"], |cart, _| {
        !matches!(cart.get_str("state"), Ok("COMPLETE" | "EXPIRED" | "CANCELLED"))
    }),
    Personal::of("addressBooks", Find::Id, &[Field::removes("_id")]),
    Personal::of("vouchers", Find::Walk, &[Field::replaces("createdBy")]),
    Personal::of("voucherCustomers", Find::Walk, &[Field::removes("_id").within(BEHIND_A_COLON)])
        // A checkout has reserved a use.
        .unless(&["reservedUses"], |uses, _| {
            uses.get_i64("reservedUses").is_ok_and(|uses| uses > 0)
        }),
];

/// Cancels the person's carts, which returns the stock that they hold. One that is being checked out is left to the next run.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    let requester = erasing.requester.clone();
    for id in persons::ids(app, "carts", "owner", &erasing.subject).await? {
        let cart = carts(app).get_settled(&id).await?;
        if cart.is_none_or(|cart| cart.state().is_final()) {
            continue;
        }
        let cx = Cx { app, requester: &requester };
        let input = CancelCartInput { cart_id: NodeKind::CART.id(&id) };
        match cancel_cart(cx, input).await {
            Ok(_) => erasing.ends("carts"),
            Err(Stop::Failed(error)) => return Err(error),
            // The flow that is going on closes it or gives it back.
            Err(Stop::Refused(_)) => {
                erasing.waits.push("a cart is being checked out or closed".to_owned());
            }
        }
    }
    Ok(())
}
