import NamesAndTimes

/// The identity of one life of a database. It changes with every start of the server, every fail-over and every
/// restore. A later history may lack decisions of an earlier one.
public struct DatabaseHistory: Hashable, Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// The row that the database keeps for a partition of a topic, for one consumer group.
public struct OffsetCheckpoint: Hashable, Sendable {
    /// The offset before which every record of the partition is decided.
    public var nextOffset: Int64
    /// The random number of the owner that wrote the row. Each owner of the partition draws another.
    public var writer: Int64
    /// The number of writes by all owners. If it is smaller than before, the row was restored with its database.
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
    /// The number of owners that gave each partition up while they lived, by partition.
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

/// The decisions about one partition's records that the database lost when it fell back to an earlier state.
public struct LostDecisions: Sendable, Equatable {
    /// The milliseconds by which a clock that stamps records may be ahead of the database's clock.
    public static let clockMargin: Int64 = 3_600_000

    public var belowOffset: Int64
    /// The time at which the loss was noticed, or the latest one if there were several losses. The lost state decided
    /// no record that was sent later, however low the record's offset: in a topic that was deleted and created again,
    /// offsets begin at 0.
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

    /// Extends this range so that it covers the losses of `other` too.
    public mutating func merge(_ other: LostDecisions) {
        belowOffset = max(belowOffset, other.belowOffset)
        noticedAt = max(noticedAt, other.noticedAt)
    }
}

public struct CheckpointResult: Sendable, Equatable {
    /// The history of the database that answered. If it is not the requested one, nothing was written.
    public var history: DatabaseHistory
    /// The present row of each partition whose row differed from the expected one, nil if there is no row. Nothing was
    /// written for these partitions.
    public var refused: [Int32: OffsetCheckpoint?]

    public init(history: DatabaseHistory, refused: [Int32: OffsetCheckpoint?] = [:]) {
        self.history = history
        self.refused = refused
    }
}

/// The store of checkpoints, in the database that has the decisions. A database that falls back to an earlier state
/// loses its newer checkpoints with its newer decisions. Old checkpoints therefore show which decisions are lost.
///
/// The checkpoints belong to one consumer group. Groups that share a database do not see each other's.
public protocol OffsetCheckpoints: Sendable {
    /// Reads the checkpoints of these partitions. Throws if the database is out of reach.
    func read(topic: String, partitions: [Int32]) async throws -> StoredCheckpoints

    /// Writes new offsets. Call it after the decisions on all earlier records are committed, so that no state of the
    /// database has the checkpoint without these decisions. An offset may go down: a topic that was deleted and created
    /// again begins at 0.
    ///
    /// - Parameter history: the history in which the covered decisions were made; nil if none was made since the last
    ///   write.
    ///
    /// Throws if the database is out of reach; the checkpoints may have been written then.
    func write(_ writes: [Int32: CheckpointWrite], topic: String, in history: DatabaseHistory?) async throws
        -> CheckpointResult

    /// Counts a departure of each partition's owner, and returns the new counts. A partition that was never
    /// checkpointed has no count. Throws if the database is out of reach.
    func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64]

    /// Stores, for each partition, that a lost state of the database may have decided and published the records below
    /// this offset. A stored offset is never lowered. From then on `lostClaims` returns the fall. Throws if the
    /// database is out of reach.
    /// - Parameter since: the time of the state that the database fell back to, or an earlier time; nil takes the time
    ///   of these partitions' last checkpoint.
    func keepDecidedAgain(_ ends: [Int32: Int64], topic: String, since: Timestamp?) async throws

    /// Returns the fall whose published claims the group has not entered again yet; nil if there is none. Several
    /// falls, and losses in several topics, count as one. Throws if the database is out of reach.
    func lostClaims() async throws -> LostClaims?

    /// Notes that the group has entered the claims of this fall. The claims of a fall that was noticed later still have
    /// to be entered. Throws if the database is out of reach.
    func entered(_ claims: LostClaims) async throws
}

extension OffsetCheckpoints {
    public func keepDecidedAgain(_ ends: [Int32: Int64], topic: String) async throws {
        try await keepDecidedAgain(ends, topic: topic, since: nil)
    }
}
