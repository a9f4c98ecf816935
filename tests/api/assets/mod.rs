//! Assets through the door: GraphQL, and plain HTTP.

mod attributes;
mod deletions;
mod downloads;
mod flows;
mod limits;
mod lists;
mod multipart;
mod puts;
pub(crate) mod renditions;
mod repeats;
mod replacements;
mod slow;
mod sweeps;
mod uploads;

use mongodb::bson::{Bson, DateTime, Document, doc, oid::ObjectId};
use reqwest::{Method, Response, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

use crate::support::{Client, Gateway, http, key};

/// Bytes of a chunk.
const CHUNK: usize = 255 * 1024;

const ASSET: &str = "__typename
    ... on Asset {
      id version slug path parentId url title tags author { id name } access mediaType fileName length sha256
      width height publishedAt attributes { key text number date flag }
    }
    ... on UserError { code message } ... on InvalidInput { field }";

/// A file that a client sends.
#[derive(Clone)]
pub(crate) struct File {
    name: String,
    media_type: String,
    bytes: Vec<u8>,
}

pub(crate) fn file(name: &str, media_type: &str, bytes: impl Into<Vec<u8>>) -> File {
    File { name: name.into(), media_type: media_type.into(), bytes: bytes.into() }
}

/// Bytes that repeat nowhere near a chunk's length.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    // No text, whatever comes.
    let mut bytes: Vec<u8> = (0..length).map(|_| next()).collect();
    if let Some(first) = bytes.first_mut() {
        *first = 0;
    }
    bytes
}

const BOUNDARY: &str = "----WebKitFormBoundaryAssetsOfTests";

/// A body as browsers send it for `apollo-upload-client`.
fn form(operations: &Value, map: &Value, files: &[(&str, &File)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, text) in [("operations", operations), ("map", map)] {
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n"
        );
        body.extend_from_slice(part.as_bytes());
    }
    for (name, File { name: file_name, media_type, bytes }) in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file_name}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// Sends such a body; `Err` where the connection is cut.
pub(crate) async fn send_form(
    client: &Client,
    body: Vec<u8>,
) -> reqwest::Result<(StatusCode, Value)> {
    let mut request = http()
        .post(&client.url)
        .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"))
        .header("apollo-require-preflight", "true")
        .body(body);
    if let Some(token) = &client.token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await?;
    Ok((response.status(), response.json().await?))
}

fn mutation(field: &str) -> String {
    let (first, rest) = field.split_at(1);
    let input = format!("{}{rest}Input", first.to_uppercase());
    let answer = match field {
        "deleteAsset" => {
            "__typename ... on DeletedAsset { id } ... on UserError { code message }
             ... on AssetConflict { current { title version } }"
        }
        "uploadAsset" => {
            "... on FileTooLarge { most } ... on MediaTypeNotAllowed { sentMediaType allowed }
             ... on AlreadyExists { id }"
        }
        "replaceAsset" => {
            "... on FileTooLarge { most } ... on AssetConflict { current { title version } }"
        }
        "editAsset" => "... on AssetConflict { current { title version } }",
        _ => "",
    };
    let asset = if field == "deleteAsset" { "" } else { ASSET };
    format!("mutation($input: {input}!) {{ {field}(input: $input) {{ {asset} {answer} }} }}")
}

/// A request with one file in `input.file`.
pub(crate) fn with_file(field: &str, mut input: Value, file: &File) -> Vec<u8> {
    input["file"] = Value::Null;
    let operations = json!({ "query": mutation(field), "variables": { "input": input } });
    form(&operations, &json!({ "0": ["variables.input.file"] }), &[("0", file)])
}

/// Uploads or replaces, and answers with what the mutation does.
async fn send_file(client: &Client, field: &str, input: Value, file: &File) -> Value {
    let sent = send_form(client, with_file(field, input, file)).await;
    let (_, response) = sent.expect("an answer");
    assert!(response.get("errors").is_none(), "{response:#}");
    response["data"][field].clone()
}

pub(crate) fn editor(gateway: &Gateway) -> Client {
    gateway.user("the-editor", &["editor"])
}

/// Uploads a file as an editor; it must become an asset.
pub(crate) async fn uploaded(gateway: &Gateway, input: Value, file: &File) -> Value {
    let asset = send_file(&editor(gateway), "uploadAsset", input, file).await;
    assert_eq!(asset["__typename"], "Asset", "{asset:#}");
    asset
}

/// Runs a mutation without files.
async fn ask(client: &Client, field: &str, input: Value) -> Value {
    client.field(&mutation(field), json!({ "input": input })).await
}

