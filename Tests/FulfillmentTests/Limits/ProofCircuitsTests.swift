import Testing

@testable import Fulfillment

@Suite("The circuits of proven and of unproven receipts")
struct ProofCircuitsTests {
    private static let proven = RequestKind(isFresh: true, isProven: true)
    private static let unproven = RequestKind(isFresh: true, isProven: false)

    private static func pass(_ kind: RequestKind, _ limits: inout ScopeLimits, now: Double) -> ScopeLimits.Pass? {
        if case .pass(let pass) = limits.admit(kind, now: now) { return pass }
        return nil
    }

    /// Lets as many different first tries fail as open a circuit.
    private static func fail(_ kind: RequestKind, _ limits: inout ScopeLimits, from first: Int = 0, now: Double) throws
    {
        for number in first..<first + FirstTries.fewestFailures {
            let pass = pass(kind, &limits, now: now)
            limits.failed(try #require(pass), by: Suspect(number), now: now, jitter: 1)
        }
    }

    @Test("if unproven receipts of 200 players fail, the limits hold back no proven receipt")
    func unprovenFail() throws {
        var limits = ScopeLimits(perSecond: 0)
        for number in 0..<200 {
            guard let pass = Self.pass(Self.unproven, &limits, now: 1) else { break }
            limits.failed(pass, by: Suspect(number), now: 1, jitter: 1)
        }
        #expect(limits.isShut(Self.unproven, now: 1) && !limits.isShut(Self.proven, now: 1))
        // No proven receipt came, so Apple counts as down.
        #expect(limits.isShut(now: 1))
        let honest = Self.pass(Self.proven, &limits, now: 1.1)
        #expect(try #require(honest).circuit.isProbe == false)
        #expect(!limits.isShut(now: 1.1))
        limits.succeeded(try #require(honest), now: 1.2)
        // Apple answers a proven receipt, so the failures of unproven receipts no longer count as Apple's.
        #expect(!limits.isShut(Self.unproven, now: 1.2))
    }

    @Test("if proven receipts fail, Apple counts as down, even while Apple answers unproven receipts")
    func provenFail() throws {
        var limits = ScopeLimits(perSecond: 0)
        try Self.fail(Self.proven, &limits, now: 1)
        #expect(limits.isShut(now: 1) && limits.isShut(Self.proven, now: 1))
        let junk = Self.pass(Self.unproven, &limits, now: 1)
        limits.succeeded(try #require(junk), now: 1)
        #expect(limits.isShut(now: 1) && limits.isShut(Self.proven, now: 1))
        // Proven receipts no longer come, so the unproven receipts decide whether Apple counts as down.
        let other = Self.pass(Self.unproven, &limits, now: 61)
        #expect(other != nil && !limits.isShut(now: 61))
    }

    @Test(
        "the open circuit of proven or of unproven receipts holds back no receipt of the other kind",
        arguments: [true, false])
    func queue(isProven: Bool) throws {
        let (shut, open) = isProven ? (Self.proven, Self.unproven) : (Self.unproven, Self.proven)
        var limits = ScopeLimits(perSecond: 0)
        try Self.fail(shut, &limits, now: 1)
        var waiting = RequestQueue<Int>()
        for number in 0..<10 { waiting.append(number, shut) }
        for number in 10..<20 { waiting.append(number, open) }
        var gone: [Int] = []
        while let (number, _) = limits.next(of: &waiting, now: 1, since: { _ in 1 }) { gone.append(number) }
        #expect(gone == Array(10..<20))
        // The limits return the time of the next check.
        #expect(try #require(limits.nextLook(for: waiting, now: 1)) > 1)
    }

    @Test("once a proven receipt has arrived, failures of unproven receipts alone do not show that Apple is overloaded")
    func load() throws {
        var limits = ScopeLimits(perSecond: 0)
        for number in 0..<15 {
            let pass = Self.pass(Self.unproven, &limits, now: 1)
            limits.failed(try #require(pass), by: Suspect(number), now: 1, jitter: 1)
        }
        #expect(limits.isWidespread(Self.unproven, now: 1))
        let honest = Self.pass(Self.proven, &limits, now: 1)
        #expect(honest != nil && !limits.isWidespread(Self.unproven, now: 1))
    }
}
