import Fulfillment
import Kafka
import NamesAndTimes
import Operations
import Synchronization

/// The source of Apple's notification history, and the interval at which the worker reads it.
public struct NotificationHistorySource: Sendable {
    public let queries: any StoreQueries
    public let places: any HistoryPlaces
    /// The seconds between two rounds of one app; 0 means no rounds.
    public let seconds: Double
    /// The number of past days that the first round reads.
    public let days: Int

    public init(queries: any StoreQueries, places: any HistoryPlaces, seconds: Double, days: Int) {
        self.queries = queries
        self.places = places
        self.seconds = seconds
        self.days = days
    }
}

/// Requests from Apple the notifications that Apple tried to send. So a notification that never reached the topic has
/// the same effect as a notification that did.
///
/// When a page's effects are durable, the worker moves its place past the page, in the same database. So a fail-over
/// that loses the latest effects also loses the place after them. To take a page again does no harm.
struct NotificationHistoryPoll: DueWork {
    let part = Health.Part.historyLoop
    let failingPart = FailingPart.history
    let places = DuePlaces.own(.max)
    let lookSeconds = 5.0
    let trySeconds: Double? = nil
    /// False, because only a complete round shows that Apple answers.
    let isWellOnceLeased = false

    /// The seconds of a lease: enough to request a page and to make its effects durable.
    static let leaseSeconds = 120.0
    /// The seconds until the next round after a failed round.
    private var retrySeconds: Double { min(60, source.seconds) }
    /// The most pages of one window. Without a limit, a cycle in Apple's page tokens would keep the round going for
    /// ever.
    private static let maximumPages = 100_000
    /// Apple's code ServerNotificationUrlNotFound (App Store Server API).
    private static let noAddressCode: Int64 = 4_040_007
    /// The partition of a notification that did not come from a record. No topic has this partition.
    private static let partition: Int32 = -1

    let source: NotificationHistorySource
    let worker: NotificationWorker
    let turn: IsolationTurn
    let failures: Failures
    let deadLetters = HistoryDeadLetters()
    let suspects = HistorySuspects()
    private let rounds = HistoryRounds()

    private enum Ending {
        case done
        /// Another replica has the lease.
        case lost
        case trouble(String)
    }

    var isWanted: Bool { source.seconds > 0 }

    /// Leases the due histories that no replica has leased. Each history is a group of its own, so a long or slow
    /// history does not delay another history.
    func leaseDue(limit: Int) async throws -> DueBatch<HistoryRound> {
        var batch = DueBatch<HistoryRound>()
        for (context, scope) in histories(of: worker.catalog()) where batch.count < limit && rounds.begin(scope) {
            do {
                if let place = try await source.places.lease(
                    scope, survived: suspects.last(of: scope), seconds: Self.leaseSeconds)
                {
                    batch.groups.append([HistoryRound(context: context, place: place)])
                } else {
                    rounds.ended(scope)
                }
            } catch {
                rounds.ended(scope)
                failures.report(error, of: .history)
            }
        }
        return batch
    }

    private func histories(of catalog: Catalog) -> [(context: StoreQueryContext, scope: HistoryScope)] {
        var histories: [(context: StoreQueryContext, scope: HistoryScope)] = []
        for app in catalog.apps.values {
            guard let credentials = app.serverAPI, app.announcements.readsNotificationHistory else { continue }
            for environment in StoreEnvironment.allCases where app.asks(environment) {
                let context = StoreQueryContext(
                    bundleID: app.bundleID, credentials: credentials, environment: environment, share: .history)
                histories.append((context, HistoryScope(bundleID: app.bundleID, environment: environment)))
            }
        }
        return histories
    }

    func work(on round: HistoryRound) async throws {
        defer { rounds.ended(round.scope) }
        var place = round.place
        do {
            defer { round.place = place }
            switch try await take(&place, round.context) {
            case .done:
                failures.recovered(.history)
                try await source.places.release(place, dueAfterSeconds: source.seconds)
            case .lost: break
            case .trouble(let words):
                failures.failed(.history, words)
                try await source.places.release(place, dueAfterSeconds: retrySeconds)
            }
        } catch  where !(error is Abandoned) {
            failures.report(error, of: .history)
            // If the database does not answer, the lease ends by itself.
            try? await putOff(round)
        }
    }

    func putOff(_ round: HistoryRound) async throws {
        try await source.places.release(round.place, dueAfterSeconds: retrySeconds)
    }

    func release(_ round: HistoryRound) async throws {
        // `work` ends the round too, but perhaps it has not begun.
        rounds.ended(round.scope)
        try await source.places.release(round.place, dueAfterSeconds: 0)
    }

