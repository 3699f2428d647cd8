/// The bytes of parked unproven proofs in the whole fleet, as far as one replica knows.
///
/// The database is asked now and then and not each time: more often, the less room is left. So each replica may add a small
/// part of the room that the others do not know of yet, and whatever went wrong with a count is mended by the next one.
struct UnprovenBytes: Sendable {
    /// A count is as old at most, in seconds: then what was answered meanwhile has made room.
    static let longestSeconds = 5.0
    /// And not taken again sooner, in seconds.
    static let shortestSeconds = 0.5
    /// The share of the remaining room that one replica may add to a count.
    static let shareOfRoom: Int64 = 16

    let limit: Int64
    private var counted: Int64 = 0
    private var added: Int64 = 0
    private var countedAt = -Double.infinity

    init(limit: Int64) {
        self.limit = limit
    }

    /// Bytes that may still be parked.
    var room: Int64 { max(0, limit - counted - added) }

    /// - Parameter now: in seconds, of a clock that only grows.
    func mustCount(now: Double) -> Bool {
        let age = now - countedAt
        if age >= Self.longestSeconds { return true }
        return age >= Self.shortestSeconds && added > max(0, limit - counted) / Self.shareOfRoom
    }

    mutating func counted(_ bytes: Int64, now: Double) {
        (counted, added, countedAt) = (bytes, 0, now)
    }

    /// This replica has parked so many more.
    mutating func parked(_ bytes: Int64) { added += bytes }
}
