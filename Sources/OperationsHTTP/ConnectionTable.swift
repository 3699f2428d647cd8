import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Operations
import Synchronization

/// An HTTP server's connections: one that is silent or slow for too long is closed, and where there are too many the one
/// that was silent for longest, so that a new one is always accepted.
final class ConnectionTable: Sendable {
    /// Connections at once.
    static let maximum = 256
    /// The seconds from connecting to the whole head of the first request. Bytes of a head that is not whole do not
    /// count.
    static let headSeconds = 5.0
    /// The seconds from one byte received or sent to the next, also between two requests.
    static let idleSeconds = 60.0
    /// The seconds from the end of an answer that says `Connection: close`. A client that is still sending can read it:
    /// if its bytes met a closed socket, the kernel would reset the connection and drop the answer.
    static let lingerSeconds = 1.0
    static let sweepSeconds = 1.0

    private struct Entry {
        let channel: any Channel
        var seenAt: Double
        var hasAsked = false
        /// The time since which parts of a request come without an answer.
        var requestSince: Double?
        /// The time of its last answer.
        var answeredLastAt: Double?
    }

    private let maximum: Int
    private let requestSeconds: Double
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    /// - Parameter requestSeconds: from a request's head to its answer, however its body comes.
    init(maximum: Int = ConnectionTable.maximum, requestSeconds: Double = .infinity) {
        self.maximum = maximum
        self.requestSeconds = requestSeconds
    }

    var count: Int { entries.withLock(\.count) }

    /// Times are monotonic seconds.
    /// - Returns: whether another was closed for it.
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

    /// A part of a request came, or one of a response went.
    func touch(_ channel: any Channel, _ part: Part, now: Double) {
        entries.withLock { entries in
            guard var entry = entries[ObjectIdentifier(channel)] else { return }
            entry.seenAt = now
            entry.hasAsked = true
            entry.requestSince = part == .ofRequest ? entry.requestSince ?? now : nil
            entries[ObjectIdentifier(channel)] = entry
        }
    }

    /// Notes that the last answer is on its way: the connection is closed soon, whatever it still sends.
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

/// Tells the table of one connection.
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
