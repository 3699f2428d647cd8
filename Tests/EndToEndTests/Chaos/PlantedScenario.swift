import AppStoreSimulation
import PlantedFaults
import TestSupport

@testable import Demo

/// A short scene in which a worker with a planted fault breaks an invariant, and a worker without the fault breaks
/// none.
struct PlantedScenario: Sendable {
    let fault: PlantedFault

    /// The invariants that the fault may break in this scene. The fault must break at least one of them.
    var broken: Set<Invariant> {
        switch fault {
        case .commitAhead, .commitAfterRevoke, .commitWithoutCheckpoint: [.commitsAreSafe]
        case .eventBeforeCommit: [.everyGrantPublished]
        case .breakerIgnored, .retryAfterIgnored: [.appleIsSpared]
        case .parkedRowDropped: [.commitsAreSafe, .noGrantLost, .oneOutcome, .settles]
        case .checkpointNotCompared, .earlierHistoryCounts: [.noGrantLost]
        case .hungBatchDropped: [.noGrantLost, .oneOutcome, .settles]
        case .toldPurchaseDropped, .earlyRefundForgotten: [.deliversWhatIsTold]
        }
    }

    /// - Parameter isPlanted: true if the workers have the fault.
    func evidence(isPlanted: Bool) async throws -> Evidence {
        var settings = ["APPLE_MAX_CONCURRENCY": "16", "MAX_IN_FLIGHT": "200", "SHUTDOWN_GRACE_SECONDS": "2"]
        if fault == .parkedRowDropped { settings["RETRY_PARK_AFTER_SECONDS"] = "0.2" }
        if isPlanted { settings["RECEIPTD_PLANTED_FAULT"] = fault.rawValue }
        var evidence = Evidence()
        try await Testbed.run(
            on: needsOwnServer ? .ownServer : .prepared, latency: .uniform(5, 40), settings: settings
        ) { bed in
            try await bed.recordParked()
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
            case .commitWithoutCheckpoint: try await scene.checkpointsWait()
            case .checkpointNotCompared: try await scene.putBack(isCheckpointed: true)
            case .earlierHistoryCounts: try await scene.putBack(isCheckpointed: false)
            case .hungBatchDropped: try await scene.hungBatch()
            case .toldPurchaseDropped, .earlyRefundForgotten: try await scene.toldByApple()
            }
            evidence = try await scene.evidence()
        }
        return evidence
    }

    /// True if the scene stops the server or its sessions. All other scenes share one server.
    private var needsOwnServer: Bool {
        switch fault {
        case .checkpointNotCompared, .earlierHistoryCounts, .hungBatchDropped: true
        default: false
        }
    }

    private var plan: Plan {
        var plan = Plan.genuine(count: 240, players: 60)
        guard fault == .parkedRowDropped else { return plan }
        // Apple fails for two receipts until the worker parks them. Two receipts are too few to open the circuit.
        for number in 0..<2 {
            plan.addGenuine(
                1000 + number, player: "troubled-\(number)", behaviour: [.status(21005).times(7), .genuine])
        }
        return plan
    }
}
