/// The causes for data from Apple that receiptd cannot read.
extension Cause {
    private static let namelessCode = "nameless_purchase"

    /// - Parameter fields: Apple's names of the ids and products that cannot be read.
    public static func namelessPurchase(_ fields: [String]) -> Cause {
        Cause(
            code: namelessCode,
            sentence: "Apple tells of a purchase, and what names it cannot be read here: \(named(fields)).")
    }

    /// - Parameter fields: Apple's names of the facts that cannot be read.
    static func unreadableFact(_ fields: [String]) -> Cause {
        Cause(
            code: "unreadable_fact",
            sentence: "Apple signed the purchase, and what decides about it cannot be read here: \(named(fields)).")
    }

    public var isOfNamelessPurchase: Bool { code == Self.namelessCode }

    private static func named(_ fields: [String]) -> String {
        fields.map { "`\($0)`" }.joined(separator: ", ")
    }
}
