import Fulfillment
import NamesAndTimes
import Postgres

extension NameBasedUUID {
    package var stored: PostgresUUID { PostgresUUID(high: high, low: low) }
}

extension PostgresUUID {
    package var nameBased: NameBasedUUID { NameBasedUUID(high: high, low: low) }
}

extension Timestamp {
    /// The microseconds since 1970, limited to the years 0001 to 9999, because PostgreSQL refuses times far outside.
    var microseconds: Int64 {
        min(max(milliseconds, Self.earliest), Self.latest) * 1000
    }

    private static let earliest: Int64 = -62_135_596_800_000
    private static let latest: Int64 = 253_402_300_799_999
}

enum ArrayLiteral {
    /// Returns a one-dimensional text array in PostgreSQL's text form. `unnest` does not accept an array of arrays with
    /// different lengths.
    static func text(_ identifiers: some Collection<Identifier>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(identifiers.reduce(2) { $0 + 3 + $1.text.utf8.count })
        bytes.append(UInt8(ascii: "{"))
        for identifier in identifiers {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            for byte in identifier.text.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension PostgresParameter {
    package static func identifiers(_ values: some Sequence<Identifier>) -> PostgresParameter {
        textArray(values.map(\.text))
    }

    package static func uuids(_ values: some Sequence<NameBasedUUID>) -> PostgresParameter {
        uuidArray(values.map { Optional($0.stored) })
    }

    package static func timestamptz(_ value: Timestamp?) -> PostgresParameter {
        timestamptz(unixMicroseconds: value?.microseconds)
    }

    package static func timestamps(_ values: [Timestamp?]) -> PostgresParameter {
        timestamptzArray(unixMicroseconds: values.map { $0?.microseconds })
    }
}

extension PostgresRows {
    /// Returns nil if the column is NULL.
    package func timestamp(_ row: Int, _ column: PostgresColumn) -> Timestamp? {
        timestampMicroseconds(row, column).map { Timestamp(milliseconds: $0 / 1000) }
    }

    /// Returns a stored event; nil if the column is NULL, or if its bytes are not an event.
    /// - Parameter period: the column with the `period_id` of the event's grant.
    func event(
        _ row: Int, _ column: PostgresColumn, ofPeriod period: PostgresColumn
    ) -> OutcomeEvent? {
        bytes(row, column).flatMap { [period = text(row, period)] stored in
            OutcomeEvent(stored: stored, period: period.map { StoreTransactionID($0) })
        }
    }
}

extension PostgresRow {
    package func timestamp(_ name: Name) -> Timestamp? {
        timestampMicroseconds(name).map { Timestamp(milliseconds: $0 / 1000) }
    }

    /// Returns a purchase's time; nil for 1970, which the ledger stores for an unreadable time.
    package func purchaseTime(_ name: Name) -> Timestamp? {
        timestamp(name).flatMap { $0.milliseconds == 0 ? nil : $0 }
    }
}
