//! Products as docgate stores them, and how they are read by key.

use std::{collections::HashMap, sync::Arc};

use async_graphql::dataloader::Loader;
use futures_util::TryStreamExt;
use mongodb::{
    Collection, Database,
    bson::{Document, doc},
    error::Result,
};
use serde::Deserialize;

/// What the schema shows of a product.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    #[serde(rename = "_id")]
    pub sku: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    #[serde(default)]
    pub description: String,
    pub language: Option<String>,
    pub pricing: Pricing,
    #[serde(default)]
    pub categories: Vec<ProductCategory>,
    #[serde(default)]
    pub contributors: Vec<Contributor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    pub list: i64,
    pub retail: i64,
    pub savings: i64,
    pub pct_savings: i32,
    pub currency: String,
}

#[derive(Deserialize)]
pub struct ProductCategory {
    #[serde(rename = "_id")]
    pub id: String,
    pub path: String,
    /// By language.
    pub names: HashMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contributor {
    pub person_id: String,
    pub name: String,
    pub role: String,
}

/// Reads products by their SKU.
#[derive(Clone)]
pub struct Products(Collection<Product>);

impl Products {
    pub fn of(database: &Database) -> Self {
        Self(database.collection("products"))
    }

    /// One product: MongoDB's fast path for a read by `_id`.
    pub async fn one(&self, sku: &str) -> Result<Option<Arc<Product>>> {
        let found = self.0.find_one(doc! { "_id": sku }).projection(shown()).await?;
        Ok(found.map(Arc::new))
    }

    /// Several products by one command.
    async fn many(&self, skus: &[String]) -> Result<HashMap<String, Arc<Product>>> {
        // One more than there can be, so that the first answer is the last one.
        let batch = u32::try_from(skus.len() + 1).unwrap_or(u32::MAX);
        let filter = doc! { "_id": { "$in": skus } };
        let found = self.0.find(filter).projection(shown()).batch_size(batch).await?;
        found.map_ok(|product| (product.sku.clone(), Arc::new(product))).try_collect().await
    }
}

impl Loader<String> for Products {
    type Value = Arc<Product>;
    type Error = mongodb::error::Error;

    async fn load(&self, skus: &[String]) -> Result<HashMap<String, Arc<Product>>> {
        match skus {
            [sku] => {
                Ok(self.one(sku).await?.map(|found| (sku.clone(), found)).into_iter().collect())
            }
            _ => self.many(skus).await,
        }
    }
}

/// The fields of [`Product`].
fn shown() -> Document {
    doc! {
        "type": 1, "title": 1, "description": 1, "language": 1, "pricing": 1,
        "categories._id": 1, "categories.path": 1, "categories.names": 1,
        "contributors.personId": 1, "contributors.name": 1, "contributors.role": 1,
    }
}