/// Deletes an asset as an editor.
pub(crate) async fn deleted(gateway: &Gateway, asset: &Value) {
    let gone = ask(&editor(gateway), "deleteAsset", json!({ "assetId": asset["id"] })).await;
    assert_eq!(gone["id"], asset["id"], "{gone:#}");
}

/// A request for a file.
struct Door<'a> {
    gateway: &'a Gateway,
    token: Option<String>,
}

impl<'a> Door<'a> {
    fn open(gateway: &'a Gateway) -> Self {
        Self { gateway, token: None }
    }

    fn of(gateway: &'a Gateway, client: &Client) -> Self {
        Self { gateway, token: client.token.clone() }
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("http://{}/assets{path}", self.gateway.address);
        let request = http().request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn get(&self, path: &str, headers: &[(&'static str, &str)]) -> Response {
        let request = self.request(Method::GET, path);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.expect("an answer")
    }

    /// Status and body.
    async fn bytes(&self, path: &str, headers: &[(&'static str, &str)]) -> (u16, Vec<u8>) {
        let response = self.get(path, headers).await;
        (response.status().as_u16(), response.bytes().await.expect("the body").to_vec())
    }

    async fn put(&self, path: &str, body: Vec<u8>, headers: &[(&'static str, &str)]) -> Answer {
        let request = self.request(Method::PUT, path).body(body);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        Answer::of(request.send().await.expect("an answer")).await
    }
}

/// An answer in JSON.
struct Answer {
    status: u16,
    head: HeaderMap,
    body: Value,
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (status, head) = (response.status().as_u16(), response.headers().clone());
        let body = response.json().await.unwrap_or(Value::Null);
        Self { status, head, body }
    }

    fn head(&self, name: &str) -> &str {
        header(&self.head, name)
    }

    fn code(&self) -> &str {
        self.body["errors"][0]["extensions"]["code"].as_str().unwrap_or_default()
    }
}

fn header<'a>(head: &'a HeaderMap, name: &str) -> &'a str {
    head.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Creates content at a path, with folders above it; answers with its global id.
pub(crate) async fn parent(gateway: &Gateway, path: &str, kind: &str, access: &[&str]) -> String {
    let steps: Vec<_> = path.split('/').skip(1).collect();
    let access: Vec<_> = access.iter().map(|role| role.to_uppercase()).collect();
    let mut above = Value::Null;
    for (at, slug) in steps.iter().enumerate() {
        let last = at + 1 == steps.len();
        let kind = if last { kind.to_uppercase() } else { "FOLDER".to_owned() };
        let input = json!({
            "type": kind, "slug": slug, "parentId": above, "text": { "title": slug },
            "access": if last { json!(access) } else { json!([]) },
        });
        above = crate::content::create(gateway, input).await["id"].clone();
    }
    above.as_str().expect("an id").to_owned()
}

/// An asset's document.
async fn stored(gateway: &Gateway, id: &str) -> Document {
    let entries = gateway.database.collection::<Document>("assetEntries");
    let found = entries.find_one(doc! { "_id": key(id) }).await.expect("a read");
    found.expect("the asset")
}

async fn blob_of(gateway: &Gateway, asset: &Value) -> ObjectId {
    let entry = stored(gateway, asset["id"].as_str().expect("an id")).await;
    let file = entry.get_document("file").expect("a file");
    file.get_object_id("blob").expect("a blob")
}

/// How many documents each collection of the bucket and the entries has: entries, files, chunks.
async fn counts(gateway: &Gateway) -> [u64; 3] {
    let mut counts = [0; 3];
    for (at, name) in ["assetEntries", "assets.files", "assets.chunks"].into_iter().enumerate() {
        let collection = gateway.database.collection::<Document>(name);
        counts[at] = collection.estimated_document_count().await.expect("a count");
    }
    counts
}

/// Lets all blobs that were let go be due, and the ops of what was deleted be forgotten.
async fn let_time_pass(gateway: &Gateway) {
    let entries = gateway.database.collection::<Document>("assetEntries");
    let deleted = doc! { "deletedAt": { "$exists": true } };
    let past = doc! { "$set": { "deletedAt": DateTime::from_millis(0) } };
    entries.update_many(deleted, past).await.expect("updated");
    let files = gateway.database.collection::<Document>("assets.files");
    let gone = doc! { "metadata.removeAfter": { "$exists": true } };
    let past = doc! { "$set": { "metadata.removeAfter": DateTime::from_millis(0) } };
    files.update_many(gone, past).await.expect("updated");
}

fn bson_id(id: ObjectId) -> Bson {
    Bson::ObjectId(id)
}
