import AppStore
import AppStoreSimulation
import Foundation
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("Conformance: store queries of the API client and of the in-memory double")
struct StoreQueriesConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case serverAPIClient
        case inMemory
    }

    /// A `StoreQueries` that knows the purchases of one customer, and a purchase in the sandbox.
    struct Subject: Sendable {
        let queries: any StoreQueries
        /// The customer's consumables, which fill more than a page. The subscription `vip` follows them.
        let gems: [StoreTransactionID]
        let vip: StoreTransactionID
        let inSandbox: StoreTransactionID

        func ask(_ id: StoreTransactionID, _ environment: StoreEnvironment? = .production) async -> StoreQueryAnswer<
            NotifiedTransaction
        > {
            await queries.transaction(id, ScriptedServerAPI.context(environment))
        }

        /// Reads all pages of the history. Returns the ids and the number of pages.
        func history(_ filter: TransactionHistoryFilter = .init()) async throws -> (
            ids: [StoreTransactionID], pages: Int
        ) {
            var ids: [StoreTransactionID] = []
            var (page, pages): (String?, Int) = (nil, 0)
            repeat {
                let answer = await queries.transactionHistory(
                    of: gems[3], filter, page: page, ScriptedServerAPI.context())
                let part = try #require(answer.told, "\(answer)")
                ids += part.transactions.map(\.purchase.transactionID)
                page = part.next
                pages += 1
            } while page != nil
            return (ids, pages)
        }
    }

    private static let bundle = SimulatedServerAPI.bundle
    private static let window = NotificationHistoryWindow(
        from: Timestamp.ofNow.adding(milliseconds: -3_600_000), to: Timestamp.ofNow.adding(milliseconds: 3_600_000))

    private func withSubject(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        try await SimulatedServerAPI.run { apple in
            let (gems, vip, inSandbox) = try apple.store.inStore { store in
                store.add(
                    SimulatedApp(
                        bundleID: Self.bundle.text, appAppleID: 1_450_000_001,
                        products: [
                            SimulatedProduct(id: "gems"),
                            SimulatedProduct(
                                id: "vip", plan: SimulatedPlan(groupID: "7", periodMilliseconds: 2_592_000_000)),
                        ]))
                let lena = SimulatedAccount("lena", bundleID: Self.bundle.text)
                let tester = SimulatedAccount("tester", bundleID: Self.bundle.text, environment: .sandbox)
                return (
                    try (0..<25).map { _ in StoreTransactionID(try store.buy("gems", by: lena).id) },
                    StoreTransactionID(try store.buy("vip", by: lena).id),
                    StoreTransactionID(try store.buy("gems", by: tester).id)
                )
            }
            let asked = Subject(queries: apple.client, gems: gems, vip: vip, inSandbox: inSandbox)
            switch implementation {
            case .serverAPIClient: try await body(asked)
            case .inMemory:
                let queries = try await inMemory(asked)
                try await body(Subject(queries: queries, gems: gems, vip: vip, inSandbox: inSandbox))
            }
        }
    }

    /// Returns a double with the data that the real client reads.
    private func inMemory(_ asked: Subject) async throws -> InMemoryStoreQueries {
        let queries = InMemoryStoreQueries()
        for id in asked.gems + [asked.vip, asked.inSandbox] {
            queries.register(try #require(await asked.ask(id, nil).told))
        }
        let statuses = await asked.queries.subscriptionStatuses(of: asked.vip, ScriptedServerAPI.context())
        queries.register(try #require(statuses.told), of: asked.vip)
        var page: String?
        repeat {
            let part = try #require(
                await asked.queries.notificationHistory(Self.window, page: page, ScriptedServerAPI.context()).told)
            for body in part.bodies { queries.register(notification: body, of: Self.bundle, sentAt: .ofNow) }
            page = part.next
        } while page != nil
        return queries
    }

    @Test(
        "a store query that names an environment finds a transaction only in this environment",
        arguments: Implementation.allCases)
    func transaction(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let told = try #require(await subject.ask(subject.vip).told)
            #expect(told.purchase.productID == "vip" && told.kind == .autoRenewableSubscription)
            #expect(told.bundleID == Self.bundle && told.environment == .production)
            #expect(await subject.ask(subject.vip, .sandbox) == .notFound)
            #expect(await subject.ask(subject.inSandbox) == .notFound)
            #expect(await subject.ask(subject.inSandbox, nil).told?.environment == .sandbox)
            #expect(await subject.ask("99") == .notFound)
        }
    }

    @Test(
        "subscriptionStatuses returns a subscription's state, and notFound for an unknown id",
        arguments: Implementation.allCases)
    func statuses(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let told = await subject.queries.subscriptionStatuses(of: subject.vip, ScriptedServerAPI.context())
            #expect(told.told?.map(\.state) == [.active] && told.told?.first?.subscriptionGroupID == "7")
            #expect(
                await subject.queries.subscriptionStatuses(of: "99", ScriptedServerAPI.context()) == .notFound)
        }
    }

    @Test(
        "a store query returns a customer's history in order, twenty entries a page, limited by the filter",
        arguments: Implementation.allCases)
    func history(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let all = try await subject.history()
            #expect(all.ids == subject.gems + [subject.vip] && all.pages == 2)
            var filter = TransactionHistoryFilter()
            filter.productKinds = [.autoRenewableSubscription]
            #expect(try await subject.history(filter).ids == [subject.vip])
            filter.productKinds = []
            filter.productID = "gems"
            #expect(try await subject.history(filter).ids == subject.gems)
            // The filter leaves out purchases at the time `until` itself.
            let first = try #require(await subject.ask(subject.gems[0]).told).purchase.purchasedAt
            let last = try #require(await subject.ask(subject.gems[24]).told).purchase.purchasedAt
            filter.until = first
            #expect(try await subject.history(filter).ids.isEmpty)
            (filter.from, filter.until) = (first, last.adding(milliseconds: 1))
            #expect(try await subject.history(filter).ids == subject.gems)
            let unknown = await subject.queries.transactionHistory(
                of: "99", .init(), page: nil, ScriptedServerAPI.context())
            #expect(unknown == .notFound)
        }
    }

    @Test(
        "if a page token is unknown, the answer to the store query tells the caller to restart paging",
        arguments: Implementation.allCases)
    func unknownPage(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            #expect(
                await subject.queries.transactionHistory(
                    of: subject.vip, .init(), page: "no page", ScriptedServerAPI.context()
                ).restartsPaging)
        }
    }

    @Test(
        "queries of the notification history return each notification within the window exactly once",
        arguments: Implementation.allCases)
    func notifications(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let first = try #require(
                await subject.queries.notificationHistory(Self.window, page: nil, ScriptedServerAPI.context()).told)
            let second = try #require(
                await subject.queries.notificationHistory(
                    Self.window, page: first.next, ScriptedServerAPI.context()
                ).told)
            #expect(first.bodies.count == 20 && second.bodies.count == 6 && second.next == nil)
            #expect(Set(first.bodies + second.bodies).count == 26)
            let before = NotificationHistoryWindow(
                from: Self.window.from.adding(milliseconds: -3_600_000), to: Self.window.from)
            let none = await subject.queries.notificationHistory(before, page: nil, ScriptedServerAPI.context())
            #expect(none.told?.bodies.isEmpty == true)
        }
    }

    @Test(
        "finish and answerConsumption succeed for known transactions, and return notFound for unknown ids",
        arguments: Implementation.allCases)
    func changes(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            let answer = ConsumptionAnswer(delivery: .delivered, providesSampleContent: false)
            let (queries, anywhere) = (subject.queries, ScriptedServerAPI.context(nil))
            #expect(await queries.finish(subject.inSandbox, anywhere) == .answered(true))
            #expect(await queries.finish(subject.inSandbox, ScriptedServerAPI.context()) == .notFound)
            #expect(await queries.finish("99", anywhere) == .notFound)
            #expect(await queries.answerConsumption(of: subject.gems[0], answer, anywhere) == .answered(true))
            #expect(await queries.answerConsumption(of: "99", answer, anywhere) == .notFound)
        }
    }
}

extension StoreQueryAnswer {
    fileprivate var told: Value? {
        if case .answered(let value) = self { value } else { nil }
    }
}

extension Timestamp {
    /// The present time. The client and the simulation read the same clock.
    fileprivate static var ofNow: Timestamp {
        Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
    }
}
