import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Partial refunds")
struct RefundPartTests {
    private static func at(_ seconds: Int64) -> Timestamp { RefundTests.day.adding(milliseconds: seconds * 1000) }

    /// - Parameters:
    ///   - date: Apple's date of the refund, in seconds.
    ///   - signed: the time of signing in seconds; nil if another answer of Apple shows the refund.
    private static func part(
        _ milliPercent: Int32?, _ date: Int64, signed: Int64?, of kind: ProductKind = .consumable
    ) -> RefundNotice {
        RefundNotice(
            id: signed.map { Identifier("refund \(date) \($0) \(milliPercent ?? 0)") },
            change: .revoked(.refund, at: at(date)), signedAt: at(signed ?? date),
            transaction: RefundTests.told(kind: kind, milliPercent: milliPercent, revokedAt: at(date)))
    }

    /// - Parameter left: the refund that is still in force, as Apple shows it; nil if Apple shows none.
    private static func reversal(_ signed: Int64, leaving left: (share: Int32, date: Int64)? = nil) -> RefundNotice {
        RefundNotice(
            id: Identifier("reversal \(signed)"), change: .reversed, signedAt: at(signed),
            transaction: RefundTests.told(
                milliPercent: left?.share, revokedAt: left.map { at($0.date) }))
    }

    /// Returns the names of the effects, and the number of revoked units of three in the end.
    private func settle(_ notices: RefundNotice...) -> (effects: [String], units: Int32) {
        var view = RefundView(grants: ["1000": RefundTests.grant()])
        let effects = notices.map { $0.settle(in: &view, at: RefundTests.day, catalog: RefundTests.catalog).name }
        return (effects, view.grants["1000"]?.revocations.revokedUnits(of: 3) ?? -1)
    }

    @Test(
        "after two partial refunds, the first reversal gives back the second part, and the next reversal the first part"
    )
    func onePart() {
        let (first, second) = (Self.part(33_333, 1, signed: 1), Self.part(66_667, 2, signed: 2))
        let once = settle(first, second, Self.reversal(3))
        #expect(once.effects == ["revoked", "revoked", "revoked"] && once.units == 1)
        let twice = settle(first, second, Self.reversal(3), Self.reversal(4))
        #expect(twice.effects.last == "reinstated" && twice.units == 0)
    }

    @Test("if a reversal still shows a share of the purchase as refunded, this share stays revoked")
    func shownRest() {
        let parts = [Self.part(33_333, 1, signed: 1), Self.part(66_667, 2, signed: 2), Self.part(nil, 3, signed: 3)]
        #expect(settle(parts[0], parts[1], parts[2], Self.reversal(4, leaving: (33_333, 1))).units == 1)
        #expect(settle(parts[0], parts[1], parts[2], Self.reversal(4, leaving: (66_667, 2))).units == 2)
        // The reversal shows the same refund that it reverses.
        #expect(settle(parts[0], parts[1], Self.reversal(4, leaving: (66_667, 2))).units == 1)
    }

    @Test(
        "if a reversal of an upgraded period names a refunded share, only this share stays revoked, otherwise nothing")
    func upgradedPeriod() {
        var told = RefundTests.told(milliPercent: 33_333, revokedAt: Self.at(1))
        told.purchase.isUpgraded = true
        var upgraded = RefundTests.told(revokedAt: Self.at(1))
        upgraded.purchase.isUpgraded = true
        for (transaction, units) in [(told, Int32(1)), (upgraded, 0)] {
            let reversal = RefundNotice(
                id: "reversal", change: .reversed, signedAt: Self.at(4), transaction: transaction)
            #expect(settle(Self.part(33_333, 1, signed: 1), Self.part(nil, 3, signed: 3), reversal).units == units)
        }
    }

    @Test("a full refund replaces earlier partial refunds, and the reversal of the full refund gives back everything")
    func whole() {
        let reversed = settle(Self.part(33_333, 1, signed: 1), Self.part(nil, 2, signed: 2), Self.reversal(3))
        #expect(reversed.effects == ["revoked", "revoked", "reinstated"] && reversed.units == 0)
    }

    @Test("a smaller refund that arrives after a larger refund stays revoked after the larger refund's reversal")
    func lateSmallerPart() {
        let late = settle(Self.part(66_667, 2, signed: 2), Self.part(33_333, 1, signed: 1), Self.reversal(3))
        #expect(late.effects == ["revoked", "outdated", "revoked"] && late.units == 1)
    }

    @Test("of two refunds of one date the larger counts, even in an older notification or an answer from Apple")
    func largerPartOfOneDate() {
        let first = Self.part(33_333, 1, signed: 5)
        for second in [
            Self.part(66_667, 1, signed: 6), Self.part(66_667, 1, signed: 4), Self.part(66_667, 1, signed: nil),
        ] {
            let both = settle(first, second)
            #expect(both.effects == ["revoked", "revoked"] && both.units == 2)
        }
        // If a reversal came between, an answer that still shows the refund revokes nothing.
        #expect(settle(first, Self.reversal(6), Self.part(66_667, 1, signed: nil)).units == 0)
    }

    @Test("a smaller refund total that Apple signed later revokes nothing, but shows that the larger part was reversed")
    func smallerLater() {
        let (larger, smaller) = (Self.part(66_667, 1, signed: 1), Self.part(33_333, 3, signed: 3))
        let reversed = settle(larger, smaller, Self.reversal(4))
        #expect(reversed.effects == ["revoked", "remembered", "reinstated"] && reversed.units == 0)
        // Apple signed one reversal after each refund, and both reversals arrive after both refunds.
        let late = settle(larger, smaller, Self.reversal(2), Self.reversal(4))
        #expect(late.effects == ["revoked", "remembered", "revoked", "reinstated"] && late.units == 0)
        let once = settle(larger, smaller, Self.reversal(2))
        #expect(once.effects.last == "revoked" && once.units == 1)
    }

    @Test("if a reversal shows a part as still refunded, the part is revoked, even if its refund arrives late or never")
    func leftByReversal() {
        let (part, whole) = (Self.part(66_667, 1, signed: 1), Self.part(nil, 2, signed: 2))
        let reversal = Self.reversal(3, leaving: (66_667, 1))
        #expect(settle(reversal).effects == ["revoked"])
        #expect(settle(whole, reversal).units == 2)
        #expect(settle(reversal, whole, part).units == 2)
        // Apple shows a whole refund, which may be the refund that the notification reverses.
        #expect(settle(Self.reversal(3, leaving: (100_000, 1))).effects == ["remembered"])
    }

    @Test("after two reversals, a late notification of the second refund revokes nothing; a third refund revokes again")
    func secondToldLate() {
        let (first, second) = (Self.part(nil, 0, signed: 0), Self.part(nil, 3, signed: 9))
        let told = settle(first, Self.reversal(2), Self.reversal(5), second)
        #expect(told.effects == ["revoked", "reinstated", "remembered", "outdated"] && told.units == 0)
        // A third refund after both reversals counts.
        let third = settle(first, Self.reversal(2), Self.reversal(5), second, Self.part(nil, 7, signed: 10))
        #expect(third.units == 3)
    }
}
