import Foundation
import HistoryModel

struct Outcome: Sendable {
    var differences: [Difference] = []
    var trace: [String] = []
    var submissions = 0
    var seconds = 0.0
    /// The seconds that each part took: the start, each kind of step, the judging, the end.
    var times: [String: Double] = [:]
    /// A failure of the runner or of a service, after which the history has no result; nil if there was none.
    var trouble: String?

    var failed: Bool { !differences.isEmpty }
}

extension History {
    private static let longest = 75.0
    /// The longest wait for the worker to read Apple's notification history, in seconds. Without this limit the wait
    /// could last forever, because Apple may always refuse an app.
    private static let longestReading = 40.0

    /// Plays the history in a new world, and judges the worker.
    /// - Parameter patience: the seconds for which a wrong state may last before it is reported.
    func play(on ground: Ground, keepsLog: Bool = false, patience: Double = 8) async -> Outcome {
        let began = Date.now
        var outcome = Outcome()
        do {
            let world = try await World.start(ground, self)
            let started = Date.now
            do {
                outcome = try await world.whileItLasts { try await play(in: world, patience) }
            } catch {
                outcome.trouble = "\(error)"
            }
            outcome.times["start"] = started.timeIntervalSince(began)
            let judged = Date.now
            await world.close(keepsLog: keepsLog)
            outcome.times["close"] = Date.now.timeIntervalSince(judged)
            if keepsLog { outcome.trace.append("the workers' logs: \(world.logFiles)") }
        } catch {
            outcome.trouble = "\(error)"
        }
        outcome.seconds = Date.now.timeIntervalSince(began)
        return outcome
    }

    private func play(in world: World, _ patience: Double) async throws -> Outcome {
        var outcome = Outcome()
        let performance = try Performance(world, self)
        try await performance.play()
        outcome.times = performance.times
        let played = Date.now
        outcome.differences = try await Self.judge(performance, patience)
        outcome.times["judge"] = Date.now.timeIntervalSince(played)
        outcome.trace = performance.trace + world.outcomes.seen.events.compactMap { $0.line(in: outcome.differences) }
        outcome.submissions = performance.facts.submissions.count
        return outcome
    }

    /// Waits until the worker is idle and its state is correct. Returns the differences that remain after `patience`.
    private static func judge(_ performance: Performance, _ patience: Double) async throws -> [Difference] {
        let world = performance.world
        let began = Date.now
        var (quietSince, unchangedSince) = (Date?.none, Date.now)
        var (last, hurriedAt) = ("", began)
        var looks = 0
        let hasHistory = performance.history.world["history"] == 1
        // After a restore the judge waits longer: the worker notices the restore at its next checkpoint, and then joins
        // its group again.
        let patience =
            patience + (performance.facts.conditions.wasPutBack ? 20 : 0)
            + (hasHistory ? 8 : 0)
        func look() async -> [Difference]? {
            guard let grants = try? await world.grants(), let subscriptions = try? await world.subscriptions() else {
                return nil
            }
            var seen = world.outcomes.seen
            seen.grants = grants
            seen.subscriptions = subscriptions
            (seen.finished, seen.answers) = world.reported()
            seen.commits = performance.watch.commits
            seen.quiets = performance.watch.quiets
            return Model(performance.facts, seen).differences() + performance.watch.atRest
                + performance.troubles.late.map { Difference(late: $0) }
                + world.crashes.map { Difference(crashed: $0) }
        }
        while true {
            let (lag, owed) = (await world.lag(), await world.owed())
            let waited = Date.now.timeIntervalSince(began)
            let unread =
                hasHistory && waited < longestReading
                ? await world.unreadHistories(before: Int64(began.timeIntervalSince1970 * 1000)) : ""
            let state =
                "lag \(lag.map(String.init) ?? "unknown"), owed: \(owed ?? "unknown"), unread: \(unread ?? "unknown")"
            if state != last { (last, unchangedSince) = (state, Date.now) }
            if lag == 0, owed == "", unread == "" {
                let since = quietSince ?? Date.now
                quietSince = since
                looks += 1
                // A call of `look` judges the state at its beginning, and may take longer than the patience. So the
                // patience is checked first.
                let patienceIsOver = Date.now.timeIntervalSince(since) > patience
                if looks > 1, let found = await look(), found.isEmpty || patienceIsOver { return found }
            } else {
                (quietSince, looks) = (nil, 0)
            }
            let isStill = lag == 0 && unread == "" && Date.now.timeIntervalSince(unchangedSince) > 25
            if waited > longest || waited > 30 && isStill {
                performance.trace.append("(after \(Int(waited)) s the world is not quiet: \(state))")
                let found = await look() ?? []
                return found.isEmpty ? [Difference(unquiet: state)] : found
            }
            // The leases of killed workers and long waits end now, so that the judge does not wait for them.
            if waited > 4, Date.now.timeIntervalSince(hurriedAt) > 1.5 {
                // No kill comes after the judging has begun. So the runner ends the leases on notification histories
                // only once.
                await world.hurry(endsRounds: hurriedAt == began)
                hurriedAt = Date.now
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

extension Event {
    /// Returns the event as a line of the trace; nil if no difference names its purchase or its submission.
    fileprivate func line(in differences: [Difference]) -> String? {
        let subject = transaction ?? text("original_transaction_id")
        let isTold = differences.contains { difference in
            ([subject].compactMap(\.self) + entries.map(\.transaction)).contains { difference.text.contains($0) }
                || !submission.isEmpty && difference.text.split(separator: " ").contains { $0 == submission }
        }
        guard isTold else { return nil }
        let revision = number("revision").map { ", revision \($0)" } ?? ""
        let facts = [text("state"), text("renewal_product_id"), flag("will_renew").map { "renews: \($0)" }].compactMap(
            \.self)
        let rest = ([submission, reason ?? ""] + facts).filter { !$0.isEmpty }.joined(separator: " ")
        let listed = entries.map {
            [$0.transaction, $0.outcome, $0.reason ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        }
        let list = listed.isEmpty ? "" : " [\(listed.joined(separator: ", "))]"
        return
            "→ \(text("occurred_at") ?? "") \(type) \(subject ?? "") to \(Scenery.name(player)) for \(rest)\(revision)\(list)"
    }
}
