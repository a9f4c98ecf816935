//! Products as clients see them: what all have in common, stamped on each type.

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
    mongo::view::Owned,
};

/// A product, and the language that the list or field was asked in.
#[derive(Debug)]
pub struct Shown {
    product: StoredProduct,
    locale: Option<LocaleTag>,
}

impl Shown {
    fn product(&self) -> &ProductView<'_> {
        self.product.get()
    }

    /// What only products of its type have.
    fn details(&self) -> Result<DetailsView<'_>, Error> {
        Ok(self.product().details.get()?.unwrap_or_default())
    }
}

/// Something that can be bought.
#[expect(clippy::duplicated_attributes, reason = "several fields are of one type")]
#[derive(Interface)]
#[graphql(
    field(name = "id", ty = "ID", desc = "Global id."),
    field(name = "sku", ty = "ID", desc = "Its key in the catalog, in stock, carts and orders."),
    field(
        name = "type",
        method = "kind",
        ty = "&str",
        desc = "`album`, `film`, `book`, or any other type."
    ),
    field(name = "title", ty = "&str", desc = "The title."),
    field(name = "description", ty = "&str", desc = "What it is, in plain text; may be empty."),
    field(
        name = "language",
        ty = "Option<LocaleTag>",
        desc = "Language of title and description."
    ),
    field(name = "asin", ty = "Option<&str>", desc = "Number in another shop's catalog."),
    field(name = "issue_date", ty = "Option<Date>", desc = "Day on which it came out."),
    field(
        name = "shipping",
        ty = "Option<ProductShipping>",
        desc = "What a parcel of it is like."
    ),
    field(name = "pricing", ty = "Pricing", desc = "What it costs."),
    field(
        name = "categories",
        ty = "Vec<ProductCategory<'_>>",
        desc = "Where it stands in the tree of categories."
    ),
    field(name = "contributors", ty = "Vec<Contributor<'_>>", desc = "Who made it."),
    field(
        name = "discussion",
        ty = "Option<Discussion>",
        desc = "What people say about it; null where no discussion was opened."
    ),
    field(
        name = "nonce",
        ty = "ID",
        desc = "Changes with the content; `updateProduct` takes it to refuse an update of something that changed meanwhile."
    )
)]
pub enum Product {
    Album(Album),
    Film(Film),
    Book(Book),
    GenericProduct(GenericProduct),
}

impl Product {
    /// The product as its type shows it.
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

/// One type of product: what all have in common, and its own fields.
macro_rules! product_type {
    ($(#[doc = $about:literal])+ $name:ident { $($own:tt)* }) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name(Shown);

        $(#[doc = $about])+
        #[Object]
        impl $name {
            /// Global id.
            pub async fn id(&self) -> ID {
                NodeKind::Product.id(self.0.product().sku)
            }

            /// Its key in the catalog, in stock, carts and orders.
            async fn sku(&self) -> ID {
                self.0.product().sku.into()
            }

            /// `album`, `film`, `book`, or any other type.
            #[graphql(name = "type")]
            async fn kind(&self) -> &str {
                self.0.product().kind
            }

            /// The title.
            async fn title(&self) -> &str {
                self.0.product().title
            }

            /// What it is, in plain text; may be empty.
            async fn description(&self) -> &str {
                self.0.product().description.unwrap_or_default()
            }

            /// Language of title and description.
            async fn language(&self) -> Result<Option<LocaleTag>> {
                Ok(self.0.product().language.get()?)
            }

            /// Number in another shop's catalog.
            async fn asin(&self) -> Option<&str> {
                self.0.product().asin
            }

            /// Day on which it came out.
            async fn issue_date(&self) -> Option<Date> {
                self.0.product().issued.and_then(Date::parse_date)
            }

            /// What a parcel of it is like.
            async fn shipping(&self) -> Result<Option<ProductShipping>> {
                Ok(self.0.product().shipping.get()?.map(ProductShipping::from))
            }

            /// What it costs.
            async fn pricing(&self) -> Pricing {
                Pricing(self.0.product().pricing)
            }

            /// Where it stands in the tree of categories.
            async fn categories(&self) -> Result<Vec<ProductCategory<'_>>> {
                let locale = self.0.locale.as_ref();
                let shown = |copy| ProductCategory { copy, locale };
                Ok(self.0.product().categories.get()?.into_iter().map(shown).collect())
            }

            /// Who made it.
            async fn contributors(&self) -> Result<Vec<Contributor<'_>>> {
                let contributors = self.0.product().contributors.get()?;
                Ok(contributors.into_iter().map(Contributor::from).collect())
            }

            /// What people say about it; null where no discussion was opened.
            async fn discussion(&self) -> Result<Option<Discussion>> {
                Ok(self.0.product().discussion.get()?.map(|Owned(summary)| Discussion(summary)))
            }

            /// Changes with the content; `updateProduct` takes it to refuse an update of something
            /// that changed meanwhile.
            async fn nonce(&self) -> ID {
                self.0.product().nonce.into()
            }

            $($own)*
        }
    };
}

product_type! {
    /// An album.
    Album {
        /// Kinds of music.
        async fn genres(&self) -> Result<Vec<&str>> {
            Ok(self.0.details()?.genres)
        }

        /// The record company.
        async fn label(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.label)
        }

        /// The pieces in their order.
        async fn tracks(&self) -> Result<Vec<Track<'_>>> {
            Ok(self.0.details()?.tracks)
        }
    }
}

