import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import HistoryModel
import Kafka
import Postgres
import Synchronization

extension Performance {
    func disturb(_ step: Step) async throws {
        facts.conditions.isCalm = false
        switch step.kind {
        case .kill: try await kill(step)
        case .freeze:
            let all = world.workers.withLock { $0 }
            guard let victim = all.first else { return }
            say(step, "a worker is frozen for \(step["milliseconds"]) ms")
            victim.send(SIGSTOP)
            await lasts(step) { victim.send(SIGCONT) }
        case .worker:
            say(step, "another worker joins")
            try world.startWorker()
        case .stop:
            let victim = world.workers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            say(step, "a worker is told to stop, and another starts")
            victim?.send(SIGTERM)
            try world.startWorker()
        case .apple: try await changeApple(step)
        case .spoil: spoil(step)
        case .hide:
            guard let id = bought[step["of"]] else { return }
            troubles.purchases.insert(id)
            facts.conditions.unknownAtApple[id, default: 0] += max(1, step["times"])
            say(step, "Apple will not know \(id) for \(step["times"]) requests")
            world.apple.setBehaviour(
                SimulatedBehaviour([SimulatedStep.status(4_040_010).times(max(1, step["times"])), .genuine]),
                of: .transactions, id: id)
        case .hopeless: try await fillWindow(step)
        case .demand: try await demand(step)
        case .away: try await leave(step)
        case .limit: try await limit(step)
        case .keep:
            say(step, "the database is backed up")
            try await world.ground.replace(world.name + "_kept", byCopyOf: world.name)
            backup = Backup(operators: facts.operators.count, terms: terms)
        case .putBack:
            guard let backup else { return }
            say(step, "the database is put back to its backup")
            try await world.ground.replace(world.name, byCopyOf: world.name + "_kept")
            facts.conditions.wasPutBack = true
            facts.conditions.putBackAt = Date.now.formatted(
                Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            for lost in facts.operators.dropFirst(backup.operators) {
                loseOrder(of: lost.transactionID)
            }
            facts.operators.removeLast(facts.operators.count - backup.operators)
            loseImports(since: backup)
        case .cut:
            say(step, "the database ends all sessions")
            _ = try? await world.ground.query(
                world.ground.server.uri,
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '\(world.name)'")
        case .hang: try await hang(step)
        default:
            say(step, "the broker is away for \(step["milliseconds"]) ms")
            world.broker?.setDown()
            await lasts(step) { [world] in world.broker?.setUp() }
        }
    }

    private func spoil(_ step: Step) {
        guard let proof = proofs[step["of"]], proof.form == .receipt else { return }
        troubles.purchases.formUnion(proof.holds)
        // The worker never rejects a proven receipt because of Apple's 21002 or 21003.
        let status = proof.quality == .proven ? [nil, 21002, 21003][step["status"] % 3] : nil
        let answer = status.map { "with \($0)" } ?? "without any purchase"
        say(step, "Apple will answer proof \(step["of"]) \(step["times"]) times \(answer)")
        let spoilt = status.map { SimulatedStep.status($0) } ?? .emptyInApp
        world.apple.register(
            receiptData: proof.text,
            behaviour: SimulatedBehaviour([spoilt.times(max(1, step["times"])), .genuine]))
    }

    /// Notes that the restore of the database lost catalogs. The worker may have granted purchases under these
    /// catalogs, and no operator imports them again.
    private func loseImports(since backup: Backup) {
        for purchase in facts.purchases.values {
            let isComet = purchase.productID.hasSuffix("comet") && backup.terms != terms
            let mayBeMissed = backup.hasOldPolicy && facts.apps[purchase.bundleID]?.changesMissed == true
            if isComet || mayBeMissed { loseOrder(of: purchase.id) }
        }
        terms = backup.terms
    }

    /// Notes that the restore of the database lost an operator's act. The act may concern all periods of the
    /// subscription.
    private func loseOrder(of id: String) {
        let original = facts.purchases[id]?.originalID ?? id
        let all = facts.purchases.values.filter { $0.originalID == original || $0.previousOriginalID == original }
        facts.conditions.lostOrders.formUnion([id] + all.map(\.id))
    }

    /// Makes the world's database sessions hang for a while, or only one session that is in an SQL transaction.
    private func hang(_ step: Step) async throws {
        let isOne = step["busy"] == 1
        let sessions = isOne ? "session that is in a transaction hangs" : "sessions hang"
        say(step, "the database's \(sessions) for \(step["milliseconds"]) ms")
        let busy = " AND application_name = 'receiptd' AND xact_start IS NOT NULL LIMIT 1"
        let asking = PostgresStatement(
            "SELECT pid::int8 FROM pg_stat_activity WHERE datname = $1" + (isOne ? busy : ""))
        let pids = try await world.ground.withPool(world.ground.server.uri) { [name = world.name] pool in
            try await pool.run { session in
                // An SQL transaction is short, so the loop looks up to 2000 times for a session that is in one.
                for _ in 0..<(isOne ? 2000 : 1) {
                    let rows = try session.execute(asking, [.text(name)])
                    guard rows.count == 0 else {
                        return (0..<rows.count).compactMap { rows.int8($0, 0) }.map { Int32($0) }
                    }
                    Thread.sleep(forTimeInterval: 0.001)
                }
                return []
            }
        }
        for pid in pids { Foundation.kill(pid, SIGSTOP) }
        await lasts(step) { for pid in pids { Foundation.kill(pid, SIGCONT) } }
    }

    /// Ends a fault after its time. If the step is `open`, the next steps are played while the fault lasts.
    private func lasts(_ step: Step, end: @escaping @Sendable () -> Void) async {
        let trouble = Task {
            try? await Task.sleep(for: .milliseconds(step["milliseconds"]))
            end()
        }
        guard step["open"] != 0 else { return await trouble.value }
        troubles.open.append(trouble)
        let end = Date.now.addingTimeInterval(Double(step["milliseconds"]) / 1000 + 0.5)
        if step.kind != .freeze { troubles.busyUntil = max(troubles.busyUntil, end) }
    }

    /// Kills a worker. `when` is the time: 0 at once, 1 after Apple gets a request, 2 after an event is published, 3
    /// while a worker has leased a row, 4 after a decision is committed whose event the broker does not get.
    private func kill(_ step: Step) async throws {
        for _ in 0..<max(1, step["times"]) {
            let (requests, events) = (world.apple.counters.requests, world.outcomes.count)
            let decisions = step["when"] == 4 ? await world.decisions() : nil
            if step["when"] == 4 { world.broker?.setDown() }
            defer { if step["when"] == 4 { world.broker?.setUp() } }
            let end = Date.now.addingTimeInterval(7)
            while Date.now < end, step["when"] != 0 {
                if step["when"] == 1, world.apple.counters.requests > requests { break }
                if step["when"] == 2, world.outcomes.count > events { break }
                if step["when"] == 3, await world.isAnyLeased() { break }
                if step["when"] == 4, await world.decisions() != decisions { break }
                try await Task.sleep(for: .milliseconds(20))
            }
            try await Task.sleep(for: .milliseconds(step["milliseconds"]))
            try await world.kill(step["victim"])
        }
        let times = [
            "at any time", "while Apple is asked", "behind an event", "with a row leased", "between commit and event",
        ]
        let when = times[step["when"] % times.count]
        say(step, "a worker is killed \(when), \(max(1, step["times"])) times")
    }

    /// Changes how Apple answers. `mode`: 0 normally, 1 slowly, 2 with 503, 3 with an error to a third of the requests,
    /// 4 not at all.
    func changeApple(_ step: Step) async throws {
        let modes = ["well", "slow (8 s)", "away (503)", "in trouble with a third of the requests", "silent"]
        say(step, "Apple is \(modes[step["mode"] % modes.count])")
        try await world.apple.setOutage(nil)
        world.apple.setErrorRate(0)
        world.apple.setLatency(.fixed(0))
        switch step["mode"] {
        case 1: world.apple.setLatency(.fixed(8000))
        case 2: try await world.apple.setOutage(.http503)
        case 3: world.apple.setErrorRate(0.33)
        case 4: try await world.apple.setOutage(.hang)
        default: break
        }
    }

    /// Submits receipts that Apple always answers with 21005, from three times as many players as the window has
    /// places. Later submissions are honest.
    private func fillWindow(_ step: Step) async throws {
        await makeWell()
        let app = Scenery.apps[0]
        let count = 3 * (history.world["window"] ?? 8)
        for number in 0..<count {
            let id = "99\(step.number)00\(number)"
            let receipt = SimulatedTransactionReceipt(
                bundleID: app.bundleID, appAppleID: app.appleID,
                purchase: SimulatedPurchase(
                    transactionID: id, productID: app.product("gems"), purchaseDateMilliseconds: now - 5000))
            let text = receipt.base64Encoded()
            world.apple.register(
                receiptData: text, behaviour: SimulatedBehaviour([SimulatedStep.status(21005)]))
            let player = "hopeless-\(number)"
            let value =
                #"{"submission_id":"h\#(step.number)-\#(number)","player_id":"\#(player)","bundle_id":"\#(app.bundleID)","receipt_data":"\#(text)"}"#
            var submission = Submission(
                id: "h\(step.number)-\(number)", player: player, bundleID: app.bundleID, form: .receipt,
                quality: .unproven, holds: [id], signedAt: now)
            submission.refusal = "account_not_found"
            submission.place = try await world.send(
                world.submissions, key: player, value: Array(value.utf8), time: now)
            facts.submissions.append(submission)
            troubles.hopeless.append(text)
        }
        say(step, "\(count) players send receipts that Apple always answers 21005")
        troubles.firstHonest = facts.submissions.count
    }

    /// Waits until the worker has decided the honest submissions that came after the hopeless receipts. Meanwhile Apple
    /// still answers the hopeless receipts with 21005. A parked submission that a killed worker had leased must wait
    /// for the lease's end first.
    private func demand(_ step: Step) async throws {
        guard let first = troubles.firstHonest else { return }
        let hopeless = troubles.hopeless
        troubles.hopeless = []
        await makeWell()
        troubles.hopeless = hopeless
        let honest = facts.submissions.dropFirst(first).filter { submission in
            submission.quality == .proven && submission.form != .transactionID && submission.oddity == nil
                && submission.hint == nil && troubles.purchases.isDisjoint(with: submission.holds)
        }
        let end = max(Date.now.addingTimeInterval(45), world.deadLeasesEnd.addingTimeInterval(15))
        while Date.now < end {
            let answered = Set(world.outcomes.seen.events.map(\.submission))
            if honest.allSatisfy({ answered.contains($0.id) }) { return say(step, "(what is honest is answered)") }
            try await Task.sleep(for: .milliseconds(200))
        }
        let answered = Set(world.outcomes.seen.events.map(\.submission))
        troubles.late += honest.map(\.id).filter { !answered.contains($0) }
        say(step, "(\(troubles.late.count) honest submissions are not answered in time)")
    }
}
