import AsyncHTTPClient
import Foundation
import NIOCore
import PooledHTTP

/// The cost of one POST of a receipt, with the answer, for each client.
struct HTTPCost {
    let requests: Int
    let concurrency: Int
    let rounds: Int

    private struct Body: HTTPBody {
        let text: String
        var count: Int { text.utf8.count }
        func write(to buffer: inout ByteBuffer) { buffer.writeString(text) }
    }

    func measure() async throws -> Comparison {
        let server = try HTTPServerProcess()
        defer { server.end() }
        let body = Body(text: "{\"receipt-data\":\"\(JSONCost.receipt)\"}")
        var samples: [(ours: Double, theirs: Double)] = []
        // The first round only warms up, and is dropped.
        for _ in 0...rounds {
            samples.append((try await ours(server.url, body), try await theirs(server.url, body)))
        }
        return Comparison("HTTP, one POST      ", library: "async-http-client", samples: Array(samples.dropFirst()))
    }

    private func ours(_ url: String, _ body: Body) async throws -> Double {
        guard let endpoint = HTTPEndpoint(url: url) else { throw WrongResult() }
        let client = try PooledHTTP.HTTPClient(.init(timeoutSeconds: 10, usesTLS: false))
        let template = HTTPPostTemplate(endpoint, userAgent: "bench")
        let cost = try await cost {
            try await withTaskExecutorPreference(client.executor) {
                let response = try await client.send(HTTPExchange(template, body: body)).get()
                if response.status != 200 || response.body.isEmpty { throw WrongResult() }
            }
        }
        await client.shutdown()
        return cost
    }

    private func theirs(_ url: String, _ body: Body) async throws -> Double {
        let client = AsyncHTTPClient.HTTPClient(eventLoopGroupProvider: .singleton)
        let bytes = ByteBuffer(string: body.text)
        let cost = try await cost {
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.headers = ["content-type": "application/json", "accept": "application/json"]
            request.body = .bytes(bytes)
            let response = try await client.execute(request, timeout: .seconds(10))
            let answer = try await response.body.collect(upTo: 16 << 20)
            if response.status != .ok || answer.readableBytes == 0 { throw WrongResult() }
        }
        try await client.shutdown()
        return cost
    }

    /// Returns the microseconds of processor time for one request.
    private func cost(_ send: @escaping @Sendable () async throws -> Void) async throws -> Double {
        let start = ProcessorTime.seconds
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency {
                group.addTask { for _ in 0..<(requests / concurrency) { try await send() } }
            }
            try await group.waitForAll()
        }
        return (ProcessorTime.seconds - start) / Double(requests / concurrency * concurrency) * 1e6
    }
}
