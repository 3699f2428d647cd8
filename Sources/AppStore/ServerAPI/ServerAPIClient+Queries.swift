import Fulfillment
import NamesAndTimes
import PooledHTTP

extension ServerAPIClient: StoreQueries {
    public func transaction(
        _ id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotifiedTransaction> {
        await ask(.transaction(id), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.transaction(body, asked: id)
        }
    }

    public func subscriptionStatuses(
        of id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<[SubscriptionStatus]> {
        await ask(.subscriptionStatuses(of: id), context) { reader, body throws(StoreAnswerReader.Fault) in
            try reader.statuses(body, asked: id)
        }
    }

    public func transactionHistory(
        of id: StoreTransactionID, _ filter: TransactionHistoryFilter, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<TransactionHistoryPage> {
        await ask(.transactionHistory(of: id, filter, page: page), context) {
            reader, body throws(StoreAnswerReader.Fault) in
            try reader.history(body, page: page)
        }
    }

    public func notificationHistory(
        _ window: NotificationHistoryWindow, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotificationHistoryPage> {
        await ask(.notificationHistory(window, page: page, of: context.bundleID), context) {
            reader, body throws(StoreAnswerReader.Fault) in
            try reader.notifications(body)
        }
    }

    public func finish(_ id: StoreTransactionID, _ context: StoreQueryContext) async -> StoreQueryAnswer<Bool> {
        await ask(.finish(id), context) { _, _ in StoreAnswerReader.Reading(value: true) }
    }

    public func answerConsumption(
        of id: StoreTransactionID, _ answer: ConsumptionAnswer, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<Bool> {
        await ask(.consumption(of: id, answer), context) { _, _ in StoreAnswerReader.Reading(value: true) }
    }

    /// Reads the body of a successful answer of Apple's.
    typealias Reader<Value> =
        @Sendable (StoreAnswerReader, [UInt8]) throws(StoreAnswerReader.Fault) -> StoreAnswerReader.Reading<Value>

    private enum Outcome<Value: Sendable> {
        case answer(StoreQueryAnswer<Value>)
        /// 401: Apple refused the token.
        case unauthorized
    }

    /// Makes one try. If the context names no environment, asks Production, and then the sandbox if Production does not
    /// know the subject.
    /// - Parameter query: the query; nil for an id, a token or an order number that cannot be Apple's. Then the answer
    ///   is `refused`.
    func ask<Value: Sendable>(
        _ query: ServerAPIQuery?, _ context: StoreQueryContext, _ read: Reader<Value>
    ) async -> StoreQueryAnswer<Value> {
        guard let query else { return .refused(code: StoreErrorCode.invalidTransactionID) }
        let hasToken = token(for: context.bundleID, context.credentials) != nil
        let setting = context.credentials.privateKeySetting
        guard limits.mayAsk(context.bundleID, endpoint: Self.endpoint, setting: setting, hasSecret: hasToken) else {
            return .blocked(.serverAPI)
        }
        for environment in context.environment.map({ [$0] }) ?? [.production, .sandbox] {
            let scope = AppleScope(
                bundleID: context.bundleID, endpoint: query.endpoint.rawValue, environment: environment)
            let outcome: Outcome<Value>? = await limits.send(
                to: scope, for: AppleAsker(context.share, of: query.subject)
            ) {
                guard let token = token(for: context.bundleID, context.credentials) else {
                    return (.answer(.blocked(.serverAPI)), .unknown)
                }
                // The check comes after the wait for the limits, because the wait may have lasted beyond `notAfter`.
                guard isInTime(context) else {
                    return (.answer(.trouble(.init(.timeout, wasAsked: false))), .unknown)
                }
                let outcome = await ask(query, token, in: environment, context, read)
                return (outcome, end(outcome))
            }
            guard let outcome else { return .trouble(limits.notSent(to: scope, now: now())) }
            let answer = concluded(outcome, in: environment, context)
            if case .notFound = answer { continue }
            return answer
        }
        return .notFound
    }

    /// Returns whether an exchange that begins now ends by `notAfter`, even if it takes the whole time-out.
    private func isInTime(_ context: StoreQueryContext) -> Bool {
        context.notAfter.map { now().adding(milliseconds: exchangeMilliseconds) <= $0 } ?? true
    }

    /// Returns the answer, and updates the state of the app's credentials.
    private func concluded<Value>(
        _ outcome: Outcome<Value>, in environment: StoreEnvironment, _ context: StoreQueryContext
    ) -> StoreQueryAnswer<Value> {
        func note(isTaken: Bool) {
            limits.noteToken(isTaken: isTaken, of: context.bundleID, endpoint: Self.endpoint)
        }
        switch outcome {
        case .unauthorized:
            tokens.forget(context.bundleID)
            // Production may accept this token, so the sandbox's 401 alone does not show that the token is wrong.
            if environment == .production { note(isTaken: false) }
            let isFirst = environment == .production || context.environment != nil
            return isFirst ? .blocked(.serverAPI) : .trouble(.init(.status))
        case .answer(let answer):
            switch answer {
            case .answered, .notFound, .refused: note(isTaken: true)
            case .trouble, .blocked: break
            }
            return answer
        }
    }

    private func ask<Value>(
        _ query: ServerAPIQuery, _ token: String, in environment: StoreEnvironment, _ context: StoreQueryContext,
        _ read: Reader<Value>
    ) async -> Outcome<Value> {
        let sent = await send(query, token, in: environment)
        let response: HTTPResponse
        switch sent.result {
        case .failure(let failure):
            tell(sent, failure.troubleKind.rawValue, to: context.ended)
            return .answer(.trouble(.init(failure.troubleKind)))
        case .success(let success): response = success
        }
        let answer: StoreQueryAnswer<Value>
        var leftOut = 0
        switch ServerAPIResponse(
            status: response.status, body: response.body, retryNotBefore: retryNotBefore(response))
        {
        case .unauthorized:
            tell(sent, StoreQueryAnswer<Value>.blocked(.serverAPI).label, to: context.ended)
            return .unauthorized
        case .notFound: answer = .notFound
        case .refused(let code): answer = .refused(code: code)
        case .trouble(let trouble): answer = .trouble(trouble)
        case .blocked(let blockage): answer = .blocked(blockage)
        case .taken(_, let body):
            let reader = StoreAnswerReader(parser: proofs, bundleID: context.bundleID, environment: environment)
            do throws(StoreAnswerReader.Fault) {
                let reading = try read(reader, body)
                leftOut = reading.leftOut
                answer = .answered(reading.value)
            } catch {
                let isFinal = error == .unreadable && query.endpoint == .transactions
                answer =
                    isFinal
                    ? .refused(code: StoreErrorCode.unreadableAnswer) : .trouble(.init(error.troubleKind))
            }
        }
        tell(sent, leftOut == 0 ? answer.label : Self.partlyReadLabel, to: context.ended)
        return .answer(answer)
    }

    /// The label value of `receiptd_apple_requests_total{result}` for an answer from which receiptd dropped unproven
    /// parts.
    private static let partlyReadLabel = "partly_unproven"

    private func end<Value>(_ outcome: Outcome<Value>) -> AppleLimits.End {
        if case .answer(.trouble(let trouble)) = outcome { AppleLimits.End(trouble, now: now()) } else { .answered }
    }
}
