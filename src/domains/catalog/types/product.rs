//! Products as clients see them. The fields that all products have are generated for each type.

use async_graphql::{Context, ID, Object, Result, SimpleObject};

use super::super::{
    DISCUSSED, documents,
    view::{ContributorView, DetailsView, ProductProperty, ProductView, StoredProduct, Track},
};
use crate::{
    domains::{
        categories::{self, Category, CategoryBy, CategoryCopyView, name_in},
        comments::Discussion,
        inventory::{self, Stock},
        people::{self, Person},
    },
    engine::caching::cache_control,
    error::Error,
    graphql::{
        app,
        interface::interface,
        node_id::NodeKind,
        scalars::{Date, LocaleTag, Money},
    },
    mongo::lazy_document::Owned,
};

/// A product, and the `locale` argument of the field that returned it.
#[derive(Debug)]
pub struct Shown {
    product: StoredProduct,
    locale: Option<LocaleTag>,
}

impl Shown {
    fn product(&self) -> &ProductView<'_> {
        self.product.get()
    }

    /// Data that depends on the type of the product.
    fn details(&self) -> Result<DetailsView<'_>, Error> {
        Ok(self.product().details.get()?.unwrap_or_default())
    }
}

interface! {
    /// Something that can be bought.
    pub enum Product: Album | Film | Book | GenericProduct;
}

impl Product {
    /// The product as an object of its GraphQL type.
    pub fn of(product: StoredProduct, locale: Option<LocaleTag>) -> Self {
        let shown = Shown { product, locale };
        match shown.product().kind {
            "album" => Self::Album(Album(shown)),
            "film" => Self::Film(Film(shown)),
            "book" => Self::Book(Book(shown)),
            _ => Self::GenericProduct(GenericProduct(shown)),
        }
    }
}

/// The types of products: each has the common fields and its own.
macro_rules! product_types {
    ($($(#[doc = $about:literal])+ $name:ident { $($own:tt)* })+) => {$(
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name(Shown);

        $(#[doc = $about])+
        #[Object]
        impl $name {
            /// Global id of the product.
            pub async fn id(&self) -> ID {
                NodeKind::PRODUCT.id(self.0.product().sku)
            }

            /// SKU, the key of the product in the catalog, in stock, in carts and in orders.
            async fn sku(&self) -> ID {
                self.0.product().sku.into()
            }

            /// Type of the product: `album`, `film`, `book` or any other.
            #[graphql(name = "type")]
            async fn kind(&self) -> &str {
                self.0.product().kind
            }

            /// Title as it is displayed, 1 to 300 characters, in the language `language`.
            async fn title(&self) -> &str {
                self.0.product().title
            }

            /// Description in plain text; may be empty.
            async fn description(&self) -> &str {
                self.0.product().description.unwrap_or_default()
            }

            /// Language of title and description; null if unknown.
            async fn language(&self) -> Result<Option<LocaleTag>> {
                Ok(self.0.product().language.get()?)
            }

            /// Amazon Standard Identification Number; null if the product has none.
            async fn asin(&self) -> Option<&str> {
                self.0.product().asin
            }

            /// Release date; null if unknown.
            async fn issue_date(&self) -> Option<Date> {
                self.0.product().issued.and_then(Date::parse_date)
            }

            /// Weight and size of the parcel; null if unknown.
            async fn shipping(&self) -> Result<Option<documents::Shipping>> {
                Ok(self.0.product().shipping.get()?)
            }

            /// Current prices. Cart lines and order lines keep the price at which they were added.
            async fn pricing(&self) -> Pricing {
                let documents::Pricing { list, retail, savings, pct_savings, currency } =
                    self.0.product().pricing;
                let [list, retail, savings] =
                    [list, retail, savings].map(|amount| Money::new(amount, currency));
                Pricing { list, retail, savings, pct_savings }
            }

            /// Stock of the product, as the query `stock` returns it: all counters are zero if nothing was ever
            /// received. Null if the product was just deleted.
            #[graphql(directive = cache_control::apply(0))]
            async fn stock(&self, context: &Context<'_>) -> Result<Option<Stock>> {
                let ProductView { sku, generation, .. } = self.0.product();
                let found = inventory::operations::stock_of(app(context), sku, generation);
                Ok(found.await?.map(Stock::from))
            }

            /// Categories that the product is in; empty if it is in none.
            async fn categories(&self) -> Result<Vec<ProductCategory<'_>>> {
                let locale = self.0.locale.as_ref();
                let shown = |copy| ProductCategory { copy, locale };
                Ok(self.0.product().categories.get()?.into_iter().map(shown).collect())
            }

            /// People who contributed to the product, with their roles.
            async fn contributors(&self) -> Result<Vec<ContributorView<'_>>> {
                Ok(self.0.product().contributors.get()?)
            }

            /// Discussion of the product with its newest comments; null if none was opened.
            async fn discussion(&self) -> Result<Option<Discussion>> {
                let product = self.0.product();
                let shown = |Owned(found)| Discussion::of(&DISCUSSED, product.sku, found);
                Ok(product.discussion.get()?.map(shown))
            }

            /// Version of the content; it changes with every update. `updateProduct` takes it and refuses the
            /// update of a product that changed since it was read.
            async fn version(&self) -> ID {
                self.0.product().content_version.into()
            }

            $($own)*
        }
    )+};
}

