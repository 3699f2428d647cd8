import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Revocations of a grant")
struct GrantRevocationsTests {
    /// A step of Apple or of an operator on a grant of ten units. The last value is the number of revoked units that
    /// the event reports: 0 if the grant is whole again, nil if the step makes no event.
    enum Step: Sendable {
        case refund(Int32?, Int32?)
        case reversal(Int32?)
        case revoke(Int32?)
        case reinstate(Int32?)
    }

    private static func at(_ minute: Int) -> Timestamp {
        Sample.recordTime.adding(milliseconds: Int64(minute) * 60_000)
    }

    @Test(
        "Apple's reversal undoes only Apple's revocation; an operator's reinstatement undoes only an operator's",
        arguments: [
            ("Apple alone", [.refund(nil, 10), .refund(nil, nil), .reversal(0), .reversal(nil), .refund(nil, 10)]),
            ("an operator alone", [.revoke(10), .revoke(nil), .reinstate(0), .reinstate(nil), .revoke(10)]),
            ("Apple first", [.refund(nil, 10), .revoke(nil), .reversal(nil), .reinstate(0)]),
            (
                "Apple first, the operator takes it back first",
                [.refund(nil, 10), .revoke(nil), .reinstate(nil), .reversal(0)]
            ),
            ("the operator first", [.revoke(10), .refund(nil, nil), .reinstate(nil), .reversal(0)]),
            ("the operator first and last", [.revoke(10), .refund(nil, nil), .reversal(nil), .reinstate(0)]),
            ("nothing to take back", [.reinstate(nil), .reversal(nil)]),
            (
                "other parts",
                [.refund(30_000, 3), .refund(30_000, nil), .refund(20_000, 2), .refund(50_000, 5), .refund(nil, 10)]
            ),
            ("a part after the whole", [.refund(nil, 10), .refund(30_000, 3), .reversal(0)]),
            (
                "a part before the operator",
                [.refund(30_000, 3), .revoke(10), .refund(40_000, nil), .reinstate(4), .reversal(0)]
            ),
            ("a part after the operator", [.revoke(10), .refund(30_000, nil), .reversal(nil), .reinstate(0)]),
            ("the same units, a larger part", [.refund(1, 1), .refund(2, 1)]),
        ] as [(String, [Step])])
    func words(_ name: String, steps: [Step]) {
        var revocations = GrantRevocations()
        for (index, step) in steps.enumerated() {
            let change: GrantRevocations.Change?
            let expected: Int32?
            switch step {
            case .refund(let part, let units):
                expected = units
                change = revocations.follow(
                    apple: GrantRevocations.Revocation(at: Self.at(index), reason: .refund, milliPercent: part))
            case .reversal(let units): (expected, change) = (units, revocations.follow(apple: nil))
            case .revoke(let units): (expected, change) = (units, revocations.revoke(byOperatorAt: Self.at(index)))
            case .reinstate(let units): (expected, change) = (units, revocations.reinstateByOperator())
            }
            let told: Int32? =
                switch change {
                case nil: nil
                case .reinstated: 0
                case .revoked(let revocation): revocation.units(of: 10)
                }
            #expect(told == expected, "\(name), step \(index)")
            if let told { #expect(revocations.revokedUnits(of: 10) == told, "\(name), step \(index)") }
            #expect((revocations.revokedAt == nil) == (revocations.revokedUnits(of: 10) == 0), "\(name), step \(index)")
        }
    }

    @Test("a refund revokes the refunded percentage of the quantity, rounded, at least one unit and at most all units")
    func units() {
        for (quantity, part, units): (Int32, Int32?, Int32) in [
            (1, nil, 1), (1, 1, 1), (3, 33_333, 1), (3, 50_000, 2), (3, 49_999, 1), (10, 12_000, 1), (10, 99_999, 10),
            (10, 0, 10), (10, -5, 10), (10, 100_001, 10), (.max, nil, .max), (.max, 50_000, 1_073_741_824),
        ] {
            let revocation = GrantRevocations.Revocation(at: Self.at(0), reason: .refund, milliPercent: part)
            #expect(revocation.units(of: quantity) == units, "\(part ?? -1) of \(quantity)")
        }
    }

    @Test(
        "if Apple and an operator both revoke a grant, the earlier date counts; Apple's full revocation sets the reason"
    )
    func reasons() {
        var revocations = GrantRevocations(
            apple: GrantRevocations.Revocation(at: Self.at(5), reason: .refund, milliPercent: 30_000))
        let revoked = revocations.revoke(byOperatorAt: Self.at(2))
        #expect(revoked == .revoked(GrantRevocations.Revocation(at: Self.at(2), reason: .revokedByOperator)))
        #expect(revocations.revokedAt == Self.at(2) && revocations.revocation?.milliPercent == GrantRevocations.whole)
        let left = revocations.reinstateByOperator()
        #expect(left == .revoked(GrantRevocations.Revocation(at: Self.at(5), reason: .refund, milliPercent: 30_000)))
        #expect(revocations.revokedAt == Self.at(5) && revocations.revocation?.milliPercent != GrantRevocations.whole)
        _ = revocations.follow(apple: GrantRevocations.Revocation(at: Self.at(6), reason: .revoke))
        _ = revocations.revoke(byOperatorAt: Self.at(7))
        #expect(revocations.revocation?.reason == .revoke && revocations.operatorRevokedAt == Self.at(7))
    }
}
