//! The personal data in the collections of this room.

use crate::mongo::personal::{BEHIND_A_SPACE, Blank, Field, Find, ONE_OF_TWO, Personal};

/// The text beside a sender.
const TEXT: &[(&str, Blank)] = &[("text", Blank::Empty)];

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "messages",
        Find::Walk,
        &[Field::blanks("shown.by", TEXT), Field::pulls("to[]"), Field::pulls("withheld[]")],
    )
    // Its delivery would write the names again.
    .unless(&["delivering"], |message, _| message.contains_key("delivering"))
    // The sender isn't told who blocks them.
    .without(&["withheld"]),
    Personal::of(
        "inboxBuckets",
        Find::Walk,
        // Whose inbox has a message, and so who doesn't block its sender, is kept from the sender.
        &[Field::removes("owner"), Field::blanks("messages[].by", TEXT).copied()],
    ),
    Personal::copies(
        "conversationEntries",
        Find::Walk,
        &[
            Field::removes("_id").within(BEHIND_A_SPACE),
            Field::blanks("message.by", TEXT),
            Field::replaces("views[]").within(ONE_OF_TWO),
        ],
    ),
    Personal::of("inboxReads", Find::Id, &[Field::removes("_id")]),
    Personal::of("messageSenders", Find::Id, &[Field::removes("_id")]),
];
