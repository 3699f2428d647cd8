import Testing

/// Whole workers, in processes of their own, on real parts.
@Suite(.wholeSystem)
struct EndToEnd {}
