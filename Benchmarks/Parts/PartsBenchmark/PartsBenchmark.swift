import ArgumentParser
import Foundation

/// Compares the cost of each of our own parts with the cost of the library that the part replaces.
@main
struct PartsBenchmark: AsyncParsableCommand {
    @Option(help: "Requests of one run of an HTTP client.") var requests = 20_000
    @Option(help: "Of them under way at once.") var concurrency = 64
    @Option(help: "Times that each pair is measured, one after the other.") var rounds = 5
    @Option(help: .hidden) var serve: String?

    func run() async throws {
        if let serve { return try await HTTPServerProcess.run(portFile: serve) }
        print("part                 | ours, µs of CPU | library's | ratio of medians | library")
        for cost in try JSONCost(rounds: rounds).measure() { print(cost.row) }
        for cost in try Base64Cost(rounds: rounds).measure() { print(cost.row) }
        print(try await HTTPCost(requests: requests, concurrency: concurrency, rounds: rounds).measure().row)
    }
}
