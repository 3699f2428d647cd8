/// A whole response, its body bounded.
public struct HTTPResponse: Sendable {
    public let status: Int
    /// The header `Retry-After`, and below it `Date`: both are kept of a response that is not a 200.
    public let retryAfter: String?
    public let date: String?
    public let body: [UInt8]
}
