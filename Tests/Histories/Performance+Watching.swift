import AppStoreSimulation
import Foundation
import HistoryModel

/// Checks two promises that are not about events and grants: when workers commit offsets, and when they ask Apple.
extension Performance {
    /// The kinds of steps after which the worker may have many submissions in flight.
    private static let watched: Set<Step.Kind> = [
        .pause, .settle, .apple, .kill, .worker, .stop, .freeze, .cut, .hang, .broker,
    ]
    /// The longest time between the publication of an event and the moment when `OutcomeReader` has it, in seconds.
    private static let readingSeconds = 1.5

    /// Compares the ledger with the newest events while the workers are idle between two steps. At the history's end, a
    /// later event could hide that an earlier event is missing. Does nothing after a restore of the database, because a
    /// worker notices a restore late.
    func lookAtRest() async {
        guard !facts.conditions.wasPutBack else { return }
        var found: [Difference] = []
        let agrees = await until(seconds: 2 * Self.readingSeconds) {
            var seen = world.outcomes.seen
            (seen.grants, seen.subscriptions) = (try await world.grants(), try await world.subscriptions())
            found = Model(facts, seen).differencesAtRest()
            return found.isEmpty
        }
        if !agrees, await world.lag() == 0, await world.owed() == "" { watch.atRest += found }
    }

    /// Compares the committed offsets with the durable submissions. Does nothing after a restore, because Kafka's
    /// offsets may then be ahead of the database. Does nothing after an erasure either, because an erasure deletes
    /// rows.
    func lookAtCommits(behind step: Step) async {
        guard Self.watched.contains(step.kind), Date.now >= troubles.busyUntil, !facts.conditions.wasPutBack,
            facts.conditions.erased.isEmpty, let committed = await world.committed()
        else { return }
        func open() -> [Submission] {
            facts.submissions.filter {
                $0.place.offset < committed[$0.place.partition] ?? 0 && !watch.durable.contains($0.place)
            }
        }
        guard !open().isEmpty, let stored = await world.storedPlaces() else { return }
        watch.durable.formUnion(stored)
        // A local answer is durable only on the outcomes topic, so no table has it.
        let end = Date.now.addingTimeInterval(Self.readingSeconds)
        while !open().isEmpty {
            let seen = world.outcomes.seen
            let answered = Set(seen.events.map(\.submission))
            watch.durable.formUnion(open().filter { answered.contains($0.id) }.map(\.place))
            watch.durable.formUnion(seen.deadLetters.map(\.place))
            guard Date.now < end, !Task.isCancelled else { break }
            try? await Task.sleep(for: .milliseconds(100))
        }
        watch.commits.append(CommitLook(committed: committed, durable: watch.durable))
    }

    // MARK: Apple

    /// The app, environment and endpoint of a request. A rate limit of Apple applies to all requests of one scope.
    private struct Scope: Hashable {
        let app: String
        let environment: SimulatedEnvironment
        let api: SimulatedEndpoint

        /// Returns nil if the request is about no known purchase.
        init?(_ request: SimulatedRequestRecord, _ facts: Facts) {
            guard let id = request.transactionIDs.first, let purchase = facts.purchases[id] else { return nil }
            app = purchase.bundleID
            environment = request.endpoint
            api = request.api
        }
    }

    /// Lets strangers buy, and submit their receipts. None of their submissions has failed before, so the worker
    /// attributes a failure to Apple.
    /// - Returns: the ids of their transactions.
    private func strangers(_ step: Step, from first: Int, count: Int) async throws -> Set<String> {
        let lines = trace.count
        var made: Set<String> = []
        let token = step["app"] >= 2 ? 1 : 0
        for index in first..<first + count {
            passTime(10)
            let (number, account) = (step.number * 1000 + 3 * index, Scenery.firstStranger * step.number + index)
            try await trade(
                Step(number, .buy, ["app": step["app"], "account": account, "token": token, "told": step["told"]]))
            take(Step(number + 1, .take, ["of": number]))
            try await submit(
                Step(number + 2, .submit, ["of": number + 1, "player": account, "token": token]))
            if let id = bought[number] { made.insert(id) }
        }
        trace.removeSubrange(lines...)
        return made
    }

    private func asked(of ids: Set<String>) -> Int {
        Set(world.apple.requestLog.flatMap(\.transactionIDs)).intersection(ids).count
    }

