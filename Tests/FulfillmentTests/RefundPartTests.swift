import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Refunds part by part")
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

    /// - Parameter left: the refund that still stands, as Apple shows it; nil if Apple shows none.
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

    @Test("of two refunded parts, the first reversal gives back the second part, and the next reversal the first")
    func onePart() {
        let (first, second) = (Self.part(33_333, 1, signed: 1), Self.part(66_667, 2, signed: 2))
        let once = settle(first, second, Self.reversal(3))
        #expect(once.effects == ["revoked", "revoked", "revoked"] && once.units == 1)
        let twice = settle(first, second, Self.reversal(3), Self.reversal(4))
        #expect(twice.effects.last == "reinstated" && twice.units == 0)
    }

    @Test("after a reversal, the share that Apple's answer still shows as refunded stays revoked")
    func shownRest() {
        let parts = [Self.part(33_333, 1, signed: 1), Self.part(66_667, 2, signed: 2), Self.part(nil, 3, signed: 3)]
        #expect(settle(parts[0], parts[1], parts[2], Self.reversal(4, leaving: (33_333, 1))).units == 1)
        #expect(settle(parts[0], parts[1], parts[2], Self.reversal(4, leaving: (66_667, 2))).units == 2)
        // The reversal shows the same refund that it reverses.
        #expect(settle(parts[0], parts[1], Self.reversal(4, leaving: (66_667, 2))).units == 1)
    }

    @Test("a refund of the whole replaces the parts before it, and its reversal gives back everything")
    func whole() {
        let reversed = settle(Self.part(33_333, 1, signed: 1), Self.part(nil, 2, signed: 2), Self.reversal(3))
        #expect(reversed.effects == ["revoked", "revoked", "reinstated"] && reversed.units == 0)
    }

    @Test("a smaller part that arrives after a larger part stays revoked when the larger part is reversed")
    func lateSmallerPart() {
        let late = settle(Self.part(66_667, 2, signed: 2), Self.part(33_333, 1, signed: 1), Self.reversal(3))
        #expect(late.effects == ["revoked", "outdated", "revoked"] && late.units == 1)
    }

    @Test("a larger part counts whatever its date, and whether a notification or an answer shows it")
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

    @Test("a smaller total signed later changes nothing at once, but implies that the larger part was reversed")
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

    @Test("the part that a reversal shows as still refunded is revoked, though its refund arrives late or never")
    func leftByReversal() {
        let (part, whole) = (Self.part(66_667, 1, signed: 1), Self.part(nil, 2, signed: 2))
        let reversal = Self.reversal(3, leaving: (66_667, 1))
        #expect(settle(reversal).effects == ["revoked"])
        #expect(settle(whole, reversal).units == 2)
        #expect(settle(reversal, whole, part).units == 2)
        // Apple shows a whole refund, which may be the refund that the notification reverses.
        #expect(settle(Self.reversal(3, leaving: (100_000, 1))).effects == ["remembered"])
    }

    @Test("after two reversals a late notification of the second refund revokes nothing, and a third refund counts")
    func secondToldLate() {
        let (first, second) = (Self.part(nil, 0, signed: 0), Self.part(nil, 3, signed: 9))
        let told = settle(first, Self.reversal(2), Self.reversal(5), second)
        #expect(told.effects == ["revoked", "reinstated", "remembered", "outdated"] && told.units == 0)
        // A third refund after both reversals counts.
        let third = settle(first, Self.reversal(2), Self.reversal(5), second, Self.part(nil, 7, signed: 10))
        #expect(third.units == 3)
    }
}