product_types! {
    /// A product of the type `album`: music with its genres, label and tracks.
    Album {
        /// Musical genres, in the order in which the merchant gave them. Empty if none is stored.
        async fn genres(&self) -> Result<Vec<&str>> {
            Ok(self.0.details()?.genres)
        }

        /// Record label; null if unknown.
        async fn label(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.label)
        }

        /// Tracks in playing order.
        async fn tracks(&self) -> Result<Vec<Track<'_>>> {
            Ok(self.0.details()?.tracks)
        }
    }

    /// A product of the type `film`, with its genres, age rating and aspect ratio.
    Film {
        /// Genres of the film, in the order in which the merchant gave them. Empty if none is
        /// stored.
        async fn genres(&self) -> Result<Vec<&str>> {
            Ok(self.0.details()?.genres)
        }

        /// Age rating; null if unknown.
        async fn certificate(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.certificate)
        }

        /// Ratio of width to height, such as `2.39:1`; null if unknown.
        async fn aspect_ratio(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.aspect_ratio)
        }
    }

    /// A product of the type `book`, with its ISBN and number of pages.
    Book {
        /// ISBN-10 or ISBN-13 without hyphens; null if the book has none.
        async fn isbn(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.isbn)
        }

        /// Number of pages; null if unknown.
        async fn pages(&self) -> Result<Option<i32>> {
            Ok(self.0.details()?.pages)
        }
    }

    /// A product whose type has no fields of its own.
    GenericProduct {
        /// Properties such as a colour, as the merchant gave them. Empty if there are none.
        async fn properties(&self) -> Result<Vec<ProductProperty<'_>>> {
            Ok(self.0.product().properties.get()?)
        }
    }
}

/// List price and retail price of one piece, in the same currency.
#[derive(Debug, SimpleObject)]
pub struct Pricing {
    /// Price from which the savings are computed. It is at least the retail price.
    list: Money,
    /// Price at which the product is sold.
    retail: Money,
    /// List price minus retail price; zero if the two are equal.
    savings: Money,
    /// Savings in per cent of the list price, rounded down.
    pct_savings: i32,
}

/// A person who contributed to a product.
#[Object(name = "Contributor")]
impl ContributorView<'_> {
    /// Global id of the person, for `person` and `node`.
    async fn person_id(&self) -> ID {
        NodeKind::PERSON.id(self.person_id)
    }

    /// The person, with all works.
    async fn person(&self, context: &Context<'_>) -> Result<Option<Person>> {
        let id = NodeKind::PERSON.id(self.person_id);
        Ok(people::operations::person(app(context), &id).await?.map(Person))
    }

    /// Name of the person. It is a copy: a new name reaches it with a delay.
    async fn name(&self) -> &str {
        self.name
    }

    /// Role of the person, such as `author`.
    async fn role(&self) -> &str {
        self.role
    }
}

/// The copy of a category in a product, and the `locale` argument of the field that returned the product.
#[derive(Debug)]
pub struct ProductCategory<'a> {
    copy: CategoryCopyView<'a>,
    locale: Option<&'a LocaleTag>,
}

/// A category of a product. It is a copy: a change of the category reaches it with a delay.
#[Object]
impl ProductCategory<'_> {
    /// Global id of the category.
    pub async fn id(&self) -> ID {
        NodeKind::CATEGORY.id(self.copy.id)
    }

    /// The category itself, with its parent and all its names. Null if it was just deleted.
    async fn category(&self, context: &Context<'_>) -> Result<Option<Category>> {
        let by = CategoryBy::Id(NodeKind::CATEGORY.id(self.copy.id));
        Ok(categories::operations::category(app(context), by).await?.map(Category))
    }

    /// Slug, the last step of the path.
    async fn slug(&self) -> &str {
        self.copy.slug
    }

    /// Path of slugs from the root, such as `/music/jazz`.
    async fn path(&self) -> &str {
        self.copy.path
    }

    /// Path of the parent category; `/` for a root.
    async fn parent_path(&self) -> &str {
        self.copy.parent_path
    }

    /// Paths from the root down to the category itself.
    async fn paths(&self) -> Result<Vec<&str>> {
        Ok(self.copy.within.get()?)
    }

    /// Name of the category in a language: the name for exactly this tag, else for the language without
    /// region, else for another region of the language, else for the site's default language, else any.
    async fn name(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Language of the name. Default: the `locale` argument of the field that returned the product."
        )]
        locale: Option<LocaleTag>,
    ) -> Result<&str> {
        let (wanted, names) = (locale.as_ref().or(self.locale), self.copy.names.get()?.0);
        let site = &app(context).config().site_locale;
        Ok(name_in(names.iter().copied(), wanted, site).unwrap_or_default())
    }
}
