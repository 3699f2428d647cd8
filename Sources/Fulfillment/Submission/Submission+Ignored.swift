import Encodings

extension Submission {
    /// The names of fields that its record has and that were ignored, for what they say cannot be read: a `currency` or a
    /// `submitted_at`. Empty where `value` is no JSON object.
    /// - Parameter value: the record's value.
    public func ignoredFields(in value: [UInt8]) -> [String] {
        guard let members = try? JSONParser.parse(value).value else { return [] }
        let unread: [(SubmissionFields.Name, Bool)] = [
            (.currency, currency == nil), (.submittedAt, submittedAt == nil),
        ]
        return unread.filter { $1 && members[$0.rawValue]?.string != nil }.map(\.0.rawValue)
    }
}
