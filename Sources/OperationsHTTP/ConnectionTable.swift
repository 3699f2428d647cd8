import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Operations
import Synchronization

/// The connections of an HTTP server. The server closes a connection that is silent or slow for too long. If there are
/// `maximum` connections, a new connection replaces the connection that has been silent for longest.
final class ConnectionTable: Sendable {
    static let maximum = 256
    /// The longest time from the connection's start to the end of the first request's head, in seconds. A head that
    /// arrives slowly does not get more time.
    static let headSeconds = 5.0
    /// The longest time without a byte in either direction, in seconds. It also applies between two requests.
    static let idleSeconds = 60.0
    /// The seconds for which a connection stays open after an answer with `Connection: close`. A client that still
    /// sends can read the answer in this time. If the socket were closed, the kernel would answer the client's bytes
    /// with a reset, and the client would lose the answer.
    static let lingerSeconds = 1.0
    static let sweepSeconds = 1.0

    private struct Entry {
        let channel: any Channel
        var seenAt: Double
        var hasAsked = false
        /// The time at which the request under way began; nil between requests.
        var requestSince: Double?
        /// The time of the answer with `Connection: close`; nil before this answer.
        var answeredLastAt: Double?
    }

    private let maximum: Int
    private let requestSeconds: Double
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    /// - Parameter requestSeconds: the longest time from a request's head to its answer, even if the body arrives
    ///   slowly.
    init(maximum: Int = ConnectionTable.maximum, requestSeconds: Double = .infinity) {
        self.maximum = maximum
        self.requestSeconds = requestSeconds
    }

    var count: Int { entries.withLock(\.count) }

    /// Adds a connection. Times are monotonic seconds.
    /// - Returns: true if the new connection replaced an older connection.
    @discardableResult
    func add(_ channel: any Channel, now: Double) -> Bool {
        let evicted = entries.withLock { entries -> (any Channel)? in
            var evicted: (any Channel)?
            if entries.count >= maximum, let oldest = entries.min(by: { $0.value.seenAt < $1.value.seenAt }) {
                entries[oldest.key] = nil
                evicted = oldest.value.channel
            }
            entries[ObjectIdentifier(channel)] = Entry(channel: channel, seenAt: now)
            return evicted
        }
        evicted?.close(promise: nil)
        return evicted != nil
    }

    enum Part {
        case ofRequest
        case ofResponse
    }

    /// Notes that a part of a request was received, or that a part of an answer was sent.
    func touch(_ channel: any Channel, _ part: Part, now: Double) {
        entries.withLock { entries in
            guard var entry = entries[ObjectIdentifier(channel)] else { return }
            entry.seenAt = now
            entry.hasAsked = true
            entry.requestSince = part == .ofRequest ? entry.requestSince ?? now : nil
            entries[ObjectIdentifier(channel)] = entry
        }
    }

    /// Notes that the connection's last answer is being sent. The server closes the connection soon, even if the client
    /// still sends.
    func answeredLast(_ channel: any Channel, now: Double) {
        entries.withLock { $0[ObjectIdentifier(channel)]?.answeredLastAt = now }
    }

    func remove(_ channel: any Channel) {
        entries.withLock { $0[ObjectIdentifier(channel)] = nil }
    }

    func closeOverdue(now: Double) {
        let overdue = entries.withLock { entries in
            let overdue = entries.filter {
                now - $0.value.seenAt > ($0.value.hasAsked ? Self.idleSeconds : Self.headSeconds)
                    || now - ($0.value.requestSince ?? now) > requestSeconds
                    || now - ($0.value.answeredLastAt ?? now) > Self.lingerSeconds
            }
            for key in overdue.keys { entries[key] = nil }
            return overdue.values.map(\.channel)
        }
        for channel in overdue { channel.close(promise: nil) }
    }
}

/// Reports to the table when one connection receives a part of a request or sends a part of an answer.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias InboundOut = NIOAny
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var isLast = false
    private let table: ConnectionTable
    private let evicted: Counter
    private let now: @Sendable () -> Double

    init(table: ConnectionTable, evicted: Counter, now: @escaping @Sendable () -> Double) {
        self.table = table
        self.evicted = evicted
        self.now = now
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if table.add(context.channel, now: now()) { evicted.increment() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { table.remove(context.channel) }

    func channelInactive(context: ChannelHandlerContext) {
        table.remove(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        table.touch(context.channel, .ofRequest, now: now())
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        table.touch(context.channel, .ofResponse, now: now())
        switch unwrapOutboundIn(data) {
        case .head(let head): isLast = head.headerFields[.connection] == "close"
        case .end where isLast: table.answeredLast(context.channel, now: now())
        case .body, .end: break
        }
        context.write(data, promise: promise)
    }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
