import NamesAndTimes

/// The identity of a database from one start of its server to the next. Each start, fail-over and restore gives the
/// database a new identity. A later history may lack decisions of an earlier history.
public struct DatabaseHistory: Hashable, Sendable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// The checkpoint of one partition of a topic, for one consumer group.
public struct OffsetCheckpoint: Hashable, Sendable {
    /// The offset before which every record of the partition is decided.
    public var nextOffset: Int64
    /// The random number of the owner that wrote the row. Each owner of the partition chooses a new number.
    public var writer: Int64
    /// The number of writes of the row by all owners. If the number is smaller than before, the database was restored.
    public var version: Int64

    public init(nextOffset: Int64, writer: Int64, version: Int64) {
        self.nextOffset = nextOffset
        self.writer = writer
        self.version = version
    }
}

/// A compare-and-set of one partition's checkpoint.
public struct CheckpointWrite: Hashable, Sendable {
    /// The row that must be present; nil if there must be no row. If the present row differs, the database writes
    /// nothing.
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
    /// The number of owners that gave the partition up without dying, by partition.
    public var departures: [Int32: Int64]
    /// The records that a worker may have decided in a state that the database lost, by partition.
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

/// The decisions that the database lost for one partition's records when it fell back to an earlier state.
public struct LostDecisions: Sendable, Equatable {
    /// The clock that gives a record its timestamp may be at most this many milliseconds ahead of the database's clock.
    public static let clockMargin: Int64 = 3_600_000

    public var belowOffset: Int64
    /// The time at which a worker noticed the loss; the latest time if there were several losses. If a record was sent
    /// after this time, its decision is not lost, even if its offset is below `belowOffset`. Such an offset occurs
    /// after a topic is deleted and created again, because offsets then begin at 0 again.
    public var noticedAt: Timestamp

    public init(belowOffset: Int64, noticedAt: Timestamp) {
        self.belowOffset = belowOffset
        self.noticedAt = noticedAt
    }

    /// Returns whether a decision on this record may be among the lost decisions.
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
    /// The history of the database that answered. If it differs from the caller's history, the database wrote nothing.
    public var history: DatabaseHistory
    /// The partitions whose row differed from `CheckpointWrite.expected`, so that the database wrote nothing. The value
    /// is the present row; nil if there is none.
    public var refused: [Int32: OffsetCheckpoint?]

    public init(history: DatabaseHistory, refused: [Int32: OffsetCheckpoint?] = [:]) {
        self.history = history
        self.refused = refused
    }
}

/// The store of checkpoints, in the database that has the decisions. If the database falls back to an earlier state, it
/// loses its newer checkpoints together with its newer decisions. A partition's older checkpoint then shows the offset
/// from which decisions may be lost.
///
/// The checkpoints belong to one consumer group. Groups that share a database do not see each other's checkpoints.
/// Every function throws if the database is out of reach.
public protocol OffsetCheckpoints: Sendable {
    func read(topic: String, partitions: [Int32]) async throws -> StoredCheckpoints

    /// Writes new offsets. Before the call, PostgreSQL must have committed the decisions on all records before the
    /// offsets. Then no state of the database has the checkpoint without these decisions. An offset may be lower than
    /// before, because offsets begin at 0 again after a topic is deleted and created again.
    ///
    /// - Parameter history: the history in which workers made the decisions since the last write; nil if there are
    ///   none.
    ///
    /// If the call throws, the database may nevertheless have written the checkpoints.
    func write(_ writes: [Int32: CheckpointWrite], topic: String, in history: DatabaseHistory?) async throws
        -> CheckpointResult

    /// Adds one to the number of departures of each partition, and returns the new numbers. A partition that was never
    /// checkpointed has no number.
    func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64]

    /// Stores a loss of decisions. Before the loss, workers may have decided and published each partition's records
    /// below its offset. Never lowers a stored offset. Afterwards `lostClaims` returns this loss.
    /// - Parameter since: the time of the state that the database fell back to, or an earlier time; nil for the time of
    ///   the partitions' last checkpoint.
    func keepDecidedAgain(_ ends: [Int32: Int64], topic: String, since: Timestamp?) async throws

    /// Returns the loss whose published claims the group must still enter; nil if there is none. Several losses, in one
    /// topic or in several, count as one.
    func lostClaims() async throws -> LostClaims?

    /// Stores that the group has entered the claims of this loss. If a worker noticed a further loss later, the group
    /// must still enter that loss's claims.
    func entered(_ claims: LostClaims) async throws
}

extension OffsetCheckpoints {
    public func keepDecidedAgain(_ ends: [Int32: Int64], topic: String) async throws {
        try await keepDecidedAgain(ends, topic: topic, since: nil)
    }
}
