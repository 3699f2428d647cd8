import Foundation
import Logging
import NIOEmbedded
import ServiceLifecycle
import TestSupport
import Testing

@testable import Operations
@testable import OperationsHTTP

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The operators' HTTP server")
struct OperationsServerTests {
    /// A server on a free port, with its metrics, health and log.
    private struct Fixture: Sendable {
        let metrics = ReceiptdMetrics(version: "1.2.3")
        let health = Health()
        let log = LogRecorder()
        var connections = ConnectionTable.maximum

        /// Runs the server while `body` sends requests, and then stops the server gracefully. Returns after the server
        /// has ended.
        func serve(
            _ body: @escaping @Sendable (_ ask: @escaping Ask, _ port: Int) async throws -> Void
        ) async throws {
            let (ports, told) = AsyncStream.makeStream(of: Int.self)
            var server = OperationsServer(
                host: "127.0.0.1", port: 0, metrics: metrics, health: health,
                logger: log.logger(.json, level: LogLevelSwitch(.info))
            ) { told.yield($0) }
            server.connections = connections
            let group = ServiceGroup(
                services: [server], logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    // If the server gets no port, the end of the stream ends the wait for a port.
                    defer { told.finish() }
                    try await group.run()
                }
                for await port in ports {
                    try await body({ try await ask(port, $0, $1) }, port)
                    break
                }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    private typealias Ask = @Sendable (_ method: String, _ path: String) async throws -> (HTTPURLResponse, String)

    private static func ask(_ port: Int, _ method: String, _ path: String) async throws -> (HTTPURLResponse, String) {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        let (data, response) = try await URLSession.shared.data(for: request)
        return (try #require(response as? HTTPURLResponse), String(decoding: data, as: UTF8.self))
    }

    @Test("The liveness probe answers 200; the readiness probe answers 503 with the unmet conditions until all are met")
    func probes() async throws {
        let fixture = Fixture()
        try await fixture.serve { ask, _ in
            let (live, liveText) = try await ask("GET", "/livez")
            #expect(live.statusCode == 200)
            #expect(liveText == "ok\n")
            let (unready, reasons) = try await ask("GET", "/readyz")
            #expect(unready.statusCode == 503)
            #expect(reasons.contains("PostgreSQL has not been reached yet\n"))
            for condition in Health.ReadinessCondition.allCases { fixture.health.set(condition, unmet: nil) }
            let (ready, text) = try await ask("GET", "/readyz")
            #expect(ready.statusCode == 200)
            #expect(text == "ready\n")
        }
    }

    @Test("The server answers /metrics in Prometheus's text format")
    func metrics() async throws {
        let fixture = Fixture()
        fixture.metrics.inFlight.set(12)
        try await fixture.serve { ask, _ in
            let (response, text) = try await ask("GET", "/metrics")
            #expect(response.statusCode == 200)
            #expect(response.value(forHTTPHeaderField: "Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            #expect(text.contains("\nreceiptd_in_flight 12\n"))
            #expect(text.contains("receiptd_build_info{version=\"1.2.3\"} 1\n"))
        }
    }

    @Test(
        "The worker's page shows lag and readiness, and loads nothing external; /status.json has readiness and version")
    func page() async throws {
        let fixture = Fixture()
        fixture.metrics.consumerLag.with("submissions", "3").set(77)
        try await fixture.serve { ask, _ in
            let (response, page) = try await ask("GET", "/")
            #expect(response.value(forHTTPHeaderField: "Content-Type") == "text/html; charset=utf-8")
            #expect(
                response.value(forHTTPHeaderField: "Content-Security-Policy")?.contains("default-src 'none'") == true)
            #expect(response.value(forHTTPHeaderField: "Server") == nil)
            #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("innerHTML"))
            #expect(
                page.contains("<b class=\"\">77</b>") && page.contains("<td>submissions</td><td class=\"n\">3</td>"))
            #expect(page.contains("PostgreSQL has not been reached yet") && page.contains("Not ready"))
            let (status, json) = try await ask("GET", "/status.json")
            #expect(status.value(forHTTPHeaderField: "Content-Type") == "application/json")
            let object = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
            #expect(object["ready"] as? Bool == false)
            #expect(object["version"] as? String == "1.2.3")
        }
    }

    @Test(
        "The server answers HEAD without a body, and answers 404 to an unknown path and to POST",
        arguments: ["/livez", "/metrics", "/", "/status.json"])
    func methods(path: String) async throws {
        try await Fixture().serve { ask, _ in
            let (head, nothing) = try await ask("HEAD", path)
            #expect(head.statusCode == 200)
            #expect(nothing == "")
            #expect(try await ask("GET", "/no" + path).0.statusCode == 404)
            #expect(try await ask("POST", path).0.statusCode == 404)
        }
    }

    @Test("The server logs its address in one line at start, and no line for a request")
    func quiet() async throws {
        let fixture = Fixture()
        try await fixture.serve { ask, port in
            _ = try await ask("GET", "/metrics")
            _ = try await ask("GET", "/nowhere")
            #expect(fixture.log.lines.count == 1)
            #expect(fixture.log.lines.first?.contains("\"host\":\"127.0.0.1\",\"port\":\(port)}") == true)
        }
        #expect(fixture.log.lines.count == 1)
    }

