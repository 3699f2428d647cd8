import NIOCore
import NIOHTTP1

struct ResponseCollector {
    static let maximumBodyLength = 16 << 20
    /// The most bytes that the collector reserves for a body whose length the head announces.
    private static let maximumReserve = 256 << 10

    private let status: Int
    private var retryAfter: String?
    private var date: String?
    private var body: [UInt8] = []

    init(_ head: HTTPResponseHead) {
        status = Int(head.status.code)
        if status != 200 {
            retryAfter = head.headers.first(name: "retry-after")
            date = head.headers.first(name: "date")
        }
        if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }), length > 0 {
            body.reserveCapacity(min(length, Self.maximumReserve))
        }
    }

    /// Returns false if the body is longer than `maximumBodyLength`.
    mutating func append(_ part: ByteBuffer) -> Bool {
        guard body.count + part.readableBytes <= Self.maximumBodyLength else { return false }
        part.withUnsafeReadableBytes { body.append(contentsOf: $0) }
        return true
    }

    var response: HTTPResponse { HTTPResponse(status: status, retryAfter: retryAfter, date: date, body: body) }
}
