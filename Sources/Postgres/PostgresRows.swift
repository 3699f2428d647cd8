import CLibPQ
import Foundation

/// A column of one statement's rows, found by its name once for all of them.
///
/// An integer literal is its place from 0, for a query whose text is in the same few lines.
public struct PostgresColumn: Sendable, ExpressibleByIntegerLiteral {
    let index: Int32

    init(index: Int32) { self.index = index }
    /// The place counts from 0.
    public init(place: Int) { index = Int32(clamping: place) }
    public init(integerLiteral value: Int32) { index = value }
}

/// A statement's rows, in binary.
///
/// Each reader gives nil for NULL, for a row or column that is not there, and for a value of another type. No answer of
/// the server traps. Not Sendable; take the values out before leaving the session's thread.
public final class PostgresRows {
    private let result: OpaquePointer
    public let count: Int
    private let columns: Int32

    /// Takes the result over.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        columns = PQnfields(result)
    }

    deinit { PQclear(result) }

    /// Finds a column by its name, even if there are no rows. Throws if the statement returns none with that name. Call
    /// it before the rows are read, so that the first run of the statement shows the fault.
    public func column(_ name: StaticString) throws(PostgresError) -> PostgresColumn {
        for index in 0..<columns {
            // A literal's UTF-8 ends with NUL, as PQfname's does.
            if let known = PQfname(result, index),
                name.utf8Start.withMemoryRebound(
                    to: CChar.self, capacity: name.utf8CodeUnitCount + 1, { strcmp(known, $0) == 0 })
            {
                return PostgresColumn(index: index)
            }
        }
        throw noColumn("\(name)")
    }

    func noColumn(_ name: String) -> PostgresError {
        let known = columnNames.joined(separator: ", ")
        return PostgresError(sqlState: nil, message: "no column \"\(name)\" among \(known)", kind: .other)
    }

    /// The names in the statement's order.
    public var columnNames: [String] {
        (0..<columns).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
    }

    /// Rows inserted, updated, deleted, copied or returned; 0 for a statement that has no such number.
    public var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The command's tag, such as `COMMIT` or `INSERT 0 1`.
    var tag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// Whether the value is null, or there is no such row or column.
    public func isNull(_ row: Int, _ column: PostgresColumn) -> Bool { value(row, column) == nil }

    public func text(_ row: Int, _ column: PostgresColumn) -> String? {
        value(row, column).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a bytea, or of any type's binary form.
    public func bytes(_ row: Int, _ column: PostgresColumn) -> [UInt8]? { value(row, column).map(Array.init) }

    /// Any integer type, by its length.
    public func int8(_ row: Int, _ column: PostgresColumn) -> Int64? {
        guard let value = value(row, column) else { return nil }
        return switch value.count {
        case 2: Int64(Int16(bigEndian: value.loadUnaligned(as: Int16.self)))
        case 4: Int64(Int32(bigEndian: value.loadUnaligned(as: Int32.self)))
        case 8: Int64(bigEndian: value.loadUnaligned(as: Int64.self))
        default: nil
        }
    }

    /// Any integer type, by its length.
    public func int4(_ row: Int, _ column: PostgresColumn) -> Int64? { int8(row, column) }

    public func float8(_ row: Int, _ column: PostgresColumn) -> Double? {
        integer(UInt64.self, row, column).map(Double.init(bitPattern:))
    }

    public func bool(_ row: Int, _ column: PostgresColumn) -> Bool? { integer(UInt8.self, row, column).map { $0 != 0 } }

    public func uuid(_ row: Int, _ column: PostgresColumn) -> PostgresUUID? {
        guard let value = value(row, column), value.count == 16 else { return nil }
        return PostgresUUID(
            high: UInt64(bigEndian: value.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: value.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Microseconds since 1970 of a timestamptz (or a timestamp, taken as UTC); ±infinity is `Int64.max` or `.min`.
    public func timestampMicroseconds(_ row: Int, _ column: PostgresColumn) -> Int64? {
        integer(Int64.self, row, column).map(PostgresEpoch.timestamp(toUnix:))
    }

    /// Days since 1970-01-01 of a date; ±infinity is `Int32.max` or `.min`.
    public func dateDays(_ row: Int, _ column: PostgresColumn) -> Int32? {
        integer(Int32.self, row, column).map(PostgresEpoch.date(toUnix:))
    }

    /// The JSON text of a jsonb, in UTF-8. A json column is `bytes`.
    public func jsonb(_ row: Int, _ column: PostgresColumn) -> [UInt8]? {
        guard let value = value(row, column), value.first == PostgresParameter.jsonbVersion else { return nil }
        return Array(value.dropFirst())
    }

    public func textArray(_ row: Int, _ column: PostgresColumn) -> [String?]? {
        value(row, column).flatMap { WireArray.decode($0) { String(decoding: $0, as: UTF8.self) } }
    }

    public func byteaArray(_ row: Int, _ column: PostgresColumn) -> [[UInt8]?]? {
        value(row, column).flatMap { WireArray.decode($0) { Array($0) } }
    }

    private func integer<Value: FixedWidthInteger>(_: Value.Type, _ row: Int, _ column: PostgresColumn) -> Value? {
        guard let value = value(row, column), value.count == MemoryLayout<Value>.size else { return nil }
        return Value(bigEndian: value.loadUnaligned(as: Value.self))
    }

    /// Valid while `self` is: every caller is a method of it and copies.
    private func value(_ row: Int, _ column: PostgresColumn) -> UnsafeRawBufferPointer? {
        let (isRow, column) = (row >= 0 && row < count, column.index)
        guard isRow, column >= 0, column < columns else { return nil }
        let row = Int32(row)
        guard PQgetisnull(result, row, column) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }
}

/// libpq's result is read on the session's thread only.
@available(*, unavailable)
extension PostgresRows: Sendable {}
