import AppStoreSimulation
import Foundation
import Postgres
import TestSupport

@testable import Demo

/// A run of workers under load, with one fault after another. It collects the evidence for the judge.
struct ChaosRun {
    static let perSecond = 40
    private static let recoveryLimit = Duration.seconds(60)

    let seed: UInt64
    /// The seconds of the part with faults. The start and the end of the run take further time.
    let seconds: Int
    let chaos: ChaosBed
    let plan: Plan

    private let faults: [ChaosFault]

    /// In a run with an even seed the database may lose commits. Workers then repeat decisions in another order, so
    /// such a plan has no record whose outcome depends on the order.
    /// - Parameter faults: the faults to choose from; nil for all faults that workers survive.
    init(seed: UInt64, seconds: Int, chaos: ChaosBed, faults: [ChaosFault]? = nil) {
        let known =
            faults
            ?? ChaosFault.allCases.filter {
                !ChaosFault.pending.contains($0) && (!$0.isLoss || seed.isMultiple(of: 2))
            }
        self.faults = known.filter { $0.family != .kafka || chaos.broker != nil }
        self.seed = seed
        self.seconds = seconds
        self.chaos = chaos
        let isLosing = self.faults.contains(where: \.isLoss)
        plan = TrafficGenerator.plan(
            seed: seed, count: Self.perSecond * (seconds + 15),
            without: isLosing ? [.replayed, .restored, .resubmitted] : []
        ).whereOrderIsOpen()
    }

    func evidence() async throws -> Evidence {
        let bed = chaos.bed
        for _ in 0..<ChaosBed.workers { try chaos.startWorker() }
        let load = RunningLoad(bed: bed, plan: plan)
        let monitor = ChaosMonitor(
            bed: bed, plan: plan, places: { load.places }, workers: { [chaos] in chaos.workers },
            databaseLife: chaos.databaseLife)
        let told = try ToldPurchases(bed: bed)
        load.start(perSecond: Self.perSecond)
        try await told.start()
        monitor.start()
        try await bed.outcomes.until("the workers are at work") { $0.events.count > 100 }
        var notes = Notes()
        do {
            try await breakThings(load, &notes)
        } catch {
            notes.faults.append("the run could not go on: \(error)")
        }
        await told.finish()
        await load.finish()
        var unsettled = told.faults + (load.failure.map { [$0] } ?? [])
        do {
            try await bed.settle(plan, within: .seconds(150))
            try await eventually("nothing is parked", within: .seconds(150)) {
                try await bed.query("SELECT count(*) FROM parked") { $0.int8(0, 0) } == 0
            }
            try await eventually("what Apple told of is as it said", within: .seconds(150)) {
                try await bed.hasAll(told.all)
            }
            // If the database loses a decision, the decision's event is already on the topic. Only the ledger shows
            // that a worker made the decision again.
            let refunded = chaos.databaseLife.losses != 0 ? told.all.refunded : []
            try await eventually("whatever was told is in the ledger", within: .seconds(150)) {
                let granted = Set(
                    bed.outcomes.content.events.compactMap { $0.type == "receipt.granted" ? $0.transactionID : nil })
                return granted.subtracting(refunded).isSubset(of: try await grantedTransactions())
            }
        } catch {
            unsettled.append("\(error)")
            let missing = plan.truths.keys.filter { bed.outcomes.content.answers[$0] == nil }.sorted()
            for id in missing.prefix(2) { unsettled.append(await bed.trace(of: id, in: plan)) }
        }
        await monitor.stop()
        await monitor.look(isSettled: true)
        var evidence = try await Evidence(plan, from: bed)
        evidence.told = Evidence.Told(purchases: told.all, inForce: try await bed.inForce(of: told.all))
        evidence.everParked = try await chaos.everParked()
        evidence.monitor = monitor.findings
        evidence.progress.unsettled = unsettled
        evidence.progress.recoveries = notes.recoveries
        evidence.faults += notes.faults
        evidence.progress.stalls = notes.stalls
        evidence.isLossy = chaos.databaseLife.losses != 0
        evidence.load.highestInFlight = notes.highestInFlight
        // If a partition starts to fetch after the other partitions are paused, the partition still delivers one
        // record.
        evidence.load.inFlightLimit = ChaosBed.inFlight + Int(EmbeddedParts.partitions)
        // After a silent fault the count proves nothing: the simulated Apple still counts requests on cut connections.
        if !notes.wasSilent {
            evidence.load.appleConcurrencyLimit = (ChaosBed.workers + 1) * ChaosBed.appleConcurrency
        }
        for limit in notes.limits {
            evidence.expectQuiet(
                afterLimitsSince: limit.from, through: limit.until,
                retryAfter: Int64(ChaosFault.retryAfterSeconds) * 1000, until: limit.told)
        }
        return evidence
    }

