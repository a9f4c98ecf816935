//! Which items of a list a pass finishes, and where the next one goes on.

use std::{cell::RefCell, collections::BTreeSet};

use super::*;

fn a_sweep() -> Sweep {
    let second = Duration::from_secs(1);
    let bounds =
        Bounds { attempt: second, command: second, skew: second, ops: second, most_ops: 1 };
    Sweep::at(DateTime::from_millis(1_000), bounds)
}

/// The items that a pass tries, in pages of two. None of them is ever finished. The time of an item in milliseconds is a
/// tenth of its number.
async fn pass(places: &Arc<Places>, time: Duration, all: &[i64]) -> Vec<i64> {
    pass_of(places, time, all, 2_i64.into()).await
}

async fn pass_of(places: &Arc<Places>, time: Duration, all: &[i64], pages: Pages) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut sweep = Sweep { time, ..a_sweep().limited("room", Arc::clone(places)) };
    let page = |from: DateTime, limit: i64| {
        let rest = all.iter().copied().filter(move |item| time_of(*item) >= from);
        let limit = usize::try_from(limit).expect("a limit");
        std::future::ready(Ok(rest.take(limit).map(|item| swept(item, time_of(item))).collect()))
    };
    let finish = |item: i64| {
        seen.push(item);
        // What fails doesn't hold up the rest.
        std::future::ready(if item % 2 == 0 { Ok(false) } else { Err(Error::internal("failed")) })
    };
    sweep.each_page("items", pages, page, finish).await;
    seen
}

fn swept(item: i64, at: DateTime) -> Swept<i64> {
    Swept { id: item.to_string(), at: Some(at), document: Some(item) }
}

fn time_of(item: i64) -> DateTime {
    DateTime::from_millis(item / 10)
}

#[tokio::test]
async fn a_pass_without_time_tries_one_item_and_the_next_goes_on() {
    let places = Arc::default();
    let all = [10, 20, 30, 40];
    for expected in [10, 20, 30, 40, 10] {
        assert_eq!(pass(&places, Duration::ZERO, &all).await, [expected]);
    }
    // With time it goes on to the end, and the next pass begins at the front.
    for expected in [[20, 30, 40].as_slice(), &all] {
        assert_eq!(pass(&places, Duration::MAX, &all).await, expected);
    }
    // Another list has a place of its own.
    assert!(places.times.take("room: others").is_none());
}

#[tokio::test]
async fn a_pass_without_time_goes_on_between_items_of_one_time() {
    let places = Arc::default();
    let all = [10, 11, 12, 13, 14, 20];
    for expected in [10, 11, 12, 13, 14, 20, 10] {
        assert_eq!(pass(&places, Duration::ZERO, &all).await, [expected]);
    }
    assert_eq!(pass(&places, Duration::MAX, &all).await, [11, 12, 13, 14, 20]);
}

#[tokio::test]
async fn items_side_by_side_are_each_tried_once() {
    let places = Arc::default();
    let all = [10, 11, 12, 20, 30];
    let pages = Pages { limit: 3, side_by_side: 2 };
    for expected in [[10, 11].as_slice(), &[12, 20], &[30], &[10, 11]] {
        assert_eq!(pass_of(&places, Duration::ZERO, &all, pages).await, expected);
    }
    assert_eq!(pass_of(&places, Duration::MAX, &all, pages).await, [12, 20, 30]);
}

#[tokio::test]
async fn more_items_of_one_time_than_a_pass_tries_dont_hold_up_those_behind() {
    let many = count(2 * OF_ONE_TIME);
    let mut sweep = a_sweep();
    // All but the last two have one time.
    let of = |item: i64| DateTime::from_millis(if item < many { 1 } else { item });
    let page = |from: DateTime, limit: i64| {
        let rest = (0..many + 2).filter(move |item| of(*item) >= from);
        let read = rest.take(usize::try_from(limit).expect("a limit"));
        std::future::ready(Ok(read.map(|item| swept(item, of(item))).collect()))
    };
    let mut seen = Vec::new();
    let finish = |item: i64| {
        seen.push(item);
        std::future::ready(Ok(false))
    };
    sweep.each_page("items", 100_i64, page, finish).await;
    let tried = count(seen.len());
    assert!(tried >= count(OF_ONE_TIME) && tried < many, "{tried}");
    assert_eq!(seen[seen.len() - 2..], [many, many + 1]);
}