product_type! {
    /// A film.
    Film {
        /// Kinds of story.
        async fn genres(&self) -> Result<Vec<&str>> {
            Ok(self.0.details()?.genres)
        }

        /// From which age on.
        async fn certificate(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.certificate)
        }

        /// Width to height, such as `2.39:1`.
        async fn aspect_ratio(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.aspect_ratio)
        }
    }
}

product_type! {
    /// A book.
    Book {
        /// ISBN-10 or ISBN-13, without hyphens.
        async fn isbn(&self) -> Result<Option<&str>> {
            Ok(self.0.details()?.isbn)
        }

        /// How many pages.
        async fn pages(&self) -> Result<Option<i32>> {
            Ok(self.0.details()?.pages)
        }
    }
}

product_type! {
    /// A product of a type without fields of its own.
    GenericProduct {
        /// Its facts.
        async fn properties(&self) -> Result<Vec<ProductProperty<'_>>> {
            Ok(self.0.product().properties.get()?)
        }
    }
}

/// What a product costs.
#[derive(Debug)]
pub struct Pricing(documents::Pricing);

/// What a product costs.
#[Object]
impl Pricing {
    /// List price.
    async fn list(&self) -> Money {
        Money::new(self.0.list, self.0.currency)
    }

    /// Price at which it is sold.
    async fn retail(&self) -> Money {
        Money::new(self.0.retail, self.0.currency)
    }

    /// What is saved by the list price.
    async fn savings(&self) -> Money {
        Money::new(self.0.savings, self.0.currency)
    }

    /// Savings in per cent of the list price, rounded down.
    async fn pct_savings(&self) -> i32 {
        self.0.pct_savings
    }
}

/// What a parcel of the product is like.
#[derive(Debug, SimpleObject)]
pub struct ProductShipping {
    /// Weight in grams.
    weight: Long,
    /// Its size.
    dimensions: Option<ProductDimensions>,
}

/// A size in millimetres.
#[derive(Debug, SimpleObject)]
pub struct ProductDimensions {
    /// From left to right.
    width: i32,
    /// From bottom to top.
    height: i32,
    /// From front to back.
    depth: i32,
}

impl From<documents::Shipping> for ProductShipping {
    fn from(shipping: documents::Shipping) -> Self {
        let size = |documents::Dimensions { width, height, depth }| ProductDimensions {
            width,
            height,
            depth,
        };
        Self { weight: Long(shipping.weight), dimensions: shipping.dimensions.map(size) }
    }
}

/// Someone who had a part in making a product.
#[derive(Debug, SimpleObject)]
pub struct Contributor<'a> {
    /// Global id of the person.
    person_id: ID,
    /// The person's name.
    name: &'a str,
    /// Which part, such as `author`.
    role: &'a str,
}

impl<'a> From<ContributorView<'a>> for Contributor<'a> {
    fn from(contributor: ContributorView<'a>) -> Self {
        let ContributorView { person_id, name, role } = contributor;
        Self { person_id: NodeKind::Person.id(person_id), name, role }
    }
}

/// A category, as a product carries it.
#[derive(Debug)]
pub struct ProductCategory<'a> {
    copy: CategoryCopyView<'a>,
    locale: Option<&'a LocaleTag>,
}

/// A category, as a product carries it.
#[Object]
impl ProductCategory<'_> {
    /// Global id of the category.
    pub async fn id(&self) -> ID {
        NodeKind::Category.id(self.copy.id)
    }

    /// Last step of its path.
    async fn slug(&self) -> &str {
        self.copy.slug
    }

    /// The way from the root, such as `/music/jazz`.
    async fn path(&self) -> &str {
        self.copy.path
    }

    /// Path of the category above it, `/` for a root.
    async fn parent_path(&self) -> &str {
        self.copy.parent_path
    }

    /// Paths from the root down to the category itself, the trail that leads to it.
    async fn breadcrumbs(&self) -> Result<Vec<&str>> {
        Ok(self.copy.within.get()?)
    }

    /// Its name: in the language asked for, else in that language elsewhere, else in the site's
    /// language, else in any.
    async fn name(
        &self,
        context: &async_graphql::Context<'_>,
        #[graphql(
            desc = "The language; when left out, the one that the field above was asked in."
        )]
        locale: Option<LocaleTag>,
    ) -> Result<&str> {
        let (wanted, names) = (locale.as_ref().or(self.locale), self.copy.names.get()?.0);
        let site = &app(context).config().site_locale;
        Ok(name_in(names.iter().copied(), wanted, site).unwrap_or_default())
    }
}