    private struct Notes {
        var recoveries: [Evidence.Recovery] = []
        var faults: [String] = []
        var stalls: [String] = []
        var highestInFlight = 0
        var wasSilent = false
        var limits: [(from: Int64, until: Int64, told: Int64?)] = []
    }

    private func breakThings(_ load: RunningLoad, _ notes: inout Notes) async throws {
        var schedule = ChaosSchedule(seed: seed, faults: faults)
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let step = schedule.next()
            let began = Self.now
            var cures: [ChaosBed.Cure] = []
            for fault in step.faults {
                // The step's other fault may prevent this fault.
                do { cures.append(try await chaos.begin(fault, step)) } catch {
                    print("chaos: \(fault.rawValue) did not begin: \(error)")
                }
            }
            let grantsBefore = grantsTold
            try await last(.seconds(step.seconds))
            if step.faults == [.databaseReader], grantsTold == grantsBefore {
                notes.stalls.append("nothing was granted for \(step.seconds) s while a reader read all tables")
            }
            for cure in cures.reversed() {
                do { try await cure() } catch { notes.faults.append("\(step) did not end: \(error)") }
            }
            if step.faults.contains(.appleSilent) { notes.wasSilent = true }
            if let limit = step.faults.first(where: \.isLimit) {
                let told = limit == .appleLimitsBySeconds ? nil : began + Int64(ChaosFault.retryAfterSeconds) * 1000
                notes.limits.append((began, Self.now, told))
            }
            let recovery = try await recover(load)
            notes.recoveries.append(Evidence.Recovery(fault: step.description, seconds: recovery))
            print("chaos: \(step): all caught up after \(recovery.map { String(format: "%.1f s", $0) } ?? "-")")
            notes.highestInFlight = max(notes.highestInFlight, await inFlight())
        }
    }

    /// Returns the seconds until each submission that was sent before the fault's end is answered or parked. Returns
    /// nil if that takes longer than `recoveryLimit`.
    private func recover(_ load: RunningLoad) async throws -> Double? {
        let bed = chaos.bed
        let began = ContinuousClock.now
        var open = Set(plan.records.prefix(load.places.count).compactMap(\.submissionID))
        do {
            try await eventually("all is caught up", within: Self.recoveryLimit, every: .milliseconds(100)) {
                let content = bed.outcomes.content
                open = open.filter { content.answers[$0] == nil }
                if !open.isEmpty, let parked = try? await chaos.everParked() { open.subtract(parked) }
                return open.isEmpty
            }
        } catch is DeadlinePassed {
            return nil
        }
        return Self.seconds(ContinuousClock.now - began)
    }

    private var grantsTold: Int { chaos.bed.outcomes.content.events.count { $0.type == "receipt.granted" } }

    private func grantedTransactions() async throws -> Set<String> {
        try await chaos.bed.query("SELECT transaction_id FROM grants") { rows in
            Set((0..<rows.count).compactMap { rows.text($0, 0) })
        }
    }

    private func inFlight() async -> Int {
        var highest = 0
        for worker in chaos.workers {
            let scrape = try? await worker.scrape()
            highest = max(highest, Int(scrape?["receiptd_in_flight"] ?? 0))
        }
        return highest
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }
}

extension [ToldPurchases.Purchase] {
    /// The player of each purchase that Apple has not refunded, by transaction.
    var inForce: [String: String] {
        Dictionary(filter { !$0.isRefunded }.map { ($0.id, $0.player) }, uniquingKeysWith: { $1 })
    }

    /// The refunded purchases. If the database loses the decision about such a purchase, and a worker decides again
    /// after the refund, the worker grants nothing.
    var refunded: Set<String> { Set(lazy.filter(\.isRefunded).map(\.id)) }
}

extension Plan {
    /// Returns the plan without an expected order for submissions that share a receipt. A worker may park the first of
    /// these submissions, and answer the second before the first.
    func whereOrderIsOpen() -> Plan {
        var submissions: [String: Set<String>] = [:]
        for record in records {
            if let receipt = record.receipt, let id = record.submissionID {
                submissions[receipt, default: []].insert(id)
            }
        }
        var plan = self
        for sharers in submissions.values where sharers.count > 1 {
            let alternatives = sharers.reduce(into: Set<Set<Truth.Expected>>()) { all, id in
                all.formUnion(truths[id]?.alternatives ?? [])
            }
            for id in sharers { plan.truths[id]?.alternatives = Array(alternatives) }
        }
        return plan
    }
}
