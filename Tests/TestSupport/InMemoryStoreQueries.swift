import Fulfillment
import NamesAndTimes
import Synchronization

/// A double of the App Store Server API. It answers from registered data, and records the requests.
public final class InMemoryStoreQueries: StoreQueries {
    /// The number of entries on one of Apple's pages.
    public static let pageLength = 20

    public struct Asked: Sendable, Equatable {
        public let question: Question
        public let bundleID: BundleID
        public let environment: StoreEnvironment?
        public let share: StoreQueryShare
        public var notAfter: Timestamp?
    }

    public enum Question: Sendable, Equatable {
        case transaction(StoreTransactionID)
        case subscriptionStatuses(StoreTransactionID)
        case transactionHistory(StoreTransactionID, TransactionHistoryFilter, page: String?)
        case notificationHistory(NotificationHistoryWindow, page: String?)
        case finish(StoreTransactionID)
        case consumption(StoreTransactionID, ConsumptionAnswer)

        public var endpoint: Endpoint {
            switch self {
            case .transaction: .transaction
            case .subscriptionStatuses: .subscriptionStatuses
            case .transactionHistory: .transactionHistory
            case .notificationHistory: .notificationHistory
            case .finish: .finish
            case .consumption: .consumption
            }
        }
    }

    public enum Endpoint: Sendable, Hashable, CaseIterable {
        case transaction
        case subscriptionStatuses
        case transactionHistory
        case notificationHistory
        case finish
        case consumption
    }

    /// The result of a request that Apple does not answer with data.
    public enum Failure: Sendable, Equatable {
        case notFound
        case refused(code: Int64)
        case trouble(AppleAnswer.Trouble)
        case blocked(AppleAnswer.Blockage)
    }

    fileprivate struct Notification {
        let bundleID: BundleID
        let environment: StoreEnvironment
        let sentAt: Timestamp
        let body: [UInt8]
    }

