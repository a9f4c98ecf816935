"""What schemathesis needs to know of docgate: how its scalars are written, and what no answer may be."""

import schemathesis
from hypothesis import strategies as st
from schemathesis.graphql import nodes

TEXTS = st.text(max_size=40)


def written(*likely: str) -> st.SearchStrategy:
    """Texts of which some are what the scalar takes."""
    return (st.sampled_from(likely) | TEXTS).map(nodes.String)


LONGS = st.integers(-(2**63), 2**63 - 1)

schemathesis.graphql.scalar("CurrencyCode", written("EUR", "USD", "JPY"))
schemathesis.graphql.scalar("Date", written("2024-02-29", "1999-12-31"))
schemathesis.graphql.scalar("DateTime", written("2024-02-29T12:00:00Z", "2024-02-29T12:00:00.5+02:00"))
schemathesis.graphql.scalar("LocaleTag", written("en", "de-AT", "zh-Hant"))
schemathesis.graphql.scalar("Long", LONGS.map(nodes.Int) | st.integers(1, 20).map(nodes.Int) | LONGS.map(str).map(nodes.String))
schemathesis.graphql.scalar("Slug", written("music", "author", "a-b-c"))
# Files come as multipart/form-data, which isn't sent here: whatever stands in their place is refused.
schemathesis.graphql.scalar("Upload", TEXTS.map(nodes.String))


@schemathesis.check
def no_trouble_inside(ctx, response, case) -> None:
    """Whatever is sent, the answer is GraphQL, and never that something inside went wrong."""
    assert response.status_code < 500, f"status {response.status_code}: {response.text}"
    answer = response.json()
    assert isinstance(answer, dict) and ("data" in answer or "errors" in answer), response.text
    for error in answer.get("errors") or []:
        code = error.get("extensions", {}).get("code")
        assert code not in ("INTERNAL_SERVER_ERROR", "UNAVAILABLE", "TIMEOUT"), response.text
