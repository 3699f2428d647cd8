import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Answers Apple's consumption requests, which Apple sends when a player asks for a refund.
struct RefundRequestSource: DueWork {
    let part = Health.Part.refundRequestLoop
    let failingPart = FailingPart.refundRequests
    let places = DuePlaces.own(PipelineLimits.refundRequestConcurrency)
    let store: any OpenRefundRequests
    let queries: any StoreQueries
    let catalog: @Sendable () -> Catalog
    /// The seconds that a refund request waits for the game server's report.
    let waitSeconds: Double
    let metrics: ReceiptdMetrics
    let logger: Logger
    var retry = RetryDelay()
    var now: @Sendable () -> Timestamp = { WallClock.now }

    func leaseDue(limit: Int) async throws -> DueBatch<LeasedRefundRequest> {
        DueBatch(try await store.leaseDueRequests(limit: limit, waitSeconds: waitSeconds, at: now()), limit: limit)
    }

    func putOff(_ request: LeasedRefundRequest) async throws {
        try await store.putOff(
            request, seconds: retry.seconds(afterGivingUp: request.tries, now: now()), countsAsTry: true)
    }

    func release(_ request: LeasedRefundRequest) async throws { try await store.release(request) }

    func work(on leased: LeasedRefundRequest) async throws {
        let catalog = catalog()
        switch leased.decision(under: catalog, at: now()) {
        case .wait:
            let seconds = PipelineLimits.unacknowledgedSeconds * Double.random(in: 0.75..<1.25)
            try await store.putOff(leased, seconds: seconds, countsAsTry: false)
        case .end(let result): try await end(leased, as: result, after: nil)
        case .answer(let answer):
            guard let credentials = catalog.apps[leased.request.bundleID]?.serverAPI else { return }
            try await send(answer, about: leased, credentials)
        }
    }

    private func send(
        _ answer: ConsumptionAnswer, about leased: LeasedRefundRequest, _ credentials: ServerAPICredentials
    ) async throws {
        let request = leased.request
        let reply = await queries.answerConsumption(
            of: request.transactionID, answer,
            // These answers are few and have a deadline, so they have a higher priority than most requests.
            StoreQueryContext(
                bundleID: request.bundleID, credentials: credentials, environment: request.environment,
                share: .submission, notAfter: request.answerBy))
        switch reply {
        case .answered:
            CrashPoint.consumptionTold.reached()
            try await end(leased, as: .accepted, after: answer)
        case .refused(let code):
            logger.warning(
                "Apple refuses an answer about a refund: the worker does not send it again",
                [
                    .transactionID: "\(request.transactionID)", .bundleID: "\(request.bundleID)",
                    .environment: "\(request.environment.rawValue)", .code: .stringConvertible(code),
                ])
            try await end(leased, as: .refused, after: answer)
        case .notFound, .trouble, .blocked:
            if Task.isCancelled { throw Abandoned() }
            // Apple's deadline may have passed during the wait for a turn at Apple.
            if now() >= request.answerBy { return try await end(leased, as: .tooLate, after: nil) }
            metrics.consumptionAnswers.with("retried").increment()
            try await putOff(leased, after: reply)
        }
    }

    private func putOff(_ leased: LeasedRefundRequest, after reply: StoreQueryAnswer<Bool>) async throws {
        guard let seconds = retry.seconds(after: reply, tries: leased.tries, now: now()) else { return }
        try await store.putOff(leased, seconds: seconds, countsAsTry: true)
    }

    private func end(
        _ leased: LeasedRefundRequest, as result: ConsumptionResult, after answer: ConsumptionAnswer?
    ) async throws {
        try await store.end(leased, as: result, answer: answer)
        metrics.consumptionAnswers.with(result.rawValue).increment()
    }
}
