//! The references to pictures in the documents of several rooms.

use crate::mongo::{lazy_document::view, prelude::*};

document! {
    /// A picture of a document.
    #[derive(PartialEq, Eq)]
    pub struct ImageRef {
        /// `_id` of the asset.
        pub asset_id: String,
        /// Text for readers who don't see the picture; may be empty.
        pub alternative_text: String,
    }

    /// The part of an illustrated document that `setImages` writes. Its room owns the collection, whose name replaces
    /// this one.
    pub(super) struct IllustratedDocument {
        pub id as "_id": String,
        /// Its pictures.
        pub images?: Vec<ImageRef>,
    } in "products";
}

view! {
    /// An [`ImageRef`] in a lazy document.
    #[derive(Debug)]
    pub struct ImageView<'a> {
        "assetId" => pub asset_id: &'a str,
        "alternativeText" => pub alternative_text: &'a str,
    }
}
