import AppStore
import AppStoreSimulation
import AppleProofs
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

/// Tests the real client with the simulated App Store. Both must agree on every field of requests and answers.
@Suite("The API client's queries to the simulated store")
struct SimulatedStoreTests {
    private static let bundle = SimulatedServerAPI.bundle
    private static let lena = SimulatedAccount("lena", bundleID: bundle.text)
    private static let month: Int64 = 30 * 86_400_000

    private static func enter(_ apple: SimulatedServerAPI) {
        apple.store.inStore { store in
            store.add(
                SimulatedApp(
                    bundleID: bundle.text, appAppleID: 1_450_000_009,
                    products: [
                        SimulatedProduct(id: "gems"),
                        SimulatedProduct(
                            id: "vip",
                            plan: SimulatedPlan(groupID: "7", periodMilliseconds: month, graceMilliseconds: 86_400_000)),
                    ]))
        }
    }

    private static func context(_ environment: StoreEnvironment? = .production) -> StoreQueryContext {
        ScriptedServerAPI.context(environment)
    }

    @Test(
        "the API client reads each state of a subscription in the simulated store",
        arguments: StoreSubscription.State.allCases)
    func states(_ state: StoreSubscription.State) async throws {
        try await SimulatedServerAPI.run { apple in
            Self.enter(apple)
            let id = try apple.store.inStore { store in
                // The first period ends about now, or two days earlier for billing retry, when the grace period of a
                // day is over.
                let now = store.now
                store.now = now - Self.month - (state == .billingRetry ? 2 * 86_400_000 : 0)
                let first = try store.buy("vip", by: Self.lena)
                store.now = now
                switch state {
                case .active: try store.renew(first.id)
                case .gracePeriod, .billingRetry: try store.failToRenew(first.id)
                case .expired: try store.expire(first.id, .priceIncrease)
                case .revoked: try store.refund(first.id)
                }
                return first.id
            }
            guard
                case .answered(let statuses) = await apple.client.subscriptionStatuses(
                    of: StoreTransactionID(id), Self.context())
            else {
                Issue.record("not answered")
                return
            }
            #expect(statuses.map(\.state.rawValue) == [state.rawValue])
            let summary = apple.store.inStore { $0.summary(at: $0.now) }.subscriptions[0]
            #expect(statuses[0].transaction.purchase.transactionID.text == summary.periods.last?.transactionID)
            #expect(statuses[0].renewal.willRenew == summary.willRenew && statuses[0].subscriptionGroupID == "7")
            #expect(
                statuses[0].renewal.graceExpiresAt?.milliseconds == summary.graceExpiresAt || state == .billingRetry)
            #expect(statuses[0].transaction.purchase.expiresAt?.milliseconds == summary.expiresAt)
        }
    }

    @Test("if the query names no environment, the API client still reads a sandbox history page by page to its end")
    func history() async throws {
        try await SimulatedServerAPI.run { apple in
            Self.enter(apple)
            let player = SimulatedAccount("otto", bundleID: Self.bundle.text, environment: .sandbox)
            let ids = try apple.store.inStore { store in
                try (0..<50).map { _ in try store.buy("gems", by: player).id }
            }
            var read: [String] = []
            var page: String?
            repeat {
                guard
                    case .answered(let answer) = await apple.client.transactionHistory(
                        of: StoreTransactionID(ids[9]), TransactionHistoryFilter(), page: page, Self.context(nil))
                else {
                    Issue.record("not answered")
                    return
                }
                read += answer.transactions.map(\.purchase.transactionID.text)
                page = answer.next
            } while page != nil
            #expect(read == ids)
            var filter = TransactionHistoryFilter()
            filter.productID = "vip"
            let none = await apple.client.transactionHistory(
                of: StoreTransactionID(ids[0]), filter, page: nil, Self.context(.sandbox))
            #expect(none == .answered(TransactionHistoryPage(transactions: [], next: nil)))
            let unknown = await apple.client.transactionHistory(of: "77", filter, page: nil, Self.context(nil))
            #expect(unknown == .notFound)
        }
    }

    @Test(
        "the API client reads notification history in pages, and gets 4040007 for an app without a notification address"
    )
    func notifications() async throws {
        try await SimulatedServerAPI.run { apple in
            Self.enter(apple)
            let now = try apple.store.inStore { store in
                for _ in 0..<45 { try store.buy("gems", by: Self.lena) }
                return store.now
            }
            let window = NotificationHistoryWindow(
                from: Timestamp(milliseconds: now - 60_000), to: Timestamp(milliseconds: now + 60_000))
            var pages: [Int] = []
            var page: String?
            repeat {
                guard
                    case .answered(let answer) = await apple.client.notificationHistory(
                        window, page: page, Self.context())
                else {
                    Issue.record("not answered")
                    return
                }
                pages.append(answer.bodies.count)
                page = answer.next
            } while page != nil
            #expect(pages == [20, 20, 5])
            apple.store.inStore { store in
                var app = SimulatedApp(bundleID: Self.bundle.text, appAppleID: 1, products: [])
                app.hasNotificationURL = false
                store.add(app)
            }
            let refused = await apple.client.notificationHistory(window, page: nil, Self.context())
            guard case .refused(4_040_007) = refused else {
                Issue.record("\(refused)")
                return
            }
        }
    }

    @Test(
        "the API client finishes a transaction and answers a refund request; the store refuses a contradictory answer")
    func changes() async throws {
        try await SimulatedServerAPI.run { apple in
            Self.enter(apple)
            let id = try apple.store.inStore { try $0.buy("gems", by: Self.lena).id }
            #expect(await apple.client.finish(StoreTransactionID(id), Self.context()) == .answered(true))
            let answer = ConsumptionAnswer(
                delivery: .delivered, providesSampleContent: false, consumedMilliPercent: 40_000,
                refundPreference: .grantProrated)
            let told = await apple.client.answerConsumption(of: StoreTransactionID(id), answer, Self.context())
            #expect(told == .answered(true))
            let kept = apple.store.inStore { ($0.transactions[id]?.isFinished, $0.consumption[id]) }
            #expect(kept.0 == true && kept.1?.map(\.refundPreference) == ["GRANT_PRORATED"])
            var wrong = answer
            wrong.delivery = .undelivered
            let refused = await apple.client.answerConsumption(of: StoreTransactionID(id), wrong, Self.context())
            #expect(refused == .refused(code: 4_000_208))
        }
    }
}