    private func isAsked(of ids: Set<String>, _ count: Int, seconds: Double) async -> Bool {
        let end = Date.now.addingTimeInterval(seconds)
        while asked(of: ids) < count {
            guard Date.now < end, !Task.isCancelled else { return false }
            try? await Task.sleep(for: .milliseconds(100))
        }
        return true
    }

    /// Makes Apple answer 503. The worker notices this from the submissions of some strangers. Then as many other
    /// strangers submit. The worker may send Apple only a few probes about these others.
    func leave(_ step: Step) async throws {
        try await begin(step)
        world.apple.setBehaviour([.http(503)])
        say(step, "Apple is away (503), and strangers submit in \(app(step["app"]).bundleID)")
        let first = try await strangers(step, from: 0, count: step["count"])
        // The check applies only if the worker had noticed Apple's failure.
        let isKnown = await isAsked(of: first, first.count / 3, seconds: 20)
        try await Task.sleep(for: .milliseconds(1500))
        let others = try await strangers(step, from: step["count"], count: step["count"])
        try await Task.sleep(for: .milliseconds(step["milliseconds"]))
        let asked = asked(of: others)
        world.apple.setBehaviour(nil)
        say(step, "(of \(others.count) other strangers' purchases Apple is asked about \(asked))")
        guard isKnown, world.runningWorkers == 1 else { return }
        watch.quiets.append(
            Quiet(cause: "other strangers submit while Apple is away", asked: asked, allowed: others.count / 2))
    }

    /// Makes Apple answer 429 with a time until which no request is allowed. Strangers submit before and after the
    /// first 429.
    func limit(_ step: Step) async throws {
        try await begin(step)
        // The first stranger's submission must reach Apple. From then on only the limit delays the others.
        let first = try await strangers(step, from: 0, count: 1)
        _ = await isAsked(of: first, 1, seconds: 10)
        let start = Date.now
        let end = start.addingTimeInterval(Double(step["seconds"]))
        let text =
            switch step["form"] {
            case 1: Self.httpDate.string(from: end)
            case 2: "\(Int64(end.timeIntervalSince1970 * 1000))"
            default: "\(step["seconds"])"
            }
        world.apple.setBehaviour([.http(429, headers: ["Retry-After": text])])
        say(step, "Apple answers 429 with Retry-After: \(text), and strangers submit in \(app(step["app"]).bundleID)")
        let before = world.apple.requestLog.count
        _ = try await strangers(step, from: 1, count: step["count"])
        var (known, told, asked) = (before, [Scope: Date](), [Scope: Int]())
        // The time of the last look at Apple's log. Every new request is later.
        var lookedAt = start
        // An HTTP date has only whole seconds, so the limit may end up to a second early.
        let over = end.addingTimeInterval(-1.1)
        var hasMore = true
        while Date.now < end {
            // A submission that Apple answered with 429 waits for its own retry. So new strangers submit, whom only the
            // limit delays.
            if hasMore, let first = told.values.min(), first.addingTimeInterval(Self.tellingSeconds + 0.2) < .now {
                hasMore = false
                _ = try await strangers(step, from: 1 + step["count"], count: step["count"])
            }
            let (now, log) = (Date.now, world.apple.requestLog)
            for request in log.dropFirst(known) {
                guard let scope = Scope(request, facts) else { continue }
                if let first = told[scope] {
                    if lookedAt > first.addingTimeInterval(Self.tellingSeconds), now < over {
                        asked[scope, default: 0] += 1
                    }
                } else if request.answer == "http_429" {
                    told[scope] = now
                }
            }
            (known, lookedAt) = (log.count, now)
            try await Task.sleep(for: .milliseconds(50))
        }
        world.apple.setBehaviour(nil)
        say(step, "(\(told.count) limits, \(asked.values.reduce(0, +)) questions behind them)")
        for (scope, _) in told {
            watch.quiets.append(
                Quiet(
                    cause: "Retry-After of \(scope.app) at \(scope.api.rawValue)", asked: asked[scope] ?? 0, allowed: 0)
            )
        }
    }

    /// The seconds in which requests under way may still reach Apple, and in which other replicas learn of the limit.
    private static let tellingSeconds = 2.0

    private static let httpDate = {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format
    }()

    /// Ends all other faults, so that only this step changes how Apple answers.
    private func begin(_ step: Step) async throws {
        for trouble in troubles.open { await trouble.value }
        try await changeApple(Step(step.number, .apple))
    }
}
