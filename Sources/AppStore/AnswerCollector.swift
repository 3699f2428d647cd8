import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// A whole HTTP answer, its body bounded.
struct HTTPAnswer: Sendable {
    let status: Int
    let retryAfter: String?
    let date: String?
    let body: [UInt8]
}

/// The answer's body is longer than any receipt's.
struct AnswerTooLong: Error {}

/// Gathers one answer's head and body.
///
/// `@unchecked Sendable`: every callback of the client for one request runs on that request's event loop, and nothing
/// else reads what they write.
final class AnswerCollector: HTTPClientResponseDelegate, @unchecked Sendable {
    /// Bytes. A receipt with thousands of renewals stays below it.
    static let maximumBodyLength = 16 << 20
    /// Bytes reserved on the answer's word alone.
    private static let maximumReserve = 256 << 10

    private var status = 0
    private var retryAfter: String?
    private var date: String?
    private var body: [UInt8] = []

    func didReceiveHead(task: HTTPClient.Task<HTTPAnswer>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        status = Int(head.status.code)
        if status != 200 {
            retryAfter = head.headers.first(name: "retry-after")
            date = head.headers.first(name: "date")
        }
        if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }), length > 0 {
            body.reserveCapacity(min(length, Self.maximumReserve))
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<HTTPAnswer>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        guard body.count + buffer.readableBytes <= Self.maximumBodyLength else {
            return task.eventLoop.makeFailedFuture(AnswerTooLong())
        }
        buffer.withUnsafeReadableBytes { body.append(contentsOf: $0) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<HTTPAnswer>) throws -> HTTPAnswer {
        HTTPAnswer(status: status, retryAfter: retryAfter, date: date, body: body)
    }
}
