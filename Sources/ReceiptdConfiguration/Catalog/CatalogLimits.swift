/// The limits of a catalog file.
enum CatalogLimits {
    /// Bytes of the whole file.
    static let fileSize = 16 * 1_048_576
    /// Unicode scalars of a bundle id, a product id, a key id or an issuer id, and of a setting's name.
    static let nameLength = 255
    /// Unicode scalars of a player id, as in submissions.
    static let playerLength = 128
    static let dailyLimit: ClosedRange<Int64> = 1...1_000_000_000
    static let riskThreshold: ClosedRange<Int64> = 1...1_000_000
    static let appAppleID: ClosedRange<Int64> = 1...Int64.max
    /// The nesting of containers in a payload, the outermost included.
    static let payloadDepth = 32
    /// Bytes of a payload as JSON. Every granted event of the product carries it, and an event must fit into a record.
    static let payloadSize = 65_536
}
