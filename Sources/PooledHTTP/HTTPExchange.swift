import NIOCore
import NIOHTTP1

/// One request and the caller that waits for its response.
///
/// `@unchecked Sendable`: what changes is read and written only on the pool's event loop.
public final class HTTPExchange: @unchecked Sendable {
    let origin: HTTPEndpoint.Origin
    /// The request as the response decoder needs it.
    let head: HTTPRequestHead
    /// The whole request, as bytes.
    let bytes: ByteBuffer

    /// The waiting task; nil before the start and after the end.
    var continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>?
    /// Cancelled, perhaps before the start.
    var isCancelled = false
    var deadline = NIODeadline.distantFuture
    /// The connection on which it is under way; nil while one is being made.
    var connection: HTTPConnection?
    var isRetried = false

    /// Neighbours in the list of what is under way.
    var previous: HTTPExchange?
    var next: HTTPExchange?

    /// A POST.
    public init(_ template: HTTPPostTemplate, body: some HTTPBody) {
        origin = template.origin
        head = template.head
        bytes = template.bytes(body: body)
    }

    /// A request for JSON.
    /// - Parameters:
    ///   - path: what follows the endpoint's own, such as `/items/1`, with its query.
    ///   - bearer: the token of the `Authorization` header.
    ///   - userAgent: the `User-Agent` header's value. All three are free of spaces and line breaks.
    ///   - body: JSON; nil sends none.
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
        // Servers want a length of whatever may have a body.
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
