import AppStoreSimulation
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@Suite("The HTTP server of the App Store simulation", .timeLimit(.minutes(1)))
struct ServerTests {
    @Test("One connection to the simulation serves many requests, and the simulation counts and logs the requests")
    func keepAlive() async throws {
        var options = AppStoreSimulation.Options()
        options.trackReceipts = true
        options.logCapacity = 3
        options.now = { 1_700_000_000_000 }
        let text = receipt().base64Encoded()
        try await withApple(options: options) { apple async throws in
            let client = try await WireClient.connect(port: apple.port)
            for _ in 0..<5 {
                #expect(try await client.post("/verifyReceipt", "{\"receipt-data\":\"\(text)\"}").status == 0)
            }
            #expect(try await client.post("/sandbox/verifyReceipt", "{\"receipt-data\":\"\(text)\"}").status == 21008)
            let counters = apple.counters
            #expect(counters.requests == 6)
            #expect(counters.productionRequests == 5)
            #expect(counters.sandboxRequests == 1)
            #expect(counters.answers == ["status_0": 5, "status_21008": 1])
            #expect(counters.connections == 1)
            #expect(counters.openConnections == 1)
            #expect(counters.maximumConcurrentRequests == 1)
            #expect(counters.receipts == 1)
            #expect(apple.requests(receiptData: text) == 6)
            #expect(apple.requestLog.count == 3)
            let last = try #require(apple.requestLog.last)
            #expect(last.endpoint == .sandbox)
            #expect(last.transactionIDs == ["350000191094279"])
            #expect(last.answer == "status_21008")
            #expect(last.timestampMilliseconds == 1_700_000_000_000)
            apple.resetCounters()
            #expect(apple.counters.requests == 0)
            #expect(apple.counters.openConnections == 1)
        }
    }

