/// One-dimensional arrays for `unnest` and `= ANY`. One parameter has a column of a whole batch.
extension PostgresParameter {
    /// `values` is an array and not any collection, because Swift does not specialize generic code across modules, and
    /// this code is hot.
    public static func textArray(_ values: [String?]) -> PostgresParameter {
        array(PostgresType.textArray, of: PostgresType.text, values, elementBytes: 32) {
            $0.append(contentsOf: $1.utf8)
        }
    }

    @_disfavoredOverload
    public static func textArray(_ values: [String]) -> PostgresParameter {
        array(PostgresType.textArray, of: PostgresType.text, values.lazy.map(Optional.some), elementBytes: 32) {
            $0.append(contentsOf: $1.utf8)
        }
    }

    /// Texts as UTF-8 bytes.
    public static func textBytesArray(_ values: [[UInt8]?]) -> PostgresParameter {
        array(PostgresType.textArray, of: PostgresType.text, values, elementBytes: mean(values)) {
            $0.append(contentsOf: $1)
        }
    }

    public static func byteaArray(_ values: [[UInt8]?]) -> PostgresParameter {
        array(PostgresType.byteaArray, of: PostgresType.bytea, values, elementBytes: mean(values)) {
            $0.append(contentsOf: $1)
        }
    }

    public static func int4Array(_ values: [Int32?]) -> PostgresParameter {
        array(PostgresType.int4Array, of: PostgresType.int4, values, elementBytes: 4) { $0.append(bigEndian: $1) }
    }

    public static func int8Array(_ values: [Int64?]) -> PostgresParameter {
        array(PostgresType.int8Array, of: PostgresType.int8, values, elementBytes: 8) { $0.append(bigEndian: $1) }
    }

    public static func float8Array(_ values: [Double?]) -> PostgresParameter {
        array(PostgresType.float8Array, of: PostgresType.float8, values, elementBytes: 8) {
            $0.append(bigEndian: $1.bitPattern)
        }
    }

    public static func boolArray(_ values: [Bool?]) -> PostgresParameter {
        array(PostgresType.boolArray, of: PostgresType.bool, values, elementBytes: 1) { $0.append($1 ? 1 : 0) }
    }

    public static func uuidArray(_ values: [PostgresUUID?]) -> PostgresParameter {
        array(PostgresType.uuidArray, of: PostgresType.uuid, values, elementBytes: 16) {
            $0.append(bigEndian: $1.high)
            $0.append(bigEndian: $1.low)
        }
    }

    public static func timestamptzArray(unixMicroseconds values: [Int64?]) -> PostgresParameter {
        array(PostgresType.timestamptzArray, of: PostgresType.timestamptz, values, elementBytes: 8) {
            $0.append(bigEndian: PostgresEpoch.timestamp(fromUnix: $1))
        }
    }

    public static func dateArray(daysSinceUnixEpoch values: [Int32?]) -> PostgresParameter {
        array(PostgresType.dateArray, of: PostgresType.date, values, elementBytes: 4) {
            $0.append(bigEndian: PostgresEpoch.date(fromUnix: $1))
        }
    }

    /// JSON texts as UTF-8 bytes.
    public static func jsonbArray(_ values: [[UInt8]?]) -> PostgresParameter {
        array(PostgresType.jsonbArray, of: PostgresType.jsonb, values, elementBytes: 1 + mean(values)) {
            $0.append(jsonbVersion)
            $0.append(contentsOf: $1)
        }
    }

    /// Returns the mean size of an element in bytes, rounded up. To allocate the buffer once is much cheaper than to
    /// grow it in steps.
    private static func mean(_ values: [[UInt8]?]) -> Int {
        let sum = values.reduce(0) { $0 + ($1?.count ?? 0) }
        return sum / max(values.count, 1) + 1
    }

    @inline(__always)
    private static func array<Values: Sequence, Element>(
        _ type: UInt32, of elementType: UInt32, _ values: Values, elementBytes: Int,
        append: (inout [UInt8], Element) -> Void
    ) -> PostgresParameter where Values.Element == Element? {
        PostgresParameter(
            type, WireArray.encode(of: elementType, values, elementBytes: elementBytes, append: append))
    }
}
