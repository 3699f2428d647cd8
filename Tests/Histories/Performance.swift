import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import HistoryModel
import Kafka
import Synchronization

/// Plays a history in a world. It records facts for the model, and a trace for people.
final class Performance {
    struct Proof {
        var field: String
        var text: String
        var form: Submission.Form
        var quality: Submission.Quality
        var bundleID: String
        var holds: [String]
        var signedAt: Int64
        var oddity: Oddity?
        /// The signature of an app receipt, which a forger may reuse; nil for other kinds of proofs.
        var signature: SimulatedSignature?
        /// The number of the step that made the purchase.
        var bought: Int
    }

    struct Sent {
        var submission: Submission
        var value: [UInt8]
        var time: Int64?
    }

    /// Apple's notifications and their delivery.
    struct Post {
        /// The transactions of lost notifications.
        var untold: Set<String> = []
        /// The late notifications, which a later step delivers.
        var held: [SignedNotification] = []
        /// The content of each notification, by notification id: the purchase, the index of the reported refund, and
        /// the time of Apple's signature. The index is nil if the notification reports no refund.
        var words: [String: (purchase: String, refund: Int?, signedAt: Int64)] = [:]
        /// The purchases of refund requests, by notification id.
        var requests: [String: String] = [:]
        /// The periods for which a notification reported a grace period.
        var graces: Set<String> = []
        /// The periods whose first grace period ended early, or was followed by a second one. When the worker decided,
        /// it may have known the first grace period, the second, or none.
        var lostGraces: Set<String> = []
        /// The periods whose grace period the worker knows from a notification.
        var knownGraces: Set<String> = []
        /// The original transactions whose newest period Apple continues under another original transaction. Apple
        /// sends no notification about the end of the old subscription.
        var conversions: Set<String> = []
    }

    /// The number of operators' acts, and the catalog, at the time of the backup. A restore loses later acts and
    /// catalogs.
    struct Backup {
        let operators: Int
        let terms: CatalogTerms
        /// True if a later catalog changed the policy for missed purchases.
        var hasOldPolicy = false
    }

    struct Troubles {
        /// The receipts for which Apple always fails.
        var hopeless: [String] = []
        /// The purchases about which Apple answers wrongly for a while.
        var purchases: Set<String> = []
        /// The index of the first submission after the hopeless receipts; nil if there are no hopeless receipts.
        var firstHonest: Int?
        /// The honest submissions that the worker did not decide while Apple failed for the hopeless receipts.
        var late: [String] = []
        /// The faults that end by themselves while later steps are played.
        var open: [Task<Void, Never>] = []
        /// The time until which the broker or the database may not answer.
        var busyUntil = Date.distantPast
    }

    struct Watch {
        var commits: [CommitLook] = []
        /// The positions of submissions whose outcome was durable at some look.
        var durable: Set<Place> = []
        var quiets: [Quiet] = []
        /// The differences that remained while the workers were idle between two steps.
        var atRest: [Difference] = []
    }

    let world: World
    let history: History
    let signer: SimulatedSigner
    var facts = Facts()
    var trace: [String] = []
    /// The seconds that all steps of each kind took.
    private(set) var times: [String: Double] = [:]
    /// The transaction ids, by the number of the step that made them.
    var bought: [Int: String] = [:]
    var proofs: [Int: Proof] = [:]
    var sent: [Int: Sent] = [:]
    var post = Post()
    /// The present time of the history's calendar, in milliseconds since 1970.
    private(set) var now: Int64
    var backup: Backup?
    /// The terms of the newest catalog.
    var terms: CatalogTerms
    var troubles = Troubles()
    var watch = Watch()

    init(_ world: World, _ history: History) throws {
        self.world = world
        self.history = history
        terms = CatalogTerms(rawValue: history.world["terms"] ?? 0)
        signer = try SimulatedSigner(folder: Scenery.signing.path)
        now = Self.clock - Int64(history.world["startDays"] ?? 0) * Scenery.day - 60_000
        for app in Scenery.apps { facts.apps[app.bundleID] = Scenery.rules(app, terms) }
        world.apple.inStore { store in
            for app in Scenery.apps { store.add(Scenery.simulated(app)) }
        }
        passTime(0)
    }

