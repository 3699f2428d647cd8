import Foundation
import TestSupport
import Testing

/// Tests of whole workers whose services fail. The tests run one at a time, because each test uses the whole machine.
@Suite(.serialized)
struct Chaos {
    /// The options of `scripts/chaos.sh`, which the script passes in environment variables.
    enum Order {
        static let environment = ProcessInfo.processInfo.environment
        static let seed = environment["CHAOS_SEED"].flatMap(UInt64.init)
        /// The seed in the ordinary test run. The seed is fixed, so that a failure comes from the change under test.
        /// With this seed the database loses commits.
        static let usualSeed: UInt64 = 102_080
        /// The seconds of the part with faults. In the ordinary test run this part is short.
        static let seconds = environment["CHAOS_SECONDS"].flatMap { Int($0) } ?? 20
        /// The faults to choose from, including those that the worker does not survive yet; nil for the default.
        static let faults = environment["CHAOS_FAULTS"].map { names in
            names.split(separator: ",").compactMap { ChaosFault(rawValue: String($0)) }
        }
        /// True if the tests that take minutes run.
        static let isWhole = environment["CHAOS_SECONDS"] != nil
    }

    @Test("under load and random faults, receiptd keeps every invariant")
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
            // After an error the test bed keeps the workers' logs.
            if verdicts.contains(where: { !$0.problems.isEmpty }) {
                throw DeadlinePassed(description: "seed \(seed) broke an invariant")
            }
        }
    }
}
