import Encodings

extension Submission {
    /// Returns which of the fields `currency` and `submitted_at` receiptd ignored, because it cannot read the field's
    /// text. Returns none if `value` is no JSON object.
    /// - Parameter value: the record's value.
    public func ignoredFields(in value: [UInt8]) -> [String] {
        guard let members = try? JSONParser.parse(value).value else { return [] }
        let unread: [(SubmissionFields.Name, Bool)] = [
            (.currency, currency == nil), (.submittedAt, submittedAt == nil),
        ]
        return unread.filter { $1 && members[$0.rawValue]?.string != nil }.map(\.0.rawValue)
    }
}
