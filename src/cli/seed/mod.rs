//! Fills the demo's shop with the data of the crate `docgate-demo`. Categories, products, one discussion, and people with
//! their posts are imported; everything else is created through the schema, as by clients.

mod ads;
mod client;
mod covers;
mod cut;
mod delivery;
mod discussions;
mod events;
mod fulfilment;
mod goods;
mod hits;
mod jobs;
mod life;
mod messages;
mod people;
mod pictures;
mod shoppers;
mod site;
mod theaters;
mod ticker;
mod together;
mod traffic;
mod vouchers;
mod world;

use std::time::Duration;

use docgate_demo::{people::Cast, products, random::Random, tree};
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::{MultiProgress, ProgressBar};
use mongodb::Database;

use crate::{
    app::App,
    cli::{failure::Failure, progress::styled, terminal},
    config::Config,
};
use client::DemoClient;
use covers::Covers;
use goods::AT_ONCE;
use shoppers::Visits;

pub(super) use ads::traffic as run_ads;
pub(super) use cut::Cut;
pub(super) use docgate_demo::products::FIRST_SKU;
pub(super) use events::run as run_requests;
pub(super) use jobs::work;
pub(super) use life::live;
pub(super) use theaters::run as run_theaters;
pub(super) use ticker::run as run_ticker;
pub(super) use traffic::run as run_traffic;
pub(super) use world::wander;

/// Number of products of the shop, unless another one is asked for.
pub(super) const PRODUCTS: u32 = 5_000;
/// Subject of the demo's shopper.
pub(super) const SHOPPER: &str = "shopper";
/// Subject of the demo's merchant.
pub(super) const MERCHANT: &str = "merchant";

/// Fills an empty database with a shop of `count` products. Returns the flows that were left interrupted.
pub(super) async fn fill(
    config: &Config,
    database: &Database,
    count: u32,
) -> Result<Vec<Cut>, Failure> {
    let app = App::new(config.clone(), database.clone());
    app.refresh_versions().await?;
    let client = DemoClient::new(app.clone());
    let steps = Steps::default();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let tree = tree::categories();
    let [albums, films, books, _] = products::shares(count);
    let cast = Cast::of(&mut Random::new(7), albums, films, books);
    let products = products::products(count, &cast, &tree);

    let galleries = site::create(&client, &steps).await?;
    pictures::upload(&client, &galleries, &steps).await?;
    let covers = Covers::upload(&client, &steps).await?;
    goods::create_categories(&app, &tree, &steps).await?;
    let people = goods::create_people(&client, &cast, &steps).await?;
    goods::create_products(&app, &products, &people, &steps).await?;
    goods::add_stock(&client, &products, &steps).await?;
    covers.hang(&client, &products, &people, &steps).await?;
    goods::show_variants(&app, &products, &people, &covers).await?;
    vouchers::create(&client, &steps).await?;

    people::create(&app, count, &steps).await?;
    messages::send(&client, &steps).await?;
    jobs::create(&app, &client, &steps).await?;
    hits::create(&app, &steps).await?;
    traffic::create(&app, &client, &steps).await?;
    events::log(&app, &client, count, &steps).await?;
    ads::create(&app, &client, &steps).await?;
    world::create(&app, count, &covers, &steps).await?;
    let shoppers = shoppers::create(&client, 40, &steps).await?;
    shoppers::transfer_money(&client, &shoppers, &steps).await?;
    theaters::create(&app, &client, &shoppers, count, &steps).await?;
    discussions::create(&app, &client, &products, &shoppers, &steps).await?;
    let visits = Visits { client: &client, shoppers: &shoppers, products: &products };
    // A small shop gets few visitors, so that it isn't sold out.
    let few = (count / 10).min(24);
    visits.abandon_carts(few, &steps).await?;
    visits.cancel_carts(few, &steps).await?;
    visits.place_orders(10 * few, &steps).await?;
    shoppers::expire(config, &app).await?;
    let cuts = cut::cut(config, &visits, &shoppers[0], &steps).await?;
    visits.fill_carts(2 * few, &steps).await?;
    app.tasks().close();
    app.tasks().wait().await;
    Ok(cuts)
}

/// Acts in the demo's shop again and again, with pauses of these shortest and longest milliseconds. It never ends; dropping it
/// ends it.
async fn keep_acting(
    app: &App,
    pauses: (i64, i64),
    mut act: impl AsyncFnMut(&DemoClient, &mut Random) -> Result<(), Failure>,
) {
    let client = DemoClient::new(app.clone());
    let mut random = Random::new(app.clock().timestamp_millis().unsigned_abs());
    loop {
        pause(&mut random, pauses).await;
        if let Err(failure) = act(&client, &mut random).await {
            tracing::debug!(event = "demo_action_failed", ?failure, "an action of the demo failed");
        }
    }
}

async fn pause(random: &mut Random, (shortest, longest): (i64, i64)) {
    let pause = random.between(shortest, longest).unsigned_abs();
    tokio::time::sleep(Duration::from_millis(pause)).await;
}

/// Progress of the steps: a bar for each on a terminal, otherwise a line for each.
#[derive(Default)]
struct Steps(MultiProgress);

impl Steps {
    fn begin(&self, what: &'static str, count: usize) -> ProgressBar {
        let bar = self.0.add(ProgressBar::new(count as u64));
        if bar.is_hidden() {
            terminal::remark(format_args!("  {what}: {count}"));
        }
        styled(bar, "  {prefix:18} {bar:30} {pos} of {len}").with_prefix(what)
    }

    /// Does all of this work, several parts of it at once. Returns their results, in the order of the parts.
    async fn each<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        what: &'static str,
        work: impl ExactSizeIterator<Item = F>,
    ) -> Result<Vec<T>, Failure> {
        let bar = self.begin(what, work.len());
        let done = stream::iter(work).buffered(AT_ONCE).inspect_ok(|_| bar.inc(1));
        let done = done.try_collect().await?;
        bar.finish();
        Ok(done)
    }
}
