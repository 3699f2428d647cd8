import Testing

/// Tests of whole workers, each in its own process, with real services.
@Suite(.wholeSystem)
struct EndToEnd {}
