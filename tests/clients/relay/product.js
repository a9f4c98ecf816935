// A product by its global id, and a mutation that changes it where it is shown.

import { graphql } from "relay-runtime";

graphql`
  query ProductNodeQuery($id: ID!) {
    node(id: $id) {
      __typename
      id
      ...ProductCard_product @alias(as: "product")
    }
  }
`;

graphql`
  fragment ProductCard_product on Product {
    sku
    title
    pricing {
      retail {
        minorUnits
        currency
      }
    }
  }
`;

graphql`
  mutation ProductPriceMutation($input: SetProductPriceInput!) {
    setProductPrice(input: $input) {
      __typename
      ...ProductCard_product @alias(as: "product")
      ... on UserError {
        code
        message
      }
    }
  }
`;
