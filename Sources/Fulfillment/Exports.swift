// What the domain's own interface is made of: whoever imports Fulfillment handles times, identifiers and JSON with it.
// None of these modules knows a word of the domain, reads a clock, opens a file or imports Foundation.
@_exported import Encodings
@_exported import Identifiers
@_exported import Timestamps
