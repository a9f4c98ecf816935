// A list with pages, and one of its rows that can be fetched again by itself.

import { graphql } from "relay-runtime";

graphql`
  query PeoplePageQuery($count: Int!) {
    ...PeopleList_query @arguments(count: $count)
  }
`;

graphql`
  fragment PeopleList_query on Query
  @argumentDefinitions(count: { type: "Int", defaultValue: 20 }, cursor: { type: "String" })
  @refetchable(queryName: "PeopleListPaginationQuery") {
    people(first: $count, after: $cursor) @connection(key: "PeopleList_people") {
      edges {
        node {
          id
          ...PersonRow_person
        }
      }
    }
  }
`;

graphql`
  fragment PersonRow_person on Person @refetchable(queryName: "PersonRefetchQuery") {
    name
  }
`;
