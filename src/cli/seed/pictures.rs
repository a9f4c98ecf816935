//! Uploads generated pictures.

use async_graphql::ID;
use docgate_demo::{pictures::Picture, random::Random};
use serde_json::json;

use super::{
    Steps,
    client::{DemoClient, File, someone},
};
use crate::{cli::failure::Failure, graphql::requester::Role};

/// Subject of the demo's editor.
pub(super) const EDITOR: &str = "editor";

/// Number of pictures in each gallery.
const EACH: usize = 8;

const UPLOAD: &str = "mutation($input: UploadAssetInput!) { uploadAsset(input: $input) {
    __typename ... on UserError { code message } } }";

/// Uploads pictures into galleries; `None` stands for the root.
pub(super) async fn upload(
    client: &DemoClient,
    galleries: &[Option<ID>],
    steps: &Steps,
) -> Result<(), Failure> {
    let editor = someone(EDITOR, &[Role::Editor]);
    let bar = steps.begin("pictures", galleries.len() * EACH);
    let mut random = Random::new(28);
    for (number, gallery) in galleries.iter().enumerate() {
        for at in 0..EACH {
            let picture = Picture::of(&mut random);
            let slug = format!("{}-{}", picture.slug(), at + 1);
            let input = json!({
                "file": null,
                "parentId": gallery,
                "slug": slug,
                "title": picture.title(),
                "tags": ["picture", picture.place.0.to_lowercase(), picture.hour.0],
                "attributes": [
                    { "key": "place", "value": { "text": picture.place.0 } },
                    { "key": "stars", "value": { "number": random.between(1, 5) } },
                    { "key": "printed", "value": { "flag": random.chance(30) } },
                ],
                "idempotencyKey": format!("picture-{number}-{at}"),
            });
            let bytes = picture.paint(&mut random);
            let bytes = bytes.map_err(|error| Failure::trouble(format!("a picture: {error}")))?;
            let file = File { name: format!("{slug}.png"), bytes };
            client.execute_with_file(&editor, UPLOAD, json!({ "input": input }), file).await?;
            bar.inc(1);
        }
    }
    bar.finish();
    Ok(())
}
