import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension ChaosBed {
    typealias Cure = @Sendable () async throws -> Void

    func begin(_ fault: ChaosFault, _ step: ChaosSchedule.Step) async throws -> Cure {
        switch fault.family {
        case .worker: try await beginWorkers(fault, step)
        case .database: try await beginDatabase(fault, step)
        case .apple: try await beginApple(fault)
        case .kafka: try beginKafka(fault, step)
        }
    }

    private func beginWorkers(_ fault: ChaosFault, _ step: ChaosSchedule.Step) async throws -> Cure {
        let victim = workers[step.victim % workers.count]
        switch fault {
        case .workerKilled:
            takeOut(victim)
            try await victim.kill()
            return { [self] in try startWorker() }
        case .workerFrozen:
            victim.process.send(SIGSTOP)
            return { victim.process.send(SIGCONT) }
        case .workerPortTaken: return try await beginPortTaken(victim)
        case .workerStopped:
            takeOut(victim)
            victim.process.terminate()
            return { [self] in
                let code = try await victim.ending()
                if code != 0 { throw DeadlinePassed(description: "a worker told to stop ended with \(code)") }
                try startWorker()
            }
        default:
            let added = try startWorker()
            return { [self] in
                takeOut(added)
                added.process.terminate()
                _ = try await added.ending()
            }
        }
    }

    private func beginDatabase(_ fault: ChaosFault, _ step: ChaosSchedule.Step) async throws -> Cure {
        let restart: Cure = { [server] in try await blocking { try server.startServer() } }
        switch fault {
        case .databaseStopped, .databaseCrashed:
            try await blocking { [server] in server.stopServer(crashing: fault == .databaseCrashed) }
            return restart
        case .databaseSessionsEnded:
            try await database(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'receiptd'")
            return {}
        case .databaseReadOnly:
            try await database("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
            return { [self] in
                try await database("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
            }
        case .databaseFull, .databaseDeadlocks:
            let function = fault == .databaseFull ? "chaos_full" : "chaos_deadlock"
            try await database(
                "CREATE TRIGGER \(function) BEFORE INSERT ON outcomes FOR EACH STATEMENT EXECUTE FUNCTION \(function)()"
            )
            return { [self] in try await database("DROP TRIGGER \(function) ON outcomes") }
        case .databaseLocked:
            let seconds = step.seconds
            let locking = Task { [self] in
                try await database(
                    "BEGIN; LOCK TABLE claims IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(\(seconds)); COMMIT")
            }
            return { _ = await locking.result }
        case .databaseSlow:
            try await databaseProxy.setDelay(milliseconds: 50)
            return { [databaseProxy] in try await databaseProxy.setDelay(milliseconds: 0) }
        case .databaseCut:
            try await databaseProxy.cut()
            return { [databaseProxy] in try await databaseProxy.cut() }
        case .databaseSilent:
            try await databaseProxy.setSilent(true)
            return { [databaseProxy] in
                // While the proxy is silent, neither side notices the cut. Then the connections close.
                try await databaseProxy.cut()
                try await databaseProxy.setSilent(false)
            }
        case .databaseBackendFrozen, .databaseBackendHung: return try await beginFrozenBackend()
        case .databaseRightTaken: return try await beginRightTaken()
        case .databaseReader: return try await beginReader(step)
        case .databasePutBack: return try await beginPutBack()
        default: return try await beginPromotion()
        }
    }

    private func beginApple(_ fault: ChaosFault) async throws -> Cure {
        let outage: SimulatedOutage? =
            switch fault {
            case .appleHangs: .hang
            case .apple503: .http503
            case .appleHTML: .html
            case .appleResets: .reset
            default: nil
            }
        if let outage {
            try await apple.setOutage(outage)
            return { [apple] in try await apple.setOutage(nil) }
        }
        let noBehaviour: Cure = { [apple] in apple.setBehaviour(nil) }
        switch fault {
        case .appleHalf: apple.setBehaviour([.halfBody])
        case .appleSlow:
            apple.setLatency(.uniform(300, 1500))
            return { [apple] in apple.setLatency(.uniform(5, 100)) }
        case .appleInTrouble:
            apple.setErrorRate(0.5)
            return { [apple] in apple.setErrorRate(0) }
        case .appleCut:
            try await appleProxy.cut()
            return { [appleProxy] in try await appleProxy.cut() }
        case .appleSilent:
            try await appleProxy.setSilent(true)
            return { [appleProxy] in try await appleProxy.setSilent(false) }
        default: apple.setBehaviour([.http(429, headers: ["Retry-After": Self.retryAfter(fault)])])
        }
        return noBehaviour
    }

    /// Returns the value of `Retry-After`. A date or milliseconds give all requests of the fault the same end. Seconds
    /// count from each request.
    private static func retryAfter(_ fault: ChaosFault) -> String {
        let end = Date(timeIntervalSinceNow: Double(ChaosFault.retryAfterSeconds))
        switch fault {
        case .appleLimitsByDate:
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return format.string(from: end)
        case .appleLimitsByMilliseconds: return String(Int64(end.timeIntervalSince1970 * 1000))
        default: return String(ChaosFault.retryAfterSeconds)
        }
    }

    private func beginKafka(_ fault: ChaosFault, _ step: ChaosSchedule.Step) throws -> Cure {
        let broker = try #require(broker, "a real broker has no faults of ours")
        let id = Int32(step.victim) % Self.brokers + 1
        let topic = bed.parts.submissionsTopic
        switch fault {
        case .brokerDown:
            broker.setBrokerDown(id)
            return { [broker] in broker.setBrokerUp(id) }
        case .brokersSlow:
            broker.setRoundTripTime(broker: -1, milliseconds: 300)
            return { [broker] in broker.setRoundTripTime(broker: -1, milliseconds: 0) }
        case .leadersMove:
            for partition in 0..<EmbeddedParts.partitions {
                broker.setPartitionLeader(
                    topic: topic, partition: partition, broker: (id + partition) % Self.brokers + 1)
            }
            return {}
        case .coordinatorMoves:
            broker.setCoordinator(group: bed.parts.groupID, broker: id)
            return {}
        case .produceErrors: return errors(of: broker, 0, [19, 7, 6, 20, 7, 19, 6])
        case .fetchErrors: return errors(of: broker, 1, [6, 7, 3, -195, 6, 7])
        case .commitErrors: return errors(of: broker, 8, [27, 15, 16, 22, 14, 7, 27])
        default: return errors(of: broker, 12, [27, 16, 15, 25, 22, 27])
        }
    }

    private func errors(of broker: MockCluster, _ apiKey: Int16, _ codes: [Int32]) -> Cure {
        broker.pushRequestErrors(apiKey: apiKey, codes)
        return { broker.clearRequestErrors(apiKey: apiKey) }
    }
}
