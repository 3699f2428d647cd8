/// Tells a database from one that has forgotten: it changes with every fail-over and every restore.
public struct DatabaseHistory: Hashable, Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// How far the partitions of a topic are durable, as a database says.
public struct DurableProgress: Sendable, Equatable {
    public let history: DatabaseHistory
    /// By partition: every record before this offset is decided, as far as this database has to know. A partition that
    /// was never noted has none.
    public let offsets: [Int32: Int64]
    /// By partition: how many of its owners have left in order.
    public let departures: [Int32: Int64]

    public init(history: DatabaseHistory, offsets: [Int32: Int64], departures: [Int32: Int64]) {
        self.history = history
        self.offsets = offsets
        self.departures = departures
    }
}

/// The offsets that the database itself keeps. One that fell back to an earlier state fell back with them, so that the
/// records whose decisions it has lost are known.
public protocol DurableOffsets: Sendable {
    /// Throws where the database is out of reach.
    func read(topic: String, partitions: [Int32]) async throws -> DurableProgress

    /// Notes next offsets by partition, whatever stood there. To be called when everything before them is decided:
    /// behind those decisions, so that no state of the database has the note without them.
    ///
    /// False, and nothing is noted, where the database's history is another one: what was decided in `history` may be
    /// lost there. Throws where the database is out of reach.
    func note(_ offsets: [Int32: Int64], topic: String, in history: DatabaseHistory) async throws -> Bool

    /// Counts a departure of each partition's owner, and returns their numbers. Partitions that were never noted have
    /// none. Throws where the database is out of reach.
    func noteDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64]
}
