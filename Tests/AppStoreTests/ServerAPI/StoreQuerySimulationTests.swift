import AppStore
import AppStoreSimulation
import AppleProofs
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@Suite("The API client's queries to the simulated App Store Server API")
struct StoreQuerySimulationTests {
    private static let bundle = SimulatedServerAPI.bundle
    private static let day: Int64 = 86_400_000
    private static let lena = SimulatedAccount("lena", bundleID: bundle.text)
    private static let tester = SimulatedAccount("tester", bundleID: bundle.text, environment: .sandbox)

    private func withStore(
        hasNotificationURL: Bool = true, _ body: (SimulatedServerAPI) async throws -> Void
    ) async throws {
        try await SimulatedServerAPI.run { apple in
            var app = SimulatedApp(
                bundleID: Self.bundle.text, appAppleID: 1_450_000_001,
                products: [
                    SimulatedProduct(id: "gems"),
                    SimulatedProduct(
                        id: "vip", plan: SimulatedPlan(groupID: "7", periodMilliseconds: 30 * Self.day)),
                ])
            app.hasNotificationURL = hasNotificationURL
            let sold = app
            apple.store.inStore { $0.add(sold) }
            try await body(apple)
        }
    }

    private func context(
        _ environment: StoreEnvironment? = .production, _ share: StoreQueryShare = .subscriptions
    ) -> StoreQueryContext {
        ScriptedServerAPI.context(environment, share)
    }

    @Test("a store query with any transaction of a subscription returns the subscription's status and history")
    func subscription() async throws {
        try await withStore { apple in
            let (first, second) = try apple.store.inStore { store in
                let first = try store.buy("vip", by: Self.lena)
                _ = try store.buy("gems", by: Self.lena)
                return (first.id, try store.renew(first.id).id)
            }
            for id in [first, second] {
                let answer = await apple.client.subscriptionStatuses(of: StoreTransactionID(id), context())
                guard case .answered(let told) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                #expect(told.map(\.state) == [.active] && told[0].subscriptionGroupID == "7")
                #expect(told[0].transaction.purchase.transactionID == StoreTransactionID(second))
                #expect(told[0].renewal.willRenew == true && told[0].renewal.environment == .production)
            }
            var filter = TransactionHistoryFilter()
            filter.productKinds = [.autoRenewableSubscription]
            let history = await apple.client.transactionHistory(
                of: StoreTransactionID(second), filter, page: nil, context())
            guard case .answered(let page) = history else {
                Issue.record("\(history)")
                return
            }
            #expect(page.transactions.map(\.purchase.transactionID.text) == [first, second] && page.next == nil)
        }
    }

    @Test("the API client reads a customer's history of three pages to its end")
    func pages() async throws {
        try await withStore { apple in
            let ids = try apple.store.inStore { store in
                try (0..<45).map { _ in try store.buy("gems", by: Self.lena).id }
            }
            var told: [String] = []
            var page: String?
            repeat {
                let answer = await apple.client.transactionHistory(
                    of: StoreTransactionID(ids[7]), .init(), page: page, context())
                guard case .answered(let part) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                told += part.transactions.map(\.purchase.transactionID.text)
                page = part.next
            } while page != nil
            #expect(told == ids)
            #expect(
                await apple.client.transactionHistory(
                    of: StoreTransactionID(ids[0]), .init(), page: "no page", context()
                ).restartsPaging)
        }
    }

    @Test("the notification parser proves every notification in the simulated notification history")
    func notifications() async throws {
        try await withStore { apple in
            let proofs = try SimulatedServerAPI.proofs.get()
            let ids = try apple.store.inStore { store in
                try (0..<25).map { _ in try store.buy("gems", by: Self.tester).id }
            }
            let now = Timestamp.now
            let window = NotificationHistoryWindow(
                from: now.adding(milliseconds: -3_600_000), to: now.adding(milliseconds: 60_000))
            var told: [String] = []
            var page: String?
            repeat {
                let answer = await apple.client.notificationHistory(window, page: page, context(.sandbox, .history))
                guard case .answered(let part) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                for body in part.bodies {
                    guard case .read(let notification) = proofs.parse(notification: body),
                        case .told(let transaction) = notification.transaction
                    else {
                        Issue.record("not proven")
                        return
                    }
                    told.append(transaction.purchase.transactionID.text)
                }
                page = part.next
            } while page != nil
            #expect(told == ids)
        }
    }

    @Test("the simulated API refuses the notification history of an app without a notification address")
    func noAddress() async throws {
        try await withStore(hasNotificationURL: false) { apple in
            let now = Timestamp.now
            let window = NotificationHistoryWindow(from: now.adding(milliseconds: -3_600_000), to: now)
            #expect(
                await apple.client.notificationHistory(window, page: nil, context(.production, .history))
                    == .refused(code: StoreErrorCode.noNotificationURL))
        }
    }

    @Test("a store query finds a sandbox transaction if it names no environment, and not if it names Production")
    func changes() async throws {
        try await withStore { apple in
            let id = StoreTransactionID(try apple.store.inStore { try $0.buy("gems", by: Self.tester).id })
            let answer = ConsumptionAnswer(
                delivery: .delivered, providesSampleContent: false, consumedMilliPercent: 100_000,
                refundPreference: .decline)
            #expect(await apple.client.finish(id, context(.production, .background)) == .notFound)
            #expect(await apple.client.finish(id, context(nil, .background)) == .answered(true))
            #expect(
                await apple.client.answerConsumption(of: id, answer, context(.sandbox, .background))
                    == .answered(true))
            #expect(await apple.client.finish("99", context(nil, .background)) == .notFound)
        }
    }
}

extension Timestamp {
    /// The present time. The client and the simulation read the same clock.
    fileprivate static var now: Timestamp {
        Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
    }
}
