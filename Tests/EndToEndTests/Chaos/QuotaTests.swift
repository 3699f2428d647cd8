import AppStoreSimulation
import Foundation
import TestSupport
import Testing

extension Chaos {
    /// The most requests per second of both replicas together.
    private static let perSecond = 50
    private static let windowMilliseconds: Int64 = 10_000
    /// The factor by which the number of requests in a window may exceed the rate.
    private static let tolerance = 1.05
    /// The lowest share of the rate that the replicas must use while they have work.
    private static let use = 0.9

    @Test(
        "two replicas together keep to the rate of requests to Apple, and use 90 % of it even if only one has work",
        .enabled(if: Order.isWhole, "minutes long"))
    func quota() async throws {
        let plan = Plan.genuine(count: 1500, players: 300)
        let split = 900
        let settings = ["APPLE_MAX_REQUESTS_PER_SECOND": "\(Self.perSecond)", "MAX_IN_FLIGHT": "400"]
        try await Testbed.run(latency: .uniform(20, 60), settings: settings) { bed in
            try bed.startWorker()
            let second = try bed.startWorker()
            try await eventually("both have partitions") { second.log.contains("partitions assigned") }
            try await bed.submit(plan.records[..<split])
            try await bed.outcomes.until("the work of both is done") { $0.answers.count >= split }
            // At the start workers also read Apple's notification history. The test does not count these requests.
            func times() -> [Int64] {
                bed.apple.requestLog.filter { $0.api == .verifyReceipt }.map(\.timestampMilliseconds)
            }
            let both = times()
            try await bed.submit(plan.records[split...], partition: 0)
            try await bed.settle(plan)
            let all = times()
            let most = Self.most(bed.apple.requestLog.map(\.timestampMilliseconds))
            let used = [("both have work", both), ("one has work", Array(all[both.count...]))]
            print("chaos: at most \(most) requests in ten seconds at \(Self.perSecond) a second")
            #expect(Double(most) <= Double(Self.perSecond * 10) * Self.tolerance)
            for (name, times) in used {
                let seconds = Double((times.last ?? 0) - (times.first ?? 0)) / 1000
                let rate = Double(times.count) / max(seconds, 0.001)
                print("chaos: \(String(format: "%.1f", rate)) requests a second while \(name)")
                #expect(rate >= Double(Self.perSecond) * Self.use, "while \(name)")
            }
        }
    }

    private static func most(_ times: [Int64]) -> Int {
        var first = 0
        var most = 0
        for last in times.indices {
            while times[last] - times[first] >= windowMilliseconds { first += 1 }
            most = max(most, last - first + 1)
        }
        return most
    }
}
