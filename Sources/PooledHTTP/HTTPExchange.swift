import NIOCore
import NIOHTTP1

/// One request and the caller that waits for its response.
///
/// `@unchecked Sendable`: only the pool's event loop reads and writes the variables.
public final class HTTPExchange: @unchecked Sendable {
    let origin: HTTPEndpoint.Origin
    /// The request's head. Only the response decoder uses it.
    let head: HTTPRequestHead
    /// The whole request, as bytes.
    let bytes: ByteBuffer

    /// The waiting task; nil before the start and after the end.
    var continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>?
    /// True if the task was cancelled, perhaps before the exchange's start.
    var isCancelled = false
    var deadline = NIODeadline.distantFuture
    /// The connection of the exchange; nil while a connection is being made.
    var connection: HTTPConnection?
    var isRetried = false

    /// The neighbours in the list of exchanges under way.
    var previous: HTTPExchange?
    var next: HTTPExchange?

    public init(_ template: HTTPPostTemplate, body: some HTTPBody) {
        origin = template.origin
        head = template.head
        bytes = template.bytes(body: body)
    }

    /// Makes a request for JSON.
    /// - Parameters:
    ///   - path: the path after the endpoint's own path, such as `/items/1`, with its query.
    ///   - bearer: the token of the `Authorization` header.
    ///   - userAgent: the `User-Agent` header's value. `path`, `bearer` and `userAgent` must have neither spaces nor
    ///     line breaks.
    ///   - body: JSON; nil to send no body.
    public init(
        _ method: HTTPRequestMethod, _ endpoint: HTTPEndpoint, path: String, bearer: String, userAgent: String,
        body: [UInt8]? = nil
    ) {
        let base = endpoint.target == "/" ? "" : endpoint.target
        origin = endpoint.origin
        head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(method), uri: base + path)
        var bytes = ByteBuffer(
            string: """
                \(method.rawValue) \(base)\(path) HTTP/1.1\r
                host: \(endpoint.authority)\r
                accept: application/json\r
                user-agent: \(userAgent)\r
                authorization: Bearer \(bearer)\r

                """)
        if body != nil { bytes.writeString("content-type: application/json\r\n") }
        // Servers expect a length for each method that may have a body.
        if method != .get { bytes.writeString("content-length: \(body?.count ?? 0)\r\n") }
        bytes.writeString("\r\n")
        if let body { bytes.writeBytes(body) }
        self.bytes = bytes
    }
}

public enum HTTPRequestMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
}

extension HTTPMethod {
    fileprivate init(_ method: HTTPRequestMethod) {
        self =
            switch method {
            case .get: .GET
            case .post: .POST
            case .put: .PUT
            }
    }
}
