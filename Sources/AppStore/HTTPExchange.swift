import NIOCore
import NIOHTTP1

/// One request and the caller that waits for its answer.
///
/// `@unchecked Sendable`: what changes is read and written on the pool's event loop alone.
final class HTTPExchange: @unchecked Sendable {
    let origin: HTTPEndpoint.Origin
    /// What the response decoder is told of the request.
    let head: HTTPRequestHead
    /// All that is sent.
    let bytes: ByteBuffer

    /// Nil before the start and after the end.
    var continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>?
    /// Cancelled, perhaps before the start.
    var isCancelled = false
    var deadline = NIODeadline.distantFuture
    /// On which it is under way; nil while one is being made.
    var connection: HTTPConnection?
    var isRetried = false

    /// Neighbours in the list of what is under way.
    var previous: HTTPExchange?
    var next: HTTPExchange?

    init(_ request: HTTPRequest, body: VerifyReceiptBody) {
        origin = request.origin
        head = request.head
        bytes = request.bytes(body: body)
    }

    /// A GET.
    /// - Parameters:
    ///   - path: what follows the endpoint's own, such as `/inApps/v1/transactions/1`.
    ///   - bearer: the token of the `Authorization` header. Neither holds a space or a line break.
    init(_ endpoint: HTTPEndpoint, path: String, bearer: String) {
        let base = endpoint.target == "/" ? "" : endpoint.target
        origin = endpoint.origin
        head = HTTPRequestHead(version: .http1_1, method: .GET, uri: base + path)
        bytes = ByteBuffer(
            string: """
                GET \(base)\(path) HTTP/1.1\r
                host: \(endpoint.authority)\r
                accept: application/json\r
                user-agent: receiptd\r
                authorization: Bearer \(bearer)\r
                \r

                """)
    }
}
