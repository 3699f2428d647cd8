import Encodings

extension Submission {
    /// Returns the names of the fields `currency` and `submitted_at` whose text receiptd could not read and therefore
    /// ignored. Returns an empty list if `value` is not a JSON object.
    /// - Parameter value: the record's value.
    public func ignoredFields(in value: [UInt8]) -> [String] {
        guard let members = try? JSONParser.parse(value).value else { return [] }
        let unread: [(SubmissionFields.Name, Bool)] = [
            (.currency, currency == nil), (.submittedAt, submittedAt == nil),
        ]
        return unread.filter { $1 && members[$0.rawValue]?.string != nil }.map(\.0.rawValue)
    }
}
