import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// A parked submission as an operator sees it.
public struct ParkedSummary: Sendable, Equatable {
    public let id: NameBasedUUID
    public let submissionID: String
    public let playerID: String
    public let bundleID: String
    public let reason: String
    public let detail: String?
    public let sqlState: String?
    /// Tries that ended in trouble or at a blockage.
    public let failures: Int
    public let parkings: Int
    public let parkedAt: Timestamp
    /// Nil where only an operator ends the wait.
    public let dueAt: Timestamp?
    /// Someone works on it now.
    public let isLeased: Bool
    public let topic: String
    public let partition: Int32
    public let offset: Int64
}

extension ParkedSummary {
    /// The rows of `list_parked`.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [ParkedSummary] {
        let columns = try rows.columns(Column.self)
        return (0..<rows.count).compactMap { ParkedSummary(rows, $0, columns) }
    }

    private enum Column: String, CaseIterable {
        case id, submissionID, playerID, bundleID, reason, detail, sqlState, failures, parkings, parkedAt
        case dueAt, isLeased, sourceTopic, sourcePartition, sourceOffset
    }

    private init?(_ rows: PostgresRows, _ row: Int, _ columns: PostgresColumns<Column>) {
        guard let id = rows.uuid(row, columns[.id]), let submission = rows.text(row, columns[.submissionID]),
            let player = rows.text(row, columns[.playerID]), let bundle = rows.text(row, columns[.bundleID]),
            let reason = rows.text(row, columns[.reason]), let parkedAt = rows.timestamp(row, columns[.parkedAt])
        else { return nil }
        self.init(
            id: id.nameBased, submissionID: submission, playerID: player, bundleID: bundle, reason: reason,
            detail: rows.text(row, columns[.detail]), sqlState: rows.text(row, columns[.sqlState]),
            failures: Int(rows.int4(row, columns[.failures]) ?? 0),
            parkings: Int(rows.int4(row, columns[.parkings]) ?? 0),
            parkedAt: parkedAt, dueAt: rows.timestamp(row, columns[.dueAt]),
            isLeased: rows.bool(row, columns[.isLeased]) ?? false, topic: rows.text(row, columns[.sourceTopic]) ?? "",
            partition: Int32(truncatingIfNeeded: rows.int4(row, columns[.sourcePartition]) ?? 0),
            offset: rows.int8(row, columns[.sourceOffset]) ?? 0)
    }
}
