import Postgres

/// The cause of a failed transaction, as far as two failures differ.
enum FailureCause: Equatable {
    /// Grants were there that could not be found.
    case unknownGrant
    /// The batch's records were decided before, but the answers cannot be had.
    case decidedBefore
    case refused(sqlState: String?, PostgresError.Kind)

    init(_ error: PostgresError) {
        self = .refused(sqlState: error.sqlState, error.kind)
    }

    /// Whether one entry may cause it for all. The connection's failures are nobody's.
    var mayBeOfOne: Bool {
        switch self {
        case .unknownGrant, .decidedBefore: true
        case .refused(_, let kind): kind != .connection && kind != .commitOutcomeUnknown
        }
    }

    /// Whether one that fails so by itself while others are committed cannot be helped by waiting. A lock that is held for
    /// long, a lack of room, a missing right or table are mended outside, and then it goes through.
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

    /// The error for the operator who finds it set aside.
    var asError: PostgresError {
        switch self {
        case .unknownGrant:
            PostgresError(sqlState: nil, message: "a grant or hold of it is there and cannot be read", kind: .data)
        case .decidedBefore:
            PostgresError(
                sqlState: nil, message: "it was decided before, and the grants that its outcome names are gone",
                kind: .data)
        case .refused(let sqlState, _):
            PostgresError(sqlState: sqlState, message: "refused again and again while others were stored", kind: .data)
        }
    }
}
