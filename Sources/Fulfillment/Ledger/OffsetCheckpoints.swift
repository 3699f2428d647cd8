import NamesAndTimes

/// Identifies one life of a database. It changes with every start of the server, every fail-over and every restore. A
/// decision of one history may be missing in the next.
public struct DatabaseHistory: Hashable, Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// The row that the database keeps for a partition of a topic, for one consumer group.
public struct OffsetCheckpoint: Hashable, Sendable {
    /// The offset before which every record is decided, as far as this database has to know.
    public var nextOffset: Int64
    /// A random number that each owner of the partition draws.
    public var writer: Int64
    /// The number of writes by all owners. A smaller number than before means that the row was restored with its
    /// database.
    public var version: Int64

    public init(nextOffset: Int64, writer: Int64, version: Int64) {
        self.nextOffset = nextOffset
        self.writer = writer
        self.version = version
    }
}

/// A compare-and-set of one partition's checkpoint.
public struct CheckpointWrite: Hashable, Sendable {
    /// The content that the row must have for the write to happen; nil if there must be no row.
    public var expected: OffsetCheckpoint?
    public var new: OffsetCheckpoint

    public init(expected: OffsetCheckpoint?, new: OffsetCheckpoint) {
        self.expected = expected
        self.new = new
    }
}

public struct StoredCheckpoints: Sendable, Equatable {
    public var history: DatabaseHistory
    /// The checkpoints by partition. A partition that was never checkpointed is missing.
    public var checkpoints: [Int32: OffsetCheckpoint]
    /// The number of owners that left each partition in order.
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
    /// The most milliseconds by which the clocks of record timestamps may be ahead of the database's.
    public static let clockMargin: Int64 = 3_600_000

    public var belowOffset: Int64
    /// The latest time at which the loss was noticed. A record sent after it was never decided in the lost state,
    /// however low its offset: offsets of a topic that was deleted and created begin at 0.
    public var noticedAt: Timestamp

    public init(belowOffset: Int64, noticedAt: Timestamp) {
        self.belowOffset = belowOffset
        self.noticedAt = noticedAt
    }

    /// Returns whether a decision on this record may be among the lost ones.
    /// - Parameter sentAt: the record's timestamp.
    public func mayCover(offset: Int64, sentAt: Timestamp) -> Bool {
        offset < belowOffset && sentAt <= noticedAt.adding(milliseconds: Self.clockMargin)
    }

    /// Extends it to cover the other's losses too.
    public mutating func merge(_ other: LostDecisions) {
        belowOffset = max(belowOffset, other.belowOffset)
        noticedAt = max(noticedAt, other.noticedAt)
    }
}

public struct CheckpointResult: Sendable, Equatable {
    /// The history of the database that answered. If it is not the requested one, nothing was written.
    public var history: DatabaseHistory
    /// The rows that had other content than expected, by partition, as they are now; nil for no row. Nothing was
    /// written for these partitions.
    public var refused: [Int32: OffsetCheckpoint?]

    public init(history: DatabaseHistory, refused: [Int32: OffsetCheckpoint?] = [:]) {
        self.history = history
        self.refused = refused
    }
}

/// Stores how far the records of each partition are decided, in the database that has the decisions. A database that
/// falls back to an earlier state takes its checkpoints back too. So the records whose decisions it lost are known.
///
/// The checkpoints belong to one consumer group. Groups that share a database do not see each other's.
public protocol OffsetCheckpoints: Sendable {
    /// Reads the checkpoints of these partitions. Throws if the database is out of reach.
    func read(topic: String, partitions: [Int32]) async throws -> StoredCheckpoints

    /// Writes new offsets. Call it after the decisions on all earlier records, so that no state of the database has the
    /// checkpoint without them. Offsets may go down: a topic that was deleted and created begins at 0.
    ///
    /// - Parameter history: the history in which the covered decisions were made; nil if there are none since the last
    ///   write.
    ///
    /// Throws if the database is out of reach; the checkpoints may have been written then.
    func write(_ writes: [Int32: CheckpointWrite], topic: String, in history: DatabaseHistory?) async throws
        -> CheckpointResult

    /// Counts a departure of each partition's owner, and returns the new counts. A partition that was never
    /// checkpointed has none. Throws if the database is out of reach.
    func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64]

    /// Records that decisions below these offsets may have been made and published in a lost state of the database. A
    /// recorded offset is never lowered. From then on `lostClaims` returns the fall. Throws if the database is out of
    /// reach.
    /// - Parameter since: a time of the state that is left, or an earlier one; nil takes the time of these partitions'
    ///   last checkpoint.
    func keepDecidedAgain(_ ends: [Int32: Int64], topic: String, since: Timestamp?) async throws

    /// Returns the fall whose claims the group has not entered again yet, whatever topic showed the loss; nil if there
    /// is none. Throws if the database is out of reach.
    func lostClaims() async throws -> LostClaims?

    /// Marks these claims as entered, but none that were noticed later. Throws if the database is out of reach.
    func entered(_ claims: LostClaims) async throws
}

extension OffsetCheckpoints {
    public func keepDecidedAgain(_ ends: [Int32: Int64], topic: String) async throws {
        try await keepDecidedAgain(ends, topic: topic, since: nil)
    }
}
