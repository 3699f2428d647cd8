import AppStoreSimulation
import Foundation
import Kafka
import PlantedFaults
import Postgres

@testable import Demo

/// A short scene in which one planted fault shows, and a sound worker breaks nothing.
struct PlantedScenario: Sendable {
    let fault: PlantedFault

    /// The invariants that the fault breaks in the scene, the first for certain.
    var broken: Set<Invariant> {
        switch fault {
        case .commitAhead, .commitAfterRevoke: [.commitsAreSafe]
        case .eventBeforeCommit: [.everyGrantPublished]
        case .breakerIgnored, .retryAfterIgnored: [.appleIsSpared]
        case .parkedRowDropped: [.commitsAreSafe, .noGrantLost, .oneOutcome, .settles]
        }
    }

    /// - Parameter isPlanted: whether the workers have the fault.
    func evidence(isPlanted: Bool) async throws -> Evidence {
        var settings = ["APPLE_MAX_CONCURRENCY": "16", "MAX_IN_FLIGHT": "200", "SHUTDOWN_GRACE_SECONDS": "2"]
        if fault == .parkedRowDropped { settings["RETRY_PARK_AFTER_SECONDS"] = "0.2" }
        if isPlanted { settings["RECEIPTD_PLANTED_FAULT"] = fault.rawValue }
        var evidence = Evidence()
        try await Testbed.run(latency: .uniform(5, 40), settings: settings) { bed in
            let scene = Scene(bed: bed, plan: plan)
            switch fault {
            case .commitAhead: try await scene.hangingApple { _ in }
            case .commitAfterRevoke:
                try await scene.hangingApple { bed in
                    let second = try bed.startWorker()
                    try await eventually("the partitions are shared", within: .seconds(30)) {
                        second.log.contains("partitions assigned")
                    }
                }
            case .eventBeforeCommit: try await scene.undisturbed()
            case .breakerIgnored: try await scene.apple503()
            case .retryAfterIgnored: try await scene.apple429()
            case .parkedRowDropped: try await scene.undisturbed()
            }
            evidence = try await scene.evidence()
        }
        return evidence
    }

    private var plan: Plan {
        var plan = Plan.genuine(count: 240, players: 60)
        guard fault == .parkedRowDropped else { return plan }
        // Trouble with two receipts, for longer than memory waits: fewer than would open the circuit.
        for number in 0..<2 {
            plan.addGenuine(
                1000 + number, player: "troubled-\(number)", behaviour: [.status(21005).times(7), .genuine])
        }
        return plan
    }
}

/// What is done to a worker in a scene, and what was seen meanwhile.
final class Scene: Sendable {
    private let bed: Testbed
    private let plan: Plan
    private let load: RunningLoad
    private let monitor: ChaosMonitor
    private let quiets = Locked<[Evidence.Quiet]>([])
    private let limitedSince = Locked<Int64?>(nil)
    private let unsettled = Locked<[String]>([])

    /// What is not done by then is lost. A worker joins its group within seconds.
    private static let settling = Duration.seconds(25)
    private static let outageSeconds = 6

    init(bed: Testbed, plan: Plan) {
        self.bed = bed
        self.plan = plan
        let load = RunningLoad(bed: bed, plan: plan)
        self.load = load
        monitor = ChaosMonitor(bed: bed, plan: plan, places: { load.places }, workers: { [] })
    }

    func undisturbed() async throws {
        monitor.start()
        try bed.startWorker()
        await load.finish()
        await settle()
    }

    /// Nothing is decided: nothing may be committed. Then the workers are killed.
    func hangingApple(_ meanwhile: (Testbed) async throws -> Void) async throws {
        try await bed.apple.setOutage(.hang)
        await load.finish()
        try bed.startWorker()
        await bed.apple.waitUntil { $0.requests >= 4 }
        try await meanwhile(bed)
        monitor.start()
        // Offsets are committed each second.
        try await last(.seconds(3))
        for worker in bed.allWorkers { try await worker.kill() }
        try await bed.apple.setOutage(nil)
        try bed.startWorker()
        await settle()
    }

    func apple503() async throws {
        try bed.startWorker()
        load.start(perSecond: 20)
        try await eventually("the worker is at work") { bed.outcomes.content.events.count > 20 }
        try await bed.apple.setOutage(.http503)
        // What opens the circuit, and then what probes it.
        let from = Self.now + 1000
        try await last(.seconds(Self.outageSeconds))
        quiets.value.append(
            Evidence.Quiet(from: from, until: Self.now, requests: 20, name: "while Apple is out"))
        try await bed.apple.setOutage(nil)
        await load.finish()
        await settle()
    }

    func apple429() async throws {
        try bed.startWorker()
        try bed.startWorker()
        load.start(perSecond: 20)
        try await eventually("the workers are at work") { bed.outcomes.content.events.count > 20 }
        limitedSince.value = Self.now
        bed.apple.setBehaviour([.http(429, headers: ["Retry-After": "\(ChaosFault.retryAfterSeconds)"])])
        await bed.apple.waitUntil { ($0.answers["http_429"] ?? 0) > 0 }
        bed.apple.setBehaviour(nil)
        // Fresh submissions come all the while that Apple wants to be left alone.
        try await last(.seconds(ChaosFault.retryAfterSeconds))
        await load.finish()
        await settle()
    }

    func evidence() async throws -> Evidence {
        await monitor.stop()
        await monitor.look()
        var evidence = try await Evidence(plan, from: bed)
        evidence.monitor = monitor.findings
        evidence.unsettled = unsettled.value
        evidence.quiets = quiets.value
        if let limitedSince = limitedSince.value {
            evidence.expectQuiet(
                afterLimitsSince: limitedSince, through: Self.now,
                retryAfter: Int64(ChaosFault.retryAfterSeconds) * 1000)
        }
        return evidence
    }

    private func settle() async {
        do { try await bed.settle(plan, within: Self.settling) } catch { unsettled.value.append("\(error)") }
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }
}
