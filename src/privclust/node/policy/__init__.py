"""What a node's owner allows: tables, analysts, issuers and federations."""
