//! Pictures of products, people, departments and things of the game. A few are drawn for each kind, and shared.

use docgate_demo::{covers::Motif, products::Product};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::{
    MERCHANT, Steps,
    client::{DemoClient, File, someone},
    goods::{finishes, text},
    pictures::EDITOR,
};
use crate::{
    cli::failure::Failure,
    graphql::{node_id::NodeKind, requester::Role},
};

/// Number of concurrent uploads.
const UPLOADS: usize = 8;

const UPLOAD: &str = "mutation($input: UploadAssetInput!) { uploadAsset(input: $input) {
    ... on Asset { id } ... on UserError { code message } } }";
const SET: &str = "mutation($input: SetImagesInput!) { setImages(input: $input) {
    __typename ... on UserError { code message } } }";
const DEPARTMENTS: &str = "{ categories(first: 50) { nodes { id path name } } }";

/// The uploaded pictures: global ids of assets by motif.
pub(super) struct Covers(Vec<(Motif, Vec<String>)>);

impl Covers {
    /// Draws the pictures and uploads them, as an editor does.
    pub(super) async fn upload(client: &DemoClient, steps: &Steps) -> Result<Self, Failure> {
        let editor = someone(EDITOR, &[Role::Editor]);
        let all = Motif::ALL.iter().map(|(_, count)| count).sum();
        let bar = steps.begin("covers", all);
        let mut covers = Vec::new();
        for (motif, count) in Motif::ALL {
            let upload = async |variant: usize| {
                let name = format!("cover-{}-{}", motif.name(), variant + 1);
                let bytes = motif.draw(variant);
                let bytes = bytes.map_err(|error| Failure::trouble(format!("a cover: {error}")))?;
                let input = json!({
                    "file": null, "slug": name, "tags": ["cover"],
                    "publishAt": "2020-01-01T00:00:00Z", "idempotencyKey": name,
                });
                let (variables, file) =
                    (json!({ "input": input }), File { name: format!("{name}.png"), bytes });
                let made = client.execute_with_file(&editor, UPLOAD, variables, file).await?;
                bar.inc(1);
                Ok::<_, Failure>(text(&made["uploadAsset"]["id"]))
            };
            let ids = stream::iter(0..count).map(upload).buffered(UPLOADS).try_collect();
            covers.push((motif, ids.await?));
        }
        bar.finish();
        Ok(Self(covers))
    }

    /// The picture of something: the same one for each number.
    pub(super) fn of(&self, motif: Motif, number: usize) -> &str {
        let ids = self.0.iter().find(|(of, _)| *of == motif).map(|(_, ids)| ids.as_slice());
        let ids = ids.unwrap_or_default();
        ids.get(number % ids.len().max(1)).map_or("", String::as_str)
    }

    /// Gives the products, people and departments their images, as a merchant does. `people` are their global ids.
    pub(super) async fn hang(
        &self,
        client: &DemoClient,
        products: &[Product],
        people: &[String],
        steps: &Steps,
    ) -> Result<(), Failure> {
        let merchant = someone(MERCHANT, &[Role::Merchant]);
        let departments = client.execute(&merchant, DEPARTMENTS, json!({})).await?;
        let departments = departments["categories"]["nodes"].as_array().cloned();
        let departments = departments.unwrap_or_default();
        let picture = |motif, number, of: &str| json!({ "assetId": self.of(motif, number), "alternativeText": of });
        let image = |subject: &str, motif, number, of: &str| json!({ "subjectId": subject, "images": [picture(motif, number, of)] });
        let of_products = products.iter().enumerate().map(|(number, product)| {
            let (id, title) = (NodeKind::PRODUCT.id(&product.sku), &product.title);
            let motif = Motif::of(product.kind);
            let of = if motif.is_cover() { "Cover of " } else { "" };
            let cover = picture(motif, number, &format!("{of}{title}"));
            let variants = finishes(product).map(|(_, finish, _)| {
                picture(motif.in_finish(finish), number, &format!("{title} in {finish}"))
            });
            let images: Vec<Value> = [cover].into_iter().chain(variants).collect();
            json!({ "subjectId": *id, "images": images })
        });
        let of_people = people.iter().enumerate();
        let of_people =
            of_people.map(|(number, id)| image(id, Motif::Person, number, "A portrait"));
        let of_departments = departments.iter().enumerate().map(|(number, one)| {
            let (id, path, name) = (text(&one["id"]), text(&one["path"]), text(&one["name"]));
            image(&id, Motif::of(&path), number, &name)
        });
        let inputs: Vec<Value> = of_products.chain(of_people).chain(of_departments).collect();
        let merchant = &merchant;
        let set = inputs.into_iter().map(|input| async move {
            client.execute(merchant, SET, json!({ "input": input })).await
        });
        steps.each("images", set).await.map(drop)
    }
}
