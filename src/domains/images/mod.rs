//! Images are the pictures of a product, a person, a category or content, in order. Each has an alternative text for
//! readers who don't see it.
//!
//! A document names its pictures by the assets' `_id`s and keeps nothing else of them. Readers get the assets as they
//! are now. The loader reads the assets of a whole list by one command. So a moved asset is shown with its new path,
//! and a replaced one with its new size. An asset that is gone, or that the caller can't see, isn't among the images.
//! Nothing has to be copied.
//!
//! Content has its images in its versions: they are edited and published with its text. `setImages` sets those of the
//! other kinds, which their rooms declare as [`Illustrated`].

mod documents;
mod store;

use async_graphql::Context;

pub use super::assets::operations::{Pictures, pictures};
use super::{
    assets::{
        Asset, AssetDocument,
        operations::{self, Picture},
    },
    switched_on,
};
use crate::{
    config::Config,
    graphql::{prelude::*, scalars::int},
    join::try_join_all,
    mongo::{condition::Condition, expression::count},
};
pub use documents::{ImageRef, ImageView};
pub use store::set;

/// Maximum number of images of one object.
pub const IMAGES: usize = 20;
/// Maximum length of an alternative text, in characters.
const TEXT: usize = 500;

/// A kind of documents whose images `setImages` sets, as its room declares it. Their field `images` is a list of
/// [`ImageRef`], and absent without images.
#[derive(Debug)]
pub struct Illustrated {
    /// The kind of its global ids.
    pub kind: NodeKind,
    /// The collection of its documents.
    pub collection: &'static str,
    /// The condition that a document exists for those who change it.
    pub exists: fn() -> Condition,
}

impl Illustrated {
    /// The kind and the `_id` that a global id names. `None` also if the room of the kind is switched off.
    pub fn of(config: &Config, id: &ID) -> Option<(&'static Self, String)> {
        let mut kinds = switched_on(config).flat_map(|room| room.illustrated);
        kinds.find_map(|of| Some((of, input::id(of.kind, id).ok()?)))
    }
}

input! {
    /// A picture that an object is to show.
    pub struct ImageInput: Deserialize {
        /// Global id of the asset. It has to be a picture whose size is known.
        pub asset_id: ID where id(NodeKind::ASSET),
        /// Text for readers who don't see the picture, up to 500 characters. Default: an empty text, for pictures that
        /// only decorate.
        pub alternative_text: Option<String> where optional(text(0..=TEXT)),
    }
}

refusal! {
    /// The asset isn't a picture whose size is known.
    struct NotAnImage as "NOT_AN_IMAGE" {
        /// Global id of the asset.
        pub asset_id: ID,
    }
}

/// The pictures of a checked input, as they are stored.
pub fn stored(images: &[ImageInput]) -> Vec<ImageRef> {
    let image = |image: &ImageInput| ImageRef {
        asset_id: image.asset_id.0.clone(),
        alternative_text: image.alternative_text.clone().unwrap_or_default(),
    };
    images.iter().map(image).collect()
}

/// Checks that the caller can see the assets, and that they are pictures.
///
/// # Errors
/// The refusal of the first one that isn't.
pub async fn check<U>(cx: Cx<'_>, images: &[ImageRef]) -> Result<(), Stop<U>>
where
    U: From<NotFound> + From<NotAnImage>,
{
    let found = images.iter().map(|image| operations::asset_by_id(cx, &image.asset_id));
    for (image, found) in images.iter().zip(try_join_all(found).await?) {
        let id = NodeKind::ASSET.id(&image.asset_id);
        let found = found.ok_or_else(|| NotFound::of(NodeKind::ASSET, &image.asset_id))?;
        if Picture::of(&found).is_none() {
            let message = format!("the asset {:?} isn't a picture whose size is known", id.0);
            return Err(NotAnImage::because(message, id).into());
        }
    }
    Ok(())
}

/// The images of these assets and alternative texts that the caller can see, in order. Those that were read `ahead` aren't read
/// again.
pub async fn shown<'a>(
    cx: Cx<'_>,
    ahead: Option<&Pictures>,
    images: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<Image<'a>>> {
    let read = images.into_iter().map(|(asset_id, alternative_text)| async move {
        let found = operations::picture(cx, ahead, asset_id).await?;
        Ok::<_, Error>(found.map(|picture| Image { asset_id, picture, alternative_text }))
    });
    Ok(try_join_all(read).await?.into_iter().flatten().collect())
}

