import Fulfillment
import NamesAndTimes

/// Checks one subscription with Apple. It also finds periods that receiptd missed.
public struct SubscriptionQuestion: Sendable {
    public enum Answer: Sendable, Equatable {
        /// Apple's answer. If the request for the history failed, the answer says when the next check is.
        case found(SubscriptionFindings)
        /// The app has no `server_api`, and the subscription has no stored receipt.
        case nothingToAskWith
        /// An operator must correct the settings. The worker checks the subscription again after the given seconds.
        case blocked(AppleAnswer.Blockage, seconds: Double)
        /// There was no request to Apple, or the request failed. The worker checks the subscription again after the
        /// given seconds.
        case later(seconds: Double)
    }

    private let leased: LeasedSubscription
    private let app: AppPolicy
    private let verifier: any ReceiptVerifier
    private let queries: any StoreQueries

    private var subscription: Subscription { leased.subscription }

    public init(
        _ leased: LeasedSubscription, _ app: AppPolicy, verifier: any ReceiptVerifier, queries: any StoreQueries
    ) {
        self.leased = leased
        self.app = app
        self.verifier = verifier
        self.queries = queries
    }

    /// Sends the requests to Apple. A failure at Apple is an `Answer`, not an error.
    public func ask(now: @Sendable () -> Timestamp) async -> Answer {
        if let credentials = app.serverAPI {
            let context = StoreQueryContext(
                bundleID: app.bundleID, credentials: credentials, environment: subscription.environment,
                share: .subscriptions)
            return await askStatuses(context, now)
        }
        guard let receipt = leased.receipt else { return .nothingToAskWith }
        return await ask(receipt, now)
    }

    private func askStatuses(_ context: StoreQueryContext, _ now: @Sendable () -> Timestamp) async -> Answer {
        var findings: SubscriptionFindings
        do throws(StoreQueryFailure) {
            let statuses = try await queries.subscriptionStatuses(of: subscription.originalTransactionID, context).get()
            findings = SubscriptionFindings(statuses, of: subscription, under: app)
        } catch {
            switch error {
            case .notFound, .refused: return .found(SubscriptionFindings())
            case .trouble(let trouble): return Self.later(trouble, now())
            case .blocked(let blockage): return Self.blocked(blockage)
            }
        }
        guard let since = findings.missedSince else { return .found(findings) }
        do throws(StoreQueryFailure) {
            let history = try await missed(since: since, context)
            findings.add(
                history: history.transactions, readUntil: history.readUntil, of: subscription, under: app, now: now())
        } catch {
            // The findings in the statuses count. The history is not read yet, so the row becomes due again for the
            // history.
            switch error {
            case .notFound, .refused: break
            case .trouble(let trouble): findings.retryAfterSeconds = Self.delay(after: trouble, now())
            case .blocked: findings.retryAfterSeconds = Self.delayAfterBlockage()
            }
        }
        return .found(findings)
    }

    /// The part of a history that the worker read.
    private struct History {
        let transactions: [NotifiedTransaction]
        let readUntil: SubscriptionFindings.ReadUntil
    }

    /// Returns the periods bought since `since`, and the time up to which they are complete. If the history has more
    /// than `missedPeriodPages` pages, the worker reads a narrower window. This window ends at the purchase time of the
    /// middle period that was read. The next check continues where the complete window ends.
    private func missed(
        since: Timestamp, _ context: StoreQueryContext
    ) async throws(StoreQueryFailure) -> History {
        var until: Timestamp?
        var read: [NotifiedTransaction] = []
        for _ in 0..<PipelineLimits.missedPeriodWindows {
            let page = try await missed(since: since, until: until, context)
            read += page.transactions
            guard page.next != nil, !page.transactions.isEmpty else {
                return History(transactions: read, readUntil: until.map { .time($0) } ?? .end)
            }
            let bought = page.transactions.map(\.purchase.purchasedAt).sorted()
            until = max(bought[bought.count / 2], since.adding(milliseconds: 1))
        }
        return History(transactions: read, readUntil: .nowhere)
    }

    /// Returns the periods bought between the two times, as one page. `next` is set if Apple has more than
    /// `missedPeriodPages` pages.
    private func missed(
        since: Timestamp, until: Timestamp?, _ context: StoreQueryContext
    ) async throws(StoreQueryFailure) -> TransactionHistoryPage {
        var filter = TransactionHistoryFilter()
        filter.from = since
        filter.until = until
        filter.productKinds = [.autoRenewableSubscription]
        filter.subscriptionGroupID = subscription.subscriptionGroupID
        var transactions: [NotifiedTransaction] = []
        var page: String?
        for _ in 0..<PipelineLimits.missedPeriodPages {
            let answer = try await queries.transactionHistory(
                of: subscription.originalTransactionID, filter, page: page, context
            ).get()
            transactions += answer.transactions
            page = answer.next
            if page == nil { break }
        }
        return TransactionHistoryPage(transactions: transactions, next: page)
    }

    private func ask(_ receipt: String, _ now: @Sendable () -> Timestamp) async -> Answer {
        var request = VerificationRequest(
            bundleID: app.bundleID, receipt: receipt, sharedSecretSetting: app.sharedSecretSetting)
        request.playerID = subscription.player
        request.isProven = true
        // The request counts as a retry. While first tries wait, retries get at most a fifth of the requests.
        request.isRetry = true
        request.isLeased = true
        switch await verifier.verify(request) {
        case .genuine(let answer):
            return .found(SubscriptionFindings(answer, of: subscription, under: app, now: now()))
        // A subscription always has facts, so an answer without facts is a failure of Apple.
        case .refused(.nothingTold), .refused(.expired):
            return Self.later(AppleAnswer.Trouble(.emptyAnswer), now())
        // Apple itself gave this receipt or called it genuine, so a refusal is a failure of Apple.
        case .refused(.malformed), .refused(.unauthentic): return Self.later(AppleAnswer.Trouble(.status), now())
        case .refused: return .found(SubscriptionFindings())
        case .trouble(let trouble): return Self.later(trouble, now())
        case .blocked(let blockage): return Self.blocked(blockage)
        }
    }

    private static func later(_ trouble: AppleAnswer.Trouble, _ now: Timestamp) -> Answer {
        .later(seconds: delay(after: trouble, now))
    }

    private static func blocked(_ blockage: AppleAnswer.Blockage) -> Answer {
        .blocked(blockage, seconds: delayAfterBlockage())
    }

    /// Returns the seconds until the next check after a failure at Apple.
    private static func delay(after trouble: AppleAnswer.Trouble, _ now: Timestamp) -> Double {
        let held = trouble.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 } ?? 0
        return max(held, 0) + spread(PipelineLimits.troubledSubscriptionSeconds)
    }

    private static func delayAfterBlockage() -> Double { spread(PipelineLimits.blockedSubscriptionSeconds) }

    /// Returns a random time, from once to twice `seconds`, so that rows that failed together are not retried together.
    static func spread(_ seconds: Double) -> Double { seconds * Double.random(in: 1..<2) }
}
