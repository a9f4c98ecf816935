//! The personal data in the collections of this room.

use crate::mongo::personal::{Field, Find, Personal};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    // Before the zones, which have copies of it.
    Personal::of(
        "campaigns",
        Find::Index("advertiser", "advertiser"),
        &[Field::replaces("advertiser")],
    )
    // Its flow writes the advertiser to zones.
    .unless(&["due"], |campaign, _| campaign.contains_key("due")),
    Personal::of(
        "adZones",
        Find::Walk,
        &[Field::replaces("publisher"), Field::replaces("ads[].advertiser")],
    )
    // They are copies of campaigns, and a publisher sees no campaigns of others.
    .without(&["ads"]),
    Personal::nothing("adClicks", "clicks, without the visitors"),
    Personal::nothing(
        "adProfiles",
        "impressions under a hash of the id that a site gave to a visitor; one that no frequency cap needs goes when the next one is noted, or with the profile",
    ),
];