/// The first images of a document that the caller can see, in order: those of the argument `first` of a field, or all. An
/// image that the caller can't see isn't counted. Those that were read `ahead` aren't read again.
///
/// # Errors
/// `BadInput` that names the argument, or an error of the read.
pub async fn first_of<'a>(
    cx: Cx<'_>,
    ahead: Option<&Pictures>,
    images: impl IntoIterator<Item = (&'a str, &'a str)>,
    first: Option<i32>,
) -> Result<Vec<Image<'a>>> {
    let most = first.map_or(Ok(count(IMAGES)), |first| {
        input::within("first", first.into(), 1..=count(IMAGES))
    })?;
    let most = usize::try_from(most).unwrap_or(IMAGES);
    let all: Vec<_> = images.into_iter().collect();
    let (head, rest) = all.split_at(most.min(all.len()));
    let mut found = shown(cx, ahead, head.iter().copied()).await?;
    if found.len() < most && !rest.is_empty() {
        // Some can't be seen. All others are read side by side, and not one after the other.
        found.extend(shown(cx, ahead, rest.iter().copied()).await?);
        found.truncate(most);
    }
    Ok(found)
}

/// Like [`first_of`], of the stored form.
///
/// # Errors
/// As [`first_of`].
pub async fn first_stored<'a>(
    cx: Cx<'_>,
    images: Option<&'a [ImageRef]>,
    first: Option<i32>,
) -> Result<Vec<Image<'a>>> {
    let images = images.unwrap_or_default().iter();
    let images = images.map(|image| (image.asset_id.as_str(), image.alternative_text.as_str()));
    first_of(cx, None, images, first).await
}

/// The images of a document that the caller can see, in order.
pub async fn of<'a>(cx: Cx<'_>, images: Option<&'a [ImageRef]>) -> Result<Vec<Image<'a>>> {
    let images = images.unwrap_or_default().iter();
    let images = images.map(|image| (image.asset_id.as_str(), image.alternative_text.as_str()));
    shown(cx, None, images).await
}

/// The argument `width` of a field.
fn checked(width: Option<i32>) -> Result<Option<i64>> {
    if width.is_some_and(|width| width < 1) {
        return Err(Error::bad_input("width", "must be 1 or more"));
    }
    Ok(width.map(i64::from))
}

/// The URL of a file at a width, for the argument `width` of a field.
pub fn url(context: &Context<'_>, asset: &AssetDocument, width: Option<i32>) -> Result<String> {
    let width = checked(width)?;
    let picture = Picture::of(asset);
    let url = picture.map(|picture| picture.url(app(context).config(), width));
    Ok(url.unwrap_or_else(|| format!("/assets{}", asset.metadata.path)))
}

/// A picture of an object: an asset with a text that stands for it.
#[derive(Debug)]
pub struct Image<'a> {
    /// `_id` of the asset.
    asset_id: &'a str,
    picture: Picture<'a>,
    alternative_text: &'a str,
}

impl<'a> Image<'a> {
    /// The asset as an image, if it is a picture whose size is known.
    pub fn of(asset: &'a AssetDocument, alternative_text: &'a str) -> Option<Self> {
        Some(Self { asset_id: &asset.id, picture: Picture::of(asset)?, alternative_text })
    }
}

object! {
    /// A picture of an object. It is the asset as it is now: if the asset is moved or its file is replaced, the image
    /// follows; if it is deleted, the image isn't listed any more.
    impl Image<'_> as image {
        /// URL of the file, relative to the address of this gateway.
        url(
            context,
            #[graphql(desc = "Width in pixels. The URL is that of the picture in this width, or in the next larger one \
                              that the gateway makes. Default, and if the file isn't wider or its format can't be \
                              resized: the file itself.")]
            width: Option<i32>,
        )?: String = image.picture.url(app(context).config(), checked(width)?),
        /// Width in pixels, of the picture as it is shown: a camera may have been turned.
        width: i32 = int(image.picture.width),
        /// Height in pixels, of the picture as it is shown.
        height: i32 = int(image.picture.height),
        /// Text for readers who don't see the picture; empty if it only decorates.
        alternative_text: &str = image.alternative_text,
        /// The asset itself, with its title and the data of its file; null if it was just deleted.
        asset(context)?: Option<Asset> =
            // A list has many images at once, whose futures have room for this one.
            Box::pin(operations::asset_by_id(cx(context), image.asset_id)).await?.map(Asset::from),
    }
}