    @Test("A connection that sends no request does not delay the server's shutdown")
    func silentConnection() async throws {
        let silent = Socket()
        try await Fixture().serve { ask, port in
            #expect(silent.connect(port: UInt16(port)))
            // The server answers this request after it accepted the silent connection.
            let (response, _) = try await ask("GET", "/livez")
            #expect(response.statusCode == 200)
        }
    }

    @Test(
        "more silent connections than the limit delay no probe, and the server closes a silent connection after seconds"
    )
    func silentConnections() async throws {
        // Several event loops accept connections, so the server may accept any of 100 simultaneous sockets after the
        // connection that sends the request. With a limit below 100, the server might then close this connection before
        // it reads the request.
        let most = 110
        let fixture = Fixture(connections: most)
        try await fixture.serve { _, port in
            let silent = (0..<300).map { _ in Socket() }
            let ask = "GET /livez HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
            // The test opens only as many sockets at once as fit into the kernel's accept queue.
            for start in stride(from: 0, to: silent.count, by: 100) {
                #expect(await Socket.connect(Array(silent[start..<start + 100]), port: UInt16(port)))
                let accepted = Socket()
                #expect(accepted.connect(port: UInt16(port)))
                #expect(await accepted.ask(ask).contains(" 200 "))
            }
            // The probe is a new connection, which the server can accept only after all silent connections.
            let probe = Socket()
            #expect(probe.connect(port: UInt16(port)))
            #expect(await probe.ask(ask).contains(" 200 "))
            // Several threads accept connections, so the server may count the last silent sockets after the probe.
            try await eventually("those that are too many are closed") {
                fixture.metrics.httpConnectionsEvicted.value >= 200 - most
            }
            // The server closes the youngest connections for their silence, even after an incomplete request head.
            let last = try #require(silent.last)
            #expect(await last.ask("GET /livez HTTP/1.1\r\n") == "")
        }
    }

    @Test("If connections exceed the limit, the server closes the longest silent one; later it closes every idle one")
    func oldestGoes() {
        let table = ConnectionTable(maximum: 2)
        let channels = (0..<3).map { _ in EmbeddedChannel() }
        table.add(channels[0], now: 0)
        table.add(channels[1], now: 1)
        table.touch(channels[0], .ofRequest, now: 2)
        #expect(table.add(channels[2], now: 3))
        #expect(table.count == 2)
        // A connection that has sent a request may be idle for a minute. A connection that has sent none may be idle
        // for seconds.
        table.closeOverdue(now: 3 + ConnectionTable.headSeconds + 1)
        #expect(table.count == 1)
        table.closeOverdue(now: 2 + ConnectionTable.idleSeconds + 1)
        #expect(table.count == 0)
    }

    /// A plain TCP socket, closed with its last reference.
    final class Socket: Sendable {
        private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

        deinit { close(descriptor) }

        /// Sends `text`, and returns all bytes that the server sends before it closes the connection. Blocks a thread
        /// of its own.
        func ask(_ text: String) async -> String {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { [self] in
                    let bytes = Array(text.utf8)
                    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                    var answer: [UInt8] = []
                    var buffer = [UInt8](repeating: 0, count: 4096)
                    while true {
                        let count = recv(descriptor, &buffer, buffer.count, 0)
                        guard count > 0 else { break }
                        answer += buffer[..<count]
                    }
                    continuation.resume(returning: String(decoding: answer, as: UTF8.self))
                }
            }
        }

        /// Connects the sockets to loopback, on a thread of its own. The server may need the cooperative pool to accept
        /// them.
        static func connect(_ sockets: [Socket], port: UInt16) async -> Bool {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(returning: sockets.allSatisfy { $0.connect(port: port) })
                }
            }
        }

        func connect(port: UInt16) -> Bool {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }

    @Test("If the port is in use, the server throws an error with EADDRINUSE and the address")
    func portTaken() async throws {
        let first = Fixture()
        try await first.serve { _, port in
            let second = OperationsServer(
                host: "127.0.0.1", port: port, metrics: first.metrics, health: first.health,
                logger: first.log.logger(.text, level: LogLevelSwitch(.info)))
            let error = await #expect(throws: OperationsServerError.self) { try await second.run() }
            #expect(error?.code == EADDRINUSE)
            #expect(error?.description.contains("127.0.0.1:\(port)") == true)
        }
    }

    @Test("If the listen address is not this machine's, the server throws an error that is not retriable")
    func noSuchHost() async throws {
        let fixture = Fixture()
        let server = OperationsServer(
            host: "192.0.2.1", port: 0, metrics: fixture.metrics, health: fixture.health,
            logger: fixture.log.logger(.text))
        let error = await #expect(throws: OperationsServerError.self) { try await server.run() }
        #expect(error?.isRetriable == false)
    }
}
