//! Products as clients see them. The fields that all products have are generated for each type.

use async_graphql::{ID, Interface, Object, Result, SimpleObject};

use super::super::{
    documents,
    view::{ContributorView, DetailsView, ProductProperty, ProductView, StoredProduct, Track},
};
use crate::{
    domains::{
        categories::{CategoryCopyView, name_in},
        comments::Discussion,
    },
    error::Error,
    graphql::{
        app,
        node_id::NodeKind,
        scalars::{Date, LocaleTag, Long, Money},
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

/// Something that can be bought.
#[expect(clippy::duplicated_attributes, reason = "several fields are of one type")]
#[derive(Interface)]
#[graphql(
    field(name = "id", ty = "ID", desc = "Global id of the product."),
    field(
        name = "sku",
        ty = "ID",
        desc = "SKU, the key of the product in the catalog, in stock, in carts and in orders."
    ),
    field(
        name = "type",
        method = "kind",
        ty = "&str",
        desc = "Type of the product: `album`, `film`, `book` or any other."
    ),
    field(name = "title", ty = "&str", desc = "Title of the product."),
    field(name = "description", ty = "&str", desc = "Description in plain text; may be empty."),
    field(
        name = "language",
        ty = "Option<LocaleTag>",
        desc = "Language of title and description; null if unknown."
    ),
    field(
        name = "asin",
        ty = "Option<&str>",
        desc = "Amazon Standard Identification Number; null if the product has none."
    ),
    field(name = "issue_date", ty = "Option<Date>", desc = "Release date; null if unknown."),
    field(
        name = "shipping",
        ty = "Option<ProductShipping>",
        desc = "Weight and size of the parcel; null if unknown."
    ),
    field(name = "pricing", ty = "Pricing", desc = "Prices of the product."),
    field(
        name = "categories",
        ty = "Vec<ProductCategory<'_>>",
        desc = "Categories that the product is in."
    ),
    field(
        name = "contributors",
        ty = "Vec<Contributor<'_>>",
        desc = "People who contributed to the product, with their roles."
    ),
    field(
        name = "discussion",
        ty = "Option<Discussion>",
        desc = "Discussion of the product with its newest comments; null if none was opened."
    ),
    field(
        name = "version",
        ty = "ID",
        desc = "Version of the content; it changes with every update. `updateProduct` takes it and refuses the update of a product that changed since it was read."
    )
)]
pub enum Product {
    Album(Album),
    Film(Film),
    Book(Book),
    GenericProduct(GenericProduct),
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

/// A type of product: the common fields and its own.
macro_rules! product_type {
    ($(#[doc = $about:literal])+ $name:ident { $($own:tt)* }) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name(Shown);

        $(#[doc = $about])+
        #[Object]
        impl $name {
            /// Global id of the product.
            pub async fn id(&self) -> ID {
                NodeKind::Product.id(self.0.product().sku)
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

            /// Title of the product.
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
            async fn shipping(&self) -> Result<Option<ProductShipping>> {
                Ok(self.0.product().shipping.get()?.map(ProductShipping::from))
            }

            /// Prices of the product.
            async fn pricing(&self) -> Pricing {
                Pricing(self.0.product().pricing)
            }

            /// Categories that the product is in.
            async fn categories(&self) -> Result<Vec<ProductCategory<'_>>> {
                let locale = self.0.locale.as_ref();
                let shown = |copy| ProductCategory { copy, locale };
                Ok(self.0.product().categories.get()?.into_iter().map(shown).collect())
            }

            /// People who contributed to the product, with their roles.
            async fn contributors(&self) -> Result<Vec<Contributor<'_>>> {
                let contributors = self.0.product().contributors.get()?;
                Ok(contributors.into_iter().map(Contributor::from).collect())
            }

            /// Discussion of the product with its newest comments; null if none was opened.
            async fn discussion(&self) -> Result<Option<Discussion>> {
                Ok(self.0.product().discussion.get()?.map(|Owned(summary)| Discussion(summary)))
            }

            /// Version of the content; it changes with every update. `updateProduct` takes it and refuses the
            /// update of a product that changed since it was read.
            async fn version(&self) -> ID {
                self.0.product().nonce.into()
            }

            $($own)*
        }
    };
}

product_type! {
    /// A music album.
    Album {
        /// Musical genres.
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
}

product_type! {
    /// A film.
    Film {
        /// Genres.
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
}

product_type! {
    /// A book.
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
}

product_type! {
    /// A product whose type has no fields of its own.
    GenericProduct {
        /// Properties of the product.
        async fn properties(&self) -> Result<Vec<ProductProperty<'_>>> {
            Ok(self.0.product().properties.get()?)
        }
    }
}

/// Prices of a product.
#[derive(Debug)]
pub struct Pricing(documents::Pricing);

/// Prices of a product.
#[Object]
impl Pricing {
    /// List price.
    async fn list(&self) -> Money {
        Money::new(self.0.list, self.0.currency)
    }

    /// Retail price, at which the product is sold.
    async fn retail(&self) -> Money {
        Money::new(self.0.retail, self.0.currency)
    }

    /// List price minus retail price.
    async fn savings(&self) -> Money {
        Money::new(self.0.savings, self.0.currency)
    }

    /// Savings in per cent of the list price, rounded down.
    async fn pct_savings(&self) -> i32 {
        self.0.pct_savings
    }
}

/// Weight and size of the parcel.
#[derive(Debug, SimpleObject)]
pub struct ProductShipping {
    /// Weight in grams.
    weight: Long,
    /// Size of the parcel; null if unknown.
    dimensions: Option<documents::Dimensions>,
}

impl From<documents::Shipping> for ProductShipping {
    fn from(shipping: documents::Shipping) -> Self {
        Self { weight: Long(shipping.weight), dimensions: shipping.dimensions }
    }
}

/// A person who contributed to a product.
#[derive(Debug, SimpleObject)]
pub struct Contributor<'a> {
    /// Global id of the person.
    person_id: ID,
    /// Name of the person.
    name: &'a str,
    /// Role of the person, such as `author`.
    role: &'a str,
}

impl<'a> From<ContributorView<'a>> for Contributor<'a> {
    fn from(contributor: ContributorView<'a>) -> Self {
        let ContributorView { person_id, name, role } = contributor;
        Self { person_id: NodeKind::Person.id(person_id), name, role }
    }
}

/// A category as it is copied into a product.
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
        NodeKind::Category.id(self.copy.id)
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
    async fn breadcrumbs(&self) -> Result<Vec<&str>> {
        Ok(self.copy.within.get()?)
    }

    /// Name of the category in a language: the name for exactly this tag, else for the language without
    /// region, else for another region of the language, else for the site's default language, else any.
    async fn name(
        &self,
        context: &async_graphql::Context<'_>,
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
