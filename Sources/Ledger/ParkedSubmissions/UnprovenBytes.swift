/// The bytes of the whole fleet's parked unproven proofs, as far as one replica knows.
///
/// A replica sums them in the database from time to time, and more often if little room is left. Between two counts it
/// knows only its own additions, so each replica may use only a small part of the room until its next count.
struct UnprovenBytes: Sendable {
    /// The age of a count, in seconds, at which the replica counts again, because decided submissions have freed room.
    static let longestSeconds = 5.0
    /// The shortest time between two counts, in seconds.
    static let shortestSeconds = 0.5
    /// The replica counts again when it has added more than the remaining room divided by this number.
    static let shareOfRoom: Int64 = 16

    let limit: Int64
    private var counted: Int64 = 0
    private var added: Int64 = 0
    private var countedAt = -Double.infinity

    init(limit: Int64) {
        self.limit = limit
    }

    /// The number of bytes that may still be parked.
    var room: Int64 { max(0, limit - counted - added) }

    /// - Parameter now: the time in seconds, by a clock that never goes back.
    func mustCount(now: Double) -> Bool {
        let age = now - countedAt
        if age >= Self.longestSeconds { return true }
        return age >= Self.shortestSeconds && added > max(0, limit - counted) / Self.shareOfRoom
    }

    mutating func counted(_ bytes: Int64, now: Double) {
        (counted, added, countedAt) = (bytes, 0, now)
    }

    /// Notes that this replica parked this many bytes.
    mutating func parked(_ bytes: Int64) { added += bytes }
}
