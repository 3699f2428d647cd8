import Encodings
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

/// Tests the facts that Apple gives about a subscription before the subscription has an owner.
extension FollowedSubscriptionsConformance {
    @Test(
        "if Apple gave renewal states before a subscription had an owner, the first revision has the newest state",
        arguments: Implementation.allCases)
    func renewalBeforeOwner(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            var off = Self.fact(.active, original: "3000", period: 20, at: 30)
            off.willRenew = false
            let on = Self.fact(.active, original: "3000", period: 20, at: 25)
            let leased = try #require(try await subject.lease().first)
            _ = try await subject.settle(leased, [Self.fact(.expired, period: -60, at: 40), off, on], at: 40)
            let granted = try await subject.grant("3000", original: "3000", at: 20, offset: 2)
            #expect(granted.events.map(\.kind) == [.granted, .subscriptionChanged])
            let told = try JSONParser.parse(granted.events.last?.value ?? []).value
            #expect(told["will_renew"] == .bool(false) && told["revision"] == .number("1"))
            let known = try #require(try await subject.known("3000"))
            #expect(known.willRenew == false && known.revision == 1)
        }
    }

    @Test(
        "if Apple reported a subscription as expired before it had an owner, it starts expired, and no check is due",
        arguments: Implementation.allCases)
    func endBeforeOwner(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            let over = Self.fact(.expired, original: "3000", period: 20, at: 30)
            let leased = try #require(try await subject.lease().first)
            let told = [
                Self.fact(.expired, period: -60, at: 40), over,
                Self.fact(.billingRetry, original: "3000", period: 20, at: 25),
                Self.fact(.active, original: "3000", period: 10, at: 35),
            ]
            _ = try await subject.settle(leased, told.shuffled(), at: 40)
            let granted = try await subject.grant("3000", original: "3000", at: 20, offset: 2)
            #expect(granted.events.map(\.kind) == [.granted, .subscriptionChanged])
            let event = try JSONParser.parse(granted.events.last?.value ?? []).value
            #expect(event["state"] == .string("expired") && event["revision"] == .number("1"))
            let known = try #require(try await subject.known("3000"))
            #expect(known.state == .expired && known.check.dueAt == nil)
            // Apple gave no fact about this later period, so the period's grant makes the subscription active.
            _ = try await subject.grant("3001", original: "3000", at: 80, offset: 3)
            #expect(try await subject.known("3000")?.state == .active)
        }
    }

    @Test(
        "if Apple gave a grace period while the catalog lacked the app, the subscription's first revision has it",
        arguments: Implementation.allCases)
    func graceBeforeApp(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            var grace = Self.fact(.gracePeriod, original: "3000", period: 0, at: 31)
            grace.graceExpiresAt = Self.base.adding(milliseconds: 46 * 86_400_000)
            let leased = try #require(try await subject.lease().first)
            #expect(try await subject.settle(leased, [grace], at: 31, under: Catalog(version: 1, apps: [])).isEmpty)
            #expect(try await subject.known("3000") == nil)
            #expect(try await subject.subscriptions.told(of: "3000")?.graceExpiresAt == grace.graceExpiresAt)
            let granted = try await subject.grant("3000", original: "3000", at: 0, offset: 2)
            #expect(granted.events.map(\.kind) == [.granted, .subscriptionChanged])
            let known = try #require(try await subject.known("3000"))
            #expect(known.state == .gracePeriod && known.graceExpiresAt == grace.graceExpiresAt)
        }
    }

    @Test(
        "if Apple gave a state while the catalog lacked the app, the subscription gets this state at the next check",
        arguments: Implementation.allCases)
    func stateBesideRow(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            _ = try await subject.grant("3000", original: "3000", at: 20, offset: 2)
            var leased = try await subject.lease()
            #expect(leased.map(\.originalTransactionID) == ["1000"])
            let told = [
                Self.fact(.revoked, original: "3000", period: 20, at: 35),
                // Apple gave these two facts earlier, one about this period and one about an earlier period.
                Self.fact(.active, original: "3000", period: 20, at: 30),
                Self.fact(.expired, original: "3000", period: -10, at: 36),
            ]
            let checked = try #require(leased.first)
            #expect(try await subject.settle(checked, told, at: 38, under: Catalog(version: 1, apps: [])).isEmpty)
            #expect(try await subject.known("3000")?.state == .active)
            #expect(try await subject.subscriptions.told(of: "3000")?.state == .revoked)
            leased = try await subject.lease().filter { $0.originalTransactionID == "3000" }
            // The next check brings no facts, as if Apple could not be asked or does not know the subscription.
            let due = try #require(leased.first)
            let events = try await subject.settle(due, [], at: 40)
            #expect(events.map(\.subject) == ["3000"])
            let known = try #require(try await subject.known("3000"))
            #expect(known.state == .revoked && known.revision == 2 && known.check.dueAt == nil)
            #expect(try await subject.lease().allSatisfy { $0.originalTransactionID != "3000" })
        }
    }

    @Test(
        "if Apple gave one state while the catalog lacked the app, and another later, the ledger publishes one event",
        arguments: Implementation.allCases)
    func newerThanKept(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            _ = try await subject.grant("3000", original: "3000", at: 20, offset: 2)
            let checked = try #require(try await subject.lease().first)
            let told = [Self.fact(.billingRetry, original: "3000", period: 20, at: 35)]
            #expect(try await subject.settle(checked, told, at: 38, under: Catalog(version: 1, apps: [])).isEmpty)
            let due = try #require(try await subject.lease().first { $0.originalTransactionID == "3000" })
            let events = try await subject.settle(
                due, [Self.fact(.expired, original: "3000", period: 20, at: 39)], at: 40)
            #expect(events.map(\.subject) == ["3000"])
            let known = try #require(try await subject.known("3000"))
            #expect(known.state == .expired && known.revision == 2)
        }
    }
}
