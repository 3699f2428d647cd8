public struct EmbeddedPostgresError: Error, Sendable, CustomStringConvertible {
    public let description: String
}
