import Foundation
import TestSupport
import Testing

/// Whole workers among failing parts. One test at a time: each keeps the machine busy.
@Suite(.serialized)
struct Chaos {
    /// The order of `scripts/chaos.sh`.
    enum Order {
        static let environment = ProcessInfo.processInfo.environment
        static let seed = environment["CHAOS_SEED"].flatMap(UInt64.init)
        /// The seed of a run without an order, among all other tests: a failure is the change's, and not the draw's.
        /// The database falls back in it.
        static let usualSeed: UInt64 = 102_080
        /// The seconds of faults. Without an order a short run, for it runs among all other tests then.
        static let seconds = environment["CHAOS_SECONDS"].flatMap { Int($0) } ?? 20
        /// Only these, also such as the worker does not withstand yet.
        static let faults = environment["CHAOS_FAULTS"].map { names in
            names.split(separator: ",").compactMap { ChaosFault(rawValue: String($0)) }
        }
        /// Whether the parts that take minutes are wanted too.
        static let isWhole = environment["CHAOS_SECONDS"] != nil
    }

    @Test("every invariant holds under random failures in random order")
    func faults() async throws {
        let seed = Order.seed ?? (Order.isWhole ? UInt64.random(in: 1...999_999) : Order.usualSeed)
        print("chaos: seed \(seed), \(Order.seconds) seconds of faults (repeat it by CHAOS_SEED=\(seed))")
        try await ChaosBed.run { chaos in
            let evidence = try await ChaosRun(
                seed: seed, seconds: Order.seconds, chaos: chaos, faults: Order.faults
            ).evidence()
            let verdicts = evidence.judged()
            print(
                "chaos: \(evidence.plan.records.count) records, \(evidence.everParked.count) parked once,",
                "\(evidence.requests.count) requests to Apple, \(evidence.monitor.commitChecks) looks at commits,",
                "at most \(evidence.monitor.highestMemoryMegabytes) MB and \(evidence.load.highestInFlight) in flight")
            for verdict in verdicts { print("chaos: \(verdict)") }
            for verdict in verdicts {
                #expect(verdict.problems.isEmpty, "seed \(seed): \(verdict): \(verdict.problems.prefix(5))")
            }
            // The workers' logs are of use then.
            if verdicts.contains(where: { !$0.problems.isEmpty }) {
                throw DeadlinePassed(description: "seed \(seed) broke an invariant")
            }
        }
    }
}
