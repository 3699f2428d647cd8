/// A whole response. Its body is at most 16 MiB long.
public struct HTTPResponse: Sendable {
    public let status: Int
    /// The `Retry-After` header; nil if there is none. A response with status 200 keeps neither `Retry-After` nor
    /// `Date`.
    public let retryAfter: String?
    public let date: String?
    public let body: [UInt8]
}
