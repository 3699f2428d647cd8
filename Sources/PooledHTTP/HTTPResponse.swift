/// A whole response. Its body is at most 16 MiB long.
public struct HTTPResponse: Sendable {
    public let status: Int
    /// The `Retry-After` header. This header and `Date` are kept only from a response that is not a 200.
    public let retryAfter: String?
    public let date: String?
    public let body: [UInt8]
}