#[tokio::test]
async fn more_items_of_one_time_are_all_finished() {
    let all = 0..count(2 * OF_ONE_TIME);
    let left: RefCell<BTreeSet<i64>> = RefCell::new(all.clone().collect());
    let page = |from: DateTime, limit: i64| {
        let limit = if from > DateTime::from_millis(1) { 0 } else { limit };
        let limit = usize::try_from(limit).expect("a limit");
        let at = DateTime::from_millis(1);
        let read = left.borrow().iter().take(limit).map(|item| swept(*item, at)).collect();
        std::future::ready(Ok(read))
    };
    let finish = |item: i64| std::future::ready(Ok(left.borrow_mut().remove(&item)));
    let mut sweep = a_sweep();
    sweep.each_page("items", 100_i64, page, finish).await;
    assert_eq!(sweep.finished().ok(), u64::try_from(all.end).ok());
}

#[tokio::test]
async fn a_page_that_ignores_the_time_comes_to_an_end() {
    let mut sweep = a_sweep();
    let page = |_: DateTime, limit: i64| {
        std::future::ready(Ok((10..10 + limit).map(|item| swept(item, time_of(item))).collect()))
    };
    let finish = |_: i64| std::future::ready(Ok(true));
    sweep.each_page("items", 2_i64, page, finish).await;
    assert!(sweep.finished().is_ok());
}

#[tokio::test]
async fn items_that_cant_be_read_hold_up_no_others() {
    // Most items of one time can't be read, and there are more of these than a page has.
    let all: Vec<i64> = (10..35).collect();
    let page = |from: DateTime, limit: i64| {
        let rest = all.iter().copied().filter(|item| time_of(*item) >= from);
        let read = rest.take(usize::try_from(limit).expect("a limit"));
        let torn = |item: i64| {
            swept(item, time_of(item)).and_then(|item| (item % 10 == 9).then_some(item))
        };
        std::future::ready(Ok(read.map(torn).collect()))
    };
    let mut seen = Vec::new();
    let finish = |item: i64| {
        seen.push(item);
        std::future::ready(Ok(true))
    };
    let mut sweep = a_sweep();
    sweep.each_page("items", 2_i64, page, finish).await;
    assert_eq!(seen, [19, 29]);
    assert_eq!(sweep.unreadable(), 23);
    assert_eq!(sweep.finished().ok(), Some(2));
}

/// The names that a pass works on.
async fn named(places: &Arc<Places>, time: Duration) -> Vec<String> {
    let mut seen = Vec::new();
    let mut sweep = Sweep { time, ..a_sweep().limited("room", Arc::clone(places)) };
    let next = |last: Option<String>| {
        let mut all = ["a", "b", "c"].into_iter();
        let next = all.find(|name| last.as_deref().is_none_or(|last| *name > last));
        std::future::ready(Ok(next.map(str::to_owned)))
    };
    let work = |name: String| {
        // What fails doesn't hold up the rest.
        let done = if name == "a" { Err(Error::internal("failed")) } else { Ok(1) };
        seen.push(name);
        std::future::ready(done)
    };
    sweep.each_name("names", next, work).await;
    seen
}

#[tokio::test]
async fn a_pass_without_time_works_on_one_name_and_the_next_goes_on() {
    let places = Arc::default();
    for expected in [["a"].as_slice(), &["b"], &["c"], &[], &["a"]] {
        assert_eq!(named(&places, Duration::ZERO).await, expected);
    }
    assert_eq!(named(&places, Duration::MAX).await, ["b", "c"]);
    assert_eq!(named(&places, Duration::MAX).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn items_of_one_time_that_stay_dont_hold_up_those_behind() {
    let all = [10, 11, 12, 13, 14, 20, 30];
    assert_eq!(pass(&Arc::default(), Duration::MAX, &all).await, all);
}

#[tokio::test]
async fn a_page_that_cant_be_read_is_no_place_to_go_on() {
    let places = Arc::new(Places::default());
    let place = Place { from: DateTime::from_millis(3), tried: HashSet::new() };
    places.times.note("room: items".to_owned(), place);
    let mut sweep = a_sweep().limited("room", Arc::clone(&places));
    let page = |_, _| std::future::ready(Err(Error::internal("unread")));
    let finish = |_: i64| std::future::ready(Ok(true));
    sweep.each_page("items", 2_i64, page, finish).await;
    assert!(sweep.finished().is_err());
    assert!(places.times.take("room: items").is_none());
}
