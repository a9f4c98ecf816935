//! The personal data in the collections of this room. An erasure also cancels the person's carts.

use crate::mongo::personal::{BEHIND_A_COLON, Blank, Field, Find, Personal};

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
