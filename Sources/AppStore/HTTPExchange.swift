import NIOCore

/// One request and the caller that waits for its answer.
///
/// `@unchecked Sendable`: what changes is read and written on the pool's event loop alone.
final class HTTPExchange: @unchecked Sendable {
    let request: HTTPRequest
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

    init(_ request: HTTPRequest, body: ByteBuffer) {
        self.request = request
        bytes = request.bytes(body: body)
    }
}
