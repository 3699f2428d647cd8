/// A typed parameter in PostgreSQL's binary format; nil is NULL.
///
/// Text has a length, so a NUL byte in a text reaches the server. The server refuses such a text with 22021 (`.data`).
public struct PostgresParameter: Sendable {
    let type: UInt32
    let bytes: [UInt8]?

    private static let largestSize = 1 << 30

    /// False if the value is larger than PostgreSQL accepts.
    var isSendable: Bool { bytes.map { $0.count <= Self.largestSize } ?? true }

    init(_ type: UInt32, _ bytes: [UInt8]?) {
        self.type = type
        self.bytes = bytes
    }

    private init(_ type: UInt32, bigEndian value: (some FixedWidthInteger)?) {
        self.init(
            type,
            value.map { value in
                var bytes: [UInt8] = []
                bytes.append(bigEndian: value)
                return bytes
            })
    }

    public static func text(_ value: String?) -> PostgresParameter {
        PostgresParameter(PostgresType.text, value.map { Array($0.utf8) })
    }

    /// Text as UTF-8 bytes. The server refuses bytes that are not UTF-8 with 22021 (`.data`).
    public static func textBytes(_ value: [UInt8]?) -> PostgresParameter {
        PostgresParameter(PostgresType.text, value)
    }

    public static func bytea(_ value: [UInt8]?) -> PostgresParameter {
        PostgresParameter(PostgresType.bytea, value)
    }

    public static func int4(_ value: Int32?) -> PostgresParameter {
        PostgresParameter(PostgresType.int4, bigEndian: value)
    }

    public static func int8(_ value: Int64?) -> PostgresParameter {
        PostgresParameter(PostgresType.int8, bigEndian: value)
    }

    public static func float8(_ value: Double?) -> PostgresParameter {
        PostgresParameter(PostgresType.float8, bigEndian: value?.bitPattern)
    }

    public static func bool(_ value: Bool?) -> PostgresParameter {
        PostgresParameter(PostgresType.bool, bigEndian: value.map { $0 ? 1 as UInt8 : 0 })
    }

    public static func uuid(_ value: PostgresUUID?) -> PostgresParameter {
        PostgresParameter(PostgresType.uuid, value?.bytes)
    }

    /// `Int64.max` and `.min` mean ±infinity.
    public static func timestamptz(unixMicroseconds value: Int64?) -> PostgresParameter {
        PostgresParameter(PostgresType.timestamptz, bigEndian: value.map(PostgresEpoch.timestamp(fromUnix:)))
    }

    /// `Int32.max` and `.min` mean ±infinity.
    public static func date(daysSinceUnixEpoch value: Int32?) -> PostgresParameter {
        PostgresParameter(PostgresType.date, bigEndian: value.map(PostgresEpoch.date(fromUnix:)))
    }

    public static func jsonb(_ value: String?) -> PostgresParameter {
        jsonbBytes(value.map { Array($0.utf8) })
    }

    /// A JSON text as UTF-8 bytes.
    public static func jsonbBytes(_ value: [UInt8]?) -> PostgresParameter {
        PostgresParameter(PostgresType.jsonb, value.map { [jsonbVersion] + $0 })
    }

    /// The first byte of jsonb's binary format.
    static let jsonbVersion: UInt8 = 1
}

extension PostgresParameter: CustomStringConvertible, CustomDebugStringConvertible {
    /// The description leaves out the value.
    public var description: String {
        "PostgresParameter(type \(type), \(bytes.map { "\($0.count) bytes" } ?? "NULL"))"
    }
    public var debugDescription: String { description }
}
