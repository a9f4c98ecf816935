//! The stored document of an erasure.

use crate::mongo::prelude::*;

document! {
    /// The erasure of a person that isn't finished. It goes when nothing is left to be erased.
    pub struct ErasureDocument {
        /// Derived from the subject by the gateways' secret. The subject isn't stored.
        pub id as "_id": String,
        /// What takes the place of the subject in the documents that stay.
        pub pseudonym: String,
        /// Server time at which it began.
        pub at: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "erasures" {}
}