    static var clock: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    /// Moves the calendar forward by `milliseconds`, but at least by 1 ms, and at most to 1 ms before the real present.
    func passTime(_ milliseconds: Int64) {
        now = max(now + 1, min(now + milliseconds, Self.clock - 1))
        let now = now
        world.apple.inStore { $0.livedUntil = now }
    }

    func say(_ step: Step, _ text: String) {
        let date = ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(now) / 1000))
        trace.append("\(step.number). \(date) \(text)")
    }

    func play() async throws {
        if !terms.isEmpty { try await importCatalog() }
        if let seconds = history.world["since"] {
            let since = now + Int64(seconds) * 1000
            for app in Scenery.apps { facts.apps[app.bundleID]?.grantsSince = since }
            try await world.grantMissed(since: since)
        }
        for step in history.steps {
            try Task.checkCancellation()
            passTime(1000)
            let began = Date.now
            try await perform(step)
            times[step.kind.rawValue, default: 0] += Date.now.timeIntervalSince(began)
            await lookAtCommits(behind: step)
        }
        for trouble in troubles.open { await trouble.value }
        await makeWell()
        // The limits end, so that no purchase has to wait for another day.
        if terms.remove(.limits) != nil { try await importCatalog() }
        // Late notifications that no step has delivered arrive now.
        for notification in post.held { try await deliver(notification) }
        post.held = []
        if history.world["history"] == 1 { tellByHistory() }
        noteSubscriptions()
        // The calendar jumps to the real present, also for the simulated Apple.
        now = Self.clock
        world.apple.inStore { $0.livedUntil = nil }
        facts.conditions.now = now
    }

    /// Ends all faults, so that the model can judge the history.
    func makeWell() async {
        try? await world.apple.setOutage(nil)
        world.apple.setErrorRate(0)
        world.apple.setLatency(.fixed(0))
        for text in troubles.hopeless { world.apple.register(receiptData: text, behaviour: [.status(21010)]) }
        world.broker?.setUp()
        for worker in world.workers.withLock({ $0 }) { worker.send(SIGCONT) }
    }

    private func perform(_ step: Step) async throws {
        switch step.kind {
        case .buy, .restore, .renew, .fail, .upgrade, .prefer, .turn, .convert, .extend, .expire, .refund, .reverse,
            .request:
            try await trade(step)
        case .take: take(step)
        case .submit: try await submit(step)
        case .bind: try await bind(step)
        case .report: try await report(step)
        case .again: try await sendAgain(step)
        case .crowd: try await crowd(step)
        case .deliver:
            let mail = step["order"] == 1 ? post.held.reversed() : post.held
            post.held = []
            say(step, "Apple's \(mail.count) late notifications come\(step["order"] == 1 ? ", the newest first" : "")")
            for notification in mail { try await deliver(notification) }
        case .wait:
            passTime(Int64(step["hours"]) * 3_600_000)
            say(step, "\(step["hours"]) hours pass")
        case .pause: try await Task.sleep(for: .milliseconds(step["milliseconds"]))
        case .settle:
            say(step, "(what was sent is worked on)")
            guard await settle(seconds: 6) else { return }
            post.knownGraces = post.graces
            await lookAtRest()
        case .kill, .freeze, .worker, .stop, .apple, .spoil, .hide, .keep, .putBack, .cut, .hang, .broker, .hopeless,
            .demand, .away, .limit:
            try await disturb(step)
        case .release, .refuse, .revoke, .reinstate, .rewind, .transfer, .catalog, .erase, .redrive:
            try await operate(step)
        }
    }

    /// Waits until every record is committed and no work is left in the database. Returns false if time runs out.
    @discardableResult
    func settle(seconds: Double) async -> Bool {
        await until(seconds: seconds) { await isIdle() }
    }

    func isIdle() async -> Bool {
        guard await world.lag() == 0 else { return false }
        return await world.owed() == ""
    }

    /// Waits until the condition is true. Returns false if time runs out.
    @discardableResult
    func until(seconds: Double, _ condition: () async throws -> Bool) async -> Bool {
        let end = Date.now.addingTimeInterval(seconds)
        while Date.now < end, !Task.isCancelled {
            if (try? await condition()) == true { return true }
            try? await Task.sleep(for: .milliseconds(150))
        }
        return false
    }
}
