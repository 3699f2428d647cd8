import NamesAndTimes

/// Tells one life of a database from another: it changes with every start of the server, with every fail-over and with
/// every restore. A decision of one history may be missing in the next.
public struct DatabaseHistory: Hashable, Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// The row that the database keeps for a partition of a topic, for one consumer group.
public struct OffsetCheckpoint: Hashable, Sendable {
    /// Every record before it is decided, as far as this database has to know.
    public var nextOffset: Int64
    /// Drawn at random by each owner of the partition.
    public var writer: Int64
    /// Counts the writes of all owners. A row that went back to an earlier version was put back with its database.
    public var version: Int64

    public init(nextOffset: Int64, writer: Int64, version: Int64) {
        self.nextOffset = nextOffset
        self.writer = writer
        self.version = version
    }
}

/// A compare-and-set of one partition's checkpoint.
public struct CheckpointWrite: Hashable, Sendable {
    /// The content that the row must have for the write to happen; nil: there must be no row.
    public var expected: OffsetCheckpoint?
    public var new: OffsetCheckpoint

    public init(expected: OffsetCheckpoint?, new: OffsetCheckpoint) {
        self.expected = expected
        self.new = new
    }
}

public struct StoredCheckpoints: Sendable, Equatable {
    public var history: DatabaseHistory
    /// The checkpoints by partition. One that was never written has none.
    public var checkpoints: [Int32: OffsetCheckpoint]
    /// The number of a partition's owners that left in order, by partition.
    public var departures: [Int32: Int64]
    /// The records that may have been decided in a lost state of the database, by partition.
    public var decidedAgain: [Int32: LostDecisions]

    public init(
        history: DatabaseHistory, checkpoints: [Int32: OffsetCheckpoint], departures: [Int32: Int64],
        decidedAgain: [Int32: LostDecisions] = [:]
    ) {
        self.history = history
        self.checkpoints = checkpoints
        self.departures = departures
        self.decidedAgain = decidedAgain
    }
}

/// Decisions on records of a partition that a database lost when it fell back to an earlier state.
public struct LostDecisions: Sendable, Equatable {
    /// The most that the clocks of record stamps may be ahead of the database's. Milliseconds.
    public static let clockMargin: Int64 = 3_600_000

    public var belowOffset: Int64
    /// The latest time at which the loss was noticed. A record sent after it was never decided in the lost state,
    /// however low its offset: offsets of a topic that was deleted and created begin at 0.
    public var noticedAt: Timestamp

    public init(belowOffset: Int64, noticedAt: Timestamp) {
        self.belowOffset = belowOffset
        self.noticedAt = noticedAt
    }

    /// - Parameter sentAt: the record's own time.
    public func mayCover(offset: Int64, sentAt: Timestamp) -> Bool {
        offset < belowOffset && sentAt <= noticedAt.adding(milliseconds: Self.clockMargin)
    }

    /// Both.
    public mutating func merge(_ other: LostDecisions) {
        belowOffset = max(belowOffset, other.belowOffset)
        noticedAt = max(noticedAt, other.noticedAt)
    }
}

public struct CheckpointResult: Sendable, Equatable {
    /// The history of the database that answered. Where it is not the one asked for, nothing was written.
    public var history: DatabaseHistory
    /// The rows that held something else than expected, by partition, as they are now (nil: no row). Nothing was
    /// written for these.
    public var refused: [Int32: OffsetCheckpoint?]

    public init(history: DatabaseHistory, refused: [Int32: OffsetCheckpoint?] = [:]) {
        self.history = history
        self.refused = refused
    }
}

/// The decided offsets of partitions, kept in the database that the decisions are in. A database that fell back to an
/// earlier state fell back with its checkpoints, so that the records whose decisions it has lost are known.
///
/// It belongs to one consumer group: groups that share a database do not see each other's.
public protocol OffsetCheckpoints: Sendable {
    /// Throws where the database is out of reach.
    func read(topic: String, partitions: [Int32]) async throws -> StoredCheckpoints

    /// Writes new offsets. Call it when everything before them is decided: behind those decisions, so that no state of
    /// the database has the checkpoint without them. Offsets may go down: a topic made anew begins again at 0.
    ///
    /// - Parameter history: where the decisions were made that the checkpoints cover; nil: there are none since the last.
    ///
    /// Throws where the database is out of reach; the checkpoints may have been written then.
    func write(_ writes: [Int32: CheckpointWrite], topic: String, in history: DatabaseHistory?) async throws
        -> CheckpointResult

    /// Counts a departure of each partition's owner, and returns their numbers. Partitions that never had a checkpoint have
    /// none. Throws where the database is out of reach.
    func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64]

    /// Keeps that records before these offsets may have been decided, and told of, in a lost state of the database. An
    /// offset that is kept already is never lowered. From then on `lostClaims` tells of the fall. Throws where the
    /// database is out of reach.
    /// - Parameter since: a time of the state that is left, or an earlier one; nil: when these partitions were last checkpointed.
    func keepDecidedAgain(_ ends: [Int32: Int64], topic: String, since: Timestamp?) async throws

    /// The claims that the group has not entered again yet, whichever topic showed the loss; nil if there are none.
    /// Throws where the database is out of reach.
    func lostClaims() async throws -> LostClaims?

    /// Marks these claims as entered: those noticed later are not meant. Throws where the database is out of reach.
    func entered(_ claims: LostClaims) async throws
}

extension OffsetCheckpoints {
    public func keepDecidedAgain(_ ends: [Int32: Int64], topic: String) async throws {
        try await keepDecidedAgain(ends, topic: topic, since: nil)
    }
}
