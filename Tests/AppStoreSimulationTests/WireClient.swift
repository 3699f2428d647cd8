import AppStoreSimulation
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// A client of one connection that shows the bytes on the wire, even if they are not HTTP.
final class WireClient: Sendable {
    enum Outcome: Sendable, Equatable {
        case response(status: Int, headers: [String: String], body: String)
        /// The server closed the connection in order after `bytes` bytes of an incomplete response.
        case closed(bytes: Int)
        case reset
        /// The bytes are not HTTP.
        case notHTTP
    }

    let channel: any Channel
    private let reader: Reader

    private init(channel: any Channel, reader: Reader) {
        self.channel = channel
        self.reader = reader
    }

    static func connect(port: Int) async throws -> WireClient {
        let reader = Reader()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(reader) }
            .connect(host: "127.0.0.1", port: port).get()
        return WireClient(channel: channel, reader: reader)
    }

    /// Sends one request without waiting for anything.
    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// Returns the next whole response, or the way in which the connection ended.
    func next() async throws -> Outcome {
        let promise = channel.eventLoop.makePromise(of: Outcome.self)
        channel.eventLoop.execute { self.reader.wait(promise) }
        return try await promise.futureResult.get()
    }

    func post(_ path: String, _ body: String) async throws -> Outcome {
        // The client does not await the write, because a server's reset may fail the write before the client reads.
        channel.writeAndFlush(
            ByteBuffer(
                string: "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body),
            promise: nil)
        return try await next()
    }

    func close() async throws { try await channel.close().get() }

    /// `@unchecked Sendable` is sound because only the channel's event loop uses the reader.
    private final class Reader: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = ByteBuffer
        private var received = ByteBuffer()
        private var waiting: EventLoopPromise<Outcome>?
        private var end: Outcome?

        func wait(_ promise: EventLoopPromise<Outcome>) {
            waiting = promise
            deliver()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            received.writeBuffer(&bytes)
            deliver()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if end == nil, (error as? IOError)?.errnoCode == ECONNRESET { end = .reset }
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            if end == nil { end = .closed(bytes: received.readableBytes) }
            deliver()
        }

        private func deliver() {
            guard let promise = waiting, let outcome = response() ?? end else { return }
            waiting = nil
            promise.succeed(outcome)
        }

        private func response() -> Outcome? {
            let text = String(decoding: received.readableBytesView, as: UTF8.self)
            if received.readableBytes >= 5, !text.hasPrefix("HTTP/") { return .notHTTP }
            guard let head = text.range(of: "\r\n\r\n") else { return nil }
            let lines = text[..<head.lowerBound].components(separatedBy: "\r\n")
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
            }
            let headLength = text[..<head.upperBound].utf8.count
            guard let length = headers["content-length"].flatMap({ Int($0) }),
                received.readableBytes >= headLength + length
            else { return nil }
            received.moveReaderIndex(forwardBy: headLength)
            let body = received.readString(length: length) ?? ""
            let status = Int(lines[0].split(separator: " ")[1]) ?? 0
            return .response(status: status, headers: headers, body: body)
        }
    }
}

extension WireClient.Outcome {
    var body: String? {
        guard case .response(_, _, let body) = self else { return nil }
        return body
    }

    var httpStatus: Int? {
        guard case .response(let status, _, _) = self else { return nil }
        return status
    }

    /// The body as a JSON object.
    var object: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data((body ?? "").utf8))) as? [String: Any] ?? [:]
    }

    /// The `status` inside the body.
    var status: Int? { object["status"] as? Int }
    var receipt: [String: Any] { object["receipt"] as? [String: Any] ?? [:] }
    var inApp: [[String: Any]] { receipt["in_app"] as? [[String: Any]] ?? [] }
}

/// Starts a simulation for `use`, and stops the simulation even after an error.
func withApple<Result>(
    latency: SimulatedLatency = .fixed(0), options: AppStoreSimulation.Options = .init(),
    _ use: (AppStoreSimulation) async throws -> Result
) async throws -> Result {
    let apple = try await AppStoreSimulation.start(latency: latency, options: options)
    do {
        let result = try await use(apple)
        try await apple.shutdown()
        return result
    } catch {
        try await apple.shutdown()
        throw error
    }
}

extension AppStoreSimulation {
    /// Sends one request over a new connection.
    func ask(
        _ receiptData: String, at endpoint: SimulatedEnvironment = .production, extra: String = ""
    ) async throws -> WireClient.Outcome {
        let client = try await WireClient.connect(port: port)
        return try await client.post(
            "/\(endpoint.rawValue)/verifyReceipt", "{\"receipt-data\":\"\(receiptData)\"\(extra)}")
    }

    func post(_ path: String, _ body: String) async throws -> WireClient.Outcome {
        try await WireClient.connect(port: port).post(path, body)
    }
}

/// Returns a receipt with one consumable.
func receipt(
    _ environment: SimulatedEnvironment = .production, behaviour: SimulatedBehaviour? = nil
) -> SimulatedReceipt {
    SimulatedReceipt(
        bundleID: "com.example.game", appAppleID: environment == .production ? 1_149_703_708 : 0,
        environment: environment, creationDateMilliseconds: 1_687_913_752_000,
        purchases: [
            SimulatedPurchase(
                transactionID: "350000191094279", productID: "gold.1", quantity: 3,
                purchaseDateMilliseconds: 1_687_913_752_000)
        ],
        behaviour: behaviour)
}