    fileprivate struct State {
        var transactions: [NotifiedTransaction] = []
        var statuses: [StoreTransactionID: [SubscriptionStatus]] = [:]
        var notifications: [Notification] = []
        var failures: [Endpoint: [Failure]] = [:]
        var lasting: [Endpoint: Failure] = [:]
        var asked: [Asked] = []
        var waiters: [(isMet: @Sendable ([Asked]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

        func transaction(_ id: StoreTransactionID, _ context: StoreQueryContext) -> NotifiedTransaction? {
            transactions.first {
                $0.purchase.transactionID == id && $0.bundleID == context.bundleID
                    && (context.environment == nil || $0.environment == context.environment)
            }
        }
    }

    fileprivate let state = Mutex(State())

    public init() {}

    // MARK: Registered data

    /// Registers transactions. The transactions of one customer share an `appTransactionID` or an original transaction.
    /// A transaction replaces an earlier one with its id.
    public func register(_ transactions: NotifiedTransaction...) {
        state.withLock { state in
            for transaction in transactions {
                state.transactions.removeAll { $0.purchase.transactionID == transaction.purchase.transactionID }
                state.transactions.append(transaction)
            }
        }
    }

    public func register(_ statuses: [SubscriptionStatus], of id: StoreTransactionID) {
        state.withLock { $0.statuses[id] = statuses }
    }

    /// Registers a notification for the notification history.
    /// - Parameter body: `{"signedPayload": …}`.
    public func register(
        notification body: [UInt8], of bundleID: BundleID, in environment: StoreEnvironment = .production,
        sentAt: Timestamp
    ) {
        let sent = Notification(bundleID: bundleID, environment: environment, sentAt: sentAt, body: body)
        state.withLock { $0.notifications.append(sent) }
    }

    /// Makes the next requests to the endpoint fail, one with each failure.
    public func fail(_ endpoint: Endpoint, _ failures: Failure...) {
        state.withLock { $0.failures[endpoint, default: []] += failures }
    }

    /// Makes all further requests to the endpoint fail; nil lets them succeed again.
    public func failAlways(_ endpoint: Endpoint, _ failure: Failure?) {
        state.withLock { $0.lasting[endpoint] = failure }
    }

    // MARK: Recorded requests

    public var asked: [Asked] { state.withLock { $0.asked } }

    public func questions(_ endpoint: Endpoint) -> [Question] {
        asked.map(\.question).filter { $0.endpoint == endpoint }
    }

    /// Returns once the requests so far satisfy the condition.
    public func waitUntil(_ isMet: @escaping @Sendable ([Asked]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMetAlready = state.withLock { state in
                if isMet(state.asked) { return true }
                state.waiters.append((isMet, continuation))
                return false
            }
            if isMetAlready { continuation.resume() }
        }
    }

    private func answer<Value: Sendable>(
        _ question: Question, _ context: StoreQueryContext, _ find: (inout State) -> Value?
    ) -> StoreQueryAnswer<Value> {
        let (answer, due) = state.withLock { state in
            state.asked.append(
                Asked(
                    question: question, bundleID: context.bundleID, environment: context.environment,
                    share: context.share, notAfter: context.notAfter))
            let asked = state.asked
            let due = state.waiters.filter { $0.isMet(asked) }.map(\.continuation)
            state.waiters.removeAll { $0.isMet(asked) }
            return (Self.answer(question.endpoint, &state, find), due)
        }
        for continuation in due { continuation.resume() }
        return answer
    }

    private static func answer<Value>(
        _ endpoint: Endpoint, _ state: inout State, _ find: (inout State) -> Value?
    ) -> StoreQueryAnswer<Value> {
        var failure = state.lasting[endpoint]
        if let first = state.failures[endpoint]?.first {
            failure = first
            state.failures[endpoint]?.removeFirst()
        }
        return switch failure {
        case .notFound?: .notFound
        case .refused(let code)?: .refused(code: code)
        case .trouble(let trouble)?: .trouble(trouble)
        case .blocked(let blockage)?: .blocked(blockage)
        case nil: find(&state).map { .answered($0) } ?? .notFound
        }
    }

    // MARK: StoreQueries

    public func transaction(
        _ id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotifiedTransaction> {
        answer(.transaction(id), context) { $0.transaction(id, context) }
    }

    public func subscriptionStatuses(
        of id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<[SubscriptionStatus]> {
        answer(.subscriptionStatuses(id), context) { $0.statuses[id] }
    }

    public func transactionHistory(
        of id: StoreTransactionID, _ filter: TransactionHistoryFilter, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<TransactionHistoryPage> {
        if Self.isUnknown(page) { fail(.transactionHistory, .refused(code: StoreErrorCode.invalidRevision)) }
        return answer(.transactionHistory(id, filter, page: page), context) { state in
            guard let asked = state.transaction(id, context) else { return nil }
            let all = state.transactions.filter { $0.isOfCustomer(of: asked) && filter.admits($0) }
                .sorted { StorePurchase.isBefore($0.purchase, $1.purchase) }
            let (transactions, next) = Self.page(of: all, page)
            return TransactionHistoryPage(transactions: transactions, next: next)
        }
    }

    public func notificationHistory(
        _ window: NotificationHistoryWindow, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotificationHistoryPage> {
        if Self.isUnknown(page) { fail(.notificationHistory, .refused(code: StoreErrorCode.invalidPaginationToken)) }
        return answer(.notificationHistory(window, page: page), context) { state in
            let all = state.notifications.filter {
                $0.bundleID == context.bundleID && $0.environment == context.environment ?? .production
                    && $0.sentAt >= window.from && $0.sentAt <= window.to
            }
            let (notifications, next) = Self.page(of: all.sorted { $0.sentAt < $1.sentAt }, page)
            return NotificationHistoryPage(bodies: notifications.map(\.body), next: next)
        }
    }

    public func finish(_ id: StoreTransactionID, _ context: StoreQueryContext) async -> StoreQueryAnswer<Bool> {
        answer(.finish(id), context) { $0.transaction(id, context).map { _ in true } }
    }

    public func answerConsumption(
        of id: StoreTransactionID, _ told: ConsumptionAnswer, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<Bool> {
        answer(.consumption(id, told), context) { $0.transaction(id, context).map { _ in true } }
    }

    /// Returns true if `page` is a token that `page(of:_:)` never returns.
    private static func isUnknown(_ page: String?) -> Bool { page.map { Int($0) == nil } ?? false }

    private static func page<Element>(of all: [Element], _ page: String?) -> ([Element], next: String?) {
        let start = min(page.flatMap { Int($0) } ?? 0, all.count)
        let end = min(start + pageLength, all.count)
        return (Array(all[start..<end]), end < all.count ? String(end) : nil)
    }
}

extension NotifiedTransaction {
    fileprivate func isOfCustomer(of other: NotifiedTransaction) -> Bool {
        guard bundleID == other.bundleID, environment == other.environment else { return false }
        if let account = purchase.appTransactionID, account == other.purchase.appTransactionID { return true }
        return purchase.originalTransactionID == other.purchase.originalTransactionID
    }
}

extension TransactionHistoryFilter {
    fileprivate func admits(_ transaction: NotifiedTransaction) -> Bool {
        if let from, transaction.purchase.purchasedAt < from { return false }
        if let until, transaction.purchase.purchasedAt >= until { return false }
        if let productID, transaction.purchase.productID != productID { return false }
        if !productKinds.isEmpty, !(transaction.kind.map(productKinds.contains) ?? false) { return false }
        return subscriptionGroupID == nil || transaction.subscriptionGroupID == subscriptionGroupID
    }
}
