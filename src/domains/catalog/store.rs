//! Every MongoDB call of the catalog.

use mongodb::bson::doc;

use super::documents::ProductDocument;
use crate::{app::App, error::Error};

pub(super) async fn find(app: &App, sku: &str) -> Result<Option<ProductDocument>, Error> {
    app.collection::<ProductDocument>().find(doc! { "_id": sku }).await
}
