/// One row of a statement, read by column names. Each function returns nil in the same cases as its namesake in
/// `PostgresRows`.
public struct PostgresRow<Name: CaseIterable & Hashable & RawRepresentable<String>> {
    fileprivate let rows: PostgresRows
    fileprivate let number: Int
    fileprivate let columns: PostgresColumns<Name>

    public func text(_ name: Name) -> String? { rows.text(number, columns[name]) }
    public func bytes(_ name: Name) -> [UInt8]? { rows.bytes(number, columns[name]) }
    public func bool(_ name: Name) -> Bool? { rows.bool(number, columns[name]) }
    /// An integer column of any width. Nil for NULL, and for a number that `Value` cannot represent.
    public func integer<Value: FixedWidthInteger>(_ name: Name) -> Value? {
        rows.int8(number, columns[name]).flatMap { Value(exactly: $0) }
    }
    public func uuid(_ name: Name) -> PostgresUUID? { rows.uuid(number, columns[name]) }
    public func jsonb(_ name: Name) -> [UInt8]? { rows.jsonb(number, columns[name]) }
    public func textArray(_ name: Name) -> [String?]? { rows.textArray(number, columns[name]) }
    /// Microseconds since 1970.
    public func timestampMicroseconds(_ name: Name) -> Int64? { rows.timestampMicroseconds(number, columns[name]) }
}

extension PostgresRows {
    /// Returns the rows, which are read by these column names. Throws if one of the names has no column, even if the
    /// statement returns no rows.
    public func named<Name>(_ names: Name.Type) throws(PostgresError) -> [PostgresRow<Name>] {
        let columns = try columns(names)
        return (0..<count).map { PostgresRow(rows: self, number: $0, columns: columns) }
    }
}
