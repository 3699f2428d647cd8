import AppStoreSimulation
import Fulfillment
import NIOCore
import NIOPosix
import NamesAndTimes
import Testing

@testable import AppStore
@testable import PooledHTTP

@Suite("The pool of connections to Apple")
struct ConnectionPoolTests {
    /// Sends `times` requests, one after the other, and returns the results.
    private func ask(
        _ times: Int, _ reply: @escaping @Sendable (_ connection: Int, _ request: Int) -> RawServer.Reply
    ) async throws -> (answers: [AppleAnswer], counts: RawServer.Counts) {
        let server = try await RawServer.start(reply)
        let client = try VerifyReceiptClient(
            settings: AppleSettings(productionURL: server.url, sandboxURL: server.url), secrets: { _ in nil })
        var answers: [AppleAnswer] = []
        for _ in 0..<times {
            answers.append(
                await client.verify(
                    VerificationRequest(bundleID: "com.example.game", receipt: "TUlJ", sharedSecretSetting: nil)))
        }
        await client.shutdown()
        try await server.shutdown()
        return (answers, server.counts)
    }

    private let answered = AppleAnswer.refused(.accountNotFound)
    private let lost = AppleAnswer.trouble(of: .connection)

    @Test("The connection pool never opens more connections than the number of simultaneous requests")
    func bounded() async throws {
        try await SimulatedApple.run(maxConcurrency: 8) { apple in
            await withTaskGroup { group in
                for number in 0..<200 {
                    group.addTask { #expect(await apple.ask(SimulatedApple.receipt("\(number)")).genuine != nil) }
                }
            }
            #expect(apple.store.counters.requests == 200)
            #expect((1...8).contains(apple.store.counters.connections))
        }
    }

    @Test("Requests to Production and to the sandbox share one connection if both have the same host")
    func shared() async throws {
        try await SimulatedApple.run { apple in
            for number in 0..<4 {
                let receipt = SimulatedApple.receipt("\(number)", environment: .sandbox)
                #expect(await apple.ask(receipt).genuine?.environment == .sandbox)
            }
            #expect(apple.store.counters.requests == 8)
            #expect(apple.store.counters.connections == 1)
        }
    }

    @Test("After the server closed a connection, announced or not, the next request opens a new connection")
    func closing() async throws {
        for head in ["connection: close\r\n", ""] {
            let reply = RawServer.Reply(
                bytes: "HTTP/1.1 200 OK\r\n\(head)content-length: 16\r\n\r\n" + RawServer.Reply.body, isLast: true)
            let (answers, counts) = try await ask(5) { _, _ in reply }
            #expect(answers == Array(repeating: answered, count: 5))
            #expect(counts.connections == 5)
            #expect(counts.requests == 5)
        }
    }

    @Test("If a server announces that it closes a connection, the connection pool does not use the connection again")
    func announcedOnly() async throws {
        for head in ["HTTP/1.1 200 OK\r\nConnection: close", "HTTP/1.0 200 OK"] {
            let reply = RawServer.Reply(bytes: "\(head)\r\ncontent-length: 16\r\n\r\n" + RawServer.Reply.body)
            let (answers, counts) = try await ask(3) { _, _ in reply }
            #expect(answers == Array(repeating: answered, count: 3))
            #expect(counts.connections == 3)
        }
    }

    @Test("The HTTP client reads a body that comes in chunks, and a body that ends with the connection")
    func framing() async throws {
        let chunked = RawServer.Reply(
            bytes: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                + "8\r\n{\"status\r\n8\r\n\":21010}\r\n0\r\n\r\n")
        #expect(try await ask(2) { _, _ in chunked }.answers == [answered, answered])
        let untilEnd = RawServer.Reply(bytes: "HTTP/1.1 200 OK\r\n\r\n" + RawServer.Reply.body, isLast: true)
        #expect(try await ask(2) { _, _ in untilEnd }.answers == [answered, answered])
    }

    @Test("The HTTP client skips an interim answer such as 100 Continue, and waits for the final answer")
    func interim() async throws {
        let reply = RawServer.Reply(bytes: "HTTP/1.1 100 Continue\r\n\r\n" + RawServer.Reply.answer.bytes)
        let (answers, counts) = try await ask(2) { _, _ in reply }
        #expect(answers == [answered, answered])
        #expect(counts.connections == 1)
    }

    @Test("If the server closed a kept connection, the HTTP client sends the request again over a new connection")
    func closedMeanwhile() async throws {
        let (answers, counts) = try await ask(2) { connection, request in
            connection == 1 && request == 2 ? .close : .answer
        }
        #expect(answers == [answered, answered])
        #expect(counts.connections == 2)
        #expect(counts.requests == 3)
    }

    @Test("If the second sending of a request fails too, the HTTP client does not send the request a third time")
    func onlyOnce() async throws {
        let (answers, counts) = try await ask(2) { connection, _ in connection == 1 ? .answer : .close }
        #expect(answers == [answered, answered])
        #expect(counts.requests == 2)
        let (later, laterCounts) = try await ask(2) { connection, request in
            connection == 1 && request == 1 ? .answer : .close
        }
        #expect(later == [answered, lost])
        #expect(laterCounts.requests == 3)
    }

    @Test("If a request fails on a new connection, the HTTP client does not send the request again")
    func newConnection() async throws {
        let (answers, counts) = try await ask(1) { _, _ in .close }
        #expect(answers == [lost])
        #expect(counts.requests == 1)
    }

    @Test("If a connection fails after one byte of the answer, the HTTP client does not send the request again")
    func begun() async throws {
        let (answers, counts) = try await ask(2) { _, request in
            request == 1 ? .answer : RawServer.Reply(bytes: "H", isLast: true)
        }
        #expect(answers == [answered, lost])
        #expect(counts.requests == 2)
    }

    @Test("If a server sends more bytes than one answer, the connection pool does not use the connection again")
    func unasked() async throws {
        let twice = RawServer.Reply(bytes: RawServer.Reply.answer.bytes + RawServer.Reply.answer.bytes)
        let (answers, counts) = try await ask(3) { _, _ in twice }
        #expect(answers == Array(repeating: answered, count: 3))
        #expect(counts.connections == 3)
    }

    @Test("The connection pool closes a connection that is idle for too long, and the next request opens a new one")
    func idle() async throws {
        let store = try await AppStoreSimulation.start()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let pool = ConnectionPool(
            loop: group.next(), timeout: .seconds(10), connectTimeout: .seconds(3), tls: nil)
        let request = HTTPPostTemplate(try #require(HTTPEndpoint(url: store.productionURL)), userAgent: "test")
        for number in 1...2 {
            let exchange = HTTPExchange(request, body: VerifyReceiptBody(receipt: "", password: nil))
            let result = await withCheckedContinuation { continuation in
                pool.loop.execute { pool.start(exchange, continuation) }
            }
            #expect((try? result.get())?.status == 200)
            #expect(store.counters.connections == number)
            try await pool.loop.submit { pool.closeIdle(since: .now()) }.get()
            await store.waitUntil { $0.openConnections == 0 }
        }
        await withCheckedContinuation { continuation in pool.loop.execute { pool.shutdown(continuation) } }
        try await group.shutdownGracefully()
        try await store.shutdown()
    }
}
