import ArgumentParser
import Foundation

/// Compares the cost of each of our own parts with the cost of the library that the part replaces.
@main
struct PartsBenchmark: AsyncParsableCommand {
    @Option(help: "The requests in one run of an HTTP client.") var requests = 20_000
    @Option(help: "The requests in flight at the same time.") var concurrency = 64
    @Option(help: "The number of measurements of each pair.") var rounds = 5
    @Option(help: .hidden) var serve: String?

    func run() async throws {
        if let serve { return try await HTTPServerProcess.run(portFile: serve) }
        print("part                 | ours, µs of CPU | library's | ratio of medians | library")
        for cost in try JSONCost(rounds: rounds).measure() { print(cost.row) }
        for cost in try Base64Cost(rounds: rounds).measure() { print(cost.row) }
        print(try await HTTPCost(requests: requests, concurrency: concurrency, rounds: rounds).measure().row)
    }
}
