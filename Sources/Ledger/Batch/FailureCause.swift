import Postgres

/// The cause of a failed SQL transaction. Equal causes count as the same failure.
enum FailureCause: Equatable {
    /// The transaction ended with `DecisionBatchWrite.Undone.unknownGrant`, although its queries had looked up
    /// everything.
    case unknownGrant
    /// The batch's records were decided before, but the ledger cannot read their events.
    case decidedBefore
    case refused(sqlState: String?, PostgresError.Kind)

    init(_ error: PostgresError) {
        self = .refused(sqlState: error.sqlState, error.kind)
    }

    /// True if one entry may cause the failure of its group. A failed connection is not an entry's fault.
    var mayBeOfOne: Bool {
        switch self {
        case .unknownGrant, .decidedBefore: true
        case .refused(_, let kind): kind != .connection && kind != .commitOutcomeUnknown
        }
    }

    /// True if an entry that fails in this way while other groups are committed will fail again. False for a long lock,
    /// a lack of resources, and a missing right or table, because the entry succeeds when these end.
    var isOfData: Bool {
        switch self {
        case .unknownGrant, .decidedBefore: true
        case .refused(let sqlState, let kind):
            switch kind {
            case .data: true
            case .connection, .commitOutcomeUnknown, .retriable: false
            case .other: sqlState.map { !$0.hasPrefix("42") } ?? false
            }
        }
    }

    /// The error that an operator sees on the submission that was set aside.
    var asError: PostgresError {
        switch self {
        case .unknownGrant:
            PostgresError(
                sqlState: nil, message: "receiptd cannot read an existing grant or hold of the submission's purchase",
                kind: .data)
        case .decidedBefore:
            PostgresError(
                sqlState: nil,
                message: "the submission was decided before, and somebody deleted the grants that its outcome names",
                kind: .data)
        case .refused(let sqlState, _):
            PostgresError(
                sqlState: sqlState,
                message: "PostgreSQL refused this submission again and again, and stored others meanwhile",
                kind: .data)
        }
    }
}
