enum CatalogLimits {
    static let fileSize = 16 * 1_048_576
    /// The most Unicode scalars of a bundle id, a product id, a key id, an issuer id or the name of a setting.
    static let nameLength = 255
    /// The most Unicode scalars of a player id, as in submissions.
    static let playerLength = 128
    static let dailyLimit: ClosedRange<Int64> = 1...1_000_000_000
    static let riskThreshold: ClosedRange<Int64> = 1...1_000_000
    static let appAppleID: ClosedRange<Int64> = 1...Int64.max
    /// The most levels of containers in a payload, including the outermost.
    static let payloadDepth = 32
    /// The most bytes of a payload as JSON. Every granted event of the product contains the payload, and must fit into
    /// a record.
    static let payloadSize = 65_536
}
