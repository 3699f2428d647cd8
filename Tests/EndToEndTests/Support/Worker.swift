import Encodings
import Foundation
import Fulfillment
import Kafka
import TestSupport

@testable import Demo

struct Worker: Sendable {
    let process: WorkerProcess

    var log: String { (try? String(contentsOf: process.logFile, encoding: .utf8)) ?? "" }

    /// Returns the port from the worker's log, once the server listens.
    func port() async throws -> Int {
        var port: Int?
        try await eventually("the HTTP server listens") {
            port = log.split(separator: "\n").lazy
                .compactMap { try? JSONParser.parse(Array($0.utf8)).value }
                .first { $0["msg"]?.string == "HTTP server listens" }
                .flatMap { line in
                    if case .number(let text)? = line["port"] {
                        Int(text)
                    } else {
                        line["port"]?.string.flatMap { Int($0) }
                    }
                }
            return port != nil || !process.isRunning
        }
        guard let port else { throw DeadlinePassed(description: "the worker ended before it listened") }
        return port
    }

    func get(_ path: String) async throws -> HTTPProbe.Answer {
        try await HTTPProbe.get(port: try await port(), path)
    }

    func scrape() async throws -> Scrape {
        Scrape(try await get("/metrics").body)
    }

    func isReady() async -> Bool {
        (try? await get("/readyz").status) == 200
    }

    /// Waits for the end of the process. Returns the exit code, or the negative number of the signal.
    func ending(within limit: Duration = .seconds(60)) async throws -> Int32 {
        try await eventually("the worker ends", within: limit) { !process.isRunning }
        return try await blocking { [process] in process.wait() }
    }

    func kill() async throws {
        process.kill()
        _ = try await ending()
    }
}