    @Test("The simulation delays 300 requests at the same time, and counts the most simultaneous requests")
    func concurrency() async throws {
        let text = receipt().base64Encoded()
        let slow = receipt(behaviour: [.delay(milliseconds: 60_000, then: .genuine)]).base64Encoded()
        try await withApple { apple async throws in
            var clients: [WireClient] = []
            for _ in 0..<300 {
                let client = try await WireClient.connect(port: apple.port)
                let body = "{\"receipt-data\":\"\(slow)\"}"
                try await client.send(
                    "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                clients.append(client)
            }
            await apple.waitUntil { $0.concurrentRequests == 300 }
            #expect(try await apple.ask(text).status == 0)
            #expect(apple.counters.maximumConcurrentRequests == 301)
            for client in clients { try await client.close() }
            await apple.waitUntil { $0.concurrentRequests == 0 }
        }
    }

    @Test("The simulation reads a body of 4 MiB, and answers 413 to a body of 5 MiB")
    func bodySize() async throws {
        let text = receipt().base64Encoded()
        let spaces = String(repeating: " ", count: 4 * 1024 * 1024 - text.utf8.count - 20)
        try await withApple { apple async throws in
            let largest = try await apple.post("/verifyReceipt", "{\"receipt-data\":\"\(text)\"}\(spaces)")
            #expect(largest.status == 0)
            let tooLarge = try await apple.ask(String(repeating: "A", count: 5 * 1024 * 1024))
            #expect(tooLarge.httpStatus == 413)
        }
    }

    @Test("The simulation answers malformed requests with errors, and then answers a sound request")
    func rubbish() async throws {
        var generator = SystemRandomNumberGenerator()
        let text = receipt().base64Encoded()
        try await withApple { apple async throws in
            let deep = String(repeating: "[", count: 1_000_000)
            #expect(try await apple.post("/verifyReceipt", deep).status == 21000)
            #expect(try await apple.post("/verifyReceipt", "{\"a\":\(deep)").status == 21000)
            #expect(try await apple.post("/verifyReceipt", "{\"receipt-data\":\"\\ud800\\u12\"}").status == 21000)
            for _ in 0..<200 {
                let bytes = (0..<Int.random(in: 0..<400, using: &generator)).map { _ in
                    UInt8.random(in: .min ... .max, using: &generator)
                }
                let random = String(decoding: bytes, as: UTF8.self)
                #expect(try await apple.post("/verifyReceipt", random).status == 21000)
                #expect(try await apple.ask(Data(bytes).base64EncodedString()).status == 21002)
            }
            let client = try await WireClient.connect(port: apple.port)
            try await client.send("\u{16}\u{03}\u{01} no HTTP at all\r\n\r\n")
            #expect(try await client.next().httpStatus == 400)
            #expect(try await apple.ask(text).status == 0)
        }
    }

    @Test("NIO's HTTP client reads an answer of the App Store simulation")
    func strictClient() async throws {
        let text = receipt().base64Encoded()
        try await withApple { apple async throws in
            let collected = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Int.self)
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(BodyLength(collected))
                    }
                }
                .connect(host: apple.host, port: apple.port).get()
            let body = ByteBuffer(string: "{\"receipt-data\":\"\(text)\"}")
            let head = HTTPRequestHead(
                version: .http1_1, method: .POST, uri: "/verifyReceipt",
                headers: ["Host": "a", "Content-Length": "\(body.readableBytes)"])
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
            channel.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil)
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            #expect(try await collected.futureResult.get() > 500)
            try await channel.close().get()
        }
    }

    @Test("The simulation's control API sets and resets behaviours, outages, latency and error rate")
    func control() async throws {
        let text = receipt().base64Encoded()
        try await withApple { apple async throws in
            let registration = SimulatedRegistration(receiptData: text, behaviour: [.status(21005), .genuine])
            let json = String(decoding: try JSONEncoder().encode(registration), as: UTF8.self)
            #expect(try await apple.post("/control/register", json).httpStatus == 200)
            #expect(try await apple.ask(text).status == 21005)
            #expect(
                try await apple.post("/control/outage", #"{"kind":"http503","endpoint":"production"}"#).httpStatus
                    == 200)
            #expect(try await apple.ask(text).httpStatus == 503)
            #expect(try await apple.post("/control/outage", "{}").httpStatus == 200)
            #expect(try await apple.post("/control/outage", #"{"kind":"refuse"}"#).httpStatus == 400)
            #expect(try await apple.post("/control/outage", #"{"kind":"flood"}"#).httpStatus == 400)
            #expect(try await apple.post("/control/latency", #"{"fixed_ms":1}"#).httpStatus == 200)
            #expect(try await apple.post("/control/behaviour", #"{"behaviour":"html"}"#).httpStatus == 200)
            #expect(try await apple.ask(text).body?.hasPrefix("<html>") == true)
            #expect(try await apple.post("/control/error-rate", #"{"rate":1,"step":"close"}"#).httpStatus == 200)
            #expect(try await apple.ask(text) == .closed(bytes: 0))
            let client = try await WireClient.connect(port: apple.port)
            try await client.send("GET /control/counters HTTP/1.1\r\nHost: a\r\n\r\n")
            let counters = try JSONDecoder().decode(
                SimulationCounters.self, from: Data((try await client.next().body ?? "").utf8))
            #expect(counters.requests == 4)
            #expect(counters.answers == ["status_21005": 1, "http_503": 1, "html": 1, "close": 1])
            #expect(try await apple.post("/control/reset", "").httpStatus == 200)
            #expect(try await apple.ask(text).status == 0)
            #expect(try await apple.post("/nowhere", "").httpStatus == 404)
        }
    }
}

/// Fulfils the promise with the length of the first response's body.
private final class BodyLength: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    private let promise: EventLoopPromise<Int>
    private var length = 0

    init(_ promise: EventLoopPromise<Int>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: break
        case .body(let part): length += part.readableBytes
        case .end: promise.succeed(length)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.fail(error)
        context.close(promise: nil)
    }
}
