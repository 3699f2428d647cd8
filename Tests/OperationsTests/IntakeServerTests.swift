import Foundation
import Logging
import NIOEmbedded
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Operations
@testable import OperationsHTTP

@Suite("The HTTP server that receives notifications")
struct IntakeServerTests {
    private typealias Socket = OperationsServerTests.Socket

    /// The posted bodies, and the server's answers to them.
    private final class Posted: Sendable {
        let bodies = Mutex<[String]>([])

        func take(_ body: [UInt8]) -> IntakeAnswer {
            let text = String(decoding: body, as: UTF8.self)
            bodies.withLock { $0.append(text.count > 100 ? "\(text.count) bytes" : text) }
            return text.hasPrefix("no") ? .refused("why not") : text.hasPrefix("later") ? .unavailable("wait") : .taken
        }
    }

    /// Runs a server on a free port while `body` sends requests to the server.
    private func serve(
        _ posted: Posted, metrics: ReceiptdMetrics = ReceiptdMetrics(version: "test"),
        connections: Int = IntakeServer.maximumConnections,
        _ body: @escaping @Sendable (_ port: UInt16) async throws -> Void
    ) async throws {
        let (ports, told) = AsyncStream.makeStream(of: Int.self)
        var server = IntakeServer(
            host: "127.0.0.1", port: 0, metrics: metrics, health: Health(needing: []),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, take: { posted.take($0) },
            onBound: { told.yield($0) })
        server.connections = connections
        let group = ServiceGroup(services: [server], logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { told.finish() }
                try await group.run()
            }
            for await port in ports {
                try await body(UInt16(port))
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    private static func post(_ body: String, _ headers: String = "Connection: close\r\n") -> String {
        "POST /app-store-notifications HTTP/1.1\r\nHost: here\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }

    private static func ask(_ text: String, _ port: UInt16) async -> String {
        let socket = Socket()
        guard socket.connect(port: port) else { return "refused" }
        return await socket.ask(text)
    }

    @Test("the notification server answers 200, 400 or 503 if it accepts, refuses or postpones a notification")
    func answers() async throws {
        let posted = Posted()
        try await serve(posted) { port in
            #expect(await Self.ask(Self.post("yes"), port).hasPrefix("HTTP/1.1 200 "))
            let refused = await Self.ask(Self.post("no"), port)
            #expect(refused.hasPrefix("HTTP/1.1 400 ") && refused.hasSuffix("why not\n"))
            #expect(await Self.ask(Self.post("later"), port).hasPrefix("HTTP/1.1 503 "))
            for path in ["livez", "readyz", "metrics"] {
                let answer = await Self.ask("GET /\(path) HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", port)
                #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(path): \(answer)")
            }
            let other = await Self.ask("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", port)
            #expect(other.hasPrefix("HTTP/1.1 404 "))
            for method in ["GET", "PUT", "PATCH", "DELETE"] {
                let answer = await Self.ask(
                    "\(method) /app-store-notifications HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", port)
                #expect(answer.hasPrefix("HTTP/1.1 405 "), "\(method): \(answer)")
            }
        }
        #expect(posted.bodies.withLock { $0 } == ["yes", "no", "later"])
    }

    @Test("the notification server accepts a chunked body, and answers a connection's pipelined requests in order")
    func shapes() async throws {
        let posted = Posted()
        try await serve(posted) { port in
            let chunked =
                "POST /app-store-notifications HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2\r\nno\r\n4\r\n way\r\n0\r\n\r\n"
            let answer = await Self.ask(chunked + Self.post("one", "") + Self.post("two"), port)
            #expect(
                answer.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) } == ["400", "200", "200"])
        }
        #expect(posted.bodies.withLock { $0 } == ["no way", "one", "two"])
    }

    @Test("the notification server accepts a body of 256 KiB, and answers 413 to a larger body, chunked or not")
    func tooLarge() async throws {
        let posted = Posted()
        let limit = IntakeServer.maximumBodyBytes
        try await serve(posted) { port in
            #expect(await Self.ask(Self.post(String(repeating: "a", count: limit)), port).hasPrefix("HTTP/1.1 200 "))
            let told = "POST /app-store-notifications HTTP/1.1\r\nHost: here\r\nContent-Length: \(limit + 1)\r\n\r\n"
            #expect(await Self.ask(told, port).hasPrefix("HTTP/1.1 413 "))
            let chunk = "10000\r\n" + String(repeating: "a", count: 65_536) + "\r\n"
            let untold =
                "POST /app-store-notifications HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: chunk, count: 4) + "1\r\na\r\n"
            #expect(await Self.ask(untold, port).hasPrefix("HTTP/1.1 413 "))
        }
        #expect(posted.bodies.withLock { $0 } == ["\(limit) bytes"])
    }

    @Test("the notification server refuses a notification with a header of 20,000 characters")
    func longHeader() async throws {
        let posted = Posted()
        try await serve(posted) { port in
            let long = String(repeating: "a", count: 20_000)
            let answer = await Self.ask(Self.post("yes", "X-Long: \(long)\r\n"), port)
            #expect(!answer.contains(" 200 "))
        }
        #expect(posted.bodies.withLock { $0 } == [])
    }

    @Test("more silent connections than the limit do not keep a notification waiting")
    func silentConnections() async throws {
        let posted = Posted()
        let metrics = ReceiptdMetrics(version: "test")
        // Several event loops accept connections, so the server may accept any of 100 simultaneous sockets after the
        // connection that sends the request. With a limit below 100, the server might then close this connection before
        // it reads the request.
        let most = 110
        try await serve(posted, metrics: metrics, connections: most) { port in
            let silent = (0..<300).map { _ in Socket() }
            // The test opens only as many sockets at once as fit into the kernel's accept queue.
            for start in stride(from: 0, to: silent.count, by: 100) {
                #expect(await Socket.connect(Array(silent[start..<start + 100]), port: port))
                #expect(await Self.ask(Self.post("yes"), port).hasPrefix("HTTP/1.1 200 "))
            }
            try await eventually("those that are too many are closed") {
                metrics.httpConnectionsEvicted.value >= 200 - most
            }
        }
    }

    @Test(
        "if a request is still incomplete after 20 s, the server closes the connection, unless the response has begun")
    func slow() {
        let table = ConnectionTable(requestSeconds: 20)
        let channels = (0..<2).map { _ in EmbeddedChannel() }
        for channel in channels { table.add(channel, now: 0) }
        for second in 1...30 { table.touch(channels[0], .ofRequest, now: Double(second)) }
        for second in 1...30 {
            table.touch(channels[1], .ofRequest, now: Double(second))
            table.touch(channels[1], .ofResponse, now: Double(second))
        }
        table.closeOverdue(now: 21)
        #expect(table.count == 2)
        table.closeOverdue(now: 21.5)
        #expect(table.count == 1)
    }
}
