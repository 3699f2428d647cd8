import EmbeddedPostgres
import Foundation
import HistoryModel

/// Performs operators' acts, by the commands of `receiptd`.
extension Performance {
    /// Stops all workers, rewinds the group to the beginning of the submissions topic, and starts a worker.
    /// - Returns: false if the command refuses for twelve seconds, for example while a killed worker is still a member.
    private func rewind() async throws -> Bool {
        let stopped = world.tellWorkersToStop()
        await until(seconds: 20) { stopped.allSatisfy { !$0.isRunning } }
        for worker in stopped { worker.send(SIGKILL) }
        let time = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: 1_000_000_000))
        let isDone = await until(seconds: 12) { [world] in
            try await world.command(["rewind", "--to", time]).code == 0
        }
        if isDone, world.broker != nil { try await world.resetOffsets() }
        try world.startWorker()
        return isDone
    }

    func importCatalog() async throws {
        let file = world.ground.file(of: terms).path
        // Another step may keep the database from answering for a while.
        let isDone = await until(seconds: 20) { [world] in
            try await world.command(["catalog", "import", file]).code == 0
        }
        guard isDone else { throw History.Fault(description: "the catalog \(terms.file) could not be imported") }
    }

    func operate(_ step: Step) async throws {
        facts.conditions.isCalm = false
        if step.kind == .catalog {
            if step["missed"] == 1 {
                terms.formSymmetricDifference(.unlisted)
                backup?.hasOldPolicy = true
                let policy = terms.contains(.unlisted) ? "off" : "grant"
                say(step, "an operator imports a catalog with missed_purchases: \(policy)")
                for app in Scenery.apps where app.hasServerAPI { facts.apps[app.bundleID]?.changesMissed = true }
                return try await importCatalog()
            }
            say(step, "an operator imports a catalog that knows the comet")
            terms.insert(.comet)
            for app in Scenery.apps {
                facts.apps[app.bundleID]?.products[app.product("comet")] = .active
                facts.apps[app.bundleID]?.changed.insert(app.product("comet"))
            }
            return try await importCatalog()
        }
        if step.kind == .rewind {
            let isDone = try await rewind()
            return say(step, "an operator rewinds the group to its beginning (\(isDone ? "done" : "refused"))")
        }
        if step.kind == .redrive {
            let ending = try await world.command(["dead-letters", "redrive", "--yes"])
            return say(step, "an operator redrives dead letters (exit \(ending.code))")
        }
        if step.kind == .erase {
            let player = Scenery.player(step["player"])
            let ending = try await world.command(["players", "erase", player, "--yes"])
            // The command has erased the player's rows. It asks the operator to run it again, because submissions
            // arrived meanwhile.
            let isIncomplete = ending.text.contains("still arrive")
            if ending.code == 0 || isIncomplete { facts.conditions.erased.insert(player) }
            return say(step, "an operator erases \(Scenery.name(player)) (exit \(ending.code))")
        }
        guard let id = bought[step["of"]] else { return }
        let (arguments, order): ([String], OperatorAct.Order) =
            switch step.kind {
            case .release: (["holds", "release", id], .release)
            case .refuse: (["holds", "reject", id, "--yes"], .refuse)
            case .revoke: (["grants", "revoke", id, "--yes", "--note", "history"], .revoke)
            case .transfer:
                (
                    [
                        "subscriptions", "transfer", facts.purchases[id]?.originalID ?? id,
                        Scenery.player(step["player"]),
                    ], .transfer(Scenery.player(step["player"]))
                )
            default: (["grants", "reinstate", id, "--note", "history"], .reinstate)
            }
        var ending = try await world.command(arguments)
        say(step, "an operator: \(arguments.joined(separator: " ")) (exit \(ending.code))")
        if ending.code == 64, let purchase = facts.purchases[id] {
            // The command exits with 64 if several players have a hold on the transaction. The operator then releases
            // the payer's hold, or refuses the other players' holds.
            let players = facts.submissions.filter { $0.holds.contains(id) }.map(\.player)
            for player in Set(players).sorted()
            where (player == purchase.payer) == (order == .release) && ending.code != 0 {
                ending = try await world.command(arguments + ["--player", player])
                say(step, "and with --player \(Scenery.name(player)) (exit \(ending.code))")
            }
        }
        if ending.code == 0 { facts.operators.append(OperatorAct(order, id, submissions: facts.submissions.count)) }
    }
}
