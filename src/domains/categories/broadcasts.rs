//! The commands of the room that name no shard key.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "categoryFacets" {
        find "dirtyAt" = "sweep: facets that are to be counted",
    }
}
