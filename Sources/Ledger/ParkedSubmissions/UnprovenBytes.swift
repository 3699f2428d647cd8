/// The bytes of parked unproven proofs in the whole fleet, as far as one replica knows.
///
/// A replica asks the database now and then, and more often the less room is left. So each replica may add a small part
/// of the room before the others know of it. The next count mends every error of the last one.
struct UnprovenBytes: Sendable {
    /// The age in seconds at which a count is renewed, because answered submissions have made room meanwhile.
    static let longestSeconds = 5.0
    /// The shortest time between two counts, in seconds.
    static let shortestSeconds = 0.5
    /// The divisor of the remaining room: the replica counts again once it has added more than this part of the room.
    static let shareOfRoom: Int64 = 16

    let limit: Int64
    private var counted: Int64 = 0
    private var added: Int64 = 0
    private var countedAt = -Double.infinity

    init(limit: Int64) {
        self.limit = limit
    }

    /// The bytes that may still be parked.
    var room: Int64 { max(0, limit - counted - added) }

    /// - Parameter now: the time in seconds, by a clock that only grows.
    func mustCount(now: Double) -> Bool {
        let age = now - countedAt
        if age >= Self.longestSeconds { return true }
        return age >= Self.shortestSeconds && added > max(0, limit - counted) / Self.shareOfRoom
    }

    mutating func counted(_ bytes: Int64, now: Double) {
        (counted, added, countedAt) = (bytes, 0, now)
    }

    /// Notes that this replica has parked so many more bytes.
    mutating func parked(_ bytes: Int64) { added += bytes }
}
