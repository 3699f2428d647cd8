import AppStoreSimulation
import Foundation
import Postgres
import TestSupport

@testable import Demo

/// Plays a scene with workers, and records the workers' behaviour.
final class Scene: Sendable {
    let bed: Testbed
    let load: RunningLoad
    let monitor: ChaosMonitor
    let databaseLife = DatabaseLife()
    private let plan: Plan
    private let quiets = Locked<[Evidence.Quiet]>([])
    private let limitedSince = Locked<Int64?>(nil)
    private let unsettled = Locked<[String]>([])
    private let told = Locked<Evidence.Told>(Evidence.Told())

    /// The time after which an unanswered submission counts as lost. A worker needs seconds to join its group.
    private static let settling = Duration.seconds(25)
    private static let outageSeconds = 5
    /// The number of submissions that open both circuits. A circuit opens after the first tries of 20 players have
    /// failed in a row. Proven and unproven receipts, which alternate here, have a circuit each.
    private static let opensCircuits = 50
    /// In `outageSeconds` each of the two circuits lets four rounds of five probes pass, and two retries.
    private static let probes = 2 * (4 * 5 + 2)
    private static let toldPurchases = 40

    init(bed: Testbed, plan: Plan) {
        self.bed = bed
        self.plan = plan
        let load = RunningLoad(bed: bed, plan: plan)
        self.load = load
        monitor = ChaosMonitor(
            bed: bed, plan: plan, places: { load.places }, workers: { [] }, databaseLife: databaseLife)
    }

    func undisturbed() async throws {
        monitor.start()
        try bed.startWorker()
        await load.finish()
        await settle()
    }

    /// Plays the scene in which Apple hangs. The workers can decide nothing, and must commit nothing. Then the scene
    /// kills the workers.
    func hangingApple(_ meanwhile: (Testbed) async throws -> Void) async throws {
        try await bed.apple.setOutage(.hang)
        await load.finish()
        try bed.startWorker()
        await bed.apple.waitUntil { $0.requests >= 4 }
        try await meanwhile(bed)
        monitor.start()
        // Workers commit offsets every second.
        try await last(.seconds(3))
        for worker in bed.allWorkers { try await worker.kill() }
        try await bed.apple.setOutage(nil)
        try bed.startWorker()
        await settle()
    }

    func apple503() async throws {
        try bed.startWorker()
        load.start(perSecond: 20)
        try await bed.outcomes.until("the worker is at work") { $0.events.count > 20 }
        try await bed.apple.setOutage(.http503)
        let sent = load.places.count
        try await eventually("enough is sent to open both circuits") {
            load.places.count >= sent + Self.opensCircuits
        }
        try await last(.seconds(1))
        // Now all requests are probes.
        let from = Self.now
        try await last(.seconds(Self.outageSeconds))
        quiets.value.append(
            Evidence.Quiet(
                from: from, until: Self.now, api: .verifyReceipt, requests: Self.probes, name: "while Apple is out"))
        try await bed.apple.setOutage(nil)
        await load.finish()
        await settle()
    }

    func apple429() async throws {
        // This time is before the first 429, because a request under way may get the 429, and Apple's log has the time
        // at which the request came.
        limitedSince.value = Self.now
        try bed.startWorker()
        try bed.startWorker()
        load.start(perSecond: 20)
        try await bed.outcomes.until("the workers are at work") { $0.events.count > 20 }
        bed.apple.setBehaviour([.http(429, headers: ["Retry-After": "\(ChaosFault.retryAfterSeconds)"])])
        await bed.apple.waitUntil { ($0.answers["http_429"] ?? 0) > 0 }
        bed.apple.setBehaviour(nil)
        // New submissions arrive for the whole time of the `Retry-After`.
        try await last(.seconds(ChaosFault.retryAfterSeconds))
        await load.finish()
        await settle()
    }

    /// Announces purchases that nobody submits. Apple refunds some of them before workers deliver them.
    func toldByApple() async throws {
        try bed.startWorker(["MISSED_PURCHASE_SECONDS": "4"])
        let purchases = try ToldPurchases(bed: bed)
        try await purchases.start()
        try await eventually("some are told") { purchases.all.count >= Self.toldPurchases }
        await purchases.finish()
        await load.finish()
        await settle()
        do {
            try await eventually("what Apple told of is as it said", within: Self.settling) {
                try await bed.hasAll(purchases.all)
            }
        } catch {
            unsettled.value.append("\(error)")
        }
        told.value = Evidence.Told(purchases: purchases.all, inForce: try await bed.inForce(of: purchases.all))
    }

    func evidence() async throws -> Evidence {
        await monitor.stop()
        await monitor.look(isSettled: true)
        var evidence = try await Evidence(plan, from: bed)
        evidence.isLossy = databaseLife.losses != 0
        evidence.told = told.value
        evidence.everParked = try await bed.parkedOnce()
        evidence.monitor = monitor.findings
        evidence.progress.unsettled = unsettled.value
        evidence.load.quiets = quiets.value
        if let limitedSince = limitedSince.value {
            evidence.expectQuiet(
                afterLimitsSince: limitedSince, through: Self.now,
                retryAfter: Int64(ChaosFault.retryAfterSeconds) * 1000)
            if evidence.load.quiets.isEmpty { evidence.faults.append("Apple's log has no 429") }
        }
        return evidence
    }

    func settle() async {
        do {
            try await bed.settle(plan, within: Self.settling)
            // If the database lost a decision, the decision's event is already on the topic. So the scene looks in the
            // ledger.
            try await eventually("whatever was told is in the ledger", within: Self.settling) {
                let granted = try await bed.query("SELECT count(*) FROM grants") { $0.int8(0, 0) ?? 0 }
                let told = bed.outcomes.content.events.filter { $0.type == "receipt.granted" }
                return granted >= Set(told.map(\.transactionID)).count
            }
        } catch {
            unsettled.value.append("\(error)")
        }
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }
}
