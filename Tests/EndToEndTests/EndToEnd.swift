import Testing

/// Whole workers, in processes of their own, on real parts. One test at a time: each keeps the machine busy.
@Suite(.serialized)
struct EndToEnd {}
