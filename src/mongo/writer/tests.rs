//! What the counts of replies tell.

use super::*;

#[test]
fn a_document_that_is_left_out_isnt_hidden_by_one_of_a_failed_statement() {
    let of_member = Expected { all: 5, shared: 3, stray: 0, is_exact: true };
    let lacks = [1, 2, 4, 5, 6].map(|matched| of_member.lacks(matched));
    assert_eq!(lacks, [None, Some(true), Some(true), Some(false), None]);
    // The fifth document can be one of the failed statement.
    let of_router = Expected { stray: 2, ..of_member };
    let lacks = [1, 4, 5, 7, 8].map(|matched| of_router.lacks(matched));
    assert_eq!(lacks, [None, Some(true), Some(true), Some(true), None]);
    let single = Expected { shared: 0, ..of_router };
    assert_eq!([4, 5, 7].map(|matched| single.lacks(matched)), [None, Some(false), Some(false)]);
    let any = Expected { all: 2, shared: 0, stray: 0, is_exact: false };
    assert_eq!([1, 2, 9].map(|matched| any.lacks(matched)), [None, Some(false), Some(false)]);
}
