/// The OIDs of built-in types, which PostgreSQL's `pg_type.dat` fixes.
enum PostgresType {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let float8: UInt32 = 701
    static let date: UInt32 = 1082
    static let timestamptz: UInt32 = 1184
    static let uuid: UInt32 = 2950
    static let jsonb: UInt32 = 3802

    static let boolArray: UInt32 = 1000
    static let byteaArray: UInt32 = 1001
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let float8Array: UInt32 = 1022
    static let dateArray: UInt32 = 1182
    static let timestamptzArray: UInt32 = 1185
    static let uuidArray: UInt32 = 2951
    static let jsonbArray: UInt32 = 3807
}

/// Converts between PostgreSQL's times, which count from 2000-01-01, and Unix times, which count from 1970-01-01. The
/// largest and smallest values mean ±infinity in PostgreSQL, and are not changed.
enum PostgresEpoch {
    private static let microseconds: Int64 = 946_684_800_000_000
    private static let days: Int32 = 10_957

    static func timestamp(fromUnix value: Int64) -> Int64 { shift(value, by: -microseconds) }
    static func timestamp(toUnix value: Int64) -> Int64 { shift(value, by: microseconds) }
    static func date(fromUnix value: Int32) -> Int32 { shift(value, by: -days) }
    static func date(toUnix value: Int32) -> Int32 { shift(value, by: days) }

    private static func shift<Value: FixedWidthInteger>(_ value: Value, by offset: Value) -> Value {
        if value == .max || value == .min { return value }
        let (shifted, overflow) = value.addingReportingOverflow(offset)
        return overflow ? (offset > 0 ? .max : .min) : shifted
    }
}
