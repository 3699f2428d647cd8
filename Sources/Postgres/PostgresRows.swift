import CLibPQ
import Foundation

/// A column of one statement's rows, found by name once for all rows.
///
/// An integer literal is the column's place, from 0. Use it only for a query whose text is a few lines away.
public struct PostgresColumn: Sendable, ExpressibleByIntegerLiteral {
    let index: Int32

    init(index: Int32) { self.index = index }
    /// - Parameter place: the column's place, from 0.
    public init(place: Int) { index = Int32(clamping: place) }
    public init(integerLiteral value: Int32) { index = value }
}

/// A statement's rows in binary format.
///
/// Each reader returns nil for NULL, for a row or column that does not exist, and for a value of another type. No
/// answer of the server can make a reader trap. Not Sendable: copy the values before using them on another thread.
public final class PostgresRows {
    private let result: OpaquePointer
    public let count: Int
    private let columns: Int32

    /// Takes ownership of libpq's result.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        columns = PQnfields(result)
    }

    deinit { PQclear(result) }

    /// Finds a column by its name, even if there are no rows. Throws if no column has the name. Call it before the rows
    /// are read, so that a missing column throws at the first run of the statement.
    public func column(_ name: StaticString) throws(PostgresError) -> PostgresColumn {
        for index in 0..<columns {
            // The UTF-8 of a literal ends with NUL, like the text of PQfname.
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

    /// The names, in the statement's order.
    public var columnNames: [String] {
        (0..<columns).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
    }

    /// The number of inserted, updated, deleted, copied or returned rows; 0 for a statement that has no such number.
    public var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The command's tag, such as `COMMIT` or `INSERT 0 1`.
    var tag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// Returns true if the value is NULL, or if the row or column does not exist.
    public func isNull(_ row: Int, _ column: PostgresColumn) -> Bool { value(row, column) == nil }

    public func text(_ row: Int, _ column: PostgresColumn) -> String? {
        value(row, column).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of a bytea, or of another type's binary format.
    public func bytes(_ row: Int, _ column: PostgresColumn) -> [UInt8]? { value(row, column).map(Array.init) }

    /// An integer of two, four or eight bytes.
    public func int8(_ row: Int, _ column: PostgresColumn) -> Int64? {
        guard let value = value(row, column) else { return nil }
        return switch value.count {
        case 2: Int64(Int16(bigEndian: value.loadUnaligned(as: Int16.self)))
        case 4: Int64(Int32(bigEndian: value.loadUnaligned(as: Int32.self)))
        case 8: Int64(bigEndian: value.loadUnaligned(as: Int64.self))
        default: nil
        }
    }

    /// Like `int8`.
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

    /// A timestamptz (or a timestamp, as UTC) in microseconds since 1970. ±infinity is `Int64.max` or `.min`.
    public func timestampMicroseconds(_ row: Int, _ column: PostgresColumn) -> Int64? {
        integer(Int64.self, row, column).map(PostgresEpoch.timestamp(toUnix:))
    }

    /// A date in days since 1970-01-01. ±infinity is `Int32.max` or `.min`.
    public func dateDays(_ row: Int, _ column: PostgresColumn) -> Int32? {
        integer(Int32.self, row, column).map(PostgresEpoch.date(toUnix:))
    }

    /// The JSON text of a jsonb as UTF-8 bytes. For json use `bytes`.
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

    /// The pointer is valid while `self` lives: every caller is a method of `self` and copies the bytes.
    private func value(_ row: Int, _ column: PostgresColumn) -> UnsafeRawBufferPointer? {
        let (isRow, column) = (row >= 0 && row < count, column.index)
        guard isRow, column >= 0, column < columns else { return nil }
        let row = Int32(row)
        guard PQgetisnull(result, row, column) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }
}

/// Only the session's thread may read libpq's result.
@available(*, unavailable)
extension PostgresRows: Sendable {}
