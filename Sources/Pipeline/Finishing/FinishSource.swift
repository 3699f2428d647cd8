import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Reports delivered purchases to Apple. These requests have the lowest priority.
struct FinishSource: DueWork {
    let part = Health.Part.finishLoop
    let failingPart = FailingPart.finishes
    let places = DuePlaces.own(PipelineLimits.finishConcurrency)
    let store: any OwedFinishes
    let queries: any StoreQueries
    let catalog: @Sendable () -> Catalog
    let metrics: ReceiptdMetrics
    let logger: Logger
    var retry = RetryDelay()

    /// True if the catalog has an app whose deliveries must be reported. While there is none, due rows wait.
    var isWanted: Bool {
        catalog().apps.values.contains { $0.announcements.finishesGrants }
    }

    func leaseDue(limit: Int) async throws -> DueBatch<LeasedFinish> {
        DueBatch(try await store.leaseDueFinishes(limit: limit), limit: limit)
    }

    func putOff(_ finish: LeasedFinish) async throws {
        try await store.putOff(finish, seconds: retry.seconds(afterGivingUp: finish.tries, now: WallClock.now))
    }

    func release(_ finish: LeasedFinish) async throws { try await store.release(finish) }

    func work(on finish: LeasedFinish) async throws {
        guard !finish.isPastItsTime else { return try await end(finish, as: .givenUp) }
        guard let app = catalog().apps[finish.bundleID], app.announcements.finishesGrants,
            let credentials = app.serverAPI
        else { return try await end(finish, as: .notConfigured) }
        let answer = await queries.finish(
            finish.transactionID,
            StoreQueryContext(
                bundleID: finish.bundleID, credentials: credentials, environment: finish.environment,
                share: .background))
        switch answer {
        case .answered:
            CrashPoint.finishTold.reached()
            try await end(finish, as: .finished)
        case .refused(let code):
            logger.notice(
                "Apple refuses the report of a delivery: the worker does not send it again",
                [
                    .transactionID: "\(finish.transactionID)", .bundleID: "\(finish.bundleID)",
                    .environment: "\(finish.environment.rawValue)", .code: .stringConvertible(code),
                ])
            try await end(finish, as: .refused)
        case .notFound, .trouble, .blocked:
            if Task.isCancelled { throw Abandoned() }
            metrics.finishes.with("retried").increment()
            try await putOff(finish, after: answer)
        }
    }

    private func putOff(_ finish: LeasedFinish, after answer: StoreQueryAnswer<Bool>) async throws {
        guard let seconds = retry.seconds(after: answer, tries: finish.tries, now: WallClock.now) else { return }
        try await store.putOff(finish, seconds: seconds)
    }

    private func end(_ finish: LeasedFinish, as result: FinishResult) async throws {
        try await store.end(finish, as: result)
        metrics.finishes.with(result.rawValue).increment()
    }
}