    /// Takes all notifications from the place until now, window by window.
    private func take(_ place: inout HistoryPlace, _ context: StoreQueryContext) async throws -> Ending {
        var unfinished = place.unfinished
        var from = place.start(days: source.days)
        var sparse = 0
        while let window = unfinished?.window ?? place.window(from: from, sparse: sparse) {
            // The token of the first page that an earlier reader did not finish. Nil once Apple has answered with this
            // page.
            var resumed = unfinished?.token
            var page: String?
            unfinished = nil
            var effects: Set<DatabaseHistory> = []
            sparse += 1
            for _ in 0..<Self.maximumPages {
                if Task.isCancelled { throw Abandoned() }
                switch await source.queries.notificationHistory(window, page: resumed ?? page, context) {
                case .answered(let answer):
                    guard let taken = try await enter(answer.bodies, &place) else { return .lost }
                    effects.formUnion(taken)
                    resumed = nil
                    page = answer.next
                    if page != nil { sparse = 0 }
                case .notFound: return .trouble(words(context, "Apple knows no such app"))
                case .refused where resumed != nil:
                    // Apple's tokens expire. The worker then requests the window from its beginning.
                    resumed = nil
                    continue
                case .refused(Self.noAddressCode):
                    return .trouble(words(context, "no notification address is set in App Store Connect (4040007)"))
                case .refused(let code): return .trouble(words(context, "Apple refuses the request (\(code))"))
                case .trouble: return .trouble(words(context, "Apple does not answer"))
                case .blocked:
                    return .trouble(words(context, "Apple refuses the app's credentials, or they are missing"))
                }
                let step: HistoryStep =
                    page.map { .page(HistoryPage(window: window, token: $0)) } ?? .windowEnd(window.to)
                switch try await source.places.advance(place, to: step, behind: effects, seconds: Self.leaseSeconds) {
                case .moved(let moved):
                    place = moved
                    if page != nil { CrashPoint.historyPageTaken.reached() }
                case .lost: return .lost
                case .otherDatabase:
                    return .trouble(
                        words(
                            context,
                            "another PostgreSQL database answers: the worker continues at that database's stored time"))
                }
                if page == nil { break }
            }
            guard page == nil else {
                return .trouble(words(context, "Apple sends more than \(Self.maximumPages) pages for one window"))
            }
            from = window.to
        }
        return .done
    }

    private func words(_ context: StoreQueryContext, _ what: String) -> String {
        "\(context.bundleID.text) \(context.environment?.rawValue ?? ""): \(what)"
    }

    /// Makes the notifications' effects durable, as if they had come through the topic. Returns the histories of the
    /// databases with these effects; nil if another replica has the lease.
    private func enter(_ bodies: [[UInt8]], _ place: inout HistoryPlace) async throws -> Set<DatabaseHistory>? {
        let bodies = bodies.filter {
            place.setAside.isEmpty || !place.setAside.contains(NotificationName.digest(of: $0))
        }
        guard place.starts > CrashHistory.concurrentStarts else {
            return try await beside(place.scope) { try await work(on: bodies) }
        }
        var effects: Set<DatabaseHistory> = []
        for body in bodies {
            guard let taken = try await enterIsolated(body, &place) else { return nil }
            effects.formUnion(taken)
        }
        return effects
    }

    /// Works on notifications of the history. An invalid notification becomes a dead letter only once. Returns the
    /// histories of the databases with the effects.
    func work(on bodies: [[UInt8]]) async throws -> Set<DatabaseHistory> {
        let useless = Set(bodies.filter(isUseless).map(NotificationName.digest))
        let told = deadLetters.known(of: useless)
        let bodies = bodies.filter { told.isEmpty || !told.contains(NotificationName.digest(of: $0)) }
        guard !bodies.isEmpty else { return [] }
        let history = try await worker.work(on: bodies.map(received))
        deadLetters.add(useless)
        return Set([history].compactMap(\.self))
    }

    /// Makes a record for a notification that did not come from a record.
    func received(_ body: [UInt8]) -> ReceivedNotification {
        let place = TopicPartition(topic: worker.source.topic, partition: Self.partition)
        return ReceivedNotification(
            record: ConsumerRecord(topicPartition: place, offset: -1, value: body), source: .history)
    }

    private func isUseless(_ body: [UInt8]) -> Bool {
        CrashPoint.reading(body)
        return if case .read = worker.source.parser.parse(notification: body) { false } else { true }
    }
}

/// A leased history: the place from which the worker continues, and the context of the worker's requests to Apple.
final class HistoryRound: Sendable {
    let context: StoreQueryContext
    let scope: HistoryScope
    private let current: Mutex<HistoryPlace>

    /// The place that the last try reached.
    var place: HistoryPlace {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    init(context: StoreQueryContext, place: HistoryPlace) {
        self.context = context
        scope = place.scope
        current = Mutex(place)
    }
}

/// The histories that this process is reading.
final class HistoryRounds: Sendable {
    private let scopes = Mutex<Set<HistoryScope>>([])

    /// Marks the history as being read. Returns false if this process is already reading it.
    func begin(_ scope: HistoryScope) -> Bool { scopes.withLock { $0.insert(scope).inserted } }

    func ended(_ scope: HistoryScope) { scopes.withLock { _ = $0.remove(scope) } }
}

/// The notifications that became dead letters in this process. Rounds overlap by an hour, so Apple returns a
/// notification more than once.
final class HistoryDeadLetters: Sendable {
    private static let most = 10_000

    private let digests = Mutex<Set<Digest256>>([])

    func known(of digests: Set<Digest256>) -> Set<Digest256> { self.digests.withLock { $0.intersection(digests) } }

    func add(_ new: Set<Digest256>) {
        digests.withLock { digests in
            if digests.count + new.count > Self.most { digests = [] }
            digests.formUnion(new)
        }
    }
}

extension AppPolicy {
    fileprivate func asks(_ environment: StoreEnvironment) -> Bool {
        guard environment == .sandbox else { return true }
        if case .reject = sandbox { return false }
        return true
    }
}
