/**
 * @generated SignedSource<<1fee621980d26fd99c9713c8406fd3af>>
 * @lightSyntaxTransform
 */

/* eslint-disable */

'use strict';

import PersonRefetchQuery_graphql from './PersonRefetchQuery.graphql';

var node = {
  "argumentDefinitions": [],
  "kind": "Fragment",
  "metadata": {
    "refetch": {
      "connection": null,
      "fragmentPathInResult": [
        "node"
      ],
      "operation": PersonRefetchQuery_graphql,
      "identifierInfo": {
        "identifierField": "id",
        "identifierQueryVariableName": "id"
      }
    }
  },
  "name": "PersonRow_person",
  "selections": [
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "name",
      "storageKey": null
    },
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "id",
      "storageKey": null
    }
  ],
  "type": "Person",
  "abstractKey": null
};

node.hash = "cdf6430e0d6f5b56b85c363763ddb36c";

export default node;
