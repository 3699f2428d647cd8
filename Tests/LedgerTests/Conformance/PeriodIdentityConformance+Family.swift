import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

extension PeriodIdentityConformance {
    @Test(
        "if a family member loses a shared period, before or after the buyer's grant, the buyer's grant stays in force",
        arguments: Implementation.allCases)
    func familyMember(implementation: Implementation) async throws {
        try await Subject.with(implementation) { subject in
            func revoke(_ id: String, after hours: Int64) -> ReceivedNotice {
                var shared = Self.purchase(id, original: id)
                shared.ownership = .familyShared
                return Self.notice(.revoked(.revoke, at: Sample.noon), of: shared, after: hours)
            }
            #expect(try await apply(revoke("6000", after: 0), in: subject) == ["remembered"])
            let bought = Self.decision(Self.judged("5001", original: "5000"), offset: 1)
            #expect(try await subject.ledger.record(bought).granted.count == 1)
            #expect(try await apply(revoke("7000", after: 1), in: subject) == ["remembered"])
            guard implementation == .postgres else { return }
            var taken = Self.purchase("8000", original: "8000")
            (taken.ownership, taken.cancelledAt) = (.familyShared, Sample.noon)
            let shown = Sample.judged(taken, .autoRenewableSubscription, .reject(.familyShared))
            let member = try await subject.ledger.record(Self.decision(shown, player: "player-2", offset: 2))
            #expect(member.events.map(\.kind) == [.rejected])
        }
    }
}
