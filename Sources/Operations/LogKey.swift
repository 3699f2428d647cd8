public import Logging

/// The metadata keys of all log lines. Each kind of value has one key, so that a search by key finds every line with a
/// value of this kind.
public enum LogKey: String, CaseIterable, Sendable {
    // The subjects of a log line.
    case playerID = "player_id"
    /// The player who was granted the first purchase with an account token.
    case firstPlayerID = "first_player_id"
    case submissionID = "submission_id"
    case transactionID = "transaction_id"
    case originalTransactionID = "original_transaction_id"
    case eventID = "event_id"
    case bundleID = "bundle_id"
    case productID = "product_id"
    case outcome, reason, detail
    /// The user who signed in to the console.
    case operatorName = "operator"
    /// The W3C trace id in the submission's `traceparent`.
    case traceID = "trace_id"

    case topic, partition, partitions, offset
    case groupID = "group_id"

    // The servers that receiptd connects to.
    case endpoint, environment, host, port, path, code, url, since
    case httpStatus = "http_status"
    case sqlState = "sql_state"
    case processID = "process_id"

    // The measures and the circumstances.
    case error, attempt, count, bytes, limit, stage, part, version, signal
    case durationSeconds = "duration_seconds"
    case delaySeconds = "delay_seconds"

    // The settings. A line never has the value of a secret.
    case setting, value, file, line
}

/// Log lines with known keys and a constant message, so that a search for the message finds all its lines.
extension Logger {
    public typealias Fields = [LogKey: Logger.MetadataValue]

    public func log(
        level: Logger.Level, _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(
            level: level, "\(message)",
            metadata: Dictionary(uniqueKeysWithValues: fields().map { ($0.key.rawValue, $0.value) }),
            file: file, function: function, line: line)
    }

    public func debug(
        _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(level: .debug, message, fields(), file: file, function: function, line: line)
    }

    public func info(
        _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(level: .info, message, fields(), file: file, function: function, line: line)
    }

    public func notice(
        _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(level: .notice, message, fields(), file: file, function: function, line: line)
    }

    public func warning(
        _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(level: .warning, message, fields(), file: file, function: function, line: line)
    }

    public func error(
        _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(level: .error, message, fields(), file: file, function: function, line: line)
    }

    public func critical(
        _ message: StaticString, _ fields: @autoclosure () -> Fields,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(level: .critical, message, fields(), file: file, function: function, line: line)
    }
}
