import NIOCore
import Synchronization

/// The HTTP server's connections: one that is silent for too long is closed, and where there are too many the one that
/// was silent for longest, so that a new one is always accepted.
final class ConnectionTable: Sendable {
    /// Connections at once.
    static let maximum = 256
    /// From connecting to the whole head of the first request. Bytes of a head that is not whole do not count.
    static let headSeconds = 5.0
    /// From one byte received or sent to the next, also between two requests.
    static let idleSeconds = 60.0
    static let sweepSeconds = 1.0

    private struct Entry {
        let channel: any Channel
        var seenAt: Double
        var hasAsked = false
    }

    private let maximum: Int
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    init(maximum: Int = ConnectionTable.maximum) {
        self.maximum = maximum
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

    /// A part of a request came, or one of a response went.
    func touch(_ channel: any Channel, now: Double) {
        entries.withLock { entries in
            entries[ObjectIdentifier(channel)]?.seenAt = now
            entries[ObjectIdentifier(channel)]?.hasAsked = true
        }
    }

    func remove(_ channel: any Channel) {
        entries.withLock { $0[ObjectIdentifier(channel)] = nil }
    }

    func closeOverdue(now: Double) {
        let overdue = entries.withLock { entries in
            let overdue = entries.filter {
                now - $0.value.seenAt > ($0.value.hasAsked ? Self.idleSeconds : Self.headSeconds)
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
    typealias OutboundIn = NIOAny
    typealias OutboundOut = NIOAny

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
        table.touch(context.channel, now: now())
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        table.touch(context.channel, now: now())
        context.write(data, promise: promise)
    }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
