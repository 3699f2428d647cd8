import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The data of a parked submission for an operator.
public struct ParkedSummary: Sendable, Equatable {
    public let id: NameBasedUUID
    public let submissionID: String
    public let playerID: String
    public let bundleID: String
    public let reason: String
    public let detail: String?
    public let sqlState: String?
    /// The tries that failed because of trouble at Apple or missing settings.
    public let failures: Int
    public let parkings: Int
    public let parkedAt: Timestamp
    /// The time of the next try; nil if the submission waits for an operator.
    public let dueAt: Timestamp?
    /// True if a worker has leased the submission.
    public let isLeased: Bool
    public let topic: String
    public let partition: Int32
    public let offset: Int64
}

/// Reads the rows of `list_parked`.
extension ParkedSummary: ListedRow {
    package enum Column: String, CaseIterable {
        case id, submissionID, playerID, bundleID, reason, detail, sqlState, failures, parkings, parkedAt
        case dueAt, isLeased, sourceTopic, sourcePartition, sourceOffset
    }

    package init?(_ row: PostgresRow<Column>) {
        guard let id = row.uuid(.id), let submission = row.text(.submissionID), let player = row.text(.playerID),
            let bundle = row.text(.bundleID), let reason = row.text(.reason), let parkedAt = row.timestamp(.parkedAt)
        else { return nil }
        self.init(
            id: id.nameBased, submissionID: submission, playerID: player, bundleID: bundle, reason: reason,
            detail: row.text(.detail), sqlState: row.text(.sqlState), failures: row.integer(.failures) ?? 0,
            parkings: row.integer(.parkings) ?? 0, parkedAt: parkedAt, dueAt: row.timestamp(.dueAt),
            isLeased: row.bool(.isLeased) ?? false, topic: row.text(.sourceTopic) ?? "",
            partition: row.integer(.sourcePartition) ?? 0, offset: row.integer(.sourceOffset) ?? 0)
    }
}
