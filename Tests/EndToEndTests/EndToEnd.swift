import Testing

/// Whole workers, in processes of their own, on real parts. They mostly wait for sessions, leases and delays, so that a few
/// run at once.
@Suite(.atOnce(3))
struct EndToEnd {}
