/// The causes for data from Apple that receiptd cannot read.
extension Cause {
    private static let namelessCode = "nameless_purchase"

    /// - Parameter fields: Apple's names of the ids and products that cannot be read.
    public static func namelessPurchase(_ fields: [String]) -> Cause {
        Cause(
            code: namelessCode,
            sentence:
                "Apple reports a purchase, but receiptd cannot read the fields that identify it: \(named(fields)).")
    }

    /// - Parameter fields: Apple's names of the facts that cannot be read.
    static func unreadableFact(_ fields: [String]) -> Cause {
        Cause(
            code: "unreadable_fact",
            sentence: "Apple signed the purchase, but receiptd cannot read these fields, which decide about it: "
                + "\(named(fields)).")
    }

    public var isOfNamelessPurchase: Bool { code == Self.namelessCode }

    private static func named(_ fields: [String]) -> String {
        fields.map { "`\($0)`" }.joined(separator: ", ")
    }
}
