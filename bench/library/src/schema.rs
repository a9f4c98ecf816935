//! The part of docgate's schema that the bench asks for a product, under the same names.

use std::sync::Arc;

use async_graphql::{
    Context, EmptyMutation, EmptySubscription, ID, Interface, Object, Result, SimpleObject,
    dataloader::DataLoader,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::products::{self, Contributor, Pricing, ProductCategory, Products};

pub type Schema = async_graphql::Schema<Query, EmptyMutation, EmptySubscription>;

/// How a resolver reads products. A request's own comes before the schema's.
pub enum Reads {
    /// By async-graphql's loader.
    Loaded(DataLoader<Products>),
    /// By one command each.
    Directly(Products),
}

pub struct Query;

#[Object]
impl Query {
    /// The product of that SKU.
    async fn product(&self, context: &Context<'_>, sku: ID) -> Result<Option<Product>> {
        let found = match context.data::<Reads>()? {
            Reads::Loaded(loader) => loader.load_one(sku.0).await?,
            Reads::Directly(products) => products.one(&sku).await?,
        };
        Ok(found.map(Product::of))
    }
}

#[derive(Interface)]
#[graphql(
    field(name = "id", ty = "ID"),
    field(name = "sku", ty = "ID"),
    field(name = "type", method = "kind", ty = "&str"),
    field(name = "title", ty = "&str"),
    field(name = "description", ty = "&str"),
    field(name = "language", ty = "Option<&str>"),
    field(name = "pricing", ty = "&Pricing"),
    field(name = "categories", ty = "&[ProductCategory]"),
    field(name = "contributors", ty = "&[Contributor]")
)]
pub enum Product {
    Album(Album),
    Film(Film),
    Book(Book),
    GenericProduct(GenericProduct),
}

impl Product {
    fn of(found: Arc<products::Product>) -> Self {
        match found.kind.as_str() {
            "album" => Self::Album(Album(found)),
            "film" => Self::Film(Film(found)),
            "book" => Self::Book(Book(found)),
            _ => Self::GenericProduct(GenericProduct(found)),
        }
    }
}

macro_rules! product {
    ($($name:ident),+) => {$(
        pub struct $name(Arc<products::Product>);

        #[Object]
        impl $name {
            async fn id(&self) -> ID {
                global_id("product", &self.0.sku)
            }

            async fn sku(&self) -> ID {
                self.0.sku.as_str().into()
            }

            #[graphql(name = "type")]
            async fn kind(&self) -> &str {
                &self.0.kind
            }

            async fn title(&self) -> &str {
                &self.0.title
            }

            async fn description(&self) -> &str {
                &self.0.description
            }

            async fn language(&self) -> Option<&str> {
                self.0.language.as_deref()
            }

            async fn pricing(&self) -> &Pricing {
                &self.0.pricing
            }

            async fn categories(&self) -> &[ProductCategory] {
                &self.0.categories
            }

            async fn contributors(&self) -> &[Contributor] {
                &self.0.contributors
            }
        }
    )+};
}

product!(Album, Film, Book, GenericProduct);

#[Object]
impl Pricing {
    async fn list(&self) -> Money<'_> {
        self.money(self.list)
    }

    async fn retail(&self) -> Money<'_> {
        self.money(self.retail)
    }

    async fn savings(&self) -> Money<'_> {
        self.money(self.savings)
    }

    async fn pct_savings(&self) -> i32 {
        self.pct_savings
    }
}

impl Pricing {
    fn money(&self, minor_units: i64) -> Money<'_> {
        Money { minor_units, currency: &self.currency }
    }
}

#[derive(SimpleObject)]
pub struct Money<'a> {
    minor_units: i64,
    currency: &'a str,
}

#[Object]
impl ProductCategory {
    async fn id(&self) -> ID {
        global_id("category", &self.id)
    }

    /// In the shop's language, else in any.
    async fn name(&self) -> &str {
        self.names.get("en").or_else(|| self.names.values().next()).map_or("", String::as_str)
    }

    async fn path(&self) -> &str {
        &self.path
    }
}

#[Object]
impl Contributor {
    async fn person_id(&self) -> ID {
        global_id("person", &self.person_id)
    }

    async fn name(&self) -> &str {
        &self.name
    }

    async fn role(&self) -> &str {
        &self.role
    }
}

fn global_id(kind: &str, key: &str) -> ID {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{key}")).into()
}
